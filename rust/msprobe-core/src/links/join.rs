//! Finding the partners of every call of one step and side.

use std::collections::HashMap;

use super::call::{Kind, Payload, RankCalls, Transfer};
use super::occurrences::{Groups, Occurrences};
use super::operation::Direction;
use super::tally::{Reason, Tally};
use super::text::LinkText;
use crate::visdb::CommunicationNode;

/// One rank: its calls, and the rows of the same nodes.
#[derive(Debug)]
pub(super) struct Rank {
    /// Its number.
    pub number: u64,
    pub calls: RankCalls,
    pub nodes: Vec<CommunicationNode>,
}

/// Position of a rank and of one of its calls.
type CallPlace = (u32, u32);

/// Links the calls of `ranks` (ascending) and stores each result, in the order of ranks and nodes.
pub(super) fn join<E>(ranks: &[Rank], tally: &mut Tally, mut store: impl FnMut(i64, &str) -> Result<(), E>) -> Result<(), E> {
    let joined = Joined::of(ranks);
    let mut text = LinkText::default();
    for (at, rank) in ranks.iter().enumerate() {
        for (index, node) in rank.nodes.iter().enumerate().take(rank.calls.len()) {
            text.clear();
            match joined.partners(at, index, &mut text) {
                Found::Silent => {}
                Found::Nothing(reason) => tally.count(reason),
                Found::Partners(direction) => {
                    tally.linked += 1;
                    store(node.row, text.finish(direction))?;
                }
            }
        }
    }
    Ok(())
}

/// What became of a call.
enum Found {
    /// It talks to nobody else.
    Silent,
    Nothing(Reason),
    /// The way of the data; `None` for both ways.
    Partners(Option<Direction>),
}

/// All calls of a step, with their partners known.
struct Joined<'r> {
    ranks: &'r [Rank],
    positions: HashMap<u64, u32>,
    groups: Groups,
    occurrences: Occurrences,
    /// Per rank: where the transfers of each call begin in `transfers`.
    first_transfer: Vec<Vec<usize>>,
    /// The partner of every transfer.
    transfers: Vec<Result<CallPlace, Reason>>,
}

impl<'r> Joined<'r> {
    fn of(ranks: &'r [Rank]) -> Joined<'r> {
        let positions: HashMap<u64, u32> = (0..).zip(ranks).map(|(at, rank)| (rank.number, at)).collect();
        let groups = Groups::of(ranks, &positions);
        let order: Vec<Vec<u32>> = ranks.iter().map(|rank| order_of_dump(&rank.calls)).collect();
        let occurrences = Occurrences::of(ranks, &groups, &order);
        let mut joined = Joined { ranks, positions, groups, occurrences, first_transfer: Vec::new(), transfers: Vec::new() };
        joined.pair_transfers(&order);
        joined
    }

    /// Pairs the n-th send from one rank to another, in a group and with a tag, with the n-th receive there.
    fn pair_transfers(&mut self, order: &[Vec<u32>]) {
        /// The transfers of one way: sends and receives with their numbers, in order.
        #[derive(Default)]
        struct Way([Vec<(usize, CallPlace, Payload)>; 2]);
        let mut numbers: HashMap<(u64, u64, u32, i64), usize> = HashMap::new();
        let mut ways: Vec<Way> = Vec::new();
        for (at, rank) in self.ranks.iter().enumerate() {
            self.first_transfer.push(vec![0; rank.calls.len()]);
            for &index in &order[at] {
                let Kind::Transfers(transfers) = &rank.calls.calls[index as usize].kind else { continue };
                self.first_transfer[at][index as usize] = self.transfers.len();
                for transfer in transfers {
                    let (from, to) = match transfer.direction {
                        Direction::Send => (rank.number, transfer.peer),
                        Direction::Receive => (transfer.peer, rank.number),
                    };
                    let key = (from, to, self.groups.number(at, transfer.group), transfer.tag);
                    let way = *numbers.entry(key).or_insert_with(|| {
                        ways.push(Way::default());
                        ways.len() - 1
                    });
                    ways[way].0[transfer.direction as usize].push((self.transfers.len(), (at as u32, index), transfer.payload));
                    let here = self.positions.contains_key(&transfer.peer);
                    self.transfers.push(Err(if here { Reason::NoCounterpart } else { Reason::RankMissing }));
                }
            }
        }
        for Way([sends, receives]) in &ways {
            for ((send, sender, sent), (receive, receiver, received)) in sends.iter().zip(receives) {
                let agree = sent.agrees(*received);
                self.transfers[*send] = if agree { Ok(*receiver) } else { Err(Reason::Differs) };
                self.transfers[*receive] = if agree { Ok(*sender) } else { Err(Reason::Differs) };
            }
        }
    }

    /// Writes the partners of a call into `text`.
    fn partners(&self, at: usize, index: usize, text: &mut LinkText) -> Found {
        match &self.ranks[at].calls.calls[index].kind {
            Kind::Silent => Found::Silent,
            Kind::Unreadable => Found::Nothing(Reason::Unreadable),
            Kind::Transfers(transfers) => self.of_transfers(transfers, self.first_transfer[at][index], text),
            &Kind::Rooted { group, root, direction, payload } => {
                if self.groups.size(self.ranks, at, group) <= 1 {
                    return Found::Silent;
                }
                let occurrence = self.occurrences.of_call(at, index);
                let present = self.groups.present(at, group);
                let own = (at as u32, index as u32);
                let Some(leader) = occurrence.root() else {
                    let here = root.map(|root| self.positions.contains_key(&root));
                    return Found::Nothing(match here {
                        None => Reason::Unreadable,
                        Some(true) => Reason::NoCounterpart,
                        Some(false) => Reason::RankMissing,
                    });
                };
                if leader == own {
                    let others = present.in_order.iter().filter(|&&other| other != own.0);
                    return self.of_group(
                        others.map(|&other| Some((other, occurrence.call_of(other)?))),
                        payload,
                        root,
                        text,
                        Some(direction),
                    );
                }
                let heard = self.group_of(leader).is_some_and(|present| present.contains(own.0));
                self.of_group(std::iter::once(heard.then_some(leader)), payload, root, text, Some(direction.opposite()))
            }
            &Kind::Collective { group, payload } => {
                if self.groups.size(self.ranks, at, group) <= 1 {
                    return Found::Silent;
                }
                let occurrence = self.occurrences.of_call(at, index);
                let others = self.groups.present(at, group).in_order.iter().filter(|&&other| other as usize != at);
                self.of_group(others.map(|&other| Some((other, occurrence.call_of(other)?))), payload, None, text, None)
            }
        }
    }

    fn of_transfers(&self, transfers: &[Transfer], first: usize, text: &mut LinkText) -> Found {
        let (mut direction, mut both) = (None, false);
        let mut first_reason = None;
        let mut named = std::collections::HashSet::new();
        for (transfer, partner) in transfers.iter().zip(&self.transfers[first..]) {
            match *partner {
                Ok((at, call)) => {
                    both |= direction.is_some_and(|direction| direction != transfer.direction);
                    direction = Some(transfer.direction);
                    if named.insert(at) {
                        let rank = &self.ranks[at as usize];
                        text.push(rank.number, &rank.nodes[call as usize]);
                    }
                }
                Err(reason) => {
                    first_reason.get_or_insert(reason);
                }
            }
        }
        match first_reason {
            Some(reason) if text.is_empty() => Found::Nothing(reason),
            _ => Found::Partners(direction.filter(|_| !both)),
        }
    }

    /// Writes those of `others` that agree with the call; `None` is a rank that has no such call.
    fn of_group(
        &self,
        others: impl Iterator<Item = Option<CallPlace>>,
        payload: Payload,
        root: Option<u64>,
        text: &mut LinkText,
        direction: Option<Direction>,
    ) -> Found {
        let mut reason = Reason::RankMissing;
        for other in others {
            let Some(other) = other else {
                reason = reason.max(Reason::NoCounterpart);
                continue;
            };
            let rank = &self.ranks[other.0 as usize];
            let (their_payload, their_root) = match rank.calls.calls[other.1 as usize].kind {
                Kind::Rooted { payload, root, .. } => (payload, root),
                Kind::Collective { payload, .. } => (payload, None),
                _ => continue,
            };
            let same_root = root.is_none() || their_root.is_none() || root == their_root;
            if same_root && payload.agrees(their_payload) {
                text.push(rank.number, &rank.nodes[other.1 as usize]);
            } else {
                reason = Reason::Differs;
            }
        }
        if text.is_empty() {
            Found::Nothing(reason)
        } else {
            Found::Partners(direction)
        }
    }

    /// The ranks of the group of a call.
    fn group_of(&self, (at, index): CallPlace) -> Option<&super::occurrences::Present> {
        match self.ranks[at as usize].calls.calls[index as usize].kind {
            Kind::Rooted { group, .. } | Kind::Collective { group, .. } => Some(self.groups.present(at as usize, group)),
            _ => None,
        }
    }
}

/// Positions of the calls in the order of the dump, which is the order of the calls.
fn order_of_dump(calls: &RankCalls) -> Vec<u32> {
    let mut order: Vec<u32> = (0..calls.len() as u32).collect();
    order.sort_by_key(|&index| calls.calls[index as usize].entry);
    order
}
