//! Recorded files of every kind: the values the reference reads, or a named error. Where the reference refuses or ends its
//! run and we can do better, the expectation stands here.

use msprobe_core::metrics::tensor::{compare_pair, compare_tensors, Cell, Side};
use msprobe_core::tensor::{read, Container, Dtype, Layout, Storage, Tensor, TensorFolder};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/metrics/tensor_files")
}

fn manifest() -> Vec<Value> {
    let text = std::fs::read(folder().join("manifest.json")).unwrap();
    let all: Value = serde_json::from_slice(&text).unwrap();
    all["files"].as_array().unwrap().clone()
}

fn in_memory(dtype: Dtype, shape: Vec<u64>, bytes: Vec<u8>) -> Tensor {
    let layout = Layout::row_major(shape).unwrap();
    let count = layout.elements().unwrap();
    let storage = Arc::new(Storage::from_bytes(bytes));
    Tensor { dtype, layout, container: Container::Pt, swapped: false, conjugated: false, negated: false, storage, start: 0, count }
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Object(special) => special["$f"].as_str().unwrap().parse().unwrap(),
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        other => other.as_f64().unwrap(),
    }
}

/// Native bytes of a recorded value.
fn bytes_of(dtype: Dtype, value: &Value) -> Vec<u8> {
    match dtype {
        Dtype::F32 => (number(value) as f32).to_le_bytes().to_vec(),
        Dtype::F64 => number(value).to_le_bytes().to_vec(),
        Dtype::C64 => value.as_array().unwrap().iter().flat_map(|v| (number(v) as f32).to_le_bytes()).collect(),
        Dtype::C128 => value.as_array().unwrap().iter().flat_map(|v| number(v).to_le_bytes()).collect(),
        _ => (number(value) as i64).to_le_bytes()[..dtype.size() as usize].to_vec(),
    }
}

fn same_values(name: &str, tensor: &Tensor, values: &[f64]) {
    assert_eq!(tensor.layout.elements().unwrap(), values.len() as u64, "{name}");
    let wanted = in_memory(Dtype::F64, tensor.layout.squeezed(), values.iter().flat_map(|v| v.to_le_bytes()).collect());
    let found = compare_tensors(tensor, &wanted).unwrap();
    assert_eq!(found.cells[2], Cell::Number(0.0), "{name}");
}

#[test]
fn every_file_the_reference_reads() {
    let folder = TensorFolder::open(&folder());
    let mut seen = 0;
    for entry in manifest().iter().filter(|e| e["ok"] == true) {
        let name = entry["file"].as_str().unwrap();
        let tensor = folder.load(name, None).unwrap_or_else(|e| panic!("{e}"));
        let shape: Vec<u64> = serde_json::from_value(entry["squeezed_shape"].clone()).unwrap();
        assert_eq!(tensor.layout.squeezed(), shape, "{name}");
        let seen_as = tensor.dtype.widened();
        let recorded = entry["numpy_dtype"].as_str().unwrap();
        let plain = recorded.strip_prefix('>').map_or_else(|| Dtype::from_torch(recorded), Dtype::from_numpy);
        assert_eq!(Some(seen_as), plain, "{name}");
        assert_eq!(tensor.swapped, recorded.starts_with('>') || name == "big_endian.pt", "{name}");
        let values = entry["values"].as_array().unwrap();
        if seen_as == tensor.dtype && seen_as != Dtype::F16 && seen_as != Dtype::Bool {
            let mut bytes = Vec::new();
            tensor.copy_to(&mut bytes, 1 << 20).unwrap();
            let wanted: Vec<u8> = values.iter().flat_map(|v| bytes_of(seen_as, v)).collect();
            if values.iter().any(|v| v["$f"] == "nan") {
                assert_eq!(bytes.len(), wanted.len(), "{name}");
                assert!(f32::from_le_bytes(bytes[..4].try_into().unwrap()).is_nan());
                assert_eq!(bytes[4..], wanted[4..], "{name}");
            } else {
                assert_eq!(bytes, wanted, "{name}");
            }
        } else {
            same_values(name, &tensor, &values.iter().map(number).collect::<Vec<_>>());
        }
        seen += 1;
    }
    assert_eq!(seen, 65);
}

/// How files are read where they cannot be mapped: by their parts, with the same result.
#[test]
fn every_file_read_piece_by_piece() {
    let (mut read_files, mut refused) = (0, 0);
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let container = match path.extension().and_then(|suffix| suffix.to_str()) {
            Some("pt") => Container::Pt,
            Some("npy") => Container::Npy,
            _ => continue,
        };
        let name = path.file_name().unwrap().to_string_lossy();
        let whole = read(container, Storage::open(&path).unwrap(), Some("BFloat16"));
        let parts = read(container, Storage::open_piecewise(&path).unwrap(), Some("BFloat16"));
        match (whole, parts) {
            (Ok(whole), Ok(parts)) => {
                same_bytes(&name, &whole, &parts);
                read_files += 1;
            }
            (whole, parts) => {
                assert_eq!(whole.unwrap_err().to_string(), parts.unwrap_err().to_string(), "{name}");
                refused += 1;
            }
        }
    }
    assert!(read_files > 65 && refused > 20, "{read_files} {refused}");
}

fn same_bytes(name: &str, a: &Tensor, b: &Tensor) {
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    a.copy_to(&mut of_a, 1 << 26).unwrap();
    b.copy_to(&mut of_b, 1 << 26).unwrap();
    assert!(of_a == of_b, "{name}");
    // What was inflated is in memory whatever the file is.
    assert_eq!(b.storage.in_memory().is_some(), name == "deflated.pt", "{name}");
    let found = compare_tensors(a, b).unwrap();
    assert!(found.extra.is_none_or(|extra| extra.equal == 1.0), "{name}");
}

/// Columns that lie further apart than is read at once.
#[test]
fn a_large_strided_file_read_piece_by_piece() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("a.npy");
    let header = "{'descr': '<f4', 'fortran_order': True, 'shape': (150000, 10), }";
    let numbers = (0..1_500_000u32).flat_map(|n| (n as f32).to_le_bytes());
    let start = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    std::fs::write(&path, start.into_iter().chain(numbers).collect::<Vec<_>>()).unwrap();
    let whole = read(Container::Npy, Storage::open(&path).unwrap(), None).unwrap();
    let parts = read(Container::Npy, Storage::open_piecewise(&path).unwrap(), None).unwrap();
    same_bytes("a.npy", &whole, &parts);
    let mut bytes = Vec::new();
    parts.copy_to(&mut bytes, 1 << 23).unwrap();
    // Row 0 is every 150,000th number.
    let row: Vec<f32> = bytes[..40].chunks_exact(4).map(|f| f32::from_le_bytes(f.try_into().unwrap())).collect();
    assert_eq!(row, (0..10u32).map(|n| (n * 150_000) as f32).collect::<Vec<_>>());
}

/// Files the reference refuses or dies of, and what we say or read.
#[test]
fn every_file_the_reference_does_not_read() {
    let refused = [
        ("sparse.pt", "sparse tensors are not supported"),
        ("quant.pt", "quantized tensors are not supported"),
        ("meta.pt", "meta tensors are not supported"),
        ("dict.pt", "holds a dict, not a tensor"),
        ("list.pt", "holds a list, not a tensor"),
        ("none.pt", "holds None, not a tensor"),
        ("number.pt", "holds a number, not a tensor"),
        ("string.pt", "holds text, not a tensor"),
        ("no_pkl.pt", "no data.pkl in a top folder"),
        ("no_data.pt", "no entry data/0"),
        ("no_version.pt", "no entry version"),
        ("no_root.pt", "no data.pkl in a top folder"),
        ("short_data.pt", "data/0 has 8 bytes instead of 3 x 4"),
        ("long_data.pt", "data/0 has 20 bytes instead of 3 x 4"),
        ("wide_type.pt", "data/0 has 12 bytes instead of 3 x 8"),
        ("shape_beyond.pt", "reaches beyond 3 elements"),
        ("bad_global.pt", "the global 'os.system' is not allowed"),
        ("torchscript.pt", "holds a TorchScript program, not a tensor"),
        ("zero_bytes.pt", "not a torch file"),
        ("text.pt", "not a torch file"),
        ("truncated.pt", "truncated: no zip directory at the end"),
        ("absent.pt", "the file does not exist"),
        ("npy_v9.npy", "unknown version 9.0"),
        ("npy_bf16_V2.npy", "unsupported dtype <V2"),
        ("npy_truncated.npy", "truncated: fewer bytes than the shape needs"),
        ("npy_object.npy", "Python objects are never unpickled"),
        ("npy_bad_header.npy", "npy header: "),
        ("npy_zero_bytes.npy", "not a npy file"),
        ("npy_text.npy", "not a npy file"),
        ("npy_is_npz.npy", "not a npy file"),
        ("absent.npy", "the file does not exist"),
    ];
    let read_by_us: [(&str, &[f64]); 8] = [
        ("protocol4.pt", &[1.0, 2.0, 3.0]),
        ("npu_rebuild.pt", &[1.0, 2.0, 3.0]),
        ("complex32.pt", &[1.0, 2.0]),
        ("e4m3fnuz.pt", &[1.0, 2.0]),
        ("e5m2fnuz.pt", &[1.0, 2.0]),
        ("conj.pt", &[1.0, 3.0]),
        ("neg.pt", &[-2.0, -4.0]),
        ("npy_bf16_V2.npy", &[1.0, 2.0, 4.0]),
    ];
    let folder = TensorFolder::open(&folder());
    for entry in manifest().iter().filter(|e| e["ok"] == false) {
        let name = entry["file"].as_str().unwrap();
        match refused.iter().find(|(file, _)| *file == name) {
            Some((_, reason)) => {
                let error = folder.load(name, None).expect_err(name).to_string();
                assert!(error.contains(reason) && error.contains(name), "{error}");
            }
            None => assert!(read_by_us.iter().any(|(file, _)| *file == name), "{name} has no expectation"),
        }
    }
    for (name, values) in read_by_us {
        let tensor = folder.load(name, Some("BFloat16")).unwrap_or_else(|e| panic!("{e}"));
        same_values(name, &tensor, values);
    }
}

#[test]
fn messages_and_reasons_of_pairs() {
    let folder = TensorFolder::open(&folder());
    let side = |name| Side { folder: &folder, data_name: name, dtype: None };
    let compared = |n, b| compare_pair(side(n), side(b));
    let unread = compared("bad_global.pt", "f32.pt");
    assert_eq!(unread.message, "Dump file: bad_global.pt or f32.pt not found or read failed.");
    assert_eq!(unread.cells, [Cell::Unsupported; 6]);
    assert_eq!(unread.reason.unwrap(), "target file bad_global.pt: pickle: the global 'os.system' is not allowed");
    assert_eq!(compared("f32.pt", "absent.pt").reason.unwrap(), "golden file absent.pt: the file does not exist");
    let outside = compared("../tensor_files/f32.pt", "f32.pt");
    assert_eq!(outside.reason.unwrap(), "target file ../tensor_files/f32.pt: the name leads outside the tensor folder");
    let shapes = compared("f32.pt", "transpose.pt");
    assert_eq!(shapes.cells, [Cell::ShapeUnmatched; 6]);
    assert_eq!(shapes.reason.unwrap(), "shape [3] vs [3, 2]");
    assert_eq!(compared("-1", "f32.pt").message, "NPU does not have data file.");
    assert_eq!(compared("f32.pt", "-1").message, "Bench does not have data file.");
    assert_eq!(compared("-1", "-1").reason, None);
    assert_eq!(compared("f32.pt", "N/A").message, "Bench api/module unmatched.");
    let differing = compared("f32.pt", "f32_b.pt");
    assert_eq!(differing.reason, None);
    let extra = differing.extra.unwrap();
    assert_eq!(extra.largest_at, Some(vec![2]));
    assert!((extra.equal - 2.0 / 3.0).abs() < 1e-15);
    // 3.0 to 3.5 are 0.5 / 2^(1 - 23) units apart.
    assert_eq!(extra.ulp, 0.5 / 2f64.powi(-22));
}

#[test]
fn strided_forms_against_each_other() {
    let folder = TensorFolder::open(&folder());
    // The recorded values of the strided file, row major.
    let row_major = [0.0f32, 3.0, 1.0, 4.0, 2.0, 5.5];
    let golden = in_memory(Dtype::F32, vec![3, 2], row_major.iter().flat_map(|v| v.to_le_bytes()).collect());
    let strided = folder.load("transpose.pt", None).unwrap();
    for (a, b) in [(&strided, &golden), (&golden, &strided)] {
        let found = compare_tensors(a, b).unwrap();
        assert_eq!(found.cells[2], Cell::Number(0.5));
        assert_eq!(found.extra.unwrap().largest_at, Some(vec![2, 1]));
    }
    let expanded = folder.load("expand.pt", None).unwrap();
    let itself = compare_tensors(&expanded, &expanded).unwrap();
    assert_eq!(itself.cells[1..3], [Cell::Number(0.0); 2]);
    assert_eq!(itself.extra.unwrap().equal, 1.0);
    let ones = in_memory(Dtype::F32, vec![3, 2], [1.0f32; 6].iter().flat_map(|v| v.to_le_bytes()).collect());
    let found = compare_tensors(&expanded, &ones).unwrap();
    // Three of six elements are off by one.
    assert_eq!(found.cells[1], Cell::Number(3f64.sqrt()));
    assert_eq!(found.cells[4], Cell::Number(0.5));
}
