//! Texts of a file and of the system inside messages.

use std::io::{Error, ErrorKind};

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

/// An error of the system in plain words: without its number, and with what to do where that is clear.
#[must_use]
pub fn system(error: &Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or folder".to_owned(),
        ErrorKind::PermissionDenied => "it is not permitted; ask the owner for permission".to_owned(),
        ErrorKind::NotADirectory => "something on the way to it is a file and no folder".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::InvalidFilename => "the name is too long, or has characters that cannot be in one".to_owned(),
        ErrorKind::StorageFull => "the disk is full; make room there or name another place".to_owned(),
        ErrorKind::QuotaExceeded => "no more of the disk may be used; make room there or name another place".to_owned(),
        ErrorKind::FileTooLarge => "the file is larger than may be stored there; name another place".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "nothing can be written there; name another place".to_owned(),
        ErrorKind::OutOfMemory => "there is not enough memory".to_owned(),
        _ => without_number(&error.to_string()).to_owned(),
    }
}

/// What the system says, without its number and without the name of a temporary file, which is nobody's business.
#[must_use]
pub fn without_number(text: &str) -> &str {
    let end = [" at path ", " (os error "].into_iter().filter_map(|rest| text.find(rest)).min();
    end.map_or(text, |end| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::{plain, quoted, system};
    use std::io::Error;

    #[test]
    fn the_system_speaks_without_numbers() {
        // ENOENT, EACCES, ENOTDIR, ENOSPC, ENAMETOOLONG, and EMFILE, which has no kind.
        for (number, told) in [
            (2, "no such file or folder"),
            (13, "it is not permitted; ask the owner for permission"),
            (20, "something on the way to it is a file and no folder"),
            (28, "the disk is full; make room there or name another place"),
            (36, "the name is too long, or has characters that cannot be in one"),
            (24, "Too many open files"),
        ] {
            assert_eq!(system(&Error::from_raw_os_error(number)), told);
        }
        let error = tempfile::tempfile_in("/nowhere at all").unwrap_err();
        assert_eq!(system(&error), "no such file or folder");
    }

    #[test]
    fn short_and_on_one_line() {
        assert_eq!(quoted("a\nb"), r#""a\nb""#);
        assert_eq!(plain("a\n'b'\u{2028}\x1b[31m"), "a_'b'__[31m");
        assert_eq!(plain(&"é".repeat(1000)).chars().count(), 100);
        assert_eq!(quoted(&"é".repeat(1000)).chars().count(), 105);
    }
}
