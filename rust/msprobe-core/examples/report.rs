//! Prints the report of each file given as JSON, one a line.
use msprobe_core::report::{report, Options};
fn main() {
    for path in std::env::args().skip(1) {
        match report(path.as_ref(), &Options::default()) {
            Ok(report) => println!("{}", serde_json::to_string(&report).unwrap()),
            Err(error) => println!("{{\"error\": {:?}}}", error.to_string()),
        }
    }
}
