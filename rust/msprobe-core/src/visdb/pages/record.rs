//! A row as it is stored.

use rusqlite::types::ValueRef;

use super::{Unusual, COLUMN_COUNT};

/// A row of `tb_nodes`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    bytes: &'a [u8],
    /// Kind of each value, and where it begins.
    cells: [(u32, u32); COLUMN_COUNT],
}

impl<'a> Record<'a> {
    /// Takes a record apart: the kinds of all values, then the values.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, Unusual> {
        let (header_len, mut at) = varint(bytes, 0)?;
        let header_len = usize::try_from(header_len).map_err(|_| Unusual)?;
        let header = bytes.get(..header_len).ok_or(Unusual)?;
        let mut cells = [(0, 0); COLUMN_COUNT];
        let mut start = header_len as u64;
        for cell in &mut cells {
            // One byte or two, of nearly all values.
            let kind = match header.get(at..) {
                Some([first @ ..=0x7f, ..]) => {
                    at += 1;
                    u32::from(*first)
                }
                Some([first, second @ ..=0x7f, ..]) => {
                    at += 2;
                    u32::from(first & 0x7f) << 7 | u32::from(*second)
                }
                _ => {
                    let (kind, next) = varint(header, at)?;
                    at = next;
                    u32::try_from(kind).map_err(|_| Unusual)?
                }
            };
            *cell = (kind, start as u32);
            start += size(kind)?;
        }
        // SQLite lets records end early or late; nobody writes such ones.
        if at != header_len || start != bytes.len() as u64 || u32::try_from(start).is_err() {
            return Err(Unusual);
        }
        Ok(Record { bytes, cells })
    }

    /// The value of a column.
    #[inline]
    pub fn value(&self, column: usize) -> ValueRef<'a> {
        let (kind, start) = self.cells[column];
        let start = start as usize;
        let integer = |size: usize| {
            let bytes = &self.bytes[start..start + size];
            let negative = if bytes[0] & 0x80 == 0 { 0 } else { -1 };
            ValueRef::Integer(bytes.iter().fold(negative, |value, byte| value << 8 | i64::from(*byte)))
        };
        match kind {
            0 => ValueRef::Null,
            1..=4 => integer(kind as usize),
            5 => integer(6),
            6 => integer(8),
            7 => match f64::from_be_bytes(self.bytes[start..start + 8].try_into().expect("eight bytes")) {
                // SQLite knows no NaN.
                number if number.is_nan() => ValueRef::Null,
                number => ValueRef::Real(number),
            },
            8 => ValueRef::Integer(0),
            9 => ValueRef::Integer(1),
            text if text % 2 == 1 => ValueRef::Text(&self.bytes[start..start + (text as usize - 13) / 2]),
            blob => ValueRef::Blob(&self.bytes[start..start + (blob as usize - 12) / 2]),
        }
    }
}

/// Bytes of a value of that kind.
#[inline]
fn size(kind: u32) -> Result<u64, Unusual> {
    const NUMBERS: [u8; 12] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, u8::MAX, u8::MAX];
    match NUMBERS.get(kind as usize) {
        Some(&u8::MAX) => Err(Unusual),
        Some(&size) => Ok(u64::from(size)),
        None => Ok(u64::from((kind - 12) / 2)),
    }
}

/// A number of one to nine bytes from `at` on, and where it ends.
#[inline]
pub(super) fn varint(bytes: &[u8], at: usize) -> Result<(u64, usize), Unusual> {
    let first = *bytes.get(at).ok_or(Unusual)?;
    if first < 0x80 {
        return Ok((u64::from(first), at + 1));
    }
    let mut value = u64::from(first & 0x7f);
    for index in 1..8 {
        let byte = *bytes.get(at + index).ok_or(Unusual)?;
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Ok((value, at + index + 1));
        }
    }
    let last = *bytes.get(at + 8).ok_or(Unusual)?;
    Ok((value << 8 | u64::from(last), at + 9))
}
