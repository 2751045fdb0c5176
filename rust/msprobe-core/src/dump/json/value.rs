//! A parsed JSON value, borrowed from the file and from a bump arena.

/// One JSON value. Copying it is free: texts, lists and objects are borrowed, and it is made of whole words (a tag of one byte
/// would be stored as such and copied with its neighbours, for which the processor waits).
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u64)]
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer, as written in the file (any number of digits; `-0` is kept as `0`).
    Int(&'a str),
    /// A number with a fraction or an exponent, or one of the bare words `NaN`, `Infinity`, `-Infinity`.
    Float(f64),
    /// A text with its escapes resolved.
    Str(&'a str),
    /// A list.
    List(&'a [Value<'a>]),
    /// An object; a repeated key keeps its first position and its last value.
    Object(&'a [Member<'a>]),
}

/// One member of an object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member<'a> {
    /// The key with its escapes resolved.
    pub key: &'a str,
    /// The value.
    pub value: Value<'a>,
}

impl<'a> Value<'a> {
    /// The member `key` of an object; `None` for other kinds and absent keys.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Value<'a>> {
        match self {
            Value::Object(members) => members.iter().find(|m| m.key == key).map(|m| m.value),
            _ => None,
        }
    }

    /// What Python's `bool(value)` gives: null, false, zero and everything empty are false.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(b) => *b,
            Value::Int(text) => *text != "0",
            Value::Float(x) => *x != 0.0,
            Value::Str(s) => !s.is_empty(),
            Value::List(items) => !items.is_empty(),
            Value::Object(members) => !members.is_empty(),
        }
    }
}
