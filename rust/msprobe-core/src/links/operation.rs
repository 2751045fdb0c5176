//! The communication APIs: what each does, and where its arguments are.

use super::arguments::Place;

/// Which way data goes at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Away from the calling rank.
    Send,
    /// To the calling rank.
    Receive,
}

impl Direction {
    pub(super) fn opposite(self) -> Direction {
        match self {
            Direction::Send => Direction::Receive,
            Direction::Receive => Direction::Send,
        }
    }
}

/// Where a call names one rank: by its number, or by its position in the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Peer {
    pub global: Place,
    pub in_group: Place,
    /// The rank that is meant when none is given.
    pub default: Option<u64>,
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// One rank sends, one receives.
    PointToPoint { direction: Direction, peer: Peer, tag: Place },
    /// Several point-to-point operations at once.
    Batch,
    /// One rank sends to, or receives from, all others of the group; `direction` is the root's.
    Rooted { direction: Direction, root: Peer },
    /// Every rank exchanges with every other.
    Collective,
}

/// One API, as its signature says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    pub pattern: Pattern,
    pub group: Place,
    /// A tensor that must have the same size on all ranks.
    pub payload: Option<Place>,
    /// The reduction.
    pub reduction: Option<Place>,
}

impl Operation {
    /// The API `name` of `torch.distributed` (MindSpore's `mint.distributed` has the same signatures); `None` if unknown.
    pub(super) fn of(name: &str) -> Option<Operation> {
        use Direction::{Receive, Send};
        const TENSOR: Option<Place> = Some(Place("tensor", 0));
        let to = |position, relative, default| Peer { global: Place("dst", position), in_group: Place("group_dst", relative), default };
        let from = |position, relative, default| Peer { global: Place("src", position), in_group: Place("group_src", relative), default };
        let plain = |pattern, group, payload| Operation { pattern, group: Place("group", group), payload, reduction: None };
        let p2p = |direction, peer| plain(Pattern::PointToPoint { direction, peer, tag: Place("tag", 3) }, 2, TENSOR);
        let rooted = |direction, root, group, payload| plain(Pattern::Rooted { direction, root }, group, payload);
        let collective = |group, payload| plain(Pattern::Collective, group, payload);
        let reducing = |operation: Operation, position| Operation { reduction: Some(Place("op", position)), ..operation };
        Some(match name {
            "send" | "isend" => p2p(Send, to(1, 4, None)),
            "recv" | "irecv" => p2p(Receive, from(1, 4, None)),
            "batch_isend_irecv" => plain(Pattern::Batch, usize::MAX, None),
            "broadcast" => rooted(Send, from(1, 4, None), 2, TENSOR),
            "reduce" => reducing(rooted(Receive, to(1, 5, None), 3, TENSOR), 2),
            "scatter" => rooted(Send, from(2, 5, Some(0)), 3, None),
            "gather" => rooted(Receive, to(2, 5, Some(0)), 3, None),
            "all_reduce" => reducing(collective(2, TENSOR), 1),
            "all_gather" | "all_to_all" => collective(2, None),
            "all_gather_into_tensor" | "_all_gather_base" => collective(2, Some(Place("input_tensor", 1))),
            "reduce_scatter" => reducing(collective(3, None), 2),
            "reduce_scatter_tensor" | "_reduce_scatter_base" => reducing(collective(3, Some(Place("input", 1))), 2),
            "all_to_all_single" => collective(4, None),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_torch_distributed() {
        // reduce(tensor, dst=None, op=SUM, group=None, async_op=False, group_dst=None)
        let reduce = Operation::of("reduce").unwrap();
        assert_eq!((reduce.group, reduce.reduction), (Place("group", 3), Some(Place("op", 2))));
        let root = Peer { global: Place("dst", 1), in_group: Place("group_dst", 5), default: None };
        assert_eq!(reduce.pattern, Pattern::Rooted { direction: Direction::Receive, root });
        // scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None); the default of src is 0
        let root = Peer { global: Place("src", 2), in_group: Place("group_src", 5), default: Some(0) };
        assert_eq!(Operation::of("scatter").unwrap().pattern, Pattern::Rooted { direction: Direction::Send, root });
        assert_eq!(Operation::of("barrier"), None);
    }
}
