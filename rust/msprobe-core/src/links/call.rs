//! What one rank's communication calls say.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use bumpalo::Bump;

use super::arguments::{rank, ranks, Arguments, Place, NOWHERE};
pub use super::operation::Direction;
use super::operation::{Operation, Pattern, Peer};
use crate::dump::json::Value;
use crate::dump::RankFiles;
use crate::graph::Graph;
use crate::name;
use crate::text::checksum::crc_text;

/// A process group, as recorded.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Group {
    /// The recorded id, a checksum of the ranks.
    pub id: Box<str>,
    /// Its ranks in their order; empty where only the id was recorded.
    pub ranks: Box<[u64]>,
}

impl Group {
    /// The group of these ranks, with the id that a dump would give it.
    pub(super) fn of(ranks: Vec<u64>) -> Group {
        let list = ranks.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let id = crc_text(format!("[{list}]").as_bytes());
        Group { id: String::from_utf8_lossy(&id).into(), ranks: ranks.into() }
    }
}

/// Position in [`RankCalls::groups`]; `None` is the default group, which holds all ranks.
pub(super) type GroupId = Option<u32>;

/// What is moved, as far as it is known. Calls that belong together agree in what both know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Payload {
    /// Checksum of dtype and number of elements.
    pub data: Option<u64>,
    /// Checksum of the reduction.
    pub reduction: Option<u64>,
}

impl Payload {
    pub(super) fn agrees(self, other: Payload) -> bool {
        let same = |a: Option<u64>, b: Option<u64>| a.is_none() || b.is_none() || a == b;
        same(self.data, other.data) && same(self.reduction, other.reduction)
    }
}

/// One point-to-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub direction: Direction,
    pub peer: u64,
    pub group: GroupId,
    pub tag: i64,
    pub payload: Payload,
}

/// What a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// No communication: a gradient of one, or a node that was only given such a name.
    Silent,
    /// Peer, root or group cannot be read.
    Unreadable,
    /// One transfer, or several at once.
    Transfers(Box<[Transfer]>),
    /// All of the group with one root, whose `direction` is given.
    Rooted { group: GroupId, root: Option<u64>, direction: Direction, payload: Payload },
    /// All of the group with all.
    Collective { group: GroupId, payload: Payload },
}

/// One communication node.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub kind: Kind,
    /// Position of the entry in dump.json.
    pub entry: u32,
}

/// The communication nodes of one graph, in node order.
#[derive(Clone, Debug, Default)]
pub struct RankCalls {
    pub(super) calls: Vec<Call>,
    pub(super) groups: Vec<Group>,
    group_ids: HashMap<Group, u32>,
}

impl RankCalls {
    /// Reads the communication nodes of a graph.
    #[must_use]
    pub fn read(files: &RankFiles, graph: &Graph<'_>) -> RankCalls {
        let mut all = RankCalls::default();
        let mut bump = Bump::new();
        for &id in graph.order() {
            let node = &graph[id];
            if !name::is_distributed(node.name()) {
                continue;
            }
            bump.reset();
            // An entry that has become unreadable stops the writing of this part, which says so.
            let entry = node.entry().and_then(|entry| files.dump.entry(entry, &bump).ok());
            all.push(node.name(), entry.as_ref(), node.entry().map_or(u32::MAX, |entry| entry.0));
        }
        all
    }

    /// Number of communication nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether the graph communicates at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Appends the node `name` with its entry in dump.json, which stands at position `position`.
    pub(super) fn push(&mut self, name: &str, entry: Option<&Value<'_>>, position: u32) {
        let forward = matches!(name::api_direction(name), Some((_, name::Direction::Forward)));
        let kind = match (name::api_name(name), entry) {
            (Some(api), Some(entry)) if forward => self.kind(api, Arguments::of(entry)).unwrap_or(Kind::Unreadable),
            _ => Kind::Silent,
        };
        self.calls.push(Call { kind, entry: position });
    }

    /// What the call does; `None` if it cannot be told.
    fn kind(&mut self, api: &str, arguments: Arguments<'_>) -> Option<Kind> {
        let Some(operation) = Operation::of(api) else {
            // Its signature is not known: the group may stand anywhere, and a call without one may be no communication at all.
            let keyword = arguments.at(Place("group", usize::MAX));
            let group = keyword.into_iter().chain(arguments.positional().iter().copied()).find_map(|value| group(&value));
            return Some(
                group.map_or(Kind::Silent, |group| Kind::Collective { group: Some(self.intern(group)), payload: Payload::default() }),
            );
        };
        if operation.pattern == Pattern::Batch {
            return self.batch(arguments);
        }
        let group = match arguments.at(operation.group) {
            Some(value) => Some(self.intern(group(&value)?)),
            None => None,
        };
        let payload = payload(&operation, arguments);
        Some(match operation.pattern {
            Pattern::PointToPoint { direction, peer, tag } => {
                let peer = self.peer(arguments, peer, group)?;
                let tag = arguments.at(tag).map_or(Some(0), |tag| number(tag.get("value")?))?;
                Kind::Transfers([Transfer { direction, peer, group, tag, payload }].into())
            }
            Pattern::Rooted { direction, root } => Kind::Rooted { group, root: self.peer(arguments, root, group), direction, payload },
            Pattern::Collective | Pattern::Batch => Kind::Collective { group, payload },
        })
    }

    /// The operations of a batch, from the output: the recorder may have changed the list of the input meanwhile.
    fn batch(&mut self, arguments: Arguments<'_>) -> Option<Kind> {
        let list = arguments.output().or_else(|| arguments.positional().first().copied())?;
        let Value::List(operations) = list else { return None };
        let transfers: Vec<Transfer> = operations.iter().filter_map(|operation| self.transfer(operation)).collect();
        (!transfers.is_empty()).then(|| Kind::Transfers(transfers.into()))
    }

    fn transfer(&mut self, operation: &Value<'_>) -> Option<Transfer> {
        let direction = match operation.get("op")? {
            Value::Str("isend") => Direction::Send,
            Value::Str("irecv") => Direction::Receive,
            _ => return None,
        };
        let peer = rank(operation.get("peer")?)?;
        let tag = operation.get("tag").map_or(Some(0), number)?;
        let group = match operation.get("group_id") {
            Some(Value::Str(id)) => Some(self.intern(Group { id: id.into(), ranks: Box::default() })),
            _ => None,
        };
        let payload = Payload { data: operation.get("tensor").and_then(|tensor| data(&tensor)), reduction: None };
        Some(Transfer { direction, peer, group, tag, payload })
    }

    /// The rank that a call names, by number or by position in its group.
    fn peer(&self, arguments: Arguments<'_>, peer: Peer, group: GroupId) -> Option<u64> {
        if arguments.at(peer.global).is_some() {
            return arguments.rank(peer.global);
        }
        if arguments.at(peer.in_group).is_none() {
            return peer.default;
        }
        let position = arguments.rank(peer.in_group)?;
        match group {
            Some(group) => Some(self.groups[group as usize].ranks.get(usize::try_from(position).ok()?).copied().unwrap_or(NOWHERE)),
            None => Some(position),
        }
    }

    fn intern(&mut self, group: Group) -> u32 {
        if let Some(&known) = self.group_ids.get(&group) {
            return known;
        }
        let new = self.groups.len() as u32;
        self.groups.push(group.clone());
        self.group_ids.insert(group, new);
        new
    }
}

/// A recorded process group.
fn group(value: &Value<'_>) -> Option<Group> {
    let ranks = ranks(value.get("group_ranks")?)?;
    Some(match value.get("group_id") {
        Some(Value::Str(id)) if !id.is_empty() => Group { id: id.into(), ranks: ranks.into() },
        _ => Group::of(ranks),
    })
}

fn number(value: Value<'_>) -> Option<i64> {
    match value {
        Value::Int(digits) | Value::Str(digits) => digits.parse().ok(),
        _ => None,
    }
}

fn payload(operation: &Operation, arguments: Arguments<'_>) -> Payload {
    let tensor = operation.payload.and_then(|place| arguments.at(place));
    // What a receiver passes is not recorded before it is filled.
    let received = || arguments.output().filter(|_| matches!(operation.pattern, Pattern::PointToPoint { .. }));
    let reduction = operation.reduction.and_then(|place| match arguments.at(place)?.get("value")? {
        Value::Str(text) => Some(checksum(&text)),
        _ => None,
    });
    Payload { data: tensor.or_else(received).and_then(|tensor| data(&tensor)), reduction }
}

/// Dtype and number of elements of a recorded tensor.
fn data(tensor: &Value<'_>) -> Option<u64> {
    let (Value::Str(dtype), Value::List(shape)) = (tensor.get("dtype")?, tensor.get("shape")?) else { return None };
    let mut elements = 1u64;
    for length in shape {
        let Value::Int(digits) = length else { return None };
        elements = elements.checked_mul(digits.parse().ok()?)?;
    }
    Some(checksum(&(dtype, elements)))
}

fn checksum(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
