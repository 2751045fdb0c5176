//! The bytes of a tensor file: read whole when small, mapped when large, read piecewise where mapping is unsafe.

use super::error::Reason;
use crate::mapping;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Files up to this size are read whole: a read costs less than a mapping and its page faults.
const WHOLE: u64 = 128 << 10;

/// An opened tensor file, or bytes made from one.
#[derive(Debug)]
pub struct Storage {
    length: u64,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    Whole(Vec<u8>),
    Mapped(mapping::Mapping),
    /// On file systems where another machine can change a file under a mapping.
    Piecewise(fs::File),
}

impl Storage {
    /// Opens a regular file.
    pub fn open(path: &Path) -> Result<Storage, Reason> {
        let (file, length) = mapping::open_regular(path).map_err(Reason::from_io)?.ok_or(Reason::NotRegular)?;
        if length <= WHOLE {
            let mut bytes = vec![0; length as usize];
            file.read_exact_at(&mut bytes, 0).map_err(Reason::from_io)?;
            return Ok(Storage::from_bytes(bytes));
        }
        let bytes = match mapping::map(&file, length) {
            Some(map) => {
                map.will_be_read_in_order();
                Bytes::Mapped(map)
            }
            None => Bytes::Piecewise(file),
        };
        Ok(Storage { length, bytes })
    }

    /// As [`Storage::open`], but never mapped and never read whole: how files on network file systems are read.
    pub fn open_piecewise(path: &Path) -> Result<Storage, Reason> {
        let (file, length) = mapping::open_regular(path).map_err(Reason::from_io)?.ok_or(Reason::NotRegular)?;
        Ok(Storage { length, bytes: Bytes::Piecewise(file) })
    }

    /// Bytes that are in memory already (an inflated zip entry).
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Storage {
        Storage { length: bytes.len() as u64, bytes: Bytes::Whole(bytes) }
    }

    /// An error if the file was cut short since it was opened; what was read of it then means nothing.
    pub fn check(&self) -> Result<(), Reason> {
        match &self.bytes {
            Bytes::Mapped(map) if map.is_cut() => Err(Reason::Truncated("the file was cut short while it was read")),
            _ => Ok(()),
        }
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All bytes, if they can be had without reading.
    #[must_use]
    pub fn in_memory(&self) -> Option<&[u8]> {
        match &self.bytes {
            Bytes::Whole(bytes) => Some(bytes),
            Bytes::Mapped(map) => Some(map),
            Bytes::Piecewise(_) => None,
        }
    }

    /// `length` bytes from `start`; `buffer` holds them when they have to be read.
    pub fn slice<'a>(&'a self, start: u64, length: usize, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], Reason> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.length).ok_or(Reason::Truncated("the file is too short"))?;
        match &self.bytes {
            Bytes::Piecewise(file) => {
                buffer.resize(length, 0);
                file.read_exact_at(buffer, start).map_err(Reason::from_io)?;
                Ok(buffer)
            }
            Bytes::Whole(bytes) => Ok(&bytes[start as usize..end as usize]),
            Bytes::Mapped(map) => Ok(&map[start as usize..end as usize]),
        }
    }
}
