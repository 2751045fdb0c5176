//! Members as dumps spell them: what is known of one tensor or number, nine tenths of every dump.
//!
//! Such an object begins with `type`, and its members stand in one order. To go through it by what comes next is cheaper than by what
//! may come. Whatever differs is left to the general way from there on; for a reader both come to the same.

use bumpalo::collections::Vec as BumpVec;
use bumpalo::Bump;

use super::parse::scalar;
use super::scan::{Fault, Scanner};
use super::value::{Member, Value};

/// A key in quotes with its colon, of at most 16 bytes.
struct Usual {
    key: &'static str,
    length: usize,
    /// What stands in the text, and which of its bits count.
    low: (u64, u64),
    high: (u64, u64),
}

const LONGEST: usize = 16;

impl Usual {
    const fn new(quoted: &'static str) -> Usual {
        let (key, _) = quoted.split_at(quoted.len() - 2);
        let bytes = quoted.as_bytes();
        let (mut words, mut masks) = ([0u64; 2], [0u64; 2]);
        let mut at = 0;
        while at < bytes.len() {
            words[at / 8] |= (bytes[at] as u64) << (at % 8 * 8);
            masks[at / 8] |= 0xff << (at % 8 * 8);
            at += 1;
        }
        Usual { key: key.split_at(1).1, length: bytes.len(), low: (words[0], masks[0]), high: (words[1], masks[1]) }
    }

    #[inline]
    fn stands_at(&self, window: &[u8; LONGEST]) -> bool {
        let window = u128::from_le_bytes(*window);
        window as u64 & self.low.1 == self.low.0 && (window >> 64) as u64 & self.high.1 == self.high.0
    }
}

/// In the order in which they stand, so that none comes twice.
const USUAL: [Usual; 9] = [
    Usual::new("\"type\":"),
    Usual::new("\"value\":"),
    Usual::new("\"dtype\":"),
    Usual::new("\"shape\":"),
    Usual::new("\"Max\":"),
    Usual::new("\"Min\":"),
    Usual::new("\"Mean\":"),
    Usual::new("\"Norm\":"),
    Usual::new("\"requires_grad\":"),
];

/// How far the members of an object were gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// To its end, behind the closing brace.
    Through,
    /// To a place where a key has to stand.
    ToKey,
}

impl<'t> Scanner<'t> {
    /// Skips the usual members from the first key of an object on.
    #[inline]
    pub(super) fn skip_usual(&mut self) -> Result<Gone, Fault> {
        self.go_through(|scanner, _| match scanner.peek() {
            b'[' => Ok(scanner.whole_numbers(|_| {})),
            b'{' => Ok(false),
            _ => scanner.skip_scalar().map(|()| true),
        })
    }

    /// Puts the usual members of an object into `members`, from its first key on.
    #[inline]
    pub(super) fn usual<'a>(&mut self, members: &mut BumpVec<'a, Member<'a>>, bump: &'a Bump) -> Result<Gone, Fault>
    where
        't: 'a,
    {
        self.go_through(|scanner, key| {
            let value = match scanner.peek() {
                b'[' => {
                    let start = members.len();
                    let complete = scanner.whole_numbers(|digits| members.push(Member { key: "", value: Value::Int(digits) }));
                    let list = complete.then(|| bump.alloc_slice_fill_iter(members[start..].iter().map(|member| member.value)));
                    members.truncate(start);
                    let Some(list) = list else { return Ok(false) };
                    Value::List(list)
                }
                b'{' => return Ok(false),
                _ => scalar(scanner, bump)?,
            };
            members.push(Member { key, value });
            Ok(true)
        })
    }

    /// Calls `value` at the value of each usual member, which it moves behind; false if it is not for it, wherever it stands then.
    #[inline]
    fn go_through(&mut self, mut value: impl FnMut(&mut Self, &'static str) -> Result<bool, Fault>) -> Result<Gone, Fault> {
        for usual in &USUAL {
            let Some(window) = self.rest().first_chunk() else { break };
            if !usual.stands_at(window) {
                continue;
            }
            let start = self.at();
            self.advance_by(usual.length);
            self.skip_blanks();
            if !value(self, usual.key)? {
                self.go_back(start);
                break;
            }
            match self.skip_blanks() {
                b',' => {
                    self.advance();
                    self.skip_blanks();
                }
                b'}' => {
                    self.advance();
                    return Ok(Gone::Through);
                }
                _ => return Err(self.fault("expected , or }")),
            }
        }
        Ok(Gone::ToKey)
    }

    /// Hands over the items of a list, if they are whole numbers without a sign. Otherwise false, somewhere in the list.
    #[inline]
    fn whole_numbers(&mut self, mut each: impl FnMut(&'t str)) -> bool {
        self.advance();
        if self.skip_blanks() == b']' {
            self.advance();
            return true;
        }
        loop {
            let Some(digits) = self.whole_number() else { return false };
            each(digits);
            match self.skip_blanks() {
                b',' => {
                    self.advance();
                    self.skip_blanks();
                }
                b']' => {
                    self.advance();
                    return true;
                }
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dump::json::parse;

    /// What is read of a text, both ways, and how far.
    fn read<'a>(text: &'a str, bump: &'a Bump) -> (Result<(Value<'a>, usize), Fault>, Result<usize, Fault>) {
        let (mut building, mut skipping) = (Scanner::new(text, 0), Scanner::new(text, 0));
        let built = parse(&mut building, bump).map(|value| (value, building.at()));
        (built, skipping.skip_value().map(|()| skipping.at()))
    }

    /// Holds an object against itself behind another member, which sends it the general way.
    fn compare(members: &str) {
        const BEFORE: &str = "\"before\": 0, ";
        let bump = Bump::new();
        let (usual, general) = (format!("{{{members}"), format!("{{{BEFORE}{members}"));
        let (built, skipped) = read(&usual, &bump);
        let (generally_built, generally_skipped) = read(&general, &bump);
        let back = |fault: Fault| Fault { offset: fault.offset - BEFORE.len(), ..fault };
        assert_eq!(skipped, generally_skipped.map(|at| at - BEFORE.len()).map_err(back), "{usual}");
        match (built, generally_built) {
            (Ok((Value::Object(found), at)), Ok((Value::Object(expected), end))) => {
                // NaN equals nothing, not even itself.
                assert_eq!((format!("{found:?}"), at), (format!("{:?}", &expected[1..]), end - BEFORE.len()), "{usual}");
            }
            (Err(fault), Err(expected)) => assert_eq!(fault, back(expected), "{usual}"),
            differing => panic!("{usual}: {differing:?}"),
        }
    }

    #[test]
    fn keys_have_their_names() {
        let keys: Vec<&str> = USUAL.iter().map(|usual| usual.key).collect();
        assert_eq!(keys, ["type", "value", "dtype", "shape", "Max", "Min", "Mean", "Norm", "requires_grad"]);
    }

    #[test]
    fn a_tensor_is_gone_through_to_its_end() {
        let tensor =
            "\"type\": \"torch.Tensor\", \"dtype\": \"torch.int64\", \"shape\": [2, 8], \"Max\": 26, \"Min\": -1.5e-3, \"Mean\": null, \
                      \"Norm\": NaN, \"requires_grad\": false}";
        let bump = Bump::new();
        let mut members = BumpVec::new_in(&bump);
        assert_eq!(Scanner::new(tensor, 0).usual(&mut members, &bump), Ok(Gone::Through));
        assert_eq!(members.len(), 8);
        assert_eq!(members[2], Member { key: "shape", value: Value::List(&[Value::Int("2"), Value::Int("8")]) });
        assert_eq!(Scanner::new(tensor, 0).skip_usual(), Ok(Gone::Through));
        compare(tensor);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn it_is_read_as_any_other_object(
            members in proptest::collection::vec(
                ("(type|value|dtype|shape|Max|Min|Mean|Norm|requires_grad|md5|typ|Maxi)",
                 prop_oneof![
                    "\"(torch\\.float32|a\\\\n|\\\\|x\n|)\"?",
                    "-?(0|[1-9][0-9]{0,20}|01)(\\.[0-9]{0,3})?(e-?[0-9]{0,2})?",
                    "(null|true|false|NaN|-?Infinity|nul|\\{\\}|\\{\"a\": 1\\})",
                    "\\[[ \n]{0,2}(0|7|12|123456789|007|-1|1\\.5|\"a\"|\\[\\])(,[ \n]{0,9}(0|16|\"b\")){0,3}[ ,]?\\]?",
                    Just("[]".to_owned()),
                 ],
                 ": ?", ",?[ \n\t]{0,10}"),
                1..9,
            ),
            sorted in any::<bool>(),
            end in "(\\}|\\}|\\}|\\]|)",
        ) {
            let mut members = members;
            if sorted {
                let place = |key: &str| USUAL.iter().position(|usual| usual.key == key).unwrap_or(USUAL.len());
                members.sort_by_key(|member| place(&member.0));
            }
            let text = members.iter().map(|(key, value, colon, comma)| format!("\"{key}\"{colon}{value}{comma}")).collect::<Vec<_>>().concat();
            compare(&(text.trim_end().trim_end_matches(',').to_owned() + &end));
            compare(&(text + &end));
        }
    }
}
