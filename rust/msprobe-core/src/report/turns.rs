//! Stretches of nodes that several threads read, given to one consumer in order.
//!
//! Nobody waits for work to be handed over: whoever has read the stretch whose turn it is gives it to the consumer himself, while
//! it is still in his processor's cache, and after it those behind it that others have read meanwhile.

use super::error::{Error, Result};
use crate::facts::NodeFacts;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Nodes of one stretch.
#[derive(Default)]
pub(super) struct Batch {
    /// Those that count, and behind them old ones whose memory is used again.
    nodes: Vec<NodeFacts>,
    count: usize,
}

impl Batch {
    /// Takes a node in, and leaves another in its place whose memory may be used again.
    pub fn take(&mut self, node: &mut NodeFacts) {
        if self.count == self.nodes.len() {
            self.nodes.push(NodeFacts::new("", ""));
        }
        std::mem::swap(&mut self.nodes[self.count], node);
        self.count += 1;
    }
}

/// The stretches that are under way.
pub(super) struct Turns<F> {
    state: Mutex<State>,
    moved: Condvar,
    consume: Mutex<F>,
    /// Stretches that may be read before their turn.
    ahead: u64,
    end: u64,
}

#[derive(Default)]
struct State {
    /// The stretch that nobody reads yet.
    unread: u64,
    /// The one whose turn it is.
    turn: u64,
    read: BTreeMap<u64, Result<Batch>>,
    used: Vec<Batch>,
    stopped: bool,
    failed: Option<Error>,
}

impl<F: FnMut(&[NodeFacts])> Turns<F> {
    /// `end` stretches for as many `threads`.
    pub fn new(end: u64, threads: usize, consume: F) -> Self {
        Turns { state: Mutex::default(), moved: Condvar::new(), consume: Mutex::new(consume), ahead: 2 * threads as u64 + 2, end }
    }

    /// Reads stretches by `read`, which gets the number of one and fills the batch, until there are none; gives them to the consumer.
    pub fn work(&self, mut read: impl FnMut(u64, &mut Batch) -> Result<()>) {
        let leaving = Leaving(self);
        while let Some((number, mut batch)) = self.next() {
            batch.count = 0;
            let read = read(number, &mut batch);
            self.hand_in(number, read.map(|()| batch));
        }
        drop(leaving);
    }

    /// The first error in the order of the stretches.
    pub fn outcome(self) -> Result<()> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.failed.map_or(Ok(()), Err)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<(u64, Batch)> {
        let mut state = self.state();
        // The one whose turn it is never waits here: it is being read.
        while !state.stopped && state.unread < self.end && state.unread > state.turn + self.ahead {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.stopped || state.unread == self.end {
            return None;
        }
        state.unread += 1;
        Some((state.unread - 1, state.used.pop().unwrap_or_default()))
    }

    fn hand_in(&self, number: u64, batch: Result<Batch>) {
        let mut state = self.state();
        state.read.insert(number, batch);
        if number != state.turn {
            return;
        }
        // The turn stays here while nodes are consumed, so nobody else consumes any.
        let mut consume = self.consume.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let turn = state.turn;
            let Some(batch) = state.read.remove(&turn).filter(|_| !state.stopped) else { return };
            drop(state);
            let consumed = batch.inspect(|batch| consume(&batch.nodes[..batch.count]));
            state = self.state();
            match consumed {
                Ok(batch) => {
                    state.turn += 1;
                    state.used.push(batch);
                }
                Err(error) => {
                    state.failed = Some(error);
                    state.stopped = true;
                }
            }
            self.moved.notify_all();
        }
    }
}

/// Lets nobody wait for a thread that panics.
struct Leaving<'t, F>(&'t Turns<F>);

impl<F> Drop for Leaving<'_, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.state.lock().unwrap_or_else(PoisonError::into_inner).stopped = true;
            self.0.moved.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{catch_unwind, AssertUnwindSafe};
    use std::path::Path;
    use std::time::Duration;

    const THREADS: usize = 4;

    /// Reads stretches of three nodes each, the later ones faster.
    fn run(end: u64, failing: Option<u64>, mut consume: impl FnMut(&NodeFacts) + Send) -> Result<()> {
        let turns = Turns::new(end, THREADS, |nodes: &[NodeFacts]| nodes.iter().for_each(&mut consume));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let mut node = NodeFacts::new("", "");
                    turns.work(|number, batch| {
                        std::thread::sleep(Duration::from_micros(300 * (3 - number % 4)));
                        for order in 3 * number..3 * number + 3 {
                            node.begin("Torch.add.0.forward", "Module");
                            node.order = order as u32;
                            batch.take(&mut node);
                        }
                        match failing {
                            Some(failing) if number >= failing => Err(Error::unreadable(Path::new("x"), format!("stretch {number}"))),
                            _ => Ok(()),
                        }
                    });
                });
            }
        });
        turns.outcome()
    }

    #[test]
    fn nodes_come_in_order_whoever_reads_them() {
        for end in [0, 1, 2, 150] {
            let mut seen = Vec::new();
            run(end, None, |node| seen.push(u64::from(node.order))).unwrap();
            assert_eq!(seen, (0..3 * end).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_first_error_counts() {
        for failing in [0, 1, 40] {
            let mut seen = 0;
            let error = run(100, Some(failing), |_| seen += 1).unwrap_err();
            assert_eq!((error.to_string(), seen), (format!("x: stretch {failing}"), 3 * failing));
        }
    }

    #[test]
    fn a_panic_ends_the_others() {
        let done = catch_unwind(AssertUnwindSafe(|| run(1_000, None, |node| assert_ne!(node.order, 60))));
        assert!(done.is_err());
    }
}
