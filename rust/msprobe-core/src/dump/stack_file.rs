//! `stack.json`: where in the program each call was made.

use std::borrow::Cow;
use std::hash::BuildHasher;
use std::ops::Range;
use std::path::Path;

use bumpalo::Bump;
use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};

use super::dump_file::Problem;
use super::json::{self, Escapes, Scanner, StringToken};
use super::names::{Decoded, NameIndex, Text};
use super::{Error, Source};

/// A stack, numbered by first appearance in the file; equal stacks share one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

/// One `stack.json`.
#[derive(Debug)]
pub struct StackFile {
    source: Source,
    decoded: Decoded,
    names: Vec<Named>,
    index: NameIndex,
    stacks: Vec<Stack>,
}

#[derive(Clone, Copy, Debug)]
struct Named {
    name: Text,
    stack: StackId,
}

/// A stack as `json.dumps` writes it.
#[derive(Debug)]
enum Stack {
    /// As it stands in the file.
    InFile(Range<usize>),
    /// Written differently in the file.
    Rewritten(Box<str>),
}

impl StackFile {
    /// Opens `stack.json` and reads all of it.
    pub fn open(path: &Path) -> Result<StackFile, Error> {
        StackFile::new(Source::open(path)?)
    }

    /// An error if the file is not what it was when it was opened.
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.source.check_unchanged()
    }

    /// Reads an opened file.
    pub fn new(source: Source) -> Result<StackFile, Error> {
        let mut builder = Builder::new(source.text());
        builder.read(source.start()).map_err(|problem| problem.at(&source))?;
        let Builder { decoded, names, index, stacks, .. } = builder;
        Ok(StackFile { source, decoded, names, index, stacks: stacks.list })
    }

    /// Number of different stacks.
    #[must_use]
    pub fn stack_count(&self) -> usize {
        self.stacks.len()
    }

    /// The stack of a node, if the file has one for exactly this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<StackId> {
        let name_of = |i: u32| self.decoded.get(self.source.text(), self.names[i as usize].name);
        self.index.find(name, name_of).map(|i| self.names[i as usize].stack)
    }

    /// Whether the stack is empty: a list without items, or any other value that Python takes for false.
    #[must_use]
    pub fn is_empty(&self, id: StackId) -> bool {
        matches!(self.json(id), "[]" | "{}" | "\"\"" | "null" | "false" | "0" | "0.0" | "-0.0")
    }

    /// The stack as `json.dumps` writes it.
    #[must_use]
    pub fn json(&self, id: StackId) -> &str {
        self.stacks[id.0 as usize].json(self.source.text())
    }

    /// The stack as `tb_stack` stores it: a text as it is, null as `None` (SQL NULL), everything else as JSON.
    #[must_use]
    pub fn stored(&self, id: StackId) -> Option<Cow<'_, str>> {
        let json = self.json(id);
        match json.as_bytes().first() {
            Some(b'n') => None,
            Some(b'"') => Scanner::new(json, 0).string().ok().map(unescaped),
            _ => Some(Cow::Borrowed(json)),
        }
    }

    /// The texts of a stack that is a list, outermost call last; other items of the list are left out.
    pub fn lines(&self, id: StackId) -> impl Iterator<Item = Cow<'_, str>> {
        let mut scanner = Scanner::new(self.json(id), 0);
        let mut inside = scanner.enter_list();
        let mut first = true;
        // The text was written or checked by us, so a fault cannot occur; it would end the list.
        std::iter::from_fn(move || {
            while inside {
                inside = scanner.next_item(std::mem::take(&mut first)).unwrap_or(false);
                if inside && scanner.skip_blanks() == b'"' {
                    return scanner.string().ok().map(unescaped);
                }
                inside = inside && scanner.skip_value().is_ok();
            }
            None
        })
    }
}

fn unescaped(token: StringToken<'_>) -> Cow<'_, str> {
    if token.escapes == Escapes::None {
        return Cow::Borrowed(token.raw);
    }
    let mut text = String::with_capacity(token.raw.len());
    json::unescape(token.raw, |piece| text.push_str(piece));
    Cow::Owned(text)
}

impl Stack {
    fn json<'a>(&'a self, file: &'a str) -> &'a str {
        match self {
            Stack::InFile(range) => &file[range.clone()],
            Stack::Rewritten(text) => text,
        }
    }
}

/// The different stacks of a file, found by content.
#[derive(Default)]
struct Stacks {
    list: Vec<Stack>,
    by_content: HashTable<u32>,
    /// Stacks by the way they are written in the file, to leave the rewriting to the first of many equal ones.
    by_spelling: HashTable<(Range<usize>, StackId)>,
    hasher: DefaultHashBuilder,
    bump: Bump,
    rewritten: Vec<u8>,
}

impl Stacks {
    /// The number of the stack at `range` of the file, which has been checked.
    fn id(&mut self, text: &str, range: Range<usize>) -> Result<StackId, Problem> {
        let hash = self.hasher.hash_one(&text[range.clone()]);
        let same = |kept: &(Range<usize>, StackId)| text[kept.0.clone()] == text[range.clone()];
        if let Some((_, id)) = self.by_spelling.find(hash, same) {
            return Ok(*id);
        }
        let id = self.content_id(text, range.clone())?;
        let hasher = &self.hasher;
        self.by_spelling.insert_unique(hash, (range, id), |kept| hasher.hash_one(&text[kept.0.clone()]));
        Ok(id)
    }

    fn content_id(&mut self, text: &str, range: Range<usize>) -> Result<StackId, Problem> {
        self.bump.reset();
        self.rewritten.clear();
        let value = json::parse(&mut Scanner::new(text, range.start), &self.bump)?;
        json::push_dumps(&mut self.rewritten, value);
        let content = String::from_utf8_lossy(&self.rewritten);
        let (list, hasher) = (&mut self.list, &self.hasher);
        let slot = self.by_content.entry(
            hasher.hash_one(content.as_ref()),
            |kept| list[*kept as usize].json(text) == content,
            |kept| hasher.hash_one(list[*kept as usize].json(text)),
        );
        match slot {
            Entry::Occupied(found) => Ok(StackId(*found.get())),
            Entry::Vacant(free) => {
                // One per member at most, and members are counted in 32 bits.
                let number = list.len() as u32;
                free.insert(number);
                list.push(if content == text[range.clone()] { Stack::InFile(range) } else { Stack::Rewritten(content.into()) });
                Ok(StackId(number))
            }
        }
    }
}

struct Builder<'a> {
    text: &'a str,
    decoded: Decoded,
    names: Vec<Named>,
    index: NameIndex,
    stacks: Stacks,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str) -> Builder<'a> {
        Builder { text, decoded: Decoded::default(), names: Vec::new(), index: NameIndex::default(), stacks: Stacks::default() }
    }

    /// Members are name -> stack or, told by a non-empty value under the key `"0"`, number -> [names, stack].
    fn read(&mut self, start: usize) -> Result<(), Problem> {
        let members = self.members(start)?;
        let grouped = members.iter().any(|(key, value)| self.decoded.get(self.text, *key) == "0" && self.is_truthy(value.start));
        for (key, value) in members {
            if grouped {
                self.group(value.start)?;
            } else {
                let stack = self.stacks.id(self.text, value)?;
                self.insert(Named { name: key, stack })?;
            }
        }
        Ok(())
    }

    /// Checks the whole file and tells where its members stand. A repeated key has its first position and its last value.
    fn members(&mut self, start: usize) -> Result<Vec<(Text, Range<usize>)>, Problem> {
        let mut scanner = Scanner::new(self.text, start);
        if !scanner.enter_object() {
            scanner.skip_value()?;
            scanner.finish()?;
            return Err(Problem::top_level());
        }
        let mut members: Vec<(Text, Range<usize>)> = Vec::new();
        let mut index = NameIndex::default();
        let mut first = true;
        while let Some(key) = scanner.next_key(first)? {
            first = false;
            let name = self.decoded.keep(self.text, key);
            scanner.skip_blanks();
            let start = scanner.at();
            scanner.skip_value()?;
            let range = start..scanner.at();
            let number = member_number(members.len())?;
            members.push((name, range.clone()));
            let name_of = |i: u32| self.decoded.get(self.text, members[i as usize].0);
            if let Some(before) = index.find_or_insert(name_of(number), number, name_of) {
                members.pop();
                members[before as usize].1 = range;
            }
        }
        scanner.finish()?;
        Ok(members)
    }

    fn is_truthy(&self, value: usize) -> bool {
        json::parse(&mut Scanner::new(self.text, value), &Bump::new()).is_ok_and(|value| value.is_truthy())
    }

    /// A member of the grouped format: `[names, stack]`. Anything else is passed over, as are names that are no texts.
    fn group(&mut self, at: usize) -> Result<(), Problem> {
        let mut scanner = Scanner::new(self.text, at);
        let mut starts = [0; 2];
        let mut count = 0;
        if !scanner.enter_list() {
            return Ok(());
        }
        while scanner.next_item(count == 0)? {
            scanner.skip_blanks();
            if count < 2 {
                starts[count] = scanner.at();
            }
            scanner.skip_value()?;
            count += 1;
        }
        let mut names = Scanner::new(self.text, starts[0]);
        if count != 2 || !names.enter_list() {
            return Ok(());
        }
        let mut end = Scanner::new(self.text, starts[1]);
        end.skip_value()?;
        let stack = self.stacks.id(self.text, starts[1]..end.at())?;
        let mut first = true;
        while names.next_item(std::mem::take(&mut first))? {
            if names.skip_blanks() == b'"' {
                let name = self.decoded.keep(self.text, names.string()?);
                self.insert(Named { name, stack })?;
            } else {
                names.skip_value()?;
            }
        }
        Ok(())
    }

    fn insert(&mut self, entry: Named) -> Result<(), Problem> {
        let number = member_number(self.names.len())?;
        let (text, decoded, names) = (self.text, &self.decoded, &mut self.names);
        names.push(entry);
        let name_of = |i: u32| decoded.get(text, names[i as usize].name);
        if let Some(before) = self.index.find_or_insert(name_of(number), number, name_of) {
            names.pop();
            names[before as usize].stack = entry.stack;
        }
        Ok(())
    }
}

fn member_number(count: usize) -> Result<u32, Problem> {
    u32::try_from(count).map_err(|_| Problem::Form { place: "top level".to_owned(), reason: "has more than 4 294 967 295 names" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<StackFile, Error> {
        StackFile::new(Source::from_bytes(Path::new("r/stack.json"), text.as_bytes().to_vec()).unwrap())
    }

    fn json<'a>(file: &'a StackFile, name: &str) -> Option<&'a str> {
        file.find(name).map(|id| file.json(id))
    }

    #[test]
    fn by_name() {
        let file = read(r#"{"a": ["x", "y"], "b": ["x","y"], "c": [], "a\n": ["z"], "a": ["z"]}"#).unwrap();
        assert_eq!((file.names.len(), file.stack_count()), (4, 3));
        assert_eq!((json(&file, "a"), json(&file, "b"), json(&file, "c")), (Some(r#"["z"]"#), Some(r#"["x", "y"]"#), Some("[]")));
        assert_eq!(file.find("a"), file.find("a\n"));
        assert_eq!(file.find("d"), None);
    }

    #[test]
    fn grouped() {
        let file = read(
            r#"{"1": [["b"], ["s2"]], "0": [["a", "b\t", 5, "c"], ["s1"]], "2": [["c"], ["s1"]], "3": 7, "4": [["d"]], "5": [["e"], [], 1], "6": ["f", []], "7": {"g": []}}"#,
        )
        .unwrap();
        assert_eq!((file.names.len(), file.stack_count()), (4, 2));
        assert_eq!((json(&file, "a"), json(&file, "b"), json(&file, "b\t")), (Some(r#"["s1"]"#), Some(r#"["s2"]"#), Some(r#"["s1"]"#)));
        assert_eq!(file.find("c"), file.find("a"));
        for name in ["d", "e", "f", "g", "0", "5"] {
            assert_eq!(file.find(name), None, "{name}");
        }
        // An empty value under the key 0 does not tell the format.
        for empty in ["[]", "null", "\"\"", "0"] {
            let file = read(&format!(r#"{{"0": {empty}, "1": [["a"], ["s"]]}}"#)).unwrap();
            assert_eq!((file.find("a"), file.find("1").is_some()), (None, true), "{empty}");
        }
    }

    #[test]
    fn stored_forms() {
        let file = read(r#"{"l": [ "é", 1e16,null, {"k":NaN} ], "t": "te\nxt", "n": null, "e": [ ], "f": false, "es": ""}"#).unwrap();
        let stored = |name: &str| file.stored(file.find(name).unwrap());
        assert_eq!(stored("l").unwrap(), r#"["\u00e9", 1e+16, null, {"k": NaN}]"#);
        assert_eq!(stored("t").unwrap(), "te\nxt");
        assert_eq!((stored("n"), stored("e").unwrap()), (None, Cow::Borrowed("[]")));
        let empty = |name: &str| file.is_empty(file.find(name).unwrap());
        assert!(empty("n") && empty("e") && empty("f") && empty("es") && !empty("l") && !empty("t"));
    }

    #[test]
    fn lines_of_a_stack() {
        let file = read(r#"{"a": ["File x, line 1, in f, \n call()", null, ["no"], "é"], "b": "text", "c": []}"#).unwrap();
        let lines = |name: &str| file.lines(file.find(name).unwrap()).map(Cow::into_owned).collect::<Vec<_>>();
        assert_eq!(lines("a"), ["File x, line 1, in f, \n call()", "é"]);
        assert!(lines("b").is_empty() && lines("c").is_empty());
    }

    #[test]
    fn only_objects() {
        for text in ["[]", "1", "null", "\"a\""] {
            assert_eq!(read(text).unwrap_err().to_string(), "r/stack.json: top level: is not an object");
        }
        assert!(read("{}").unwrap().names.is_empty());
    }

    #[test]
    fn every_cut_is_an_error_at_its_end() {
        for text in [r#"{"0": [["a", "b"], ["s\u00e9", "t"]], "1": [["c"], []]}"#, r#"{"a": ["x", {"y": -0.5e1}], "b": null}"#] {
            read(text).unwrap();
            for end in 0..text.len() {
                match read(&text[..end]) {
                    Err(Error::Syntax { offset, reason, .. }) => assert_eq!((offset, reason), (end as u64, "unexpected end of the file")),
                    other => panic!("{end}: {other:?}"),
                }
            }
        }
    }
}
