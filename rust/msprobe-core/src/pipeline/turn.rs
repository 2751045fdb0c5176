//! Taking turns: work that is done in any order is handed in in its own.

use std::sync::{Condvar, Mutex, PoisonError};

/// Lets the threads numbered 0, 1, 2 ... pass one after the other.
#[derive(Debug, Default)]
pub(super) struct Turn {
    next: Mutex<usize>,
    changed: Condvar,
}

/// A place in the line. Dropped, it is given to the next; whoever fails before the turn came waits for it first, so that
/// nobody waits for ever.
pub(super) struct Ticket<'t> {
    turn: &'t Turn,
    number: usize,
}

impl Turn {
    /// The place numbered `number`; each number once.
    pub(super) fn ticket(&self, number: usize) -> Ticket<'_> {
        Ticket { turn: self, number }
    }
}

impl Ticket<'_> {
    /// Waits until all before have passed.
    pub(super) fn wait(&self) {
        self.wait_for(self.number);
    }

    /// Waits until all before but one have passed.
    pub(super) fn wait_to_be_next(&self) {
        self.wait_for(self.number.saturating_sub(1));
    }

    fn wait_for(&self, number: usize) {
        let next = self.turn.next.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.turn.changed.wait_while(next, |next| *next < number).unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.wait();
        *self.turn.next.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.turn.changed.notify_all();
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
                    let ticket = turn.ticket(number);
                    ticket.wait_to_be_next();
                    assert!(passed.lock().unwrap().len() + 1 >= number);
                    ticket.wait();
                    passed.lock().unwrap().push(number);
                });
            }
        });
        assert_eq!(*passed.lock().unwrap(), (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn who_fails_early_holds_nobody_up() {
        let (turn, passed) = (Turn::default(), Mutex::new(Vec::new()));
        let outcome = std::thread::scope(|scope| {
            let failing = scope.spawn(|| {
                let _ticket = turn.ticket(1);
                std::panic::resume_unwind(Box::new("failed"));
            });
            for number in [2, 0] {
                let (turn, passed) = (&turn, &passed);
                scope.spawn(move || {
                    let ticket = turn.ticket(number);
                    ticket.wait();
                    passed.lock().unwrap().push(number);
                });
            }
            failing.join()
        });
        assert!(outcome.is_err());
        assert_eq!(*passed.lock().unwrap(), [0, 2]);
    }
}
