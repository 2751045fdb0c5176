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

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn short_and_on_one_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(quoted(&"é".repeat(1000)).chars().count(), 105);
    }
}
