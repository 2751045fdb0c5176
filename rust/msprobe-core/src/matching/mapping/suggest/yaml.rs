//! A proposed mapping as a mapping file.

use std::fmt::{self, Display, Formatter, Write};

use super::super::file::{MOST_PARTS, OLD_TOP_LAYER};
use super::super::plain;
use super::{Proposal, Suggestion, Sureness};

const HEAD: &str =
    "# A layer mapping proposed by `msprobe-rs mapping suggest`. Below each class of the target: its child: the golden child.\n\
                    # sure: all modules of the class agree, shapes of parameters too; likely: all agree; guess: look at it before use.\n";

/// Whether a mapping file can say it: a value ends at its first bracket, and the class `Cell` means the top level.
pub(super) fn can_be_written(class: &str, key: &str, value: &str) -> bool {
    class != OLD_TOP_LAYER && !value.contains('(') && key.split('.').count() <= MOST_PARTS
}

impl Display for Suggestion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        if self.rules.is_empty() {
            return f.write_str("# No rule is needed, or none was found: all that is alike has the same name.\n{}\n");
        }
        let mut class = None;
        for rule in &self.rules {
            if class != Some(&rule.class) {
                writeln!(f, "{}:", Word(&rule.class))?;
                class = Some(&rule.class);
            }
            writeln!(f, "  {}: {}  # {}", Word(&rule.key), Word(&rule.value), Remark(rule))?;
        }
        Ok(())
    }
}

/// A text as YAML reads it back.
struct Word<'a>(&'a str);

impl Display for Word<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        let starts = self.0.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        if starts && self.0.bytes().all(plain) && plain::other_than_text(self.0).is_none() {
            return f.write_str(self.0);
        }
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => write!(f, "\\U{:08x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

struct Remark<'a>(&'a Proposal);

impl Display for Remark<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Proposal { found, all, shapes_agree, .. } = *self.0;
        let level = match self.0.sureness {
            Sureness::Sure => "sure",
            Sureness::Likely => "likely",
            Sureness::Guess => "guess",
        };
        let modules = if all == 1 { "module" } else { "modules" };
        write!(f, "{level}: {found} of {all} {modules}")?;
        match shapes_agree {
            0 => f.write_str(", no shapes to compare or others"),
            n if n == found => f.write_str(", shapes of parameters agree"),
            n => write!(f, ", shapes of parameters agree in {n}"),
        }
    }
}
