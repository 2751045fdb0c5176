//! The members of an uncompressed tar archive, as far as a saved tensor needs them: regular files with ustar, GNU or pax headers.
//!
//! Nothing is believed before it is checked: header checksums are verified, members lie inside the file, and links, devices
//! and sparse files are refused by name. Only headers are read; the content of members is skipped.

use super::error::Reason;
use super::storage::Storage;
use crate::text::message::plain;

/// Headers, and what they describe, come in blocks of this size.
const BLOCK: u64 = 512;
/// Most members an archive may have. torch writes four.
const MEMBERS: usize = 64;
/// Largest pax header that is read. torch's say when the file was written, in 30 bytes.
const PAX: u64 = 64 << 10;

/// One regular file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Full name inside the archive.
    pub name: String,
    /// First byte of its content.
    pub start: u64,
    /// Bytes of its content.
    pub size: u64,
}

/// The regular files of an archive, in order.
#[derive(Debug)]
pub struct Archive {
    members: Vec<Member>,
}

/// Whether the first bytes of a file are a tar header.
#[must_use]
pub fn is_tar(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

fn broken(what: &str, at: u64) -> Reason {
    Reason::Tar(format!("{what} at byte {at}"))
}

impl Archive {
    /// Reads the headers up to the two empty blocks that end an archive.
    pub fn open(file: &Storage) -> Result<Archive, Reason> {
        let mut members = Vec::new();
        let mut at = 0;
        let mut extended = Extended::default();
        loop {
            let mut buffer = Vec::new();
            let cut = |_| Reason::Truncated("no end of the tar archive");
            let block = file.slice(at, BLOCK as usize, &mut buffer).map_err(cut)?;
            if block.iter().all(|byte| *byte == 0) {
                let second = file.slice(at + BLOCK, BLOCK as usize, &mut buffer).map_err(cut)?;
                return if second.iter().all(|byte| *byte == 0) { Ok(Archive { members }) } else { Err(broken("one empty block", at)) };
            }
            let header = Header::parse(block, at)?;
            let start = at + BLOCK;
            let size = extended.size.filter(|_| header.kind != b'x').unwrap_or(header.size);
            let end = start.checked_add(size).filter(|end| *end <= file.len());
            let end = end.ok_or_else(|| Reason::Tar(format!("member {} of {size} bytes reaches beyond the file", header.shown())))?;
            match header.kind {
                b'x' => {
                    if header.size > PAX {
                        return Err(Reason::Limit(format!("pax header of {} bytes, at most {PAX} are read", header.size)));
                    }
                    let mut buffer = Vec::new();
                    extended = Extended::parse(file.slice(start, header.size as usize, &mut buffer)?, start)?;
                }
                b'0' | 0 => {
                    let name = extended.name.take().unwrap_or(header.name);
                    members.push(Member { name, start, size });
                    extended = Extended::default();
                }
                kind => return Err(Reason::Tar(format!("member {} is {}, not a regular file", header.shown(), kind_name(kind)))),
            }
            if members.len() > MEMBERS {
                return Err(Reason::Limit(format!("tar archive of more than {MEMBERS} members")));
            }
            at = end.checked_next_multiple_of(BLOCK).ok_or(Reason::Truncated("no end of the tar archive"))?;
        }
    }

    /// The member of that name. Two of one name are refused: readers would disagree on which one counts.
    pub fn find(&self, name: &str) -> Result<Option<&Member>, Reason> {
        let mut found = self.members.iter().filter(|m| m.name == name);
        let first = found.next();
        if found.next().is_some() {
            return Err(Reason::Tar(format!("two members are called {}", plain(name))));
        }
        Ok(first)
    }
}

/// What a block says about the member behind it.
struct Header {
    name: String,
    kind: u8,
    size: u64,
}

impl Header {
    fn parse(block: &[u8], at: u64) -> Result<Header, Reason> {
        let stored = octal(&block[148..156]).ok_or_else(|| broken("a tar header without a checksum", at))?;
        // The field itself counts as spaces. Old writers summed signed bytes; readers accept both.
        let summed = || block.iter().enumerate().map(|(k, byte)| if (148..156).contains(&k) { b' ' } else { *byte });
        let unsigned: u64 = summed().map(u64::from).sum();
        let signed: i64 = summed().map(|byte| i64::from(byte as i8)).sum();
        if stored != unsigned && i64::try_from(stored) != Ok(signed) {
            return Err(broken("a tar header with a wrong checksum", at));
        }
        let size = number(&block[124..136]).ok_or_else(|| broken("a tar header whose size is no number", at))?;
        let (name, prefix) = (until_nul(&block[..100]), until_nul(&block[345..500]));
        let name = if prefix.is_empty() || &block[257..263] != b"ustar\0" { name.to_vec() } else { [prefix, b"/", name].concat() };
        let name = String::from_utf8(name).map_err(|_| broken("a member name is no UTF-8", at))?;
        Ok(Header { name, kind: block[156], size })
    }

    fn shown(&self) -> String {
        plain(&self.name)
    }
}

fn until_nul(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// A number of a header: octal digits, or 0x80 and the number itself, most significant byte first.
fn number(field: &[u8]) -> Option<u64> {
    match field.split_first()? {
        (0x80, digits) => digits.iter().try_fold(0u64, |n, byte| n.checked_mul(256)?.checked_add(u64::from(*byte))),
        _ => octal(field),
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = until_nul(field).trim_ascii();
    if digits.is_empty() || !digits.iter().all(|byte| (b'0'..=b'7').contains(byte)) {
        return None;
    }
    digits.iter().try_fold(0u64, |n, byte| n.checked_mul(8)?.checked_add(u64::from(byte - b'0')))
}

/// What a person calls a type of member, for messages.
fn kind_name(kind: u8) -> &'static str {
    match kind {
        b'1' => "a hard link",
        b'2' => "a symbolic link",
        b'3' | b'4' => "a device",
        b'5' => "a folder",
        b'6' => "a pipe",
        b'S' => "a sparse file",
        b'g' => "a global pax header",
        b'L' | b'K' => "a long name",
        _ => "of unknown type",
    }
}

/// What a pax header says about the next member. torch's writers put the time there, as a fraction of seconds.
#[derive(Debug, Default, PartialEq, Eq)]
struct Extended {
    name: Option<String>,
    /// Used for members of 8 GiB and more.
    size: Option<u64>,
}

impl Extended {
    /// Records `LENGTH KEY=VALUE\n`; the length counts the whole record.
    fn parse(mut records: &[u8], at: u64) -> Result<Extended, Reason> {
        let damaged = || broken("a damaged pax header", at);
        let mut found = Extended::default();
        while !records.is_empty() {
            let space = memchr::memchr(b' ', &records[..records.len().min(20)]).ok_or_else(damaged)?;
            let length = decimal(&records[..space]).and_then(|n| usize::try_from(n).ok()).ok_or_else(damaged)?;
            let record = records.get(space + 1..length).and_then(|r| r.strip_suffix(b"\n")).ok_or_else(damaged)?;
            let equals = memchr::memchr(b'=', record).ok_or_else(damaged)?;
            let (key, value) = (&record[..equals], &record[equals + 1..]);
            match key {
                b"path" => found.name = Some(String::from_utf8(value.to_vec()).map_err(|_| damaged())?),
                b"size" => found.size = Some(decimal(value).ok_or_else(damaged)?),
                _ if key.starts_with(b"GNU.sparse.") => return Err(broken("a pax header of a sparse file", at)),
                _ => {}
            }
            records = &records[length..];
        }
        Ok(found)
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    digits.iter().try_fold(0u64, |n, byte| n.checked_mul(10)?.checked_add(u64::from(byte - b'0')))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A ustar header and its content, padded to whole blocks.
    pub fn member(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
        let mut block = vec![0; 512];
        block[..name.len()].copy_from_slice(name.as_bytes());
        block[100..107].copy_from_slice(b"0000644");
        block[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        block[136..147].copy_from_slice(b"13074563142");
        block[156] = kind;
        block[257..265].copy_from_slice(b"ustar\x0000");
        sign(&mut block);
        block.extend_from_slice(content);
        block.resize(block.len().next_multiple_of(512), 0);
        block
    }

    /// Writes the checksum of a changed header.
    pub fn sign(block: &mut [u8]) {
        block[148..156].fill(b' ');
        let sum: u32 = block[..512].iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }

    /// Members and the two empty blocks behind.
    pub fn archive(members: &[Vec<u8>]) -> Vec<u8> {
        [members.concat(), vec![0; 1024]].concat()
    }

    fn opened(bytes: Vec<u8>) -> Result<Vec<Member>, String> {
        Archive::open(&Storage::from_bytes(bytes)).map(|archive| archive.members).map_err(|reason| reason.to_string())
    }

    fn changed(change: impl FnOnce(&mut [u8])) -> Result<Vec<Member>, String> {
        let mut block = member("pickle", b'0', b"0123456789");
        change(&mut block);
        sign(&mut block);
        opened(archive(&[block]))
    }

    fn one(name: &str, start: u64, size: u64) -> Vec<Member> {
        vec![Member { name: name.to_owned(), start, size }]
    }

    #[test]
    fn members_with_their_places() {
        let bytes = archive(&[member("a", b'0', &[1; 512]), member("b", 0, &[]), member("c", b'0', &[2; 513])]);
        let found: Vec<_> = opened(bytes).unwrap().into_iter().map(|m| (m.name, m.start, m.size)).collect();
        assert_eq!(found, [("a".to_owned(), 512, 512), ("b".to_owned(), 1536, 0), ("c".to_owned(), 2048, 513)]);
    }

    #[test]
    fn sizes_of_both_spellings() {
        assert_eq!(changed(|b| b[124..136].copy_from_slice(b"     000012 ")), Ok(one("pickle", 512, 10)));
        assert_eq!(changed(|b| b[124..136].copy_from_slice(b"\x80\0\0\0\0\0\0\0\0\0\0\x0a")), Ok(one("pickle", 512, 10)));
        for bad in [
            b"            ",
            b"00000000009\0",
            b"-0000000001\0",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x80\x01\0\0\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(
                changed(|b| b[124..136].copy_from_slice(bad)).unwrap_err(),
                "tar archive: a tar header whose size is no number at byte 0"
            );
        }
        let beyond = |size: &[u8; 12]| changed(|b| b[124..136].copy_from_slice(size)).unwrap_err();
        assert_eq!(beyond(b"77777777777\0"), "tar archive: member pickle of 8589934591 bytes reaches beyond the file");
        assert_eq!(
            beyond(b"\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"),
            "tar archive: member pickle of 18446744073709551615 bytes reaches beyond the file"
        );
    }

    #[test]
    fn a_prefix_belongs_to_the_name() {
        assert_eq!(changed(|b| b[345..348].copy_from_slice(b"top")).unwrap()[0].name, "top/pickle");
    }

    #[test]
    fn pax_headers() {
        let with = |records: &[u8]| opened(archive(&[member("PaxHeaders/x", b'x', records), member("pickle", b'0', &[0; 9])]));
        assert_eq!(with(b"28 mtime=1491933030.1234567\n"), Ok(one("pickle", 1536, 9)));
        assert_eq!(with(b"28 mtime=1491933030.1234567\n10 size=8\n12 path=abc\n"), Ok(one("abc", 1536, 8)));
        assert_eq!(with(b"22 GNU.sparse.major=1\n").unwrap_err(), "tar archive: a pax header of a sparse file at byte 512");
        for bad in [&b"5 a=b"[..], b"6 a=b", b"99999 a=b\n", b"-6 a=b\n", b"0 a=b\n", b"2 \n", b" a=b\n", b"10 size=x\n", b"mtime=1\n"] {
            assert_eq!(with(bad).unwrap_err(), "tar archive: a damaged pax header at byte 512", "{}", bad.escape_ascii());
        }
        assert_eq!(with(b"20 size=99999999999\n").unwrap_err(), "tar archive: member pickle of 99999999999 bytes reaches beyond the file");
        assert_eq!(with(&b" ".repeat(70_000)).unwrap_err(), "pax header of 70000 bytes, at most 65536 are read");
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        for (kind, name) in [(b'1', "a hard link"), (b'2', "a symbolic link"), (b'3', "a device"), (b'4', "a device"), (b'5', "a folder")] {
            assert_eq!(changed(|b| b[156] = kind).unwrap_err(), format!("tar archive: member pickle is {name}, not a regular file"));
        }
        for (kind, name) in
            [(b'6', "a pipe"), (b'S', "a sparse file"), (b'g', "a global pax header"), (b'L', "a long name"), (b'?', "of unknown type")]
        {
            assert_eq!(changed(|b| b[156] = kind).unwrap_err(), format!("tar archive: member pickle is {name}, not a regular file"));
        }
    }

    #[test]
    fn checksums_are_verified() {
        let mut bytes = archive(&[member("pickle", b'0', &[])]);
        bytes[0] ^= 1;
        assert_eq!(opened(bytes).unwrap_err(), "tar archive: a tar header with a wrong checksum at byte 0");
        let mut bytes = archive(&[member("a", b'0', &[]), member("b", b'0', &[])]);
        bytes[512 + 148..512 + 156].fill(b'9');
        assert_eq!(opened(bytes).unwrap_err(), "tar archive: a tar header without a checksum at byte 512");
        // A sum of signed bytes, as some old writers made it.
        let mut bytes = archive(&[member("é", b'0', &[])]);
        bytes[148..156].fill(b' ');
        let sum: i32 = bytes[..512].iter().map(|byte| i32::from(*byte as i8)).sum();
        bytes[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert_eq!(opened(bytes), Ok(one("é", 512, 0)));
    }

    #[test]
    fn ends_and_numbers_of_members() {
        let whole = archive(&[member("a", b'0', &[7; 600])]);
        for length in 0..whole.len() {
            assert!(opened(whole[..length].to_vec()).is_err(), "{length}");
        }
        let mut odd = whole.clone();
        *odd.last_mut().unwrap() = 1;
        assert_eq!(opened(odd).unwrap_err(), "tar archive: one empty block at byte 1536");
        let many = vec![member("a", b'0', &[]); 65];
        assert_eq!(opened(archive(&many)).unwrap_err(), "tar archive of more than 64 members");
        let twice = Archive::open(&Storage::from_bytes(archive(&many[..2]))).unwrap();
        assert_eq!(twice.find("a").unwrap_err().to_string(), "tar archive: two members are called a");
        assert_eq!(twice.find("b").unwrap(), None);
    }
}
