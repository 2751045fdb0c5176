//! One JSON value: skipping and building agree, another reader agrees where it can, and what we write reads back to itself.

#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use msprobe_core::dump::json::{parse, push_dumps, push_repr, Scanner};

fuzz_target!(|text: &str| {
    let bump = Bump::new();
    let mut skipping = Scanner::new(text, 0);
    let skipped = skipping.skip_value().and_then(|()| skipping.finish());
    let mut building = Scanner::new(text, 0);
    let built = parse(&mut building, &bump).and_then(|value| building.finish().map(|()| value));
    assert_eq!(skipped.err(), built.err());
    let other = serde_json::from_str::<serde_json::Value>(text);
    let Ok(value) = built else {
        assert!(other.is_err(), "only the other reader takes it");
        return;
    };
    if let Ok(other) = other {
        assert!(msprobe_fuzz::same(value, &other), "read differently");
    }
    let (mut once, mut twice) = (Vec::new(), Vec::new());
    push_dumps(&mut once, value);
    let once_text = std::str::from_utf8(&once).expect("ASCII");
    assert!(once_text.is_ascii());
    push_dumps(&mut twice, parse(&mut Scanner::new(once_text, 0), &bump).expect("our own text"));
    assert_eq!(once, twice);
    let mut python = Vec::new();
    push_repr(&mut python, value);
    std::str::from_utf8(&python).expect("UTF-8");
});
