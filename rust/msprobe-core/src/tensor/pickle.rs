//! A pickle machine that can build a tensor's description and nothing else.
//!
//! It knows the opcodes of protocols 2 to 5 that a saved tensor uses and a fixed list of globals. Nothing is imported,
//! looked up or called: a REDUCE on an allowed global makes a plain Rust value, everything else is an error that names
//! the global. Opcodes, values and therefore memory and time are bounded; values live in arenas, so nothing nests.

use super::dtype::Dtype;
use super::error::Reason;
use super::rebuild::{self, Global, StorageRef, TensorSpec};
use std::collections::HashMap;

/// Opcodes one pickle may have. A tensor needs about sixty; the rest is room for attributes.
const OPCODES: usize = 1 << 17;
/// Values that may be kept at a time.
const VALUES: usize = 1 << 16;
/// The keys of dicts that someone asks for. Other entries are dropped, so that a look-up costs nothing.
const KEYS: [&[u8]; 4] = [b"conj", b"neg", b"_local_tensor", b"little_endian"];

/// A value of the machine. Composite ones are handles into [`Machine`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// `None`
    None,
    /// A boolean.
    Bool(bool),
    /// An integer of up to 16 bytes.
    Int(i128),
    /// A float; none is ever used, only its kind is reported.
    Float,
    /// Text or bytes.
    Text(&'a [u8]),
    /// Elements `[start, end)` of the items.
    Tuple(u32, u32),
    /// A list.
    List(u32),
    /// A dict or an `OrderedDict`, with no other keys than those of [`KEYS`].
    Dict(u32),
    /// One of the allowed names.
    Global(Global),
    /// A storage named by a persistent id.
    Storage(u32),
    /// A tensor's description.
    Tensor(u32),
    /// Something that is described elsewhere under this id.
    Named(&'a [u8]),
    /// Something that a tensor may carry along but that does not matter.
    Inert,
    /// Start of a group on the stack.
    Mark,
}

/// The state of one run.
#[derive(Debug, Default)]
pub struct Machine<'a> {
    /// Whether persistent ids that are texts become [`Value::Named`]. Otherwise each must describe a storage.
    keeps_names: bool,
    stack: Vec<Value<'a>>,
    memo: HashMap<u32, Value<'a>>,
    items: Vec<Value<'a>>,
    lists: Vec<Vec<Value<'a>>>,
    dicts: Vec<[Option<Value<'a>>; KEYS.len()]>,
    /// Storages met, in order.
    pub storages: Vec<StorageRef<'a>>,
    /// Tensors rebuilt, in order.
    pub tensors: Vec<TensorSpec>,
}

/// A cursor over the pickle's bytes.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Reason> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or(Reason::Truncated("pickle"))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self, width: usize) -> Result<u64, Reason> {
        Ok(self.take(width)?.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    fn counted(&mut self, width: usize) -> Result<&'a [u8], Reason> {
        let length = self.number(width)?;
        self.take(usize::try_from(length).map_err(|_| Reason::Truncated("pickle"))?)
    }

    fn line(&mut self) -> Result<&'a [u8], Reason> {
        let rest = &self.bytes[self.at..];
        let length = memchr::memchr(b'\n', rest).ok_or(Reason::Truncated("pickle"))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    fn wrong(&self, what: &'static str) -> Reason {
        Reason::Pickle { what, at: self.at }
    }
}

impl<'a> Machine<'a> {
    /// A machine for pickles whose persistent ids are keys of what is described elsewhere.
    #[must_use]
    pub fn keeping_names() -> Machine<'a> {
        Machine { keeps_names: true, ..Machine::default() }
    }

    /// Runs one pickle from the start of `bytes`. Returns its value and how many bytes it took.
    pub fn run(&mut self, bytes: &'a [u8]) -> Result<(Value<'a>, usize), Reason> {
        let mut input = Input { bytes, at: 0 };
        self.stack.clear();
        self.memo.clear();
        if input.number(1)? != 0x80 {
            return Err(Reason::NotThis("pickle"));
        }
        if !(2..=5).contains(&input.number(1)?) {
            return Err(input.wrong("unknown protocol"));
        }
        for _ in 0..OPCODES {
            let opcode = input.number(1)? as u8;
            if opcode == b'.' {
                let value = self.pop(&input)?;
                return Ok((value, input.at));
            }
            // What is made of globals knows no place; the machine does.
            self.step(opcode, &mut input).map_err(|reason| match reason {
                Reason::Pickle { what, at: 0 } => input.wrong(what),
                other => other,
            })?;
            let kept = self.stack.len() + self.items.len() + self.memo.len() + self.storages.len() + self.tensors.len();
            if kept > VALUES || self.lists.len() + self.dicts.len() > VALUES {
                return Err(Reason::Limit(format!("pickle of more than {VALUES} values")));
            }
        }
        Err(Reason::Limit(format!("pickle of more than {OPCODES} operations")))
    }

    /// Elements of a tuple or a list; nothing for other values.
    #[must_use]
    pub fn elements(&self, value: Value<'a>) -> &[Value<'a>] {
        match value {
            Value::Tuple(start, end) => &self.items[start as usize..end as usize],
            Value::List(index) => &self.lists[index as usize],
            _ => &[],
        }
    }

    /// The last value a dict has under one of [`KEYS`].
    #[must_use]
    pub fn get(&self, dict: Value<'a>, key: &str) -> Option<Value<'a>> {
        let Value::Dict(index) = dict else { return None };
        self.dicts[index as usize][place_of(key.as_bytes())?]
    }

    /// A new empty dict.
    pub fn new_dict(&mut self) -> Value<'a> {
        self.dicts.push([None; KEYS.len()]);
        Value::Dict(self.dicts.len() as u32 - 1)
    }

    fn step(&mut self, opcode: u8, input: &mut Input<'a>) -> Result<(), Reason> {
        match opcode {
            b'N' => self.stack.push(Value::None),
            0x88 | 0x89 => self.stack.push(Value::Bool(opcode == 0x88)),
            b'K' => self.push_number(input, 1)?,
            b'M' => self.push_number(input, 2)?,
            b'J' => {
                let n = input.number(4)? as u32 as i32;
                self.stack.push(Value::Int(i128::from(n)));
            }
            0x8a => {
                let digits = input.counted(1)?;
                let n = long(digits).ok_or_else(|| input.wrong("integer of more than 16 bytes"))?;
                self.stack.push(Value::Int(n));
            }
            b'I' => {
                let n = decimal(input.line()?).ok_or_else(|| input.wrong("a line that is no integer"))?;
                self.stack.push(n);
            }
            b'G' => {
                input.take(8)?;
                self.stack.push(Value::Float);
            }
            0x8c | b'U' | b'C' => self.push_text(input, 1)?,
            b'X' | b'T' | b'B' => self.push_text(input, 4)?,
            0x8d | 0x8e => self.push_text(input, 8)?,
            b'(' => self.stack.push(Value::Mark),
            b')' => self.make_tuple(self.stack.len()),
            0x85..=0x87 => {
                let size = usize::from(opcode - 0x84);
                let start = self.stack.len().checked_sub(size).ok_or_else(|| input.wrong("stack underflow"))?;
                if self.stack[start..].contains(&Value::Mark) {
                    return Err(input.wrong("misplaced mark"));
                }
                self.make_tuple(start);
            }
            b't' => {
                let start = self.mark(input)?;
                self.stack.remove(start - 1);
                self.make_tuple(start - 1);
            }
            b']' => {
                self.lists.push(Vec::new());
                self.stack.push(Value::List(self.lists.len() as u32 - 1));
            }
            b'}' => {
                let dict = self.new_dict();
                self.stack.push(dict);
            }
            b'a' | b'e' => self.append(opcode == b'e', input)?,
            b's' | b'u' => self.set_items(opcode == b'u', input)?,
            b'0' => {
                self.pop(input)?;
            }
            b'c' => {
                let (module, name) = (input.line()?, input.line()?);
                self.global(module, name)?;
            }
            0x93 => match (self.pop(input)?, self.pop(input)?) {
                (Value::Text(name), Value::Text(module)) => self.global(module, name)?,
                _ => return Err(input.wrong("a global's name is no text")),
            },
            b'q' => self.put(input, 1)?,
            b'r' => self.put(input, 4)?,
            0x94 => {
                let top = *self.stack.last().ok_or_else(|| input.wrong("stack underflow"))?;
                self.memo.insert(self.memo.len() as u32, top);
            }
            b'h' => self.recall(input, 1)?,
            b'j' => self.recall(input, 4)?,
            0x95 => {
                input.take(8)?;
            }
            b'Q' => match self.pop(input)? {
                Value::Text(name) if self.keeps_names => self.stack.push(Value::Named(name)),
                id => {
                    let storage = rebuild::storage(self, id)?;
                    self.storages.push(storage);
                    self.stack.push(Value::Storage(self.storages.len() as u32 - 1));
                }
            },
            b'R' | 0x81 => {
                let arguments = self.pop(input)?;
                let made = match self.pop(input)? {
                    Value::Global(global) => rebuild::reduce(self, global, arguments)?,
                    _ => return Err(input.wrong("calls something that is no allowed global")),
                };
                self.stack.push(made);
            }
            b'b' => {
                let state = self.pop(input)?;
                let object = self.pop(input)?;
                let built = rebuild::build(self, object, state);
                self.stack.push(built);
            }
            _ => return Err(input.wrong("opcode that no tensor needs")),
        }
        Ok(())
    }

    fn pop(&mut self, input: &Input<'a>) -> Result<Value<'a>, Reason> {
        match self.stack.pop() {
            Some(Value::Mark) => Err(input.wrong("misplaced mark")),
            Some(value) => Ok(value),
            None => Err(input.wrong("stack underflow")),
        }
    }

    /// Index just behind the last mark.
    fn mark(&self, input: &Input<'a>) -> Result<usize, Reason> {
        self.stack.iter().rposition(|v| *v == Value::Mark).map(|at| at + 1).ok_or_else(|| input.wrong("no mark on the stack"))
    }

    fn push_number(&mut self, input: &mut Input<'a>, width: usize) -> Result<(), Reason> {
        let n = input.number(width)?;
        self.stack.push(Value::Int(i128::from(n)));
        Ok(())
    }

    fn push_text(&mut self, input: &mut Input<'a>, width: usize) -> Result<(), Reason> {
        let text = input.counted(width)?;
        self.stack.push(Value::Text(text));
        Ok(())
    }

    fn make_tuple(&mut self, start: usize) {
        let first = self.items.len() as u32;
        self.items.extend(self.stack.drain(start..));
        self.stack.push(Value::Tuple(first, self.items.len() as u32));
    }

    fn append(&mut self, many: bool, input: &Input<'a>) -> Result<(), Reason> {
        let start = if many { self.mark(input)? } else { self.stack.len().saturating_sub(1) };
        let values: Vec<_> = self.stack.drain(start..).collect();
        if many {
            self.stack.pop();
        }
        match self.stack.last() {
            Some(Value::List(index)) => self.lists[*index as usize].extend(values),
            Some(Value::Inert) => {}
            _ => return Err(input.wrong("append to something that is no list")),
        }
        Ok(())
    }

    fn set_items(&mut self, many: bool, input: &Input<'a>) -> Result<(), Reason> {
        let start = if many { self.mark(input)? } else { self.stack.len().saturating_sub(2) };
        let values: Vec<_> = self.stack.drain(start..).collect();
        if many {
            self.stack.pop();
        }
        if values.len() % 2 != 0 || values.contains(&Value::Mark) {
            return Err(input.wrong("keys and values do not pair"));
        }
        match self.stack.last() {
            Some(Value::Dict(index)) => {
                for pair in values.chunks_exact(2) {
                    let place = if let Value::Text(key) = pair[0] { place_of(key) } else { None };
                    if let Some(place) = place {
                        self.dicts[*index as usize][place] = Some(pair[1]);
                    }
                }
            }
            Some(Value::Inert) => {}
            _ => return Err(input.wrong("item set on something that is no dict")),
        }
        Ok(())
    }

    fn put(&mut self, input: &mut Input<'a>, width: usize) -> Result<(), Reason> {
        let index = input.number(width)? as u32;
        let top = *self.stack.last().ok_or_else(|| input.wrong("stack underflow"))?;
        self.memo.insert(index, top);
        Ok(())
    }

    fn recall(&mut self, input: &mut Input<'a>, width: usize) -> Result<(), Reason> {
        let index = input.number(width)? as u32;
        let value = *self.memo.get(&index).ok_or_else(|| input.wrong("memo entry that was never set"))?;
        self.stack.push(value);
        Ok(())
    }

    fn global(&mut self, module: &[u8], name: &[u8]) -> Result<(), Reason> {
        let (module, name) = (String::from_utf8_lossy(module), String::from_utf8_lossy(name));
        self.stack.push(Value::Global(rebuild::global(&module, &name)?));
        Ok(())
    }
}

fn place_of(key: &[u8]) -> Option<usize> {
    KEYS.iter().position(|kept| *kept == key)
}

/// Little endian two's complement of any length up to 16 bytes.
fn long(digits: &[u8]) -> Option<i128> {
    let negative = digits.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut bytes = [if negative { 0xff } else { 0 }; 16];
    bytes.get_mut(..digits.len())?.copy_from_slice(digits);
    Some(i128::from_le_bytes(bytes))
}

/// A line of opcode `I`, in which Python 2 keeps integers of more than 32 bits and, by a zero in front, booleans.
fn decimal<'a>(line: &[u8]) -> Option<Value<'a>> {
    match line {
        b"00" => Some(Value::Bool(false)),
        b"01" => Some(Value::Bool(true)),
        _ => std::str::from_utf8(line).ok()?.parse::<i64>().ok().map(|n| Value::Int(i128::from(n))),
    }
}

impl Value<'_> {
    /// What a person calls it, for messages.
    #[must_use]
    pub fn kind(self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "a boolean",
            Value::Int(_) | Value::Float => "a number",
            Value::Text(_) => "text",
            Value::Tuple(..) => "a tuple",
            Value::List(_) => "a list",
            Value::Dict(_) => "a dict",
            Value::Storage(_) => "a storage",
            Value::Tensor(_) | Value::Named(_) => "a tensor",
            Value::Global(_) | Value::Inert | Value::Mark => "an object",
        }
    }

    /// The number of an integer that fits.
    #[must_use]
    pub fn int(self) -> Option<i128> {
        match self {
            Value::Int(n) => Some(n),
            _ => None,
        }
    }

    /// The element type of a dtype global.
    #[must_use]
    pub fn dtype(self) -> Option<Dtype> {
        match self {
            Value::Global(Global::Dtype(dtype)) => Some(dtype),
            _ => None,
        }
    }
}
