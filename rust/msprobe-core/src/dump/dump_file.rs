//! `dump.json`: the header and the entries of `data`.

use std::path::Path;

use bumpalo::Bump;

use super::json::{self, Fault, Scanner, Value};
use super::names::{Decoded, NameIndex, Text};
use super::rows::collect_rows;
use super::{Error, Source};
use crate::text::message::quoted;

/// An entry of `data`, numbered in file order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(pub u32);

/// Framework of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framework {
    /// PyTorch
    PyTorch,
    /// MindSpore
    MindSpore,
}

impl Framework {
    /// The name recorded in dumps.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Framework::PyTorch => "pytorch",
            Framework::MindSpore => "mindspore",
        }
    }

    /// The framework that is recorded as `text`; other names (`mindtorch`) tell nothing about the data.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Framework> {
        [Framework::PyTorch, Framework::MindSpore].into_iter().find(|framework| framework.as_str() == text)
    }
}

impl std::fmt::Display for Framework {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One `dump.json`: completely checked, its entries indexed by name, their content read again on demand.
#[derive(Debug)]
pub struct DumpFile {
    source: Source,
    decoded: Decoded,
    header: Header,
    has_md5: bool,
    entries: Vec<Entry>,
    index: NameIndex,
}

#[derive(Debug, Default)]
struct Header {
    task: Option<String>,
    framework: Option<String>,
    dump_data_dir: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    name: Text,
    /// Offset of the value.
    value: u64,
}

impl DumpFile {
    /// Opens `dump.json`, checks all of it and indexes its entries.
    pub fn open(path: &Path) -> Result<DumpFile, Error> {
        DumpFile::new(Source::open(path)?)
    }

    /// Reads an opened file.
    pub fn new(source: Source) -> Result<DumpFile, Error> {
        let mut builder = Builder::default();
        builder.read(source.text(), source.start()).map_err(|problem| problem.at(&source))?;
        let Builder { decoded, header, wrong_data, entries, index, suspects } = builder;
        if wrong_data {
            return Err(Error::Form { path: source.path().to_owned(), place: "\"data\"".to_owned(), reason: "is not an object" });
        }
        let mut file = DumpFile { source, decoded, header, has_md5: false, entries, index };
        file.has_md5 = file.any_row_with_md5(&suspects)?;
        Ok(file)
    }

    /// An error if the file is not what it was when it was opened.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.source.check_unchanged()
    }

    /// The task of the dump: `statistics`, `tensor`, `structure`, ... `None` if absent or null.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.header.task.as_deref()
    }

    /// The framework as recorded: `pytorch`, `mindspore`, `mindtorch`. `None` if absent or null.
    #[must_use]
    pub fn framework(&self) -> Option<&str> {
        self.header.framework.as_deref()
    }

    /// The recorded folder of the tensor files. `None` if absent or null.
    #[must_use]
    pub fn dump_data_dir(&self) -> Option<&str> {
        self.header.dump_data_dir.as_deref()
    }

    /// Number of different names in `data`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether `data` has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries in file order. A repeated name has its first position and its last value.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = EntryId> + '_ {
        (0..self.entries.len() as u32).map(EntryId)
    }

    /// The name of an entry.
    #[must_use]
    pub fn name(&self, id: EntryId) -> &str {
        self.decoded.get(self.source.text(), self.entries[id.0 as usize].name)
    }

    /// The entry of a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<EntryId> {
        self.index.find(name, |id| self.name(EntryId(id))).map(EntryId)
    }

    /// Reads the content of an entry. Texts are borrowed from the file where they have no escapes, everything else lies in `bump`.
    ///
    /// Fails only if the file was changed behind our back.
    pub fn entry<'b>(&'b self, id: EntryId, bump: &'b Bump) -> Result<Value<'b>, Error> {
        let mut scanner = Scanner::new(self.source.text(), self.entries[id.0 as usize].value as usize);
        json::parse(&mut scanner, bump).map_err(|fault| Problem::Fault(fault).at(&self.source))
    }

    /// Whether any row of any entry carries a checksum of its own, at whatever depth.
    #[must_use]
    pub fn has_md5(&self) -> bool {
        self.has_md5
    }

    /// The framework that the types of the dumped values tell, for files whose header does not: the first
    /// `"type": "mindspore...` or `"type": "torch...` in the file.
    #[must_use]
    pub fn guessed_framework(&self) -> Option<Framework> {
        let text = self.source.bytes();
        memchr::memmem::find_iter(text, "\"type\"").find_map(|at| {
            let kind = text[at + 6..].trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
            if kind.starts_with(b"mindspore") {
                Some(Framework::MindSpore)
            } else {
                kind.starts_with(b"torch").then_some(Framework::PyTorch)
            }
        })
    }

    /// Looks closely at the entries that hold a key `md5` somewhere.
    fn any_row_with_md5(&self, suspects: &[u32]) -> Result<bool, Error> {
        let mut bump = Bump::new();
        for id in suspects {
            bump.reset();
            let entry = self.entry(EntryId(*id), &bump)?;
            if collect_rows(self.name(EntryId(*id)), entry, &bump).iter().any(|row| row.md5_recorded) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What is wrong with a file, before its path is known.
pub(super) enum Problem {
    Fault(Fault),
    Form { place: String, reason: &'static str },
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Problem {
        Problem::Fault(fault)
    }
}

impl Problem {
    pub(super) fn top_level() -> Problem {
        Problem::Form { place: "top level".to_owned(), reason: "is not an object" }
    }

    pub(super) fn key(key: &str, reason: &'static str) -> Problem {
        Problem::Form { place: quoted(key), reason }
    }

    pub(super) fn at(self, source: &Source) -> Error {
        if let Err(changed) = source.check_unchanged() {
            return changed;
        }
        let path = source.path().to_owned();
        match self {
            Problem::Fault(Fault { offset, reason }) => Error::Syntax { path, offset: offset as u64, reason },
            Problem::Form { place, reason } => Error::Form { path, place, reason },
        }
    }
}

#[derive(Default)]
struct Builder {
    decoded: Decoded,
    header: Header,
    /// Whether `data` is there and no object.
    wrong_data: bool,
    entries: Vec<Entry>,
    index: NameIndex,
    /// Entries with a key `md5` somewhere.
    suspects: Vec<u32>,
}

impl Builder {
    fn read(&mut self, text: &str, start: usize) -> Result<(), Problem> {
        let mut scanner = Scanner::new(text, start);
        if !scanner.enter_object() {
            // Say first if it is no JSON at all.
            scanner.skip_value()?;
            scanner.finish()?;
            return Err(Problem::top_level());
        }
        let bump = Bump::new();
        let mut first = true;
        while let Some(key) = scanner.next_key(first)? {
            first = false;
            let mut name = String::new();
            json::unescape(key.raw, |piece| name.push_str(piece));
            match name.as_str() {
                "data" => self.data(text, &mut scanner)?,
                "task" => self.header.task = header_text("task", json::parse(&mut scanner, &bump)?)?,
                "framework" => self.header.framework = header_text("framework", json::parse(&mut scanner, &bump)?)?,
                "dump_data_dir" => self.header.dump_data_dir = header_text("dump_data_dir", json::parse(&mut scanner, &bump)?)?,
                _ => scanner.skip_value()?,
            }
        }
        Ok(scanner.finish()?)
    }

    fn data(&mut self, text: &str, scanner: &mut Scanner<'_>) -> Result<(), Problem> {
        // A repeated `data` replaces the one before.
        self.entries.clear();
        self.index = NameIndex::default();
        self.suspects.clear();
        self.wrong_data = !scanner.enter_object();
        if self.wrong_data {
            return Ok(scanner.skip_value()?);
        }
        let mut first = true;
        while let Some(key) = scanner.next_key(first)? {
            first = false;
            let name = self.decoded.gather(key);
            scanner.skip_blanks();
            let entry = Entry { name, value: scanner.at() as u64 };
            scanner.met_md5 = false;
            scanner.skip_value()?;
            let id = self.insert(text, entry)?;
            if scanner.met_md5 && self.suspects.last() != Some(&id) {
                self.suspects.push(id);
            }
        }
        Ok(())
    }

    fn insert(&mut self, text: &str, entry: Entry) -> Result<u32, Problem> {
        let Ok(id) = u32::try_from(self.entries.len()) else {
            return Err(Problem::key("data", "has more than 4 294 967 295 entries"));
        };
        let (decoded, entries) = (&self.decoded, &mut self.entries);
        entries.push(entry);
        let name_of = |id: u32| decoded.get(text, entries[id as usize].name);
        match self.index.find_or_insert(name_of(id), id, name_of) {
            None => Ok(id),
            Some(before) => {
                entries.pop();
                entries[before as usize].value = entry.value;
                Ok(before)
            }
        }
    }
}

/// A text of the header; null counts as absent.
fn header_text(key: &'static str, value: Value<'_>) -> Result<Option<String>, Problem> {
    match value {
        Value::Null => Ok(None),
        Value::Str(text) => Ok(Some(text.to_owned())),
        _ => Err(Problem::key(key, "is neither a text nor null")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<DumpFile, Error> {
        DumpFile::new(Source::from_bytes(Path::new("r/dump.json"), text.as_bytes().to_vec()).unwrap())
    }

    fn message(text: &str) -> String {
        read(text).expect_err(text).to_string()
    }

    #[test]
    fn header_fields() {
        let file =
            read(r#"{"task": "statistics", "level": "mix", "framework": null, "dump_data_dir": "", "other": [1], "data": {}}"#).unwrap();
        assert_eq!((file.task(), file.framework(), file.dump_data_dir()), (Some("statistics"), None, Some("")));
        assert!(file.is_empty());
        let file = read(r#"{"level": 3, "t\u0061sk": "tensor"}"#).unwrap();
        assert_eq!((file.task(), file.dump_data_dir(), file.len()), (Some("tensor"), None, 0));
        assert_eq!(message(r#"{"task": 1}"#), "r/dump.json: \"task\": is neither a text nor null");
        assert_eq!(message(r#"{"data": []}"#), "r/dump.json: \"data\": is not an object");
        assert_eq!(message("[1]"), "r/dump.json: top level: is not an object");
        assert_eq!(message("[1"), "r/dump.json: not valid JSON at byte 2: unexpected end of the file");
    }

    #[test]
    fn entries_by_name_and_position() {
        let file = read(r#"{"data": {"a": {"x": 1}, "b\n": 2, "a": 3, "": 4}}"#).unwrap();
        let names: Vec<&str> = file.ids().map(|id| file.name(id)).collect();
        assert_eq!(names, ["a", "b\n", ""]);
        let bump = Bump::new();
        let values: Vec<Value<'_>> = file.ids().map(|id| file.entry(id, &bump).unwrap()).collect();
        assert_eq!(values, [Value::Int("3"), Value::Int("2"), Value::Int("4")]);
        assert_eq!((file.find("b\n"), file.find(""), file.find("b")), (Some(EntryId(1)), Some(EntryId(2)), None));
    }

    #[test]
    fn many_entries_are_all_found() {
        let members: Vec<String> = (0..20_000).map(|i| format!("\"Torch.add.{i}.forward\": {i}")).collect();
        let file = read(&format!("{{\"data\": {{{}}}}}", members.join(","))).unwrap();
        assert_eq!(file.len(), 20_000);
        for i in 0..20_000 {
            assert_eq!(file.find(&format!("Torch.add.{i}.forward")), Some(EntryId(i)));
        }
        assert_eq!(file.find("Torch.add.20000.forward"), None);
    }

    #[test]
    fn a_repeated_data_replaces_the_first() {
        let file = read(r#"{"data": {"a": {"input_args": [{"type": "t", "md5": "1"}]}}, "data": {"b": {}}}"#).unwrap();
        assert_eq!((file.len(), file.find("a"), file.find("b"), file.has_md5()), (1, None, Some(EntryId(0)), false));
    }

    #[test]
    fn checksums_are_found_at_any_depth_but_only_in_rows() {
        let md5 = |entry: &str| read(&format!(r#"{{"data": {{"Torch.f.0.forward": {entry}}}}}"#)).unwrap().has_md5();
        let tensor = r#"{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [], "md5": "0a0a0a0a"}"#;
        for entry in [
            format!(r#"{{"input_args": [{tensor}]}}"#),
            format!(r#"{{"input_kwargs": {{"x": [[{tensor}]]}}}}"#),
            format!(r#"{{"parameters": {{"weight": {tensor}}}}}"#),
            r#"{"output": [{"type": "t", "\u006dd5": "1"}]}"#.to_owned(),
            format!(r#"{{"input_args": [5, true], "output": {{"class_type": "torch.distributed.P2POp", "tensor": {tensor}}}}}"#),
        ] {
            assert!(md5(&entry), "{entry}");
        }
        for entry in [
            r#"{"input_kwargs": {"md5": {"type": "bool", "value": true}}}"#.to_owned(),
            format!(r#"{{"not_read": {tensor}}}"#),
            r#"{"input_args": [{"type": "str", "value": "md5"}]}"#.to_owned(),
            "null".to_owned(),
        ] {
            assert!(!md5(&entry), "{entry}");
        }
    }

    #[test]
    fn framework_by_the_first_type() {
        let guess = |text: &str| read(text).unwrap().guessed_framework();
        assert_eq!(
            guess(r#"{"data": {"a": {"type": "int"}, "b": {"type": "torch.Tensor"}, "c": {"type": "mindspore.Tensor"}}}"#),
            Some(Framework::PyTorch)
        );
        assert_eq!(guess(r#"{"data": {"c": {"type": "mindspore.Tensor"}, "b": {"type": "torch.Tensor"}}}"#), Some(Framework::MindSpore));
        assert_eq!(guess(r#"{"data":{"c":{"type":"mindspore.Tensor"}}}"#), Some(Framework::MindSpore));
        assert_eq!(guess(r#"{"data": {"type" : {"type":   "torch.Tensor"}}}"#), Some(Framework::PyTorch));
        assert_eq!(guess(r#"{"data": {}}"#), None);
    }

    #[test]
    fn every_cut_is_an_error_at_its_end() {
        let text = r#"{"task": "statistics", "data": {"Torch.é.0.forward": {"input_args": [{"type": "int", "value": -1.5e3}, null, NaN]}}, "x": true}"#;
        read(text).unwrap();
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            match read(&text[..end]) {
                Err(Error::Syntax { offset, reason, .. }) => assert_eq!((offset, reason), (end as u64, "unexpected end of the file")),
                other => panic!("{end}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_byte_order_mark_and_windows_line_ends_are_fine() {
        let file = read("\u{feff}{\r\n\"data\": {\r\n\"a\": {}\r\n}\r\n}\r\n").unwrap();
        assert_eq!(file.name(EntryId(0)), "a");
        assert_eq!(message("\u{feff}x"), "r/dump.json: not valid JSON at byte 3: expected a value");
    }
}
