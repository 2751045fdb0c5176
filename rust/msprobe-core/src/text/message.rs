//! Texts of a file inside messages.

/// A text as messages show it: quoted, on one line, at most about 100 characters of it.
#[must_use]
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 100;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// The same without quotes, for messages that set their own: what would break the line becomes `_`.
#[must_use]
pub fn plain(text: &str) -> String {
    const LONGEST: usize = 100;
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.chars().take(LONGEST).map(|c| if breaks(c) { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::{plain, quoted};

    #[test]
    fn short_and_on_one_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(plain("a\n'b'\u{2028}\x1b[31m"), "a_'b'__[31m");
        assert_eq!(plain(&"é".repeat(1000)).chars().count(), 100);
        assert_eq!(quoted(&"é".repeat(1000)).chars().count(), 105);
    }
}
