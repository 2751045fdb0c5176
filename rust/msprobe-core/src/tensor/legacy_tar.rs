//! The form `torch.save` wrote before torch 0.2: a tar archive of four members.
//!
//! | member | content |
//! |---|---|
//! | `sys_info` | pickle of a dict: `protocol_version`, `little_endian`, `type_sizes` |
//! | `pickle` | the object; in place of a tensor or storage the text of its key |
//! | `tensors` | pickled count; for each a pickle (key, key of the storage, class), then raw: dimensions (4 bytes and 4 unused), sizes, strides, offset (8 bytes each) |
//! | `storages` | pickled count; for each a pickle (key, device, class), then raw: count of elements (8 bytes) and the elements; then a pickle of views: (key, key of the storage, offset, count) |
//!
//! Source: `_legacy_load` of `torch/serialization.py`, which still reads the form. Where it says nothing of the byte order of
//! files from big endian machines, they are refused.

use super::dtype::Dtype;
use super::error::Reason;
use super::layout::DIMENSIONS;
use super::pickle::{Machine, Value};
use super::pt::place;
use super::rebuild::{Global, TensorSpec};
use super::storage::Storage;
use super::tar::{Archive, Member};
use super::Tensor;
use std::collections::HashMap;
use std::sync::Arc;

/// Largest pickle that is read: the object, the list of views.
const PICKLE: u64 = 8 << 20;
/// Largest pickle in front of a tensor or storage. torch's have under 100 bytes.
const RECORD: u64 = 4 << 10;
/// What is read at once of a file that cannot be mapped.
const AHEAD: u64 = 64 << 10;
/// Most tensors, storages and views a file may have.
const RECORDS: u64 = 1 << 16;

/// Reads the one tensor that is the content of the archive.
pub fn read(file: Storage) -> Result<Tensor, Reason> {
    let archive = Archive::open(&file)?;
    let member = |name: &str| archive.find(name)?.ok_or_else(|| Reason::Tar(format!("no member {name}")));
    // The others are looked up first, so that an archive of something else is told by what it lacks.
    let (tensors, storages) = (member("tensors")?, member("storages")?);
    let key = within("pickle", Reader::new(&file, member("pickle")?).pickle(PICKLE, top_level))?;
    if let Some(system) = archive.find("sys_info")? {
        let mut system = Reader::new(&file, system);
        let big = system.pickle(RECORD, |machine, facts| Ok(machine.get(facts, "little_endian") == Some(Value::Bool(false))));
        if within("sys_info", big)? {
            return Err(Reason::Tar("written on a big endian machine; save the tensor again with torch 0.2 or later".to_owned()));
        }
    }
    let described = within("tensors", described(&mut Reader::new(&file, tensors), key))?;
    let parts = within("storages", stored(&mut Reader::new(&file, storages)))?;
    let Some(described) = described else {
        return Err(match parts.get(&key) {
            Some(_) => Reason::NotTensor("a storage"),
            None => Reason::Tar(format!("tensor {key} is not in the member tensors")),
        });
    };
    let part = parts.get(&described.storage);
    let part = part.ok_or_else(|| Reason::Tar(format!("storage {} of the tensor is not in the member storages", described.storage)))?;
    let Description { offset, size, stride, .. } = described;
    let spec = TensorSpec { storage: None, dtype: part.dtype, offset, size, stride, conjugated: false, negated: false };
    place(&spec, Arc::new(file), part.start, part.count * part.dtype.size(), false)
}

/// Says in which member something is wrong. What is wrong with the object rather than the archive stands for itself.
fn within<T>(member: &str, result: Result<T, Reason>) -> Result<T, Reason> {
    result.map_err(|reason| match reason {
        Reason::Global(_) | Reason::Kind(_) | Reason::NotTensor(_) => reason,
        _ => Reason::Tar(format!("in {member}: {reason}")),
    })
}

/// The key of the tensor that is the whole object.
fn top_level(_: &Machine<'_>, value: Value<'_>) -> Result<i128, Reason> {
    let Value::Named(key) = value else { return Err(Reason::NotTensor(value.kind())) };
    let number = std::str::from_utf8(key).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| wrong("a persistent id that is no number"))
}

fn wrong(what: &'static str) -> Reason {
    Reason::Pickle { what, at: 0 }
}

/// A tensor of the member `tensors`, unchecked.
struct Description {
    storage: i128,
    offset: i128,
    size: Vec<i128>,
    stride: Vec<i128>,
}

/// The tensor under `key`.
fn described(reader: &mut Reader<'_>, key: i128) -> Result<Option<Description>, Reason> {
    let mut found = None;
    for _ in 0..reader.count()? {
        let (here, storage) = reader.pickle(RECORD, |machine, record| match machine.elements(record) {
            [Value::Int(key), Value::Int(storage), _class] => Ok((*key, Some(*storage))),
            [Value::Int(key), Value::None, _class] => Ok((*key, None)),
            _ => Err(wrong("not (key, storage, class) of a tensor")),
        })?;
        let given = i32::from_le_bytes(reader.take()?);
        reader.take::<4>()?;
        let dimensions = usize::try_from(given).ok().filter(|n| *n <= DIMENSIONS);
        let dimensions = dimensions.ok_or_else(|| Reason::Layout(format!("{given} dimensions, 0 to {DIMENSIONS} are possible")))?;
        let size = reader.integers(dimensions)?;
        let stride = reader.integers(dimensions)?;
        let offset = i128::from(i64::from_le_bytes(reader.take()?));
        if here != key {
            continue;
        }
        let storage = storage.ok_or(Reason::Kind("storage-less"))?;
        if found.replace(Description { storage, offset, size, stride }).is_some() {
            return Err(Reason::Layout(format!("two tensors have the key {key}")));
        }
    }
    Ok(found)
}

/// A storage, or a view of one.
#[derive(Clone, Copy)]
struct Part {
    dtype: Dtype,
    /// Byte of the file at which the first element is.
    start: u64,
    /// Elements.
    count: u64,
}

/// All storages and views by key.
fn stored(reader: &mut Reader<'_>) -> Result<HashMap<i128, Part>, Reason> {
    let mut parts = HashMap::new();
    for _ in 0..reader.count()? {
        let (key, dtype) = reader.pickle(RECORD, |machine, record| match machine.elements(record) {
            [Value::Int(key), _device, Value::Global(Global::Storage(Some(dtype)))] => Ok((*key, *dtype)),
            _ => Err(wrong("not (key, device, class) of a storage")),
        })?;
        let count = i64::from_le_bytes(reader.take()?);
        let bytes = u64::try_from(count).ok().and_then(|n| n.checked_mul(dtype.size())).filter(|n| *n <= reader.left());
        let bytes = bytes.ok_or_else(|| Reason::Layout(format!("storage {key} of {count} elements reaches beyond the member")))?;
        let part = Part { dtype, start: reader.at, count: bytes / dtype.size() };
        reader.at += bytes;
        if parts.insert(key, part).is_some() {
            return Err(Reason::Layout(format!("two storages have the key {key}")));
        }
    }
    let views = reader.pickle(PICKLE, |machine, views| {
        let Value::List(_) = views else { return Err(wrong("the views of storages are no list")) };
        let view = |view: &Value<'_>| match machine.elements(*view) {
            [Value::Int(key), Value::Int(root), Value::Int(offset), Value::Int(count)] => Ok([*key, *root, *offset, *count]),
            _ => Err(wrong("not (key, storage, offset, count) of a view")),
        };
        machine.elements(views).iter().map(view).collect::<Result<Vec<_>, _>>()
    })?;
    for [key, root, offset, count] in views {
        let of = *parts.get(&root).ok_or_else(|| Reason::Layout(format!("view {key} is of storage {root}, which is not there")))?;
        let natural = |n| u64::try_from(n).ok();
        let view = natural(offset).zip(natural(count)).filter(|(first, n)| first.checked_add(*n).is_some_and(|end| end <= of.count));
        let (first, count) = view.ok_or_else(|| Reason::Layout(format!("view {key} reaches beyond its storage")))?;
        if parts.insert(key, Part { dtype: of.dtype, start: of.start + first * of.dtype.size(), count }).is_some() {
            return Err(Reason::Layout(format!("two storages have the key {key}")));
        }
    }
    Ok(parts)
}

/// What a member holds, one thing after another.
struct Reader<'f> {
    file: &'f Storage,
    at: u64,
    end: u64,
    /// What was read ahead of a file that is not in memory, and from where.
    window: Vec<u8>,
    window_at: u64,
}

impl<'f> Reader<'f> {
    fn new(file: &'f Storage, member: &Member) -> Reader<'f> {
        Reader { file, at: member.start, end: member.start + member.size, window: Vec::new(), window_at: 0 }
    }

    fn left(&self) -> u64 {
        self.end - self.at
    }

    /// The next bytes, `length` or as many as there are.
    fn peek(&mut self, length: u64) -> Result<&[u8], Reason> {
        let length = length.min(self.left());
        if let Some(all) = self.file.in_memory() {
            return Ok(&all[self.at as usize..(self.at + length) as usize]);
        }
        if self.at < self.window_at || self.at + length > self.window_at + self.window.len() as u64 {
            self.file.slice(self.at, length.max(AHEAD).min(self.left()) as usize, &mut self.window)?;
            self.window_at = self.at;
        }
        let from = (self.at - self.window_at) as usize;
        Ok(&self.window[from..from + length as usize])
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
        let taken = self.peek(N as u64)?.try_into().map_err(|_| Reason::Truncated("the member is too short"))?;
        self.at += N as u64;
        Ok(taken)
    }

    fn integers(&mut self, count: usize) -> Result<Vec<i128>, Reason> {
        (0..count).map(|_| self.take().map(|bytes| i128::from(i64::from_le_bytes(bytes)))).collect()
    }

    /// Runs the next pickle, of at most `limit` bytes, and makes of it what `make` says.
    fn pickle<T>(&mut self, limit: u64, make: impl for<'a> FnOnce(&Machine<'a>, Value<'a>) -> Result<T, Reason>) -> Result<T, Reason> {
        let mut machine = Machine::keeping_names();
        let start = self.at as usize;
        let (value, taken) = machine.run(self.peek(limit)?).map_err(|reason| reason.behind(start))?;
        let result = make(&machine, value).map_err(|reason| reason.behind(start))?;
        self.at += taken as u64;
        Ok(result)
    }

    fn count(&mut self) -> Result<u64, Reason> {
        let count = self.pickle(RECORD, |_, count| count.int().ok_or_else(|| wrong("a count is no integer")))?;
        u64::try_from(count)
            .ok()
            .filter(|n| *n <= RECORDS)
            .ok_or_else(|| Reason::Limit(format!("a count of {count}, 0 to {RECORDS} are possible")))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tar::tests::{archive, member};
    use super::*;

    /// A dict as Python 2 pickled it: `{"protocol_version": 1000, "little_endian": True}`.
    const SYSTEM: &[u8] = b"\x80\x02}q\x01(U\x10protocol_versionq\x02M\xe8\x03U\rlittle_endianq\x03\x88u.";
    /// A persistent id of a text of 15 digits: an address, as torch used them for keys.
    const OBJECT: &[u8] = b"\x80\x02U\x0f140737000000001q\x01Q.";
    /// One record: (key 140737000000001, storage 7, `torch.FloatTensor`), two dimensions, 2 x 3 with strides 1 and 2 from element 1.
    fn tensors() -> Vec<u8> {
        let record = b"\x80\x02I140737000000001\nK\x07ctorch\nFloatTensor\nq\x01\x87q\x02.";
        let raw: Vec<u8> = [2i64, 2, 3, 1, 2, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
        [b"\x80\x02K\x01.".as_slice(), record, &raw].concat()
    }

    /// One storage of the floats 0 to 7 under the key 7, no views.
    fn storages() -> Vec<u8> {
        let floats: Vec<u8> = (0..8u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
        let record = b"\x80\x02K\x07U\x03cpuq\x01ctorch\nFloatStorage\nq\x02\x87q\x03.";
        [b"\x80\x02K\x01.".as_slice(), record, &8i64.to_le_bytes(), &floats, b"\x80\x02]q\x01."].concat()
    }

    /// Contents begin at bytes 512, 1536, 2560 and 3584: each has a header and fits into one block.
    fn file(object: &[u8], tensors: &[u8], storages: &[u8]) -> Vec<u8> {
        let members = [("sys_info", SYSTEM), ("pickle", object), ("tensors", tensors), ("storages", storages)];
        archive(&members.map(|(name, content)| member(name, b'0', content)))
    }

    fn sound() -> Vec<u8> {
        file(OBJECT, &tensors(), &storages())
    }

    /// What a file is read as: shape and elements.
    fn floats(bytes: Vec<u8>) -> Result<(Vec<u64>, Vec<f32>), String> {
        let tensor = crate::tensor::read(crate::tensor::Container::Pt, Storage::from_bytes(bytes), None).map_err(|e| e.to_string())?;
        assert_eq!(tensor.dtype, Dtype::F32);
        let mut raw = Vec::new();
        tensor.copy_to(&mut raw, 1 << 20).unwrap();
        Ok((tensor.layout.shape, raw.chunks_exact(4).map(|f| f32::from_le_bytes(f.try_into().unwrap())).collect()))
    }

    /// `bytes` with the one place where `old` stands changed to `new`.
    fn with(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
        let places: Vec<_> = memchr::memmem::find_iter(bytes, old).collect();
        let [at] = places[..] else { panic!("{} stands in {} places", old.escape_ascii(), places.len()) };
        [&bytes[..at], new, &bytes[at + old.len()..]].concat()
    }

    fn strided() -> (Vec<u64>, Vec<f32>) {
        (vec![2, 3], vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0])
    }

    #[test]
    fn a_strided_tensor() {
        assert_eq!(floats(sound()).unwrap(), strided());
    }

    #[test]
    fn the_same_read_piece_by_piece() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("a.pt");
        std::fs::write(&path, sound()).unwrap();
        let tensor = read(Storage::open_piecewise(&path).unwrap()).unwrap();
        let mut raw = Vec::new();
        tensor.copy_to(&mut raw, 24).unwrap();
        assert_eq!(raw, strided().1.iter().flat_map(|f| f.to_le_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn members_come_in_any_order_and_others_are_passed_over() {
        let (tensors, storages) = (tensors(), storages());
        let members = [("storages", &storages[..]), ("notes", b"of somebody"), ("tensors", &tensors), ("pickle", OBJECT)];
        assert_eq!(floats(archive(&members.map(|(name, content)| member(name, b'0', content)))).unwrap(), strided());
    }

    #[test]
    fn views_of_storages() {
        let viewed = |view: &[u8]| with(&storages(), b"]q\x01.", &[b"]q\x01(", view, b"tq\x02a."].concat());
        let of_view = with(&tensors(), b"\nK\x07c", b"\nK\x09c");
        let read = |view: &[u8]| floats(file(OBJECT, &of_view, &viewed(view)));
        // Key 9: 7 elements of storage 7 from element 1; the tensor starts at its element 1.
        assert_eq!(read(b"K\x09K\x07K\x01K\x07").unwrap().1, [2.0, 4.0, 6.0, 3.0, 5.0, 7.0]);
        let refused = |view: &[u8]| read(view).unwrap_err();
        assert_eq!(refused(b"K\x09K\x07K\x02K\x07"), "tar archive: in storages: view 9 reaches beyond its storage");
        assert_eq!(refused(b"K\x09K\x07J\xff\xff\xff\xffK\x07"), "tar archive: in storages: view 9 reaches beyond its storage");
        assert_eq!(refused(b"K\x09K\x08K\x00K\x01"), "tar archive: in storages: view 9 is of storage 8, which is not there");
        assert_eq!(refused(b"K\x07K\x07K\x00K\x01"), "tar archive: in storages: two storages have the key 7");
        assert_eq!(refused(b"K\x08K\x07K\x00K\x01"), "tar archive: storage 9 of the tensor is not in the member storages");
        assert_eq!(
            refused(b"K\x08K\x07K\x00"),
            "tar archive: in storages: pickle: not (key, storage, offset, count) of a view at byte 3666"
        );
        assert!(refused(b"K\x09K\x07K\x01K\x05").contains("reaches beyond 5 elements"));
    }

    #[test]
    fn parameters_and_variables_are_their_tensor() {
        for class in ["torch.nn.parameter\nParameter", "torch.autograd.variable\nVariable"] {
            // class(tensor), then the state (requires_grad, volatile, hooks).
            let object =
                [b"\x80\x02c", class.as_bytes(), b"\nU\x0f140737000000001Q\x85R\x88\x89ccollections\nOrderedDict\n)R\x87b."].concat();
            assert_eq!(floats(file(&object, &tensors(), &storages())).unwrap(), strided(), "{class}");
        }
    }

    #[test]
    fn what_is_no_tensor_is_refused_by_name() {
        let refused = |object: &[u8]| floats(file(object, &tensors(), &storages())).unwrap_err();
        assert_eq!(refused(b"\x80\x02}U\x01wU\x0f140737000000001Qs."), "holds a dict, not a tensor");
        assert_eq!(refused(b"\x80\x02]U\x0f140737000000001Qa."), "holds a list, not a tensor");
        assert_eq!(refused(b"\x80\x02N."), "holds None, not a tensor");
        assert_eq!(refused(b"\x80\x02U\x017Q."), "holds a storage, not a tensor");
        assert_eq!(refused(b"\x80\x02U\x018Q."), "tar archive: tensor 8 is not in the member tensors");
        assert_eq!(refused(b"\x80\x02U\x03oneQ."), "tar archive: in pickle: pickle: a persistent id that is no number at byte 1536");
        assert_eq!(refused(b"\x80\x02K\x07Q."), "tar archive: in pickle: pickle: a persistent id is no storage at byte 1541");
        assert_eq!(refused(b"\x80\x02cos\nsystem\nU\x04true\x85R."), "pickle: the global 'os.system' is not allowed");
        assert_eq!(refused(b"(lp0\n."), "tar archive: in pickle: not a pickle file");
    }

    #[test]
    fn records_that_do_not_fit() {
        let of_tensors = |old: &[u8], new: &[u8]| floats(file(OBJECT, &with(&tensors(), old, new), &storages())).unwrap_err();
        let of_storages = |old: &[u8], new: &[u8]| floats(file(OBJECT, &tensors(), &with(&storages(), old, new))).unwrap_err();
        let one = b"\x80\x02K\x01.";
        // 10^18 as a pickled integer of eight bytes.
        let huge = [b"\x80\x02\x8a\x08".as_slice(), &1_000_000_000_000_000_000i64.to_le_bytes(), b"."].concat();
        assert_eq!(of_tensors(one, &huge), "tar archive: in tensors: a count of 1000000000000000000, 0 to 65536 are possible");
        assert_eq!(of_storages(one, &huge), "tar archive: in storages: a count of 1000000000000000000, 0 to 65536 are possible");
        assert_eq!(of_tensors(one, b"\x80\x02J\xff\xff\xff\xff."), "tar archive: in tensors: a count of -1, 0 to 65536 are possible");
        assert_eq!(of_tensors(one, b"\x80\x02K\x02."), "tar archive: in tensors: truncated: pickle");
        assert_eq!(of_tensors(one, b"\x80\x02N."), "tar archive: in tensors: pickle: a count is no integer at byte 2560");
        assert_eq!(of_tensors(one, b"\x80\x02K\x00."), "tar archive: tensor 140737000000001 is not in the member tensors");
        assert_eq!(of_storages(one, b"\x80\x02K\x00."), "tar archive: in storages: pickle: the views of storages are no list at byte 3589");
        assert_eq!(of_tensors(b"\nK\x07c", b"\nNc"), "storage-less tensors are not supported");
        let eight = [b"q\x03.".as_slice(), &8i64.to_le_bytes()].concat();
        for count in [9i64, 16, 1 << 40, i64::MAX, -1] {
            let lie = [b"q\x03.".as_slice(), &count.to_le_bytes()].concat();
            let reason = of_storages(&eight, &lie);
            // One more element still lies within the member and swallows the list of views.
            let expected = if count == 9 {
                "tar archive: in storages: not a pickle file".to_owned()
            } else {
                format!("tar archive: in storages: storage 7 of {count} elements reaches beyond the member")
            };
            assert_eq!(reason, expected);
        }
        assert_eq!(of_storages(b"FloatStorage", b"QInt8Storage"), "pickle: the global 'torch.QInt8Storage' is not allowed");
        assert_eq!(
            of_storages(b"FloatStorage", b"UntypedStorage"),
            "tar archive: in storages: pickle: not (key, device, class) of a storage at byte 3589"
        );
        let dimensions = |n: i32| [b"q\x02.".as_slice(), &n.to_le_bytes()].concat();
        for n in [-1, 65, i32::MAX] {
            let reason = of_tensors(&dimensions(2), &dimensions(n));
            assert_eq!(reason, format!("tar archive: in tensors: {n} dimensions, 0 to 64 are possible"));
        }
        assert_eq!(of_tensors(&dimensions(2), &dimensions(3)), "tar archive: in tensors: truncated: the member is too short");
        let sizes = |n: i64| [2i64, n, 3].iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
        assert_eq!(of_tensors(&sizes(2), &sizes(-2)), "size -2 is out of range");
        assert_eq!(of_tensors(&sizes(2), &sizes(4)), "shape [4, 3] with strides [1, 2] reaches beyond 8 elements");
        assert!(of_tensors(&sizes(2), &sizes(i64::MAX)).ends_with("is too large"));
    }

    #[test]
    fn two_of_one_key_or_name() {
        let tensors = tensors();
        let twice = [b"\x80\x02K\x02.", &tensors[5..], &tensors[5..]].concat();
        assert_eq!(
            floats(file(OBJECT, &twice, &storages())).unwrap_err(),
            "tar archive: in tensors: two tensors have the key 140737000000001"
        );
        let whole = storages();
        let record = &whole[5..whole.len() - 6];
        let twice = [b"\x80\x02K\x02.", record, record, b"\x80\x02]q\x01."].concat();
        assert_eq!(floats(file(OBJECT, &tensors, &twice)).unwrap_err(), "tar archive: in storages: two storages have the key 7");
        for name in ["sys_info", "pickle", "tensors", "storages"] {
            let bytes = [member(name, b'0', SYSTEM), sound()].concat();
            assert_eq!(floats(bytes).unwrap_err(), format!("tar archive: two members are called {name}"));
        }
    }

    #[test]
    fn big_endian_and_missing_members() {
        let big = with(&sound(), b"little_endianq\x03\x88", b"little_endianq\x03\x89");
        assert_eq!(floats(big).unwrap_err(), "tar archive: written on a big endian machine; save the tensor again with torch 0.2 or later");
        for name in ["pickle", "tensors", "storages"] {
            let members = [("pickle", OBJECT.to_vec()), ("tensors", tensors()), ("storages", storages())];
            let kept: Vec<_> = members.iter().filter(|(n, _)| *n != name).map(|(n, content)| member(n, b'0', content)).collect();
            assert_eq!(floats(archive(&kept)).unwrap_err(), format!("tar archive: no member {name}"));
        }
    }

    /// Cut anywhere, a file is refused; with any byte changed it is refused or read within its bounds.
    #[test]
    fn every_truncation_and_every_flip() {
        let whole = sound();
        for length in 0..whole.len() {
            assert!(floats(whole[..length].to_vec()).is_err(), "{length}");
        }
        let mut refused = 0;
        for at in 0..whole.len() {
            for bits in [1, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[at] ^= bits;
                if let Ok(tensor) = read(Storage::from_bytes(changed)) {
                    assert!(tensor.copy_to(&mut Vec::new(), 1 << 20).is_ok(), "{at}");
                } else {
                    refused += 1;
                }
            }
        }
        // Headers are protected by checksums, their text and the records by what they must say.
        assert!(refused > 4 * 512, "{refused}");
    }
}
