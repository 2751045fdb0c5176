//! Walking an entry for its rows, without recursion.

use std::slice::Iter;

use bumpalo::collections::{String, Vec};
use bumpalo::Bump;

use super::leaf::{leaf_row, null_row, set_operation, too_deep_row, Place};
use super::{Row, RowClass};
use crate::dump::json::{Member, Value};
use crate::name;

/// Values nested deeper than this below their group are not read.
const DEEPEST: usize = 400;
/// With more rows than this, repeated names are looked for by sorting instead of comparing all pairs.
const FEW_ROWS: usize = 24;

/// Groups of an ordinary entry, in the order in which their rows come, whatever the order in the file: key, name after the
/// node's, class, whether the members' names are keywords.
const GROUPS: [(&str, &str, RowClass, bool); 5] = [
    ("input_args", ".input", RowClass::Input, false),
    ("input_kwargs", ".input", RowClass::Input, true),
    ("input", ".input", RowClass::Input, false),
    ("output", ".output", RowClass::Output, false),
    ("parameters", ".parameters", RowClass::Parameters, true),
];

/// The rows of the entry of `node_name`: inputs, outputs, parameters; or all of a `debug` or `parameters_grad` entry.
///
/// Rows belong to a class by where they stand, never by their name. Of two rows of the same name in one column (inputs with
/// parameters and gradients, or outputs) the second takes the place of the first. Nulls make rows, empty values and bare
/// scalars do not. A value nested deeper than 400 levels makes one row that says so.
#[must_use]
pub fn collect_rows<'b>(node_name: &str, entry: Value<'b>, bump: &'b Bump) -> Vec<'b, Row<'b>> {
    let path = String::with_capacity_in(node_name.len() + 64, bump);
    let mut walk = Walk { path, gradients: false, rows: Vec::with_capacity_in(8, bump), bump };
    walk.path.push_str(node_name);
    walk.gradients = has_gradient_part(node_name);
    if name::is_debug(node_name) {
        walk.group(entry, RowClass::Input, false);
    } else if name::is_parameters_grad(node_name) {
        walk.group(entry, RowClass::ParametersGrad, true);
    } else {
        for (key, suffix, class, by_name) in GROUPS {
            if let Some(value) = entry.get(key) {
                walk.path.truncate(node_name.len());
                walk.path.push_str(suffix);
                walk.group(value, class, by_name);
            }
        }
    }
    resolve_repeated(walk.rows, bump)
}

struct Walk<'b> {
    /// Name of the value that is looked at.
    path: String<'b>,
    /// Whether a dot part of the node's name is `parameters_grad`; that of a group never is.
    gradients: bool,
    rows: Vec<'b, Row<'b>>,
    bump: &'b Bump,
}

/// What is left of an open container.
struct Open<'b> {
    rest: Rest<'b>,
    /// Length of the container's own name.
    name_length: usize,
    /// Whether a dot part of the name is `parameters_grad`: then list indexes are left out.
    gradients: bool,
}

enum Rest<'b> {
    /// Items, and the index of the next one.
    List(Iter<'b, Value<'b>>, usize),
    Object(Iter<'b, Member<'b>>),
}

impl<'b> Walk<'b> {
    /// Collects the rows of a group, whose name is the current path.
    fn group(&mut self, value: Value<'b>, class: RowClass, by_name: bool) {
        let keyword_start = (by_name && matches!(value, Value::Object(_))).then_some(self.path.len() + 1);
        let mut open: Vec<'b, Open<'b>> = Vec::new_in(self.bump);
        let mut next = Some(value);
        loop {
            if let Some(value) = next.take() {
                if let Some(rest) = self.value(value, class, keyword_start, open.len()) {
                    let gradients = match open.last() {
                        Some(outer) => outer.gradients || has_gradient_part(&self.path[outer.name_length..]),
                        None => self.gradients,
                    };
                    open.push(Open { rest, name_length: self.path.len(), gradients });
                }
            }
            let Some(innermost) = open.last_mut() else { return };
            self.path.truncate(innermost.name_length);
            match &mut innermost.rest {
                Rest::List(items, index) => {
                    next = items.next().copied();
                    if next.is_some() && !innermost.gradients {
                        push_index(&mut self.path, *index);
                    }
                    *index += 1;
                }
                Rest::Object(members) => {
                    if let Some(member) = members.next() {
                        self.path.push('.');
                        self.path.push_str(member.key);
                        next = Some(member.value);
                    }
                }
            }
            if next.is_none() {
                open.pop();
            }
        }
    }

    /// Makes the row of a value, or returns the container to walk into.
    fn value(&mut self, value: Value<'b>, class: RowClass, keyword_start: Option<usize>, depth: usize) -> Option<Rest<'b>> {
        let row = match value {
            Value::Null => null_row(self.place(class, keyword_start), self.bump),
            Value::List([]) | Value::Object([]) | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => return None,
            Value::Object(_) if value.get("class_type") == Some(Value::Str("torch.distributed.P2POp")) => {
                let place = self.place(class, keyword_start);
                let mut row = match value.get("tensor") {
                    Some(Value::Object(tensor)) => leaf_row(tensor, place, self.bump),
                    _ => null_row(place, self.bump),
                };
                set_operation(&mut row, value);
                row
            }
            Value::Object(members) if matches!(value.get("type"), Some(Value::Str(_))) => {
                leaf_row(members, self.place(class, keyword_start), self.bump)
            }
            Value::List(_) | Value::Object(_) if depth >= DEEPEST => too_deep_row(self.place(class, keyword_start), self.bump),
            Value::List(items) => return Some(Rest::List(items.iter(), 0)),
            Value::Object(members) => return Some(Rest::Object(members.iter())),
        };
        self.rows.push(row);
        None
    }

    fn place(&self, class: RowClass, keyword_start: Option<usize>) -> Place<'b> {
        let name: &'b str = self.bump.alloc_str(&self.path);
        Place { name, class, keyword: keyword_start.and_then(|start| name.get(start..)) }
    }
}

fn has_gradient_part(path: &str) -> bool {
    path.contains("parameters_grad") && name::parts(path).any(|part| part == "parameters_grad")
}

fn push_index(path: &mut String<'_>, index: usize) {
    path.push('.');
    if index < 10 {
        path.push((b'0' + index as u8) as char);
    } else {
        path.push_str(&index.to_string());
    }
}

/// Within each column a repeated name keeps its first position and takes the last row.
fn resolve_repeated<'b>(mut rows: Vec<'b, Row<'b>>, bump: &'b Bump) -> Vec<'b, Row<'b>> {
    let column = |row: &Row<'b>| row.class == RowClass::Output;
    // Names begin alike and end differently.
    let last_byte = |row: &Row<'b>| row.name.as_bytes().last().copied();
    // Position of the first row of the same column and name, for each row.
    let mut first: Vec<'b, u32> = Vec::with_capacity_in(rows.len(), bump);
    first.extend(0..rows.len() as u32);
    let mut repeated = false;
    if rows.len() <= FEW_ROWS {
        for i in 1..rows.len() {
            let same = |row: &Row<'b>| last_byte(row) == last_byte(&rows[i]) && row.name == rows[i].name && column(row) == column(&rows[i]);
            if let Some(before) = rows[..i].iter().position(same) {
                first[i] = before as u32;
                repeated = true;
            }
        }
    } else {
        let mut order: Vec<'b, u32> = Vec::with_capacity_in(rows.len(), bump);
        order.extend(0..rows.len() as u32);
        let key = |i: u32| (rows[i as usize].name, column(&rows[i as usize]));
        order.sort_unstable_by(|a, b| (key(*a), a).cmp(&(key(*b), b)));
        for pair in order.windows(2) {
            if key(pair[0]) == key(pair[1]) {
                first[pair[1] as usize] = first[pair[0] as usize];
                repeated = true;
            }
        }
    }
    if !repeated {
        return rows;
    }
    for i in 0..rows.len() {
        let target = first[i] as usize;
        if target != i {
            rows.swap(target, i);
        }
    }
    let mut i = 0;
    rows.retain(|_| {
        i += 1;
        first[i - 1] as usize == i - 1
    });
    rows
}
