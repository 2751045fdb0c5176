//! Taking turns: work that is done in any order is handed in in its own.

use std::sync::{Condvar, Mutex, PoisonError};

/// Lets the threads numbered 0, 1, 2 ... pass one after the other.
#[derive(Debug, Default)]
pub(super) struct Turn {
    next: Mutex<usize>,
    changed: Condvar,
}

/// The right to be the only one; given to the next in line when dropped.
pub(super) struct Holder<'t>(&'t Turn);

impl Turn {
    /// Waits until all below `number` have passed.
    pub(super) fn wait_for(&self, number: usize) -> Holder<'_> {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(next, |next| *next != number).unwrap_or_else(PoisonError::into_inner));
        Holder(self)
    }
}

impl Drop for Holder<'_> {
    fn drop(&mut self) {
        *self.0.next.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept() {
        let (turn, passed) = (Turn::default(), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for number in (0..20).rev() {
                let (turn, passed) = (&turn, &passed);
                scope.spawn(move || {
                    let _holder = turn.wait_for(number);
                    passed.lock().unwrap().push(number);
                });
            }
        });
        assert_eq!(*passed.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }
}
