//! The directory of a zip archive, as far as a saved tensor needs it: stored or deflated entries, zip64, one disk.
//!
//! Nothing is believed before it is checked against the size of the file: entries lie inside it, do not overlap, and a
//! deflated entry may only grow to [`INFLATED`] bytes. Checksums are not verified (nor are they by torch).

use super::error::Reason;
use super::storage::Storage;
use crate::text::message::plain;

/// Largest size of a deflated entry. torch never deflates; a larger one is a bomb or should be stored.
pub const INFLATED: u64 = 16 << 20;
/// Largest directory that is read.
const DIRECTORY: u64 = 16 << 20;

const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const LOCAL: u32 = 0x0403_4b50;

/// One file of the archive.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Full name inside the archive.
    pub name: String,
    deflated: bool,
    packed: u64,
    /// Size after inflating.
    pub size: u64,
    header: u64,
}

/// Where the content of an entry is.
#[derive(Debug)]
pub enum Content {
    /// As it is, in the archive from this byte.
    Stored(u64),
    /// Inflated.
    Inflated(Vec<u8>),
}

/// The directory of an archive.
#[derive(Debug)]
pub struct Archive {
    entries: Vec<Entry>,
    /// Where the directory starts: nothing of an entry lies beyond.
    directory: u64,
}

fn broken(what: &str) -> Reason {
    Reason::Zip(what.to_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Reason> {
    let field = bytes.get(at..at + 2).ok_or(Reason::Truncated("zip header"))?;
    Ok(u16::from_le_bytes([field[0], field[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Reason> {
    Ok(u32::from(u16_at(bytes, at)?) | u32::from(u16_at(bytes, at + 2)?) << 16)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Reason> {
    Ok(u64::from(u32_at(bytes, at)?) | u64::from(u32_at(bytes, at + 4)?) << 32)
}

impl Archive {
    /// Reads the directory at the end of the file.
    pub fn open(file: &Storage) -> Result<Archive, Reason> {
        let length = file.len();
        let tail_length = length.min(22 + 0xffff);
        let tail_start = length - tail_length;
        let mut buffer = Vec::new();
        let tail = file.slice(tail_start, tail_length as usize, &mut buffer)?;
        let end = (0..tail.len().saturating_sub(21))
            .rev()
            .find(|&at| u32_at(tail, at).is_ok_and(|s| s == END) && at + 22 + usize::from(u16_at(tail, at + 20).unwrap_or(0)) <= tail.len())
            .ok_or(Reason::Truncated("no zip directory at the end"))?;
        let (mut count, mut size, mut start) =
            (u64::from(u16_at(tail, end + 10)?), u64::from(u32_at(tail, end + 12)?), u64::from(u32_at(tail, end + 16)?));
        if count == 0xffff || size == 0xffff_ffff || start == 0xffff_ffff {
            if let Some((c, s, o)) = zip64_end(file, tail_start + end as u64)? {
                (count, size, start) = (c, s, o);
            }
        }
        if size > DIRECTORY {
            return Err(Reason::Limit(format!("zip directory of {size} bytes")));
        }
        if start.checked_add(size).is_none_or(|end| end > length) || count > size / 46 {
            return Err(broken("the directory lies outside the file"));
        }
        let mut buffer = Vec::new();
        let directory = file.slice(start, size as usize, &mut buffer)?;
        let mut entries = Vec::new();
        let mut at = 0;
        for _ in 0..count {
            let (entry, next) = central(directory, at)?;
            entries.push(entry);
            at = next;
        }
        let archive = Archive { entries, directory: start };
        archive.refuse_overlaps()?;
        Ok(archive)
    }

    /// All entries in directory order.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry of that name. Two of one name are refused: readers would disagree on which one counts.
    pub fn find(&self, name: &str) -> Result<Option<&Entry>, Reason> {
        let mut found = self.entries.iter().filter(|e| e.name == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(Reason::Zip(format!("two entries are called {}", plain(name))));
        }
        Ok(first)
    }

    /// Finds the content of an entry; inflates it if need be, to at most [`INFLATED`] bytes.
    pub fn content(&self, file: &Storage, entry: &Entry) -> Result<Content, Reason> {
        let mut buffer = Vec::new();
        let header = file.slice(entry.header, 30, &mut buffer)?;
        if u32_at(header, 0)? != LOCAL {
            return Err(broken("an entry has no local header"));
        }
        if u16_at(header, 6)? & 1 != 0 {
            return Err(broken("encrypted entry"));
        }
        let (name, extra) = (u64::from(u16_at(header, 26)?), u64::from(u16_at(header, 28)?));
        let start = entry.header + 30 + name + extra;
        let mut buffer = Vec::new();
        if file.slice(entry.header + 30, name as usize, &mut buffer)? != entry.name.as_bytes() {
            return Err(broken("local header and directory disagree on a name"));
        }
        if start.checked_add(entry.packed).is_none_or(|end| end > self.directory) {
            return Err(broken("an entry reaches into the directory"));
        }
        if !entry.deflated {
            return Ok(Content::Stored(start));
        }
        if entry.size > INFLATED {
            return Err(Reason::Limit(format!(
                "deflated entry of {} bytes; at most {INFLATED} are inflated, store it instead",
                entry.size
            )));
        }
        let mut buffer = Vec::new();
        let packed = file.slice(start, entry.packed as usize, &mut buffer)?;
        let inflated = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, entry.size as usize)
            .map_err(|_| broken("a deflated entry is damaged or larger than it says"))?;
        if inflated.len() as u64 != entry.size {
            return Err(broken("a deflated entry is smaller than it says"));
        }
        Ok(Content::Inflated(inflated))
    }

    fn refuse_overlaps(&self) -> Result<(), Reason> {
        let mut ranges = Vec::with_capacity(self.entries.len());
        for e in &self.entries {
            let end = e.header.checked_add(30 + e.name.len() as u64).and_then(|x| x.checked_add(e.packed));
            match end {
                Some(end) if end <= self.directory => ranges.push((e.header, end)),
                _ => return Err(broken("an entry reaches beyond the directory")),
            }
        }
        ranges.sort_unstable();
        if ranges.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return Err(broken("entries overlap"));
        }
        Ok(())
    }
}

/// Count, size and start of the directory from the zip64 end record, if the file has one.
fn zip64_end(file: &Storage, end: u64) -> Result<Option<(u64, u64, u64)>, Reason> {
    let Some(locator_at) = end.checked_sub(20) else { return Ok(None) };
    let mut buffer = Vec::new();
    let locator = file.slice(locator_at, 20, &mut buffer)?;
    if u32_at(locator, 0)? != LOCATOR64 {
        return Ok(None);
    }
    let record_at = u64_at(locator, 8)?;
    let mut buffer = Vec::new();
    let record = file.slice(record_at, 56, &mut buffer)?;
    if u32_at(record, 0)? != END64 {
        return Err(broken("the zip64 locator points nowhere"));
    }
    Ok(Some((u64_at(record, 32)?, u64_at(record, 40)?, u64_at(record, 48)?)))
}

/// One record of the directory at `at`, and where the next begins.
fn central(directory: &[u8], at: usize) -> Result<(Entry, usize), Reason> {
    if u32_at(directory, at)? != CENTRAL {
        return Err(broken("a directory record is damaged"));
    }
    if u16_at(directory, at + 8)? & 1 != 0 {
        return Err(broken("encrypted entry"));
    }
    let method = u16_at(directory, at + 10)?;
    if method != 0 && method != 8 {
        return Err(Reason::Zip(format!("compression method {method}")));
    }
    let mut packed = u64::from(u32_at(directory, at + 20)?);
    let mut size = u64::from(u32_at(directory, at + 24)?);
    let mut header = u64::from(u32_at(directory, at + 42)?);
    let (name, extra, comment) =
        (usize::from(u16_at(directory, at + 28)?), usize::from(u16_at(directory, at + 30)?), usize::from(u16_at(directory, at + 32)?));
    let name_at = at + 46;
    let extra_at = name_at + name;
    let next = extra_at + extra + comment;
    if next > directory.len() {
        return Err(Reason::Truncated("zip directory"));
    }
    let text = std::str::from_utf8(&directory[name_at..extra_at]).map_err(|_| broken("an entry name is no UTF-8"))?;
    zip64_extra(&directory[extra_at..extra_at + extra], [&mut size, &mut packed, &mut header])?;
    if method == 0 && packed != size {
        return Err(broken("a stored entry has two sizes"));
    }
    Ok((Entry { name: text.to_owned(), deflated: method == 8, packed, size, header }, next))
}

/// Replaces those of the fields that are `0xffff_ffff` by their 64 bit values of extra field 1.
fn zip64_extra(extra: &[u8], fields: [&mut u64; 3]) -> Result<(), Reason> {
    let mut at = 0;
    while at + 4 <= extra.len() {
        let (id, length) = (u16_at(extra, at)?, usize::from(u16_at(extra, at + 2)?));
        let Some(body) = extra.get(at + 4..at + 4 + length) else { return Ok(()) };
        if id == 1 {
            let mut value_at = 0;
            for field in fields {
                if *field == 0xffff_ffff {
                    *field = u64_at(body, value_at)?;
                    value_at += 8;
                }
            }
            return Ok(());
        }
        at += 4 + length;
    }
    Ok(())
}
