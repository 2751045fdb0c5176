//! SQLite's record format: varints, serial types, and rows of loose values.

/// Largest number of bytes of a SQLite varint.
pub(crate) const MAX_VARINT: usize = 9;

/// Writes `value` as a varint at the start of `out` and returns its length. `out` must hold [`MAX_VARINT`] bytes.
pub(crate) fn put_varint(out: &mut [u8], value: u64) -> usize {
    if value < 0x80 {
        out[0] = value as u8;
        return 1;
    }
    if value < 0x4000 {
        out[0] = 0x80 | (value >> 7) as u8;
        out[1] = (value & 0x7f) as u8;
        return 2;
    }
    let len = varint_len(value);
    let mut rest = value;
    let mut at = len;
    if len == MAX_VARINT {
        out[8] = rest as u8;
        rest >>= 8;
        at = 8;
    }
    let mut more = if len == MAX_VARINT { 0x80 } else { 0 };
    while at > 0 {
        at -= 1;
        out[at] = (rest & 0x7f) as u8 | more;
        rest >>= 7;
        more = 0x80;
    }
    len
}

/// Appends `value` as a varint.
pub(crate) fn push_varint(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; MAX_VARINT];
    let len = put_varint(&mut bytes, value);
    out.extend_from_slice(&bytes[..len]);
}

/// Number of bytes of `value` as a varint.
pub(crate) fn varint_len(value: u64) -> usize {
    match value {
        0..=0x7f => 1,
        0x80..=0x3fff => 2,
        _ if value >> 56 != 0 => MAX_VARINT,
        _ => (64 - value.leading_zeros() as usize).div_ceil(7),
    }
}

/// Serial type of a text of `len` bytes.
pub(crate) fn text_serial(len: usize) -> u64 {
    13 + 2 * len as u64
}

/// Serial type of an integer and the number of bytes of its body.
pub(crate) fn integer_serial(value: i64) -> (u8, usize) {
    // The widths count the bits of a two's complement number, hence the fold of the negative half.
    let magnitude = if value < 0 { !value } else { value };
    match magnitude {
        0 | 1 if value == 0 || value == 1 => (8 + value as u8, 0),
        0..=0x7f => (1, 1),
        0x80..=0x7fff => (2, 2),
        0x8000..=0x7f_ffff => (3, 3),
        0x80_0000..=0x7fff_ffff => (4, 4),
        0x8000_0000..=0x7fff_ffff_ffff => (5, 6),
        _ => (6, 8),
    }
}

/// Appends the body of an integer (nothing for 0 and 1, which live in the serial type).
pub(crate) fn push_integer(out: &mut Vec<u8>, value: i64) {
    let (_, len) = integer_serial(value);
    let end = out.len() + len;
    // All eight bytes, the wanted ones first: copying a known number is one store, copying a few is a call.
    out.extend_from_slice(&value.rotate_right(8 * len as u32).to_be_bytes());
    out.truncate(end);
}

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// NULL
    Null,
    /// An integer
    Integer(i64),
    /// A real number; must not be NaN, which SQLite cannot store
    Real(f64),
    /// Text; may hold NUL characters
    Text(&'a str),
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Cell::Integer(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Cell::Text(value)
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

impl rusqlite::ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, ValueRef};
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Null => ValueRef::Null,
            Cell::Integer(i) => ValueRef::Integer(*i),
            Cell::Real(x) => ValueRef::Real(*x),
            Cell::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl Cell<'_> {
    fn serial(&self) -> u64 {
        match self {
            Cell::Null => 0,
            Cell::Integer(i) => u64::from(integer_serial(*i).0),
            Cell::Real(x) if x.is_nan() => 0,
            Cell::Real(_) => 7,
            Cell::Text(t) => text_serial(t.len()),
        }
    }

    fn push_body(&self, out: &mut Vec<u8>) {
        match self {
            Cell::Null => {}
            Cell::Integer(i) => push_integer(out, *i),
            Cell::Real(x) if x.is_nan() => {}
            Cell::Real(x) => out.extend_from_slice(&x.to_be_bytes()),
            Cell::Text(t) => out.extend_from_slice(t.as_bytes()),
        }
    }
}

/// Appends `cells` as one record.
pub(crate) fn push_record(out: &mut Vec<u8>, cells: &[Cell<'_>]) {
    let types: usize = cells.iter().map(|c| varint_len(c.serial())).sum();
    // The header's length counts its own varint, which may lengthen it.
    let mut header = types + 1;
    while varint_len(header as u64) + types > header {
        header = varint_len(header as u64) + types;
    }
    push_varint(out, header as u64);
    for cell in cells {
        push_varint(out, cell.serial());
    }
    for cell in cells {
        cell.push_body(out);
    }
}
