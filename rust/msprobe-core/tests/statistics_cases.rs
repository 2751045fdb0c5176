//! Differences of statistics as msProbe 26.2 stores them (`tests/data/metrics/statistics_cases.json.gz`).

mod packed;

use bumpalo::Bump;
use msprobe_core::dump::json::{parse, Scanner};
use msprobe_core::metrics::statistics::{difference, Cell};

fn text(cell: Cell) -> String {
    let mut out = Vec::new();
    cell.push_text(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn differences_equal_the_recorded_ones() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/metrics/statistics_cases.json.gz");
    let all = packed::json(path);
    let cases = all["cases"].as_array().unwrap();
    assert!(cases.len() > 300, "{}", cases.len());
    for case in cases {
        let bump = Bump::new();
        let (target, golden) = (case["npu"].as_str().unwrap(), case["bench"].as_str().unwrap());
        let found = difference(parse(&mut Scanner::new(target, 0), &bump).unwrap(), parse(&mut Scanner::new(golden, 0), &bump).unwrap());
        let got = (text(found.absolute), text(found.relative));
        let expected = (case["graph"]["db_diff"].as_str().unwrap().to_owned(), case["graph"]["db_rel"].as_str().unwrap().to_owned());
        assert_eq!(got, expected, "{target} against {golden}");
    }
}
