//! The tokens of a JSON text, and skipping a value while checking all of it.

use super::number::{leading_digits, short_number};
use super::plain::plain_end;
use super::usual::Gone;

/// Where and why a text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Offset of the first byte that does not fit.
    pub offset: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

/// A string as it stands in the text, without its quotes; checked, not yet unescaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StringToken<'a> {
    /// The text between the quotes.
    pub raw: &'a str,
    /// Whether it holds escapes.
    pub escapes: Escapes,
}

/// Whether a string holds escapes.
///
/// As large as a register: what is stored as a byte and copied with its neighbours as a word makes the processor wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Escapes {
    /// It stands in the text as it is.
    None,
    /// At least one.
    Some,
}

/// A number as it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number<'a> {
    /// Digits with or without a sign.
    Int(&'a str),
    /// Anything else.
    Float(&'a str),
}

/// A position in a JSON text.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Whether some key read by [`Scanner::skip_value`] was (or, written with escapes, may be) the word `md5`.
    pub met_md5: bool,
}

type Scan<T> = Result<T, Fault>;

impl<'a> Scanner<'a> {
    /// Starts at the byte `at` of `text`, which must lie between characters.
    #[must_use]
    pub fn new(text: &'a str, at: usize) -> Scanner<'a> {
        Scanner { text, at, met_md5: false }
    }

    /// The offset of the next byte to be read.
    #[must_use]
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next byte, 0 at the end. (A NUL byte outside strings is wrong anyway.)
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    #[inline]
    pub(super) fn advance_by(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// Back to a place where the scanner has been.
    #[inline]
    pub(super) fn go_back(&mut self, at: usize) {
        self.at = at;
    }

    /// The bytes from here on.
    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Digits that are a JSON number without sign, fraction and exponent, or at least begin like one.
    #[inline]
    pub(super) fn whole_number(&mut self) -> Option<&'a str> {
        let start = self.at;
        self.digits().ok()?;
        let digits = &self.text[start..self.at];
        (digits.len() == 1 || !digits.starts_with('0')).then_some(digits)
    }

    /// The fault `reason` at the current place, or the end of the text if that is there.
    #[cold]
    #[must_use]
    pub fn fault(&self, reason: &'static str) -> Fault {
        let reason = if self.at >= self.text.len() { "unexpected end of the file" } else { reason };
        Fault { offset: self.at.min(self.text.len()), reason }
    }

    /// Skips blanks and returns the next byte, 0 at the end.
    #[inline]
    pub fn skip_blanks(&mut self) -> u8 {
        let next = self.peek();
        if next > b' ' {
            return next;
        }
        self.skip_more_blanks()
    }

    #[inline]
    fn skip_more_blanks(&mut self) -> u8 {
        loop {
            match self.peek() {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                other => return other,
            }
        }
    }

    /// Skips blanks and the byte `wanted`, if it is next.
    #[inline]
    pub fn take(&mut self, wanted: u8) -> bool {
        if self.skip_blanks() != wanted {
            return false;
        }
        self.at += 1;
        true
    }

    /// Steps into an object: skips `{`. False if there is something else.
    #[inline]
    pub fn enter_object(&mut self) -> bool {
        self.take(b'{')
    }

    /// Steps into a list: skips `[`. False if there is something else.
    #[inline]
    pub fn enter_list(&mut self) -> bool {
        self.take(b'[')
    }

    /// The next key of an object and the colon behind it; `None` after the closing brace. `first` is true for the first call in
    /// an object.
    #[inline]
    pub fn next_key(&mut self, first: bool) -> Scan<Option<StringToken<'a>>> {
        if self.skip_blanks() == b'}' {
            self.at += 1;
            return Ok(None);
        }
        if !first {
            if self.peek() != b',' {
                return Err(self.fault("expected , or }"));
            }
            self.at += 1;
        }
        self.key().map(Some)
    }

    /// Whether another item of a list follows; false after the closing bracket. `first` is true for the first call in a list.
    #[inline]
    pub fn next_item(&mut self, first: bool) -> Scan<bool> {
        if self.skip_blanks() == b']' {
            self.at += 1;
            return Ok(false);
        }
        if !first {
            if self.peek() != b',' {
                return Err(self.fault("expected , or ]"));
            }
            self.at += 1;
        }
        Ok(true)
    }

    /// A key and the colon behind it.
    // Always inlined, for the same reason as `string`.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(super) fn key(&mut self) -> Scan<StringToken<'a>> {
        if self.skip_blanks() != b'"' {
            return Err(self.fault("expected a key in double quotes"));
        }
        let key = self.string()?;
        if self.skip_blanks() != b':' {
            return Err(self.fault("expected : after a key"));
        }
        self.at += 1;
        Ok(key)
    }

    /// A string; the next byte must be its opening quote.
    // Always inlined: returning the result through memory costs as much as the scan.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub fn string(&mut self) -> Scan<StringToken<'a>> {
        let start = self.at + 1;
        self.at = plain_end(self.text.as_bytes(), start);
        if self.peek() == b'"' {
            let raw = &self.text[start..self.at];
            self.at += 1;
            return Ok(StringToken { raw, escapes: Escapes::None });
        }
        self.rest_of_string(start)
    }

    /// The part of a string from its first escape, control character or the end of the text on.
    #[cold]
    fn rest_of_string(&mut self, start: usize) -> Scan<StringToken<'a>> {
        loop {
            match self.peek() {
                b'"' => {
                    let raw = &self.text[start..self.at];
                    self.at += 1;
                    return Ok(StringToken { raw, escapes: Escapes::Some });
                }
                b'\\' => self.escape()?,
                _ => return Err(self.fault("control character in a string")),
            }
            self.at = plain_end(self.text.as_bytes(), self.at);
        }
    }

    fn escape(&mut self) -> Scan<()> {
        self.at += 1;
        match self.peek() {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek().is_ascii_hexdigit() {
                        return Err(self.fault("expected four hex digits after \\u"));
                    }
                    self.at += 1;
                }
            }
            _ => return Err(self.fault("unknown escape in a string")),
        }
        Ok(())
    }

    /// A number; the next byte must be `-` or a digit. `-Infinity` counts as a number.
    #[inline]
    pub(super) fn number(&mut self) -> Scan<Number<'a>> {
        let start = self.at;
        match self.skip_number() {
            Ok(true) => Ok(Number::Float(&self.text[start..self.at])),
            Ok(false) => Ok(Number::Int(&self.text[start..self.at])),
            Err(reason) => Err(self.fault(reason)),
        }
    }

    /// Skips a number and tells whether it has a fraction or an exponent. (A result that fits into registers.)
    #[inline]
    fn skip_number(&mut self) -> Result<bool, &'static str> {
        if let Some((length, float)) = self.text.as_bytes()[self.at..].first_chunk().and_then(short_number) {
            self.at += length;
            return Ok(float);
        }
        self.skip_any_number()
    }

    /// The same for numbers of any length and those that are wrong.
    #[cold]
    fn skip_any_number(&mut self) -> Result<bool, &'static str> {
        if self.peek() == b'-' {
            self.at += 1;
            if self.peek() == b'I' {
                return self.word("Infinity").map(|()| true).map_err(|fault| fault.reason);
            }
        }
        if self.peek() == b'0' {
            self.at += 1;
            if self.peek().is_ascii_digit() {
                return Err("a number must not start with 0");
            }
        } else {
            self.digits()?;
        }
        let mut float = false;
        if self.peek() == b'.' {
            float = true;
            self.at += 1;
            self.digits()?;
        }
        if self.peek() | 0x20 == b'e' {
            float = true;
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(float)
    }

    #[inline]
    fn digits(&mut self) -> Result<(), &'static str> {
        let start = self.at;
        while let Some(word) = self.text.as_bytes().get(self.at..self.at + 8) {
            let digits = leading_digits(u64::from_le_bytes(word.try_into().expect("eight bytes")));
            self.at += digits;
            if digits < 8 {
                break;
            }
        }
        // Here is no digit any more, except near the end of the text.
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start {
            return Err("expected a digit");
        }
        Ok(())
    }

    /// One of the bare words.
    #[inline]
    pub(super) fn word(&mut self, word: &str) -> Scan<()> {
        if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        Err(self.broken_word(word))
    }

    /// Names the first byte that differs.
    #[cold]
    fn broken_word(&mut self, word: &str) -> Fault {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().zip(word.as_bytes()).take_while(|(a, b)| a == b).count();
        self.fault("unknown bare word")
    }

    /// A value that is neither a list nor an object.
    #[inline]
    pub(super) fn skip_scalar(&mut self) -> Scan<()> {
        match self.peek() {
            b'"' => self.skip_string(),
            b'-' | b'0'..=b'9' => self.skip_number().map(drop).map_err(|reason| self.fault(reason)),
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'N' => self.word("NaN"),
            b'I' => self.word("Infinity"),
            _ => Err(self.fault("expected a value")),
        }
    }

    /// Skips blanks and one value, and checks it completely.
    pub fn skip_value(&mut self) -> Scan<()> {
        let mut open = Nesting::default();
        loop {
            match self.skip_blanks() {
                b'{' => {
                    self.at += 1;
                    if self.skip_blanks() == b'}' {
                        self.at += 1;
                    } else if self.skip_usual()? == Gone::ToKey {
                        open.push(true);
                        self.skip_key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    if self.skip_blanks() != b']' {
                        open.push(false);
                        continue;
                    }
                    self.at += 1;
                }
                _ => self.skip_scalar()?,
            }
            // A value is complete; now close what ends here.
            loop {
                let Some(object) = open.innermost() else { return Ok(()) };
                let next = self.skip_blanks();
                if next == b',' {
                    self.at += 1;
                    if object {
                        self.skip_key()?;
                    }
                    break;
                }
                if next != if object { b'}' } else { b']' } {
                    return Err(self.fault(if object { "expected , or }" } else { "expected , or ]" }));
                }
                self.at += 1;
                open.pop();
            }
        }
    }

    /// Skips a key and the colon behind it.
    #[inline]
    fn skip_key(&mut self) -> Scan<()> {
        if self.skip_blanks() != b'"' {
            return Err(self.fault("expected a key in double quotes"));
        }
        let start = self.at;
        if self.skip_plain_string() {
            self.met_md5 |= self.text.as_bytes()[start..self.at] == *b"\"md5\"";
        } else {
            self.met_md5 = true;
            self.rest_of_string(start + 1)?;
        }
        if self.skip_blanks() != b':' {
            return Err(self.fault("expected : after a key"));
        }
        self.at += 1;
        Ok(())
    }

    #[inline]
    fn skip_string(&mut self) -> Scan<()> {
        let start = self.at + 1;
        if self.skip_plain_string() {
            return Ok(());
        }
        self.rest_of_string(start).map(drop)
    }

    /// Skips a string without escapes. False, standing at what ends its plain part, if it is another one.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn skip_plain_string(&mut self) -> bool {
        self.at = plain_end(self.text.as_bytes(), self.at + 1);
        if self.peek() != b'"' {
            return false;
        }
        self.at += 1;
        true
    }

    /// Nothing but blanks may follow.
    pub fn finish(&mut self) -> Scan<()> {
        self.skip_blanks();
        if self.at < self.text.len() {
            return Err(self.fault("something follows the end of the JSON text"));
        }
        Ok(())
    }
}

/// The open lists and objects around a place: one bit each, so that a text of nothing but brackets costs an eighth of its size.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    depth: usize,
    /// Kinds of the innermost containers (at most 64), the innermost lowest; set = object.
    near: u64,
    /// Kinds of the outer ones, 64 to a word.
    far: Vec<u64>,
}

impl Nesting {
    #[inline]
    pub(super) fn push(&mut self, object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.far.push(self.near);
        }
        self.near = self.near << 1 | u64::from(object);
        self.depth += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.near >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.near = self.far.pop().unwrap_or_default();
        }
    }

    /// Whether the innermost container is an object; `None` outside everything.
    #[inline]
    pub(super) fn innermost(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.near & 1 == 1)
    }
}
