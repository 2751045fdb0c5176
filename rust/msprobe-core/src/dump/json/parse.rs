//! Building values.

use bumpalo::collections::Vec;
use bumpalo::Bump;

use super::number::float;
use super::scan::{Escapes, Fault, Number, Scanner, StringToken};
use super::text::unescape;
use super::usual::Gone;
use super::value::{Member, Value};

/// Objects with more members than this look for repeated keys by sorting hashes, smaller ones by comparing all pairs.
const SMALL_OBJECT: usize = 16;

/// A container that is being filled: where its members start on the stack, and the key it will have in its parent.
struct Open<'a> {
    start: usize,
    object: bool,
    key: &'a str,
}

/// Parses the value at the scanner and moves behind it. Everything that does not lie in the text itself is put into `bump`;
/// nothing else is allocated.
pub fn parse<'t: 'a, 'a>(scanner: &mut Scanner<'t>, bump: &'a Bump) -> Result<Value<'a>, Fault> {
    // Members of all open containers, the innermost last.
    let mut members: Vec<'_, Member<'a>> = Vec::with_capacity_in(32, bump);
    let mut open: Vec<'_, Open<'a>> = Vec::with_capacity_in(8, bump);
    let mut key = "";
    loop {
        let mut value = match scanner.skip_blanks() {
            b'{' => {
                scanner.advance();
                let start = members.len();
                if scanner.skip_blanks() == b'}' {
                    scanner.advance();
                    Value::Object(&[])
                } else if scanner.usual(&mut members, bump)? == Gone::Through {
                    let object = bump.alloc_slice_copy(&members[start..]);
                    members.truncate(start);
                    Value::Object(object)
                } else {
                    open.push(Open { start, object: true, key });
                    key = text(scanner.key()?, bump);
                    continue;
                }
            }
            b'[' => {
                scanner.advance();
                if scanner.skip_blanks() == b']' {
                    scanner.advance();
                    Value::List(&[])
                } else {
                    open.push(Open { start: members.len(), object: false, key });
                    key = "";
                    continue;
                }
            }
            _ => scalar(scanner, bump)?,
        };
        // A value is complete; now close what ends here.
        loop {
            let Some(innermost) = open.last() else { return Ok(value) };
            members.push(Member { key, value });
            let next = scanner.skip_blanks();
            if next == b',' {
                scanner.advance();
                key = if innermost.object { text(scanner.key()?, bump) } else { "" };
                break;
            }
            if next != if innermost.object { b'}' } else { b']' } {
                return Err(scanner.fault(if innermost.object { "expected , or }" } else { "expected , or ]" }));
            }
            scanner.advance();
            let filled = &members[innermost.start..];
            value = if innermost.object {
                Value::Object(resolve_repeated(bump.alloc_slice_copy(filled), bump))
            } else {
                Value::List(bump.alloc_slice_fill_iter(filled.iter().map(|member| member.value)))
            };
            members.truncate(innermost.start);
            key = innermost.key;
            open.pop();
        }
    }
}

#[inline]
pub(super) fn scalar<'t: 'a, 'a>(scanner: &mut Scanner<'t>, bump: &'a Bump) -> Result<Value<'a>, Fault> {
    Ok(match scanner.peek() {
        b'"' => Value::Str(text(scanner.string()?, bump)),
        b'-' | b'0'..=b'9' => match scanner.number()? {
            Number::Int("-0") => Value::Int("0"),
            Number::Int(digits) => Value::Int(digits),
            Number::Float(text) => Value::Float(float(text)),
        },
        b'n' => scanner.word("null").map(|()| Value::Null)?,
        b't' => scanner.word("true").map(|()| Value::Bool(true))?,
        b'f' => scanner.word("false").map(|()| Value::Bool(false))?,
        b'N' => scanner.word("NaN").map(|()| Value::Float(f64::NAN))?,
        b'I' => scanner.word("Infinity").map(|()| Value::Float(f64::INFINITY))?,
        _ => return Err(scanner.fault("expected a value")),
    })
}

/// The text of a string, borrowed if it has no escapes.
#[inline]
fn text<'a>(token: StringToken<'a>, bump: &'a Bump) -> &'a str {
    if token.escapes == Escapes::None {
        return token.raw;
    }
    let mut text = bumpalo::collections::String::with_capacity_in(token.raw.len(), bump);
    unescape(token.raw, |piece| text.push_str(piece));
    text.into_bump_str()
}

/// Gives repeated keys their first position and their last value.
fn resolve_repeated<'a>(members: &'a mut [Member<'a>], bump: &'a Bump) -> &'a [Member<'a>] {
    if !may_repeat(members) {
        return members;
    }
    // Position of the first member with the same key, for each member.
    let mut first: Vec<'_, u32> = Vec::with_capacity_in(members.len(), bump);
    first.extend(0..members.len() as u32);
    if members.len() <= SMALL_OBJECT {
        for i in 1..members.len() {
            first[i] = members[..i].iter().position(|member| member.key == members[i].key).unwrap_or(i) as u32;
        }
    } else {
        let mut order: Vec<'_, u32> = Vec::with_capacity_in(members.len(), bump);
        order.extend(0..members.len() as u32);
        order.sort_unstable_by(|a, b| (members[*a as usize].key, a).cmp(&(members[*b as usize].key, b)));
        for pair in 1..order.len() {
            let (before, this) = (order[pair - 1] as usize, order[pair] as usize);
            if members[before].key == members[this].key {
                first[this] = first[before];
            }
        }
    }
    let mut kept = 0;
    // Where each first member has gone to.
    let mut moved: Vec<'_, u32> = Vec::with_capacity_in(members.len(), bump);
    for i in 0..members.len() {
        let target = if first[i] as usize == i {
            kept += 1;
            kept - 1
        } else {
            moved[first[i] as usize] as usize
        };
        moved.push(target as u32);
        members[target] = members[i];
    }
    &members[..kept]
}

/// False if no two keys can be equal, told by a set of 64 bits.
#[inline]
fn may_repeat(members: &[Member<'_>]) -> bool {
    let mut seen = 0u64;
    for member in members {
        let key = member.key.as_bytes();
        let ends = key.first().map_or(0, |first| usize::from(*first) * 7 + usize::from(key[key.len() - 1]));
        let bit = 1 << ((ends * 5 + key.len()) & 63);
        if seen & bit != 0 {
            return true;
        }
        seen |= bit;
    }
    false
}
