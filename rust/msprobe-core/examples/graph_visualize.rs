//! The engine alone, without Python: for profilers.
//!
//! `cargo run --release -p msprobe-core --example graph_visualize -- OUT JOBS TARGET [GOLDEN]`

use std::path::PathBuf;

use msprobe_core::pipeline::{self, Hooks, Progress, Request};

fn main() {
    let mut words = std::env::args().skip(1);
    let (Some(output), Some(jobs), Some(target)) = (words.next(), words.next(), words.next()) else {
        eprintln!("usage: graph_visualize OUT JOBS TARGET [GOLDEN]");
        std::process::exit(2);
    };
    let request = Request {
        target: target.into(),
        golden: words.next().map(PathBuf::from),
        output: output.into(),
        stamp: "profile".to_owned(),
        jobs: jobs.parse().ok(),
        ..Request::default()
    };
    match pipeline::run(&request, &Progress::default(), Hooks::default()) {
        Ok(summary) => println!("{}", summary.output.display()),
        Err(reason) => {
            eprintln!("{reason}");
            std::process::exit(1);
        }
    }
}
