//! Kernels of the tensor metrics, one core: bytes of both sides per second, by element type and instruction set.

#![allow(missing_docs)] // the macro of criterion makes a public function

use criterion::{criterion_group, criterion_main, Criterion, Throughput};
use msprobe_core::metrics::tensor::{compare_tensors, compare_with, Kernels};
use msprobe_core::tensor::{Container, Dtype, Layout, Storage, Tensor};
use std::sync::Arc;

/// A tensor of `shape` with bytes that decode to finite numbers of moderate size.
fn tensor(dtype: Dtype, layout: Layout, noise: u8) -> Tensor {
    let count = layout.elements().unwrap();
    let width = dtype.size() as usize;
    let mut bytes = vec![0u8; count as usize * width];
    for (k, element) in bytes.chunks_exact_mut(width).enumerate() {
        let value = (k % 977) as f64 / 977.0 - 0.4 + f64::from(noise) * 1e-4;
        match dtype {
            Dtype::F32 => element.copy_from_slice(&(value as f32).to_le_bytes()),
            Dtype::F64 => element.copy_from_slice(&value.to_le_bytes()),
            Dtype::BF16 => element.copy_from_slice(&(value as f32).to_le_bytes()[2..]),
            Dtype::F16 => element.copy_from_slice(&(0x3000 + (k % 977) as u16 + u16::from(noise)).to_le_bytes()),
            _ => element.fill((k % 97) as u8 + noise),
        }
    }
    let storage = Arc::new(Storage::from_bytes(bytes));
    Tensor { dtype, layout, container: Container::Pt, swapped: false, conjugated: false, negated: false, storage, start: 0, count }
}

fn kernels(c: &mut Criterion) {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for dtype in [Dtype::F32, Dtype::BF16, Dtype::F16, Dtype::F8E4M3Fn, Dtype::F64, Dtype::I64] {
        let flat = || Layout::row_major(vec![1 << 22]).unwrap();
        let (a, b) = (tensor(dtype, flat(), 0), tensor(dtype, flat(), 1));
        let mut group = c.benchmark_group(dtype.name());
        group.throughput(Throughput::Bytes((2 * dtype.size()) << 22)).sample_size(10);
        for set in Kernels::available() {
            group.bench_function(set.name, |bench| bench.iter(|| one.install(|| compare_with(set, &a, &b).unwrap())));
        }
    }
    let transposed = |noise| tensor(Dtype::F32, Layout::column_major(vec![2048, 2048]).unwrap(), noise);
    let straight = tensor(Dtype::F32, Layout::row_major(vec![2048, 2048]).unwrap(), 1);
    let mut group = c.benchmark_group("strided");
    group.throughput(Throughput::Bytes(8 << 22)).sample_size(10);
    let (a, b) = (transposed(0), transposed(1));
    group.bench_function("both", |bench| bench.iter(|| one.install(|| compare_tensors(&a, &b).unwrap())));
    group.bench_function("one", |bench| bench.iter(|| one.install(|| compare_tensors(&a, &straight).unwrap())));
}

criterion_group!(benches, kernels);
criterion_main!(benches);
