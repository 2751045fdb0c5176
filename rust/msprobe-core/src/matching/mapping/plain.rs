//! What YAML 1.1, which mapping files are written in, takes an unquoted word for.

/// Whether an unquoted word means "nothing".
pub(super) fn is_null(word: &str) -> bool {
    matches!(word, "" | "~" | "null" | "Null" | "NULL")
}

/// What an unquoted word is if not a text; `None` for texts.
pub(super) fn other_than_text(word: &str) -> Option<&'static str> {
    if is_null(word) {
        Some("nothing")
    } else if is_boolean(word) {
        Some("true or false")
    } else if is_number(word) {
        Some("a number")
    } else if is_date(word) {
        Some("a date")
    } else {
        None
    }
}

fn is_boolean(word: &str) -> bool {
    ["yes", "no", "true", "false", "on", "off"].iter().any(|&lower| {
        let capital = |word: &str| word.starts_with(|first: char| first.is_ascii_uppercase()) && word[1..] == lower[1..];
        word == lower || (word.eq_ignore_ascii_case(lower) && (capital(word) || word.bytes().all(|byte| byte.is_ascii_uppercase())))
    })
}

fn is_number(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(word, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    if let Some(digits) = unsigned.strip_prefix("0x") {
        return all(digits, |byte| byte.is_ascii_hexdigit() || byte == b'_');
    }
    if let Some(digits) = unsigned.strip_prefix("0b") {
        return all(digits, |byte| matches!(byte, b'0' | b'1' | b'_'));
    }
    match unsigned.split_once('.') {
        Some((whole, fraction)) => is_fraction(whole, fraction, unsigned.len() == word.len()),
        None => is_whole(unsigned),
    }
}

fn all(text: &str, wanted: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(wanted)
}

fn is_digits(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit()) && all(text, |byte| byte.is_ascii_digit() || byte == b'_')
}

/// Decimal, octal (with a leading 0) or of base 60 (`1:30`).
fn is_whole(text: &str) -> bool {
    match text.strip_prefix('0') {
        Some("") => true,
        Some(octal) => all(octal, |byte| matches!(byte, b'0'..=b'7' | b'_')),
        None => {
            let mut pieces = text.split(':');
            pieces.next().is_some_and(is_digits) && pieces.all(is_sixtieth)
        }
    }
}

fn is_sixtieth(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9'])
}

fn is_fraction(whole: &str, rest: &str, unsigned: bool) -> bool {
    let (fraction, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let exponent_fits =
        exponent.is_none_or(|exponent| exponent.strip_prefix(['+', '-']).is_some_and(|digits| all(digits, |byte| byte.is_ascii_digit())));
    let fraction_fits = fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if whole.is_empty() {
        return unsigned && exponent_fits && is_digits(fraction);
    }
    let mut pieces = whole.split(':');
    let whole_fits = pieces.next().is_some_and(is_digits) && pieces.all(is_sixtieth);
    let base_60 = whole.contains(':');
    whole_fits && fraction_fits && exponent_fits && !(base_60 && exponent.is_some())
}

/// `2026-01-31`, or that with a time behind it.
fn is_date(word: &str) -> bool {
    let Some((date, time)) = word.split_at_checked(10) else { return is_loose_date(word) };
    if is_loose_date(date) && date.bytes().filter(|&byte| byte == b'-').count() == 2 {
        return time.is_empty() || (time.starts_with(['T', 't', ' ']) && time.contains(':'));
    }
    false
}

fn is_loose_date(word: &str) -> bool {
    word.len() == 10 && word.bytes().enumerate().all(|(at, byte)| if at == 4 || at == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use super::other_than_text;

    /// Taken from what `PyYAML` 6 answers.
    #[test]
    fn words_that_are_no_texts() {
        for word in [
            "0", "12", "-3", "+4", "0x1F", "0b101", "017", "1_000", "1:30", "1.5", "1.", "-2.5e+3", ".5", ".inf", "-.INF", ".nan", "6:30.2",
        ] {
            assert_eq!(other_than_text(word), Some("a number"), "{word}");
        }
        for word in ["yes", "No", "TRUE", "off", "On"] {
            assert_eq!(other_than_text(word), Some("true or false"), "{word}");
        }
        for word in ["", "~", "null", "NULL"] {
            assert_eq!(other_than_text(word), Some("nothing"), "{word}");
        }
        assert_eq!(other_than_text("2026-01-31"), Some("a date"));
        assert_eq!(other_than_text("2026-01-31T10:00:00"), Some("a date"));
    }

    #[test]
    fn words_that_are_texts() {
        for word in [
            "layers",
            "layers.0",
            "0.norm",
            "1e5",
            "1.5e3",
            "08",
            "0x",
            "0b2",
            "-",
            "+",
            ".",
            "..",
            "-.5",
            "y",
            "n",
            "yEs",
            "nulL",
            "1:75",
            "2026-1-1",
            "1.2.3",
            "é",
            "_1",
            "日本語日本語日本語",
        ] {
            assert_eq!(other_than_text(word), None, "{word}");
        }
    }
}
