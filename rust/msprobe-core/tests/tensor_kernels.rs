//! Properties of the one pass: equal bits on every instruction set and with any number of threads, and the numbers of a
//! plain computation.

use msprobe_core::metrics::tensor::{compare_tensors, compare_with, Cell, Kernels, TensorComparison};
use msprobe_core::tensor::{Container, Dtype, Layout, Storage, Tensor};
use proptest::prelude::*;
use std::sync::Arc;

fn tensor(dtype: Dtype, layout: Layout, bytes: Vec<u8>) -> Tensor {
    let count = bytes.len() as u64 / dtype.size();
    let storage = Arc::new(Storage::from_bytes(bytes));
    Tensor { dtype, layout, container: Container::Pt, swapped: false, conjugated: false, negated: false, storage, start: 0, count }
}

fn flat(dtype: Dtype, bytes: Vec<u8>) -> Tensor {
    let layout = Layout::row_major(vec![bytes.len() as u64 / dtype.size()]).unwrap();
    tensor(dtype, layout, bytes)
}

fn singles(values: &[f32]) -> Tensor {
    flat(Dtype::F32, values.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// Numbers of any magnitude, with NaN and infinities now and then.
fn any_single() -> impl Strategy<Value = f32> {
    prop_oneof![6 => any::<f32>(), 10 => -2f32..2f32, 2 => Just(0.0), 1 => Just(-0.0)]
}

fn number(cell: Cell) -> Option<f64> {
    cell.word().err()
}

/// The same numbers with the simplest of loops.
fn plainly(pairs: &[(f32, f32)]) -> Option<[f64; 5]> {
    let kind = |v: f32| (v.is_nan(), v.is_infinite());
    if pairs.iter().any(|(n, b)| kind(*n) != kind(*b)) {
        return None;
    }
    let pairs: Vec<_> = pairs.iter().map(|&(n, b)| if n.is_finite() && b.is_finite() { (n, b) } else { (0.0, 0.0) }).collect();
    let relative = |(n, b): (f32, f32)| {
        let (n, b) = if b == 0.0 { (n + f32::EPSILON, f32::EPSILON) } else { (n, b) };
        ((n - b) / b).abs()
    };
    let wide = |(n, b): (f32, f32)| f64::from(n) - f64::from(b);
    let euclid = pairs.iter().map(|p| wide(*p).powi(2)).sum::<f64>().sqrt();
    let largest = pairs.iter().map(|p| wide(*p).abs()).fold(0.0, f64::max);
    let worst = pairs.iter().map(|p| f64::from(relative(*p))).fold(0.0, f64::max);
    let share = |limit: f32| pairs.iter().filter(|p| relative(**p) < limit).count() as f64 / pairs.len() as f64;
    Some([euclid, largest, worst, share(0.001), share(0.005)])
}

fn close(got: f64, want: f64, relative: f64, absolute: f64) -> bool {
    got == want || (got - want).abs() <= relative * want.abs() + absolute
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn agrees_with_a_plain_loop(pairs in prop::collection::vec((any_single(), any_single(), any::<bool>()), 2..3000)) {
        let pairs: Vec<(f32, f32)> = pairs.into_iter().map(|(n, b, same)| if same { (n, n) } else { (n, b) }).collect();
        let (n, b): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
        let found = compare_tensors(&singles(&n), &singles(&b)).unwrap();
        let equal = pairs.iter().filter(|(n, b)| n.to_bits() == b.to_bits()).count();
        let extra = found.extra.clone().unwrap();
        prop_assert_eq!(extra.equal, equal as f64 / pairs.len() as f64);
        prop_assert_eq!(extra.nan, [&n, &b].map(|side| side.iter().filter(|v| v.is_nan()).count() as u64));
        prop_assert_eq!(extra.infinite, [&n, &b].map(|side| side.iter().filter(|v| v.is_infinite()).count() as u64));
        match plainly(&pairs) {
            None => prop_assert_eq!(found.cells, [Cell::NotApplicable; 6]),
            Some([euclid, largest, worst, below_1, below_5]) => {
                prop_assert!(close(number(found.cells[1]).unwrap(), euclid, 1e-12, 0.0));
                for (cell, want) in found.cells[2..].iter().zip([largest, worst, below_1, below_5]) {
                    prop_assert!(close(number(*cell).unwrap(), want, 1e-15, 5.1e-13), "{:?} {}", cell, want);
                }
                if let Some(at) = extra.largest_at {
                    let (n, b) = pairs[at[0] as usize];
                    prop_assert_eq!((f64::from(n) - f64::from(b)).abs(), largest);
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits(bytes in prop::collection::vec(any::<u8>(), 64..6000), shift in 0usize..16) {
        for dtype in [Dtype::F32, Dtype::F64, Dtype::F16, Dtype::BF16, Dtype::F8E4M3Fn, Dtype::F8E5M2Fnuz, Dtype::I64, Dtype::U8, Dtype::C64] {
            let width = dtype.size() as usize;
            let length = (bytes.len() - shift) / width * width;
            let (a, b) = (flat(dtype, bytes[..length].to_vec()), flat(dtype, bytes[shift..shift + length].to_vec()));
            let results: Vec<TensorComparison> = Kernels::available().into_iter().map(|set| compare_with(set, &a, &b).unwrap()).collect();
            for result in &results {
                prop_assert_eq!(format!("{result:?}"), format!("{:?}", results[0]), "{}", dtype.name());
            }
        }
    }

    #[test]
    fn strides_change_nothing(
        shape in prop::collection::vec(1u64..7, 1..5),
        order in any::<u64>(),
        gap in 1u64..3,
        seed in any::<u32>(),
    ) {
        // The same values laid out in a permuted order with gaps, and row major.
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        let mut rest = order;
        for k in (1..axes.len()).rev() {
            axes.swap(k, (rest % (k as u64 + 1)) as usize);
            rest /= k as u64 + 1;
        }
        let mut strides = vec![0; shape.len()];
        let mut step = gap;
        for axis in axes {
            strides[axis] = step;
            step *= shape[axis];
        }
        let elements: u64 = shape.iter().product();
        let value = |k: u64| (k as f32 * 0.37 + (seed % 1000) as f32).sin();
        let mut spread = vec![99.0f32; step as usize + 3];
        let mut straight = vec![0.0f32; elements as usize];
        for k in 0..elements {
            let mut rest = k;
            let mut at = 3;
            for (size, stride) in shape.iter().zip(&strides).rev() {
                at += rest % size * stride;
                rest /= size;
            }
            spread[at as usize] = value(k);
            straight[k as usize] = value(k);
        }
        let bytes = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        let strided = tensor(Dtype::F32, Layout { shape: shape.clone(), strides, offset: 3 }, bytes(&spread));
        let plain = tensor(Dtype::F32, Layout::row_major(shape.clone()).unwrap(), bytes(&straight));
        let mut copied = Vec::new();
        strided.copy_to(&mut copied, 1 << 20).unwrap();
        prop_assert_eq!(&copied, &bytes(&straight));
        let mut shifted = straight.clone();
        shifted[elements as usize / 2] += 3.0;
        let golden = tensor(Dtype::F32, Layout::row_major(shape).unwrap(), bytes(&shifted));
        let (a, b) = (compare_tensors(&strided, &golden).unwrap(), compare_tensors(&plain, &golden).unwrap());
        prop_assert_eq!(&a.extra, &b.extra);
        prop_assert_eq!(&a.message, &b.message);
        for (x, y) in a.cells.iter().zip(b.cells) {
            match (number(*x), number(y)) {
                (Some(x), Some(y)) => prop_assert!(close(x, y, 1e-13, 0.0)),
                (x, y) => prop_assert_eq!(x, y),
            }
        }
    }
}

#[test]
fn threads_change_nothing() {
    let values = |seed: f64| (0..1_500_001).map(|k| (f64::from(k) * seed).sin() as f32).collect::<Vec<_>>();
    let (a, b) = (singles(&values(0.1)), singles(&values(0.100_000_1)));
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| compare_tensors(&a, &b).unwrap())
    };
    assert_eq!(with(1), with(3));
    assert_eq!(with(1), with(8));
}

#[test]
fn units_in_the_last_place() {
    let ulp = |a: &Tensor, b: &Tensor| compare_tensors(a, b).unwrap().extra.unwrap().ulp;
    let next = |v: f32, steps: u32| f32::from_bits(v.to_bits() + steps);
    assert_eq!(ulp(&singles(&[1.0, 3.5]), &singles(&[next(1.0, 1), next(3.5, 5)])), 5.0);
    assert_eq!(ulp(&singles(&[0.0, 1.0]), &singles(&[f32::from_bits(7), 1.0])), 7.0);
    // bfloat16 against the float32 it was rounded from: never more than half a unit of bfloat16.
    let golden: Vec<f32> = (0..1000).map(|k| (k as f32 * 0.37).sin() * 3.0).collect();
    let rounded = golden.iter().flat_map(|v| {
        let bits = v.to_bits();
        (((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16).to_le_bytes()
    });
    let distance = ulp(&flat(Dtype::BF16, rounded.collect()), &singles(&golden));
    assert!(distance > 0.45 && distance <= 0.5, "{distance}");
    let integers = |values: [i32; 3]| flat(Dtype::I32, values.iter().flat_map(|v| v.to_le_bytes()).collect());
    assert_eq!(ulp(&integers([1, 2, 3]), &integers([1, 9, 3])), 7.0);
}
