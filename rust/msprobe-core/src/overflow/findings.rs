//! What the tensors on one side of an entry show.

use crate::dump::json::Value;

/// Whether values go into the call or come out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Input,
    Output,
}

/// Sum of what was seen so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Findings {
    side: Side,
    /// Some tensor has a NaN or infinite maximum, minimum or mean.
    pub(super) abnormal: bool,
    /// The largest norm of a tensor; `None` if none was recorded as a number.
    pub(super) largest_norm: Option<f64>,
}

impl Findings {
    pub(super) fn new(side: Side) -> Findings {
        Findings { side, abnormal: false, largest_norm: None }
    }

    /// Looks at the items of a list, except those at the `ignored` positions.
    pub(super) fn add_items(&mut self, items: &[Value<'_>], ignored: &[usize]) {
        for (position, item) in items.iter().enumerate() {
            if !ignored.contains(&position) {
                self.add(item);
            }
        }
    }

    /// Looks at all tensors in `value`, at any depth.
    pub(super) fn add(&mut self, value: &Value<'_>) {
        let mut waiting = Vec::new();
        let mut next = Some(*value);
        while let Some(value) = next {
            match value {
                Value::List(items) => waiting.extend_from_slice(items),
                Value::Object(members) => {
                    self.add_statistics(&value);
                    if is_point_to_point(&value) {
                        waiting.extend(value.get("tensor").filter(|_| !self.is_receive_buffer(&value)));
                    } else if !matches!(value.get("type"), Some(Value::Str(_))) {
                        waiting.extend(members.iter().map(|member| member.value));
                    }
                }
                _ => {}
            }
            next = waiting.pop();
        }
    }

    fn add_statistics(&mut self, tensor: &Value<'_>) {
        let is_abnormal = |statistic| tensor.get(statistic).is_some_and(|value| is_nan_or_infinite(&value));
        self.abnormal = self.abnormal || ["Max", "Min", "Mean"].into_iter().any(is_abnormal);
        if let Some(norm) = tensor.get("Norm").and_then(|norm| number(&norm)) {
            self.largest_norm = Some(self.largest_norm.map_or(norm, |largest| largest.max(norm)));
        }
    }

    /// Whether this is an operation that receives, seen before it has received.
    fn is_receive_buffer(&self, operation: &Value<'_>) -> bool {
        self.side == Side::Input && operation.get("op") == Some(Value::Str("irecv"))
    }
}

/// One send or receive of a batch (`torch.distributed.P2POp`); its tensor is a member of its own.
fn is_point_to_point(value: &Value<'_>) -> bool {
    value.get("class_type") == Some(Value::Str("torch.distributed.P2POp"))
}

/// Numbers and texts alike.
fn is_nan_or_infinite(statistic: &Value<'_>) -> bool {
    match statistic {
        Value::Float(number) => !number.is_finite(),
        Value::Str(text) => {
            text.eq_ignore_ascii_case("nan") || {
                let size = text.strip_prefix('-').unwrap_or(text);
                size.eq_ignore_ascii_case("inf") || size.eq_ignore_ascii_case("infinity")
            }
        }
        _ => false,
    }
}

/// A norm that can be compared: a number other than NaN.
fn number(norm: &Value<'_>) -> Option<f64> {
    match norm {
        Value::Float(number) => Some(*number),
        Value::Int(digits) => digits.parse().ok(),
        _ => None,
    }
    .filter(|number: &f64| !number.is_nan())
}
