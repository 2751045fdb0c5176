//! `construct.json`: the parent of each node, and recorded micro steps.

use std::path::Path;

use super::dump_file::Problem;
use super::json::{Scanner, StringToken};
use super::names::{Decoded, NameIndex, Text};
use super::{Error, Source};

/// The key that holds the highest recorded micro step.
const RECORD: &str = "megatron_micro_step_number";

/// What the key `megatron_micro_step_number` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicroStepRecord {
    /// There is no such key: values are parents, micro steps follow from names.
    Absent,
    /// The key is null: values carry micro steps, and the names are counted on top.
    Null,
    /// The highest recorded micro step: values carry micro steps.
    Recorded(i64),
}

/// One member of `construct.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// The node.
    pub name: &'a str,
    /// Its parent; `None` for null and for the empty text.
    pub parent: Option<&'a str>,
    /// Its recorded micro step.
    pub micro_step: Option<i64>,
}

/// One `construct.json`.
#[derive(Debug)]
pub struct ConstructFile {
    source: Source,
    decoded: Decoded,
    record: MicroStepRecord,
    links: Vec<Member>,
    index: NameIndex,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    name: Text,
    value: Parent,
}

#[derive(Clone, Copy, Debug)]
enum Parent {
    None,
    Name(Text),
    /// `[parent, micro step]`
    Pair(Option<Text>, Option<i64>),
    /// Something else; why it cannot be understood.
    Wrong(&'static str),
}

impl ConstructFile {
    /// Opens `construct.json` and reads all of it.
    pub fn open(path: &Path) -> Result<ConstructFile, Error> {
        ConstructFile::new(Source::open(path)?)
    }

    /// An error if the file is not what it was when it was opened.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.source.check_unchanged()
    }

    /// Reads an opened file.
    pub fn new(source: Source) -> Result<ConstructFile, Error> {
        let mut builder = Builder {
            text: source.text(),
            decoded: Decoded::default(),
            record: MicroStepRecord::Absent,
            links: Vec::new(),
            index: NameIndex::default(),
        };
        builder.read(source.start()).and_then(|()| builder.check()).map_err(|problem| problem.at(&source))?;
        let Builder { decoded, record, links, index, .. } = builder;
        if links.is_empty() {
            return Err(Error::NoStructure { path: source.path().to_owned() });
        }
        Ok(ConstructFile { source, decoded, record, links, index })
    }

    /// What is recorded about micro steps.
    #[must_use]
    pub fn record(&self) -> MicroStepRecord {
        self.record
    }

    /// Number of nodes; never 0.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // a file without nodes is an error
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Member `i` in file order. A repeated name has its first position and its last value.
    #[must_use]
    pub fn link(&self, i: usize) -> Link<'_> {
        let member = self.links[i];
        let text = |text| self.decoded.get(self.source.text(), text);
        let (parent, micro_step) = match member.value {
            Parent::None | Parent::Wrong(_) => (None, None),
            Parent::Name(parent) => (Some(parent), None),
            Parent::Pair(parent, micro_step) => (parent, micro_step),
        };
        Link { name: text(member.name), parent: parent.map(text).filter(|parent| !parent.is_empty()), micro_step }
    }

    /// The position of a node.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<usize> {
        self.index.find(name, |i| self.decoded.get(self.source.text(), self.links[i as usize].name)).map(|i| i as usize)
    }
}

struct Builder<'a> {
    text: &'a str,
    decoded: Decoded,
    record: MicroStepRecord,
    links: Vec<Member>,
    index: NameIndex,
}

impl<'a> Builder<'a> {
    fn read(&mut self, start: usize) -> Result<(), Problem> {
        let mut scanner = Scanner::new(self.text, start);
        if !scanner.enter_object() {
            scanner.skip_value()?;
            scanner.finish()?;
            return Err(Problem::top_level());
        }
        let mut first = true;
        while let Some(key) = scanner.next_key(first)? {
            first = false;
            let name = self.decoded.keep(self.text, key);
            if self.decoded.get(self.text, name) == RECORD {
                self.record = match self.whole_number(&mut scanner)?.map_err(|reason| Problem::key(RECORD, reason))? {
                    Some(number) => MicroStepRecord::Recorded(number),
                    None => MicroStepRecord::Null,
                };
            } else {
                let value = self.value(&mut scanner)?;
                self.insert(Member { name, value })?;
            }
        }
        Ok(scanner.finish()?)
    }

    fn value(&mut self, scanner: &mut Scanner<'a>) -> Result<Parent, Problem> {
        match scanner.skip_blanks() {
            b'"' => Ok(Parent::Name(self.decoded.keep(self.text, scanner.string()?))),
            b'[' => self.pair(scanner),
            b'n' => {
                scanner.skip_value()?;
                Ok(Parent::None)
            }
            _ => {
                scanner.skip_value()?;
                Ok(Parent::Wrong("is neither a parent's name nor null nor [parent, micro step]"))
            }
        }
    }

    /// `[parent or null, micro step]`
    fn pair(&mut self, scanner: &mut Scanner<'a>) -> Result<Parent, Problem> {
        const WRONG: &str = "is not [parent or null, micro step]";
        scanner.enter_list();
        let mut parent: Option<StringToken<'a>> = None;
        let mut micro_step = None;
        let mut wrong = None;
        let mut count = 0;
        while scanner.next_item(count == 0)? {
            match (count, scanner.skip_blanks()) {
                (0, b'"') => parent = Some(scanner.string()?),
                (0, b'n') => scanner.skip_value()?,
                (1, _) => match self.whole_number(scanner)? {
                    Ok(number) => micro_step = number,
                    Err(reason) => wrong = Some(reason),
                },
                _ => {
                    scanner.skip_value()?;
                    wrong = Some(WRONG);
                }
            }
            count += 1;
        }
        if count != 2 {
            wrong = Some(WRONG);
        }
        Ok(match wrong {
            Some(reason) => Parent::Wrong(reason),
            None => Parent::Pair(parent.map(|parent| self.decoded.keep(self.text, parent)), micro_step),
        })
    }

    /// A whole number or null. The inner error is one of meaning.
    fn whole_number(&self, scanner: &mut Scanner<'a>) -> Result<Result<Option<i64>, &'static str>, Problem> {
        scanner.skip_blanks();
        let start = scanner.at();
        scanner.skip_value()?;
        let digits = &self.text[start..scanner.at()];
        Ok(match digits {
            "null" => Ok(None),
            _ if digits.bytes().all(|b| b.is_ascii_digit() || b == b'-') => {
                digits.parse().map(Some).map_err(|_| "holds a micro step beyond 64 bits")
            }
            _ => Err("holds a micro step that is neither a whole number nor null"),
        })
    }

    fn insert(&mut self, member: Member) -> Result<(), Problem> {
        let Ok(number) = u32::try_from(self.links.len()) else {
            return Err(Problem::Form { place: "top level".to_owned(), reason: "has more than 4 294 967 295 members" });
        };
        let (text, decoded, links) = (self.text, &self.decoded, &mut self.links);
        links.push(member);
        let name_of = |i: u32| decoded.get(text, links[i as usize].name);
        if let Some(before) = self.index.find_or_insert(name_of(number), number, name_of) {
            links.pop();
            links[before as usize].value = member.value;
        }
        Ok(())
    }

    /// Whether all values are of the form that the record asks for.
    fn check(&self) -> Result<(), Problem> {
        for member in &self.links {
            let reason = match member.value {
                Parent::Wrong(reason) => reason,
                Parent::Pair(..) if self.record == MicroStepRecord::Absent => {
                    "is a list, although the file has no key megatron_micro_step_number"
                }
                _ => continue,
            };
            return Err(Problem::key(self.decoded.get(self.text, member.name), reason));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ConstructFile, Error> {
        ConstructFile::new(Source::from_bytes(Path::new("r/construct.json"), text.as_bytes().to_vec()).unwrap())
    }

    fn message(text: &str) -> String {
        read(text).expect_err(text).to_string()
    }

    fn links(file: &ConstructFile) -> Vec<(&str, Option<&str>, Option<i64>)> {
        (0..file.len()).map(|i| file.link(i)).map(|link| (link.name, link.parent, link.micro_step)).collect()
    }

    #[test]
    fn parents_by_name() {
        let file = read(r#"{"a": null, "b": "a", "c": "", "d\n": "\u00e9", "b": "c"}"#).unwrap();
        assert_eq!(file.record(), MicroStepRecord::Absent);
        assert_eq!(links(&file), [("a", None, None), ("b", Some("c"), None), ("c", None, None), ("d\n", Some("é"), None)]);
        assert_eq!((file.find("d\n"), file.find("b"), file.find("é")), (Some(3), Some(1), None));
    }

    #[test]
    fn recorded_micro_steps() {
        let file = read(r#"{"a": [null, 0], "megatron_micro_step_number": 3, "b": ["a", 3], "c": "a", "d": ["", null]}"#).unwrap();
        assert_eq!(file.record(), MicroStepRecord::Recorded(3));
        assert_eq!(links(&file), [("a", None, Some(0)), ("b", Some("a"), Some(3)), ("c", Some("a"), None), ("d", None, None)]);
        assert_eq!(file.find("megatron_micro_step_number"), None);
        assert_eq!(read(r#"{"megatron_micro_step_number": null, "a": ["b", 1]}"#).unwrap().record(), MicroStepRecord::Null);
    }

    #[test]
    fn nothing_to_show() {
        for text in ["{}", r#"{"megatron_micro_step_number": 1}"#] {
            assert_eq!(message(text), "r/construct.json: the structure is empty, dump with level L0 or mix");
        }
        assert_eq!(message("null"), "r/construct.json: top level: is not an object");
    }

    #[test]
    fn values_that_cannot_be_understood() {
        let wrong = |value: &str| message(&format!(r#"{{"ok": null, "Torch.x": {value}, "megatron_micro_step_number": 0}}"#));
        for value in ["[]", "[null]", "[null, 1, 2]", "[1, 1]", "[{}, 1]"] {
            assert_eq!(wrong(value), "r/construct.json: \"Torch.x\": is not [parent or null, micro step]", "{value}");
        }
        for value in ["1", "true", "{}", "NaN"] {
            assert_eq!(
                wrong(value),
                "r/construct.json: \"Torch.x\": is neither a parent's name nor null nor [parent, micro step]",
                "{value}"
            );
        }
        for value in ["1.0", "\"1\"", "true", "[1]"] {
            let text = wrong(&format!("[null, {value}]"));
            assert_eq!(text, "r/construct.json: \"Torch.x\": holds a micro step that is neither a whole number nor null", "{value}");
        }
        assert!(wrong("[null, 99999999999999999999]").ends_with("holds a micro step beyond 64 bits"));
        assert!(message(r#"{"a": null, "megatron_micro_step_number": "2"}"#).contains("megatron_micro_step_number"));
        assert!(message(r#"{"a": [null, 0]}"#).ends_with("is a list, although the file has no key megatron_micro_step_number"));
        // A value that a later one replaces does not matter.
        assert_eq!(read(r#"{"a": 5, "a": null}"#).unwrap().len(), 1);
    }

    #[test]
    fn every_cut_is_an_error_at_its_end() {
        let text = r#"{"a": [null, 0], "b\n": ["a", -3], "megatron_micro_step_number": 3, "c": "a"}"#;
        read(text).unwrap();
        for end in 0..text.len() {
            match read(&text[..end]) {
                Err(Error::Syntax { offset, reason, .. }) => assert_eq!((offset, reason), (end as u64, "unexpected end of the file")),
                other => panic!("{end}: {other:?}"),
            }
        }
    }
}
