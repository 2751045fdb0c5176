//! Crafted files: each costs one clear error, nothing else.

use msprobe_core::metrics::tensor::compare_tensors;
use msprobe_core::tensor::{open, Tensor, TensorFolder};
use std::path::PathBuf;
use std::time::{Duration, Instant};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/attack")
}

const REFUSED: [(&str, &str); 55] = [
    ("os_system.pt", "the global 'os.system' is not allowed"),
    ("builtins_eval.pt", "the global 'builtins.eval' is not allowed"),
    ("stack_global.pt", "the global 'posix.system' is not allowed"),
    ("load_from_bytes.pt", "the global 'torch.storage._load_from_bytes' is not allowed"),
    ("inst_opcode.pt", "opcode that no tensor needs"),
    ("ext_opcode.pt", "opcode that no tensor needs"),
    ("call_a_tensor.pt", "calls something that is no allowed global"),
    ("negative_stride.pt", "stride -1 is out of range"),
    ("negative_size.pt", "size -3 is out of range"),
    ("negative_offset.pt", "offset -1 is out of range"),
    ("huge_shape.pt", "is too large"),
    ("huge_integer.pt", "size 1267650600228229401496703205376 is out of range"),
    ("huge_stride.pt", "reaches beyond 3 elements"),
    ("many_dimensions.pt", "65 dimensions"),
    ("memo_loop.pt", "holds a list, not a tensor"),
    ("deep_tuples.pt", "more than"),
    ("many_opcodes.pt", "more than"),
    ("many_wide_tensors.pt", "30000 dimensions"),
    ("many_long_calls.pt", "holds a dict, not a tensor"),
    ("many_look_ups.pt", "holds a tuple, not a tensor"),
    ("text_of_4_gigabytes.pt", "truncated: pickle"),
    ("stack_underflow.pt", "stack underflow"),
    ("mark_only.pt", "misplaced mark"),
    ("overlapping.pt", "entries overlap"),
    ("bomb.pt", "deflated entry of 67108864 bytes"),
    ("lying_size.pt", "damaged or larger than it says"),
    ("tar_os_system.pt", "the global 'os.system' is not allowed"),
    ("tar_os_system_in_storages.pt", "the global 'os.system' is not allowed"),
    ("tar_huge_count_of_tensors.pt", "in tensors: a count of 1000000000000000000"),
    ("tar_huge_count_of_storages.pt", "in storages: a count of 1000000000000000000"),
    ("tar_count_that_is_not_there.pt", "in tensors: truncated"),
    ("tar_huge_storage.pt", "storage 2 of 2305843009213693952 elements reaches beyond the member"),
    ("tar_negative_storage.pt", "storage 2 of -1 elements reaches beyond the member"),
    ("tar_huge_dimensions.pt", "1073741824 dimensions"),
    ("tar_negative_stride.pt", "stride -1 is out of range"),
    ("tar_view_beyond.pt", "view 3 reaches beyond its storage"),
    ("tar_big_endian.pt", "written on a big endian machine"),
    ("tar_member_beyond.pt", "member sys_info of 8589934591 bytes reaches beyond the file"),
    ("tar_member_of_exbibytes.pt", "member sys_info of 9223372036854775807 bytes reaches beyond the file"),
    ("tar_member_of_negative_size.pt", "a tar header whose size is no number at byte 0"),
    ("tar_pax_member_of_exbibytes.pt", "member sys_info of 9223372036854775807 bytes reaches beyond the file"),
    ("tar_two_members.pt", "two members are called pickle"),
    ("tar_many_members.pt", "tar archive of more than 64 members"),
    ("tar_hard_link.pt", "member pickle is a hard link"),
    ("tar_symbolic_link.pt", "member pickle is a symbolic link"),
    ("tar_device.pt", "member pickle is a device"),
    ("tar_sparse.pt", "member pickle is a sparse file"),
    ("tar_checksum.pt", "a tar header with a wrong checksum at byte 0"),
    ("tar_without_end.pt", "no end of the tar archive"),
    ("huge_shape.npy", "is too large"),
    ("huge_count.npy", "fewer bytes than the shape needs"),
    ("negative_shape.npy", "cannot be understood at '-1"),
    ("code_in_header.npy", "cannot be understood at '__import__"),
    ("object.npy", "Python objects are never unpickled"),
    ("header_of_4_gigabytes.npy", "npy header of 4294967295 bytes"),
];

/// Legal tensors of 2^41 repeated elements.
const EXPANDED: [&str; 2] = ["expanded_forever.pt", "tar_expanded_forever.pt"];

#[test]
fn every_attack_file() {
    let names: Vec<String> = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    let files = TensorFolder::open(&folder());
    for name in names.iter().filter(|n| *n != "make.py" && !EXPANDED.contains(&n.as_str())) {
        let reason = REFUSED.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("{name} has no expectation")).1;
        let started = Instant::now();
        let error = files.load(name, None).expect_err(name).to_string();
        assert!(error.contains(reason), "{error}");
        assert!(started.elapsed() < Duration::from_secs(1), "{name}");
    }
    assert_eq!(names.len(), REFUSED.len() + EXPANDED.len() + 1);
}

/// Described in some kB, compared in no time against itself, never copied out.
#[test]
fn a_view_cannot_cost_more_than_its_storage() {
    for name in EXPANDED {
        costs_no_more_than_its_storage(&open(&folder().join(name), None).unwrap());
    }
}

fn costs_no_more_than_its_storage(tensor: &Tensor) {
    assert_eq!(tensor.layout.shape, [1 << 40, 2]);
    let started = Instant::now();
    let found = compare_tensors(tensor, tensor).unwrap();
    assert_eq!(found.extra.unwrap().equal, 1.0);
    assert!(tensor.copy_to(&mut Vec::new(), 1 << 20).unwrap_err().to_string().contains("a view of"));
    // Steps that differ on the two sides cannot be collapsed; such a pair is refused instead of walked.
    let mut other: Tensor = tensor.clone();
    other.layout.strides = vec![0, 1];
    let mut sliding = tensor.clone();
    sliding.layout.shape = vec![1 << 30, 2];
    sliding.layout.strides = vec![1, 1];
    let mut fixed = sliding.clone();
    fixed.layout.strides = vec![0, 0];
    assert!(compare_tensors(tensor, &other).is_ok());
    assert!(compare_tensors(&sliding, &fixed).unwrap_err().to_string().contains("a view of"));
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[test]
fn an_empty_tensor_of_the_largest_steps() {
    let mut tensor = open(&folder().join("expanded_forever.pt"), None).unwrap();
    tensor.layout.shape = vec![3, 2, 0, 1 << 62];
    tensor.layout.strides = vec![i64::MAX as u64; 4];
    let mut copy = Vec::new();
    tensor.copy_to(&mut copy, 0).unwrap();
    assert!(copy.is_empty());
    assert!(compare_tensors(&tensor, &tensor).is_ok());
}

/// Every prefix of a file is refused or reads the same tensor (a `.npy` file may have trailing bytes; none may miss).
#[test]
fn every_truncation() {
    let recorded = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/metrics/tensor_files");
    let room = tempfile::tempdir().unwrap();
    for name in ["f32.pt", "deflated.pt", "legacy.pt", "python_attr.pt", "npy_v3.npy", "npy_fortran.npy"] {
        let whole = std::fs::read(recorded.join(name)).unwrap();
        let path = room.path().join(name);
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(open(&path, None).is_err(), "{name} cut to {length} bytes");
        }
        std::fs::write(&path, &whole).unwrap();
        assert!(open(&path, None).is_ok(), "{name}");
    }
}

/// A file that is mapped rather than read, cut at every kilobyte.
#[test]
fn every_kilobyte_of_a_mapped_file() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("large.npy");
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (65536,), }";
    let mut whole = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    whole.resize(whole.len() + 4 * 65536, 1);
    for kilobyte in 0..=whole.len() / 1024 {
        std::fs::write(&path, &whole[..kilobyte * 1024]).unwrap();
        assert!(open(&path, None).is_err(), "{kilobyte} kB");
    }
    std::fs::write(&path, &whole).unwrap();
    assert!(open(&path, None).is_ok());
}

/// Single flipped bytes never do more than change numbers or be refused.
#[test]
fn every_flipped_byte() {
    let recorded = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/metrics/tensor_files");
    let room = tempfile::tempdir().unwrap();
    let mut refused = 0;
    for name in ["f32.pt", "deflated.pt", "legacy.pt", "npy_v2.npy"] {
        let whole = std::fs::read(recorded.join(name)).unwrap();
        let path = room.path().join(name);
        for at in 0..whole.len() {
            for value in [whole[at] ^ 1, whole[at] ^ 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                std::fs::write(&path, &changed).unwrap();
                match open(&path, None) {
                    Ok(tensor) => assert!(compare_tensors(&tensor, &tensor).is_ok(), "{name} at {at}"),
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > 1000, "{refused}");
}
