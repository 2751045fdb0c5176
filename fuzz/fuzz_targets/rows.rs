//! The rows of an entry: the first line is the node's name, the rest the entry. No name comes twice in a column, known fields are
//! what a search finds, and every stored value is a JSON string.

#![no_main]

use std::collections::HashSet;

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use msprobe_core::dump::json::{parse, Scanner};
use msprobe_core::dump::{collect_rows, push_stored, Field, RowClass};

const FIELDS: [Field; 6] = [Field::Type, Field::Dtype, Field::Max, Field::Md5, Field::DataName, Field::Value];

fuzz_target!(|text: &str| {
    let Some((node, json)) = text.split_once('\n') else { return };
    let bump = Bump::new();
    let Ok(entry) = parse(&mut Scanner::new(json, 0), &bump) else { return };
    let mut names = HashSet::new();
    for row in collect_rows(node, entry, &bump) {
        assert!(names.insert((row.name, row.class == RowClass::Output)), "the same name twice");
        for field in FIELDS {
            let found = row.fields.iter().find(|(key, _)| key.text() == field.key()).map(|(_, value)| *value);
            assert_eq!(found.is_some(), row.has(field));
        }
        assert!(!row.data_name().is_empty());
        for (_, value) in &row.fields {
            let mut stored = Vec::new();
            push_stored(&mut stored, *value);
            serde_json::from_slice::<String>(&stored).expect("a JSON string");
        }
    }
});
