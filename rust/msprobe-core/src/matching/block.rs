//! The best pairs of two short lists that keep their order.

/// Pairs of positions, rising on both sides, with the highest sum of scores, and that sum. A pair that scores less than
/// `enough` counts nothing. Costs `left * right` scores: a caller with long lists hands them over in blocks.
///
/// The recurrence is that of Needleman and Wunsch (1970) with free gaps.
pub(in crate::matching) fn best_pairs(
    left: usize,
    right: usize,
    enough: f64,
    mut score: impl FnMut(usize, usize) -> f64,
) -> (Vec<(usize, usize)>, f64) {
    let width = right + 1;
    let mut scores = vec![0.0; left * width];
    let mut best = vec![0.0f64; (left + 1) * width];
    for i in (0..left).rev() {
        for j in (0..right).rev() {
            let found = score(i, j);
            scores[i * width + j] = if found >= enough { found } else { 0.0 };
            let paired = scores[i * width + j] + best[(i + 1) * width + j + 1];
            best[i * width + j] = paired.max(best[(i + 1) * width + j]).max(best[i * width + j + 1]);
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < left && j < right {
        let here = best[i * width + j];
        if scores[i * width + j] > 0.0 && here == scores[i * width + j] + best[(i + 1) * width + j + 1] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if here == best[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    (pairs, best[0])
}

#[cfg(test)]
mod tests {
    use super::best_pairs;

    fn of(left: &str, right: &str) -> (Vec<(usize, usize)>, f64) {
        let (left, right) = (left.as_bytes(), right.as_bytes());
        best_pairs(left.len(), right.len(), 1.0, |i, j| f64::from(left[i] == right[j]))
    }

    #[test]
    fn keeps_the_order_and_passes_over_what_is_foreign() {
        assert_eq!(of("abcd", "xbyd"), (vec![(1, 1), (3, 3)], 2.0));
        assert_eq!(of("ab", "ba").1, 1.0);
        assert_eq!(of("", "abc"), (vec![], 0.0));
    }

    #[test]
    fn too_little_is_nothing() {
        assert_eq!(best_pairs(1, 1, 1.0, |_, _| 0.5), (vec![], 0.0));
    }
}
