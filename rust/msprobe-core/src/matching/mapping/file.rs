//! The mapping file: YAML of two levels, read event by event so that nothing in it can nest, expand or recurse.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::plain;
use super::rules::{Rule, Rules};
use crate::text::message::system;

/// Largest mapping file that is read, in bytes (4 MiB; a rule has some 30).
pub const LARGEST_MAPPING: u64 = 4 << 20;

/// Most dot parts of a rule's key.
pub const MOST_PARTS: usize = 100;

/// Class name of the top level in rules.
pub const TOP_LAYER: &str = "TopLayer";

/// The older name of [`TOP_LAYER`]; replaces it where both are given.
pub(super) const OLD_TOP_LAYER: &str = "Cell";

/// Why a mapping file cannot be used. One line, with the line of the file where there is one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("{}: cannot be read: {}", path.display(), system(source))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is one that cannot hold a mapping.
    #[error("{}: {reason}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something in the file is wrong.
    #[error("{}:{line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
}

impl Rules {
    /// Reads a mapping file: a `.yaml` file of the form
    ///
    /// ```yaml
    /// TopLayer:
    ///   network: model
    /// Decoder:
    ///   attention.qkv: self_attention.query_key_value
    /// ```
    pub fn open(path: &Path) -> Result<Rules, Error> {
        let unfit = |reason: String| Error::Unfit { path: path.to_owned(), reason };
        if !path.extension().is_some_and(|suffix| suffix == "yaml" || suffix == "yml") {
            return Err(unfit("a layer mapping is a .yaml file".to_owned()));
        }
        let bytes = read(path).map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        let bytes = bytes.ok_or_else(|| unfit("is not a regular file".to_owned()))?;
        if bytes.len() as u64 > LARGEST_MAPPING {
            return Err(unfit(format!("is larger than the {LARGEST_MAPPING} bytes a layer mapping may have")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let line = memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() + 1;
            Error::Line { path: path.to_owned(), line, reason: "not valid UTF-8".to_owned() }
        })?;
        Rules::parse(path, text)
    }

    /// Reads the text of a mapping file; `path` is only its name.
    pub fn parse(path: &Path, text: &str) -> Result<Rules, Error> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader { path, parser: Parser::new_from_str(text) };
        let blocks = reader.document()?;
        Rules::new(path, blocks.into_iter().flat_map(|block| block.rules)).map_err(|(line, reason)| reader.wrong(line, reason))
    }
}

/// The bytes of a regular file, at most one more than may be; `None` for anything else.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    // Looked at before opening as well: opening a device may do something.
    if !fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    // Not blocking, in case a pipe took the file's place since.
    let file = OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path)?;
    let mut bytes = Vec::new();
    file.take(LARGEST_MAPPING + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The rules of one class.
struct Block {
    class: String,
    rules: Vec<Rule>,
}

struct Reader<'a> {
    path: &'a Path,
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn wrong(&self, line: usize, reason: impl Into<String>) -> Error {
        Error::Line { path: self.path.to_owned(), line, reason: reason.into() }
    }

    fn next(&mut self) -> Result<(Event<'a>, usize), Error> {
        match self.parser.next_event() {
            Some(Ok((event, Span { start, .. }))) => Ok((event, start.line())),
            Some(Err(error)) => Err(self.wrong(error.marker().line(), format!("not valid YAML: {}", error.info()))),
            None => Ok((Event::StreamEnd, 0)),
        }
    }

    fn document(&mut self) -> Result<Vec<Block>, Error> {
        let empty =
            || Error::Unfit { path: self.path.to_owned(), reason: "holds no rule; leave the file out to match by place".to_owned() };
        let empty_file = empty();
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (Event::MappingStart(anchor, tag), line) => {
                    self.no_anchor(anchor, line)?;
                    self.no_tag(tag.is_some(), line)?;
                    break;
                }
                (Event::Scalar(text, ScalarStyle::Plain, ..), _) if plain::is_null(&text) => return Err(empty_file),
                (Event::StreamEnd, _) => return Err(empty_file),
                (other, line) => return Err(self.wrong(line, format!("{} stands where `class:` and its rules should", kind(&other)))),
            }
        }
        let mut blocks: Vec<Block> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        while let Some((class, line)) = self.key("a class name")? {
            if let Some(before) = seen.insert(class.clone(), line) {
                return Err(self.wrong(line, format!("class {class:?} stands here a second time, first in line {before}")));
            }
            let block = self.block(class)?;
            blocks.push(block);
        }
        match self.next()? {
            (Event::DocumentEnd, _) => {}
            (other, line) => return Err(self.wrong(line, format!("{} behind the rules", kind(&other)))),
        }
        match self.next()? {
            (Event::StreamEnd, _) => {}
            (_, line) => return Err(self.wrong(line, "a second YAML document; a layer mapping is one")),
        }
        if seen.contains_key(OLD_TOP_LAYER) {
            blocks.retain(|block| block.class != TOP_LAYER);
            for rule in blocks.iter_mut().filter(|block| block.class == OLD_TOP_LAYER).flat_map(|block| &mut block.rules) {
                TOP_LAYER.clone_into(&mut rule.class);
            }
        }
        Ok(blocks)
    }

    fn block(&mut self, class: String) -> Result<Block, Error> {
        match self.next()? {
            (Event::MappingStart(anchor, tag), line) => {
                self.no_anchor(anchor, line)?;
                self.no_tag(tag.is_some(), line)?;
            }
            (other, line) => {
                let reason = format!("{} stands where the rules of {class:?} should: `child: golden child`, one a line", kind(&other));
                return Err(self.wrong(line, reason));
            }
        }
        let mut rules: Vec<Rule> = Vec::new();
        let mut seen: HashMap<String, usize> = HashMap::new();
        while let Some((key, line)) = self.key("a child of the class")? {
            if let Some(before) = seen.insert(key.clone(), line) {
                return Err(self.wrong(line, format!("key {key:?} of {class:?} stands here a second time, first in line {before}")));
            }
            let (event, value_line) = self.next()?;
            let value = self.text(event, value_line, &format!("the value of {key:?}"))?;
            // Everything from the first bracket on is a remark.
            let value = value.split('(').next().unwrap_or_default().to_owned();
            rules.push(Rule { class: class.clone(), key, value, line });
        }
        Ok(Block { class, rules })
    }

    /// The next key of a mapping with its line, or `None` at the mapping's end.
    fn key(&mut self, what: &str) -> Result<Option<(String, usize)>, Error> {
        match self.next()? {
            (Event::MappingEnd, _) => Ok(None),
            (event, line) => Ok(Some((self.text(event, line, what)?, line))),
        }
    }

    fn text(&self, event: Event<'_>, line: usize, what: &str) -> Result<String, Error> {
        let Event::Scalar(text, style, anchor, tag) = event else {
            return Err(self.wrong(line, format!("{} stands where {what} should", kind(&event))));
        };
        self.no_anchor(anchor, line)?;
        let tagged_as_text = tag.as_ref().is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
        self.no_tag(tag.is_some() && !tagged_as_text, line)?;
        if style == ScalarStyle::Plain && !tagged_as_text {
            if text == "<<" {
                return Err(self.wrong(line, "merge keys (<<) are not read in a layer mapping; write the rules out"));
            }
            if let Some(kind) = plain::other_than_text(&text) {
                return Err(self.wrong(line, format!("{what} is {kind} in YAML, not a text: write \"{}\"", text.escape_default())));
            }
        }
        Ok(text.into_owned())
    }

    fn no_anchor(&self, anchor: usize, line: usize) -> Result<(), Error> {
        if anchor == 0 {
            return Ok(());
        }
        Err(self.wrong(line, "anchors (&) are not read in a layer mapping; write the rules out"))
    }

    fn no_tag(&self, tagged: bool, line: usize) -> Result<(), Error> {
        if tagged {
            return Err(self.wrong(line, "tags (!) are not read in a layer mapping"));
        }
        Ok(())
    }
}

/// What an event is, for errors.
fn kind(event: &Event<'_>) -> &'static str {
    match event {
        Event::Scalar(text, ScalarStyle::Plain, ..) if plain::is_null(text) => "nothing",
        Event::Scalar(..) => "a single text",
        Event::SequenceStart(..) => "a list",
        Event::MappingStart(..) => "a mapping",
        Event::Alias(_) => "an alias (*)",
        _ => "the end of the file",
    }
}
