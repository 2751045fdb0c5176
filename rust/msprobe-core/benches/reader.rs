//! Speed of reading a rank's files: checking and indexing each file, reading entries again, making rows.
//!
//! `cargo bench -p msprobe-core --bench reader`. Set `MSPROBE_BENCH_DUMP` to a folder with the three files of one rank to measure on
//! real data; without it a dump of 20 000 entries is made up.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bumpalo::Bump;
use criterion::{criterion_main, Criterion, Throughput};
use msprobe_core::dump::{collect_rows, ConstructFile, DumpFile, StackFile};

/// A folder with a dump, and what keeps it alive.
fn dump() -> (PathBuf, Option<tempfile::TempDir>) {
    if let Some(dir) = std::env::var_os("MSPROBE_BENCH_DUMP") {
        return (dir.into(), None);
    }
    let dir = tempfile::tempdir().expect("a temporary folder");
    let tensor = r#"{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2, 8, 16], "Max": 0.6364227139005372, "Min": -0.7973092448204878, "Mean": -0.027368878911539028, "Norm": 4.361366204307326, "requires_grad": true}"#;
    let (mut entries, mut links, mut names) = (String::new(), String::new(), String::new());
    for i in 0..20_000 {
        let comma = if i == 0 { "" } else { ", " };
        let name = format!("Functional.linear.{i}.forward");
        write!(entries, r#"{comma}"{name}": {{"input_args": [{tensor}, {tensor}, null], "input_kwargs": {{"dim": {{"type": "int", "value": {i}}}}}, "output": [{tensor}]}}"#).expect("text");
        write!(links, r#"{comma}"{name}": ["Module.layers.{}.Layer.forward.0", {}]"#, i / 20, i % 4).expect("text");
        write!(names, r#"{comma}"{name}""#).expect("text");
    }
    let write = |name: &str, text: String| fs::write(dir.path().join(name), text).expect("a written file");
    write("dump.json", format!(r#"{{"task": "statistics", "framework": "pytorch", "dump_data_dir": null, "data": {{{entries}}}}}"#));
    write("construct.json", format!(r#"{{{links}, "megatron_micro_step_number": 3}}"#));
    write("stack.json", format!(r#"{{"0": [[{names}], ["File model.py, line 1, in forward, \n y = f(x)"]]}}"#));
    (dir.path().to_owned(), Some(dir))
}

fn size(path: &Path) -> Throughput {
    Throughput::Bytes(fs::metadata(path).expect("a file").len())
}

fn reader(c: &mut Criterion) {
    let (dir, _kept) = dump();
    let [dump, construct, stack] = ["dump.json", "construct.json", "stack.json"].map(|name| dir.join(name));

    let mut group = c.benchmark_group("reader");
    group.sample_size(10).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(4));
    group.throughput(size(&dump)).bench_function("check and index dump.json", |b| b.iter(|| DumpFile::open(&dump).expect("a dump")));

    let file = DumpFile::open(&dump).expect("a dump");
    let mut bump = Bump::new();
    group.bench_function("read every entry", |b| {
        b.iter(|| {
            for id in file.ids() {
                bump.reset();
                black_box(file.entry(id, &bump).expect("an entry"));
            }
        });
    });
    group.bench_function("read every entry and make its rows", |b| {
        b.iter(|| {
            for id in file.ids() {
                bump.reset();
                let entry = file.entry(id, &bump).expect("an entry");
                black_box(collect_rows(file.name(id), entry, &bump));
            }
        });
    });
    group
        .throughput(size(&construct))
        .bench_function("construct.json", |b| b.iter(|| ConstructFile::open(&construct).expect("a structure")));
    group.throughput(size(&stack)).bench_function("stack.json", |b| b.iter(|| StackFile::open(&stack).expect("stacks")));
    group.finish();
}

mod group {
    #![allow(missing_docs)] // made by the macro
    criterion::criterion_group!(benches, super::reader);
}

criterion_main!(group::benches);
