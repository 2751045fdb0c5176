//! Aligning two sequences of keys: the longest common subsequence, or near it, in near-linear time.
//!
//! Equal ends are cut off. Short rests are solved exactly. Long ones are cut at anchors: keys, or runs of keys, that occur
//! once on each side and stand in the same order. Where there is none, a window slides over both.

use hashbrown::HashMap;

use super::super::shapes::mix;

/// Rests with at most so many cells are solved exactly.
const EXACT_CELLS: usize = 1 << 16;
/// Keys of a window on each side.
const WINDOW: usize = 256;
/// Keys of a run.
const RUN: usize = 4;
/// How often a rest is cut at anchors before windows are used.
const MOST_CUTS: u32 = 24;

/// Positions in both sequences, and how often they were cut out of a larger piece.
#[derive(Clone, Copy)]
struct Piece {
    a: (usize, usize),
    b: (usize, usize),
    cuts: u32,
}

/// Positions of equal keys, rising on both sides.
pub(super) fn align(a: &[u64], b: &[u64]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut waiting = vec![Piece { a: (0, a.len()), b: (0, b.len()), cuts: 0 }];
    while let Some(mut piece) = waiting.pop() {
        trim(a, b, &mut piece, &mut pairs);
        let (n, m) = (piece.a.1 - piece.a.0, piece.b.1 - piece.b.0);
        if n == 0 || m == 0 {
            continue;
        }
        if n.saturating_mul(m) <= EXACT_CELLS {
            exact(&a[piece.a.0..piece.a.1], &b[piece.b.0..piece.b.1], (piece.a.0, piece.b.0), &mut pairs);
            continue;
        }
        let anchors = if piece.cuts < MOST_CUTS { anchors(a, b, piece) } else { Vec::new() };
        if anchors.is_empty() {
            slide(a, b, piece, &mut pairs);
            continue;
        }
        let (mut from_a, mut from_b) = (piece.a.0, piece.b.0);
        for &(at_a, at_b) in &anchors {
            pairs.push((at_a, at_b));
            waiting.push(Piece { a: (from_a, at_a), b: (from_b, at_b), cuts: piece.cuts + 1 });
            (from_a, from_b) = (at_a + 1, at_b + 1);
        }
        waiting.push(Piece { a: (from_a, piece.a.1), b: (from_b, piece.b.1), cuts: piece.cuts + 1 });
    }
    pairs.sort_unstable();
    pairs
}

/// Pairs what is equal at both ends.
fn trim(a: &[u64], b: &[u64], piece: &mut Piece, pairs: &mut Vec<(usize, usize)>) {
    while piece.a.0 < piece.a.1 && piece.b.0 < piece.b.1 && a[piece.a.0] == b[piece.b.0] {
        pairs.push((piece.a.0, piece.b.0));
        (piece.a.0, piece.b.0) = (piece.a.0 + 1, piece.b.0 + 1);
    }
    while piece.a.0 < piece.a.1 && piece.b.0 < piece.b.1 && a[piece.a.1 - 1] == b[piece.b.1 - 1] {
        (piece.a.1, piece.b.1) = (piece.a.1 - 1, piece.b.1 - 1);
        pairs.push((piece.a.1, piece.b.1));
    }
}

/// The longest common subsequence of two short sequences.
fn exact(a: &[u64], b: &[u64], offset: (usize, usize), pairs: &mut Vec<(usize, usize)>) {
    let width = b.len() + 1;
    // Length of the best alignment of what follows i and j.
    let mut best = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            best[i * width + j] =
                if a[i] == b[j] { best[(i + 1) * width + j + 1] + 1 } else { best[(i + 1) * width + j].max(best[i * width + j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            pairs.push((offset.0 + i, offset.1 + j));
            (i, j) = (i + 1, j + 1);
        } else if best[(i + 1) * width + j] >= best[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

/// Keys that occur once on each side of the piece, or else runs that do; as many as stand in one order.
fn anchors(a: &[u64], b: &[u64], piece: Piece) -> Vec<(usize, usize)> {
    let (a_piece, b_piece) = (&a[piece.a.0..piece.a.1], &b[piece.b.0..piece.b.1]);
    let mut found = unique(a_piece.iter().copied(), b_piece.iter().copied());
    if found.is_empty() {
        let runs = |keys: &[u64]| keys.windows(RUN).map(|run| run.iter().fold(0, |hash, &key| mix(hash, key))).collect::<Vec<_>>();
        found = unique(runs(a_piece).into_iter(), runs(b_piece).into_iter());
        found.retain(|&(i, j)| a_piece[i..i + RUN] == b_piece[j..j + RUN]);
    }
    let mut chain = longest_rising(&found);
    for (i, j) in &mut chain {
        (*i, *j) = (*i + piece.a.0, *j + piece.b.0);
    }
    chain
}

/// Positions of keys that occur once on each side, by position on the first.
fn unique(a: impl Iterator<Item = u64>, b: impl Iterator<Item = u64>) -> Vec<(usize, usize)> {
    const MANY: usize = usize::MAX;
    let mut places: HashMap<u64, (Option<usize>, Option<usize>)> = HashMap::new();
    for (at, key) in a.enumerate() {
        let place = &mut places.entry(key).or_default().0;
        *place = Some(if place.is_some() { MANY } else { at });
    }
    for (at, key) in b.enumerate() {
        if let Some((_, place)) = places.get_mut(&key) {
            *place = Some(if place.is_some() { MANY } else { at });
        }
    }
    let once = |place: &(Option<usize>, Option<usize>)| Some((place.0?, place.1?)).filter(|&(i, j)| i != MANY && j != MANY);
    let mut found: Vec<(usize, usize)> = places.values().filter_map(once).collect();
    found.sort_unstable();
    found
}

/// The longest chain that rises on both sides, of pairs that rise on the first.
pub(super) fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Per length the pair with the smallest end of a chain so long.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; pairs.len()];
    for (at, &(_, j)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < j);
        if length > 0 {
            before[at] = ends[length - 1];
        }
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut chain = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied().unwrap_or(usize::MAX);
    while at != usize::MAX {
        chain.push(pairs[at]);
        at = before[at];
    }
    chain.reverse();
    chain
}

/// Aligns window after window; what a window pairs in its first half counts.
fn slide(a: &[u64], b: &[u64], mut piece: Piece, pairs: &mut Vec<(usize, usize)>) {
    let mut found = Vec::new();
    while piece.a.0 < piece.a.1 && piece.b.0 < piece.b.1 {
        let (end_a, end_b) = (piece.a.1.min(piece.a.0 + WINDOW), piece.b.1.min(piece.b.0 + WINDOW));
        found.clear();
        exact(&a[piece.a.0..end_a], &b[piece.b.0..end_b], (piece.a.0, piece.b.0), &mut found);
        if end_a == piece.a.1 && end_b == piece.b.1 {
            pairs.extend_from_slice(&found);
            return;
        }
        let half = (piece.a.0 + WINDOW / 2, piece.b.0 + WINDOW / 2);
        found.retain(|&(i, j)| i < half.0 && j < half.1);
        pairs.extend_from_slice(&found);
        // From behind the last pair, but at least half a window further on the whole.
        let (next_a, next_b) = found.last().map_or(half, |&(i, j)| (i + 1, j + 1));
        let moved = next_a - piece.a.0 + next_b - piece.b.0;
        (piece.a.0, piece.b.0) = if moved >= WINDOW / 2 { (next_a, next_b) } else { half };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn length_of_the_best(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for &x in a {
            let mut diagonal = 0;
            for (j, &y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    fn check(a: &[u64], b: &[u64], pairs: &[(usize, usize)]) {
        assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
        assert!(pairs.iter().all(|&(i, j)| a[i] == b[j]));
    }

    proptest! {
        #[test]
        fn short_sequences_are_aligned_exactly(a in prop::collection::vec(0u64..5, 0..60), b in prop::collection::vec(0u64..5, 0..60)) {
            let pairs = align(&a, &b);
            check(&a, &b, &pairs);
            prop_assert_eq!(pairs.len(), length_of_the_best(&a, &b));
        }

        #[test]
        fn long_sequences_keep_nearly_all(seed in 0u64..1000, kinds in prop::sample::select(vec![3u64, 40, 5000])) {
            let mut state = seed;
            let mut random = || { state = mix(state, 7); state >> 11 };
            let a: Vec<u64> = (0..6000).map(|_| random() % kinds).collect();
            let mut b = a.clone();
            b.retain(|_| random() % 20 > 0);
            let common = b.len();
            for _ in 0..300 {
                let at = random() as usize % b.len();
                b.insert(at, 1 << 40);
            }
            let pairs = align(&a, &b);
            check(&a, &b, &pairs);
            prop_assert!(pairs.len() * 100 >= common * 97, "{} of {}", pairs.len(), common);
        }
    }

    #[test]
    fn equal_and_unlike_sequences() {
        let keys: Vec<u64> = (0..100_000).map(|at| at % 7).collect();
        assert_eq!(align(&keys, &keys).len(), keys.len());
        let others: Vec<u64> = keys.iter().map(|key| key + 100).collect();
        assert_eq!(align(&keys, &others), []);
        assert_eq!(align(&keys, &[]), []);
    }
}
