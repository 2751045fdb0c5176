//! `.npy` files, versions 1 to 3.

use super::dtype::Dtype;
use super::error::Reason;
use super::layout::Layout;
use super::storage::Storage;
use super::{Container, Tensor};
use crate::text::message::plain;
use std::sync::Arc;

/// Longest header that is read (numpy refuses 10,000 and more unless told otherwise).
const HEADER: u64 = 64 << 10;

/// Reads the header of a `.npy` file; its numbers stay where they are.
///
/// Types of one or two bytes without a name (`|V2`, as numpy writes bfloat16 and the float8 types of other packages) are
/// decoded as `hint` says, the dtype text of the row in dump.json.
pub fn read(file: Storage, hint: Option<&str>) -> Result<Tensor, Reason> {
    let mut buffer = Vec::new();
    let head = file.slice(0, file.len().min(12) as usize, &mut buffer)?;
    if !head.starts_with(b"\x93NUMPY") {
        return Err(Reason::NotThis("npy"));
    }
    if head.len() < 12 {
        return Err(Reason::Truncated("npy header"));
    }
    let (header_at, length) = match (head[6], head[7]) {
        (1, 0) => (10, u64::from(u16::from_le_bytes([head[8], head[9]]))),
        (2 | 3, 0) => (12, u64::from(u32::from_le_bytes([head[8], head[9], head[10], head[11]]))),
        (major, minor) => return Err(Reason::Npy(format!("unknown version {major}.{minor}"))),
    };
    if length > HEADER {
        return Err(Reason::Limit(format!("npy header of {length} bytes")));
    }
    let start = header_at + length;
    let mut buffer = Vec::new();
    let text = file.slice(header_at, length as usize, &mut buffer)?;
    let text = std::str::from_utf8(text).map_err(|_| Reason::Npy("no UTF-8".to_owned()))?;
    let header = Header::parse(text)?;
    let (dtype, swapped) = element(&header.descr, hint)?;
    let layout = if header.fortran_order { Layout::column_major(header.shape)? } else { Layout::row_major(header.shape)? };
    let count = layout.elements()?;
    let end = count.checked_mul(dtype.size()).and_then(|bytes| bytes.checked_add(start));
    if end.is_none_or(|end| end > file.len()) {
        return Err(Reason::Truncated("fewer bytes than the shape needs"));
    }
    Ok(Tensor {
        dtype,
        layout,
        container: Container::Npy,
        swapped,
        conjugated: false,
        negated: false,
        storage: Arc::new(file),
        start,
        count,
    })
}

/// Element type and whether its bytes are big endian.
fn element(descr: &str, hint: Option<&str>) -> Result<(Dtype, bool), Reason> {
    let shown = plain(descr);
    let unsupported = || Reason::Dtype(shown.clone());
    let (order, code) = descr.split_at_checked(1).ok_or_else(unsupported)?;
    let swapped = match order {
        "<" | "|" | "=" => false,
        ">" => true,
        _ => return Err(unsupported()),
    };
    if code.starts_with('O') {
        return Err(Reason::Dtype(format!("{shown} (Python objects are never unpickled)")));
    }
    if let Some(dtype) = Dtype::from_numpy(code) {
        return Ok((dtype, swapped && dtype.size() > 1));
    }
    let width = code.strip_prefix(['V', 'f']).and_then(|digits| digits.parse::<u64>().ok());
    match (width, hint.and_then(Dtype::from_dump_text)) {
        (Some(width @ 1..=2), Some(dtype)) if dtype.size() == width && !dtype.is_integer() => Ok((dtype, swapped)),
        (Some(1..=2), _) => Err(Reason::Dtype(format!("{shown} (the dump does not say which one it is)"))),
        _ => Err(unsupported()),
    }
}

/// The three facts of a header.
#[derive(Debug, PartialEq)]
struct Header {
    descr: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    /// Reads the Python dict text. Only what numpy writes is understood: the three keys, texts without escapes, plain numbers.
    fn parse(text: &str) -> Result<Header, Reason> {
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        let mut rest = Cursor(text.trim_end());
        rest.expect("{")?;
        while !rest.skip("}") {
            let key = rest.text()?;
            rest.expect(":")?;
            match key {
                "descr" => descr = Some(rest.text()?.to_owned()),
                "fortran_order" => fortran_order = Some(rest.boolean()?),
                "shape" => shape = Some(rest.numbers()?),
                other => return Err(Reason::Npy(format!("unknown key '{}'", plain(other)))),
            }
            if !rest.skip(",") {
                rest.expect("}")?;
                break;
            }
        }
        match (descr, fortran_order, shape) {
            (Some(descr), Some(fortran_order), Some(shape)) if rest.0.trim().is_empty() => Ok(Header { descr, fortran_order, shape }),
            _ => Err(Reason::Npy("a key is missing".to_owned())),
        }
    }
}

/// What is left of a header's text.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn skip(&mut self, token: &str) -> bool {
        self.0 = self.0.trim_start();
        match self.0.strip_prefix(token) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn wrong(&self) -> Reason {
        Reason::Npy(format!("cannot be understood at '{}'", plain(&self.0.chars().take(20).collect::<String>())))
    }

    fn expect(&mut self, token: &str) -> Result<(), Reason> {
        if self.skip(token) {
            Ok(())
        } else {
            Err(self.wrong())
        }
    }

    fn text(&mut self) -> Result<&'a str, Reason> {
        let quote = if self.skip("'") {
            '\''
        } else if self.skip("\"") {
            '"'
        } else if self.skip("[") {
            return Err(Reason::Dtype("with named fields".to_owned()));
        } else {
            return Err(self.wrong());
        };
        let (text, rest) = self.0.split_once(quote).ok_or_else(|| self.wrong())?;
        if text.contains('\\') {
            return Err(self.wrong());
        }
        self.0 = rest;
        Ok(text)
    }

    fn boolean(&mut self) -> Result<bool, Reason> {
        if self.skip("True") {
            Ok(true)
        } else {
            self.expect("False").map(|()| false)
        }
    }

    fn numbers(&mut self) -> Result<Vec<u64>, Reason> {
        self.expect("(")?;
        let mut numbers = Vec::new();
        while !self.skip(")") {
            self.0 = self.0.trim_start();
            let end = self.0.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len());
            let number = self.0[..end].parse().ok().filter(|n: &u64| i64::try_from(*n).is_ok()).ok_or_else(|| self.wrong())?;
            self.0 = self.0[end..].strip_prefix('L').unwrap_or(&self.0[end..]);
            numbers.push(number);
            if numbers.len() > 64 {
                return Err(Reason::Layout("more than 64 dimensions".to_owned()));
            }
            if !self.skip(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let header = |text| Header::parse(text).map(|h| (h.descr, h.fortran_order, h.shape));
        let plain = header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }      \n").unwrap();
        assert_eq!(plain, ("<f4".to_owned(), false, vec![3, 4]));
        assert_eq!(header("{'descr': '|b1', 'fortran_order': True, 'shape': (), }").unwrap().2, Vec::<u64>::new());
        assert_eq!(header("{'descr': '|b1', 'fortran_order': True, 'shape': (5,)}").unwrap().2, [5]);
        assert_eq!(header("{'descr': '|b1', 'fortran_order': True, 'shape': (5L,)}").unwrap().2, [5]);
        for bad in [
            "",
            "{",
            "{}",
            "{'descr': '<f4'}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } + 1",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        ] {
            assert!(header(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn elements() {
        assert_eq!(element("<f4", None).unwrap(), (Dtype::F32, false));
        assert_eq!(element(">i8", None).unwrap(), (Dtype::I64, true));
        assert_eq!(element("<V2", Some("BFloat16")).unwrap(), (Dtype::BF16, false));
        assert!(element("<V2", Some("Float32")).is_err());
        assert!(element("<V2", None).is_err());
        assert!(element("|V1", Some("Int8")).is_err());
        assert!(element("<U4", None).is_err());
        assert!(element("|O", None).is_err());
        assert!(element("é4", None).is_err());
    }
}
