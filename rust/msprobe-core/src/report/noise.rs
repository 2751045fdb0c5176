//! How large a difference may be before it means something.
//!
//! Rounding to a type of p significant bits errs by at most half a unit in the last place, `epsilon / 2` relative with
//! `epsilon = 2^(1 - p)` (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., section 2.2); a sum of many
//! rounded terms errs, with random signs, by a small multiple of that (ibid., sections 3.1 and 4.2). The statistics of a
//! dump are themselves computed in single precision. A difference counts as noise up to
//! `multiple * (epsilon + EPSILON_OF_STATISTICS)`, relative to the scale of the tensor: its norm, its largest magnitude, its
//! root mean square. `docs/noise.md` gives the measurements behind the multiple.

/// Default number of epsilons that count as noise.
pub const MULTIPLE: f64 = 4.0;

/// The single precision of the statistics themselves, `2^-23`.
pub(super) const EPSILON_OF_STATISTICS: f32 = f32::EPSILON;
