//! Work that several threads do and one takes over in order.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Pieces of work numbered from 0. Helpers do them and run ahead of the one who takes them, by a bounded number of pieces. Who takes
/// them does those that nobody has begun, so that nobody waits who could work, and without helpers nothing is handed over at all.
pub(super) struct Line<T> {
    total: usize,
    /// Pieces that are under way or wait to be taken.
    ahead: usize,
    state: Mutex<State<T>>,
    /// Told when the piece is done that is to be taken.
    done: Condvar,
    /// Told when there is room for helpers to run ahead again.
    room: Condvar,
}

struct State<T> {
    /// The piece that is to be taken next.
    next: usize,
    /// From `next` on, those that somebody has begun; `None` until they are done.
    begun: VecDeque<Option<T>>,
    /// Whether somebody waits for the first of them.
    awaited: bool,
    /// Helpers that wait for room.
    resting: usize,
    /// Nobody takes any more.
    closed: bool,
}

impl<T> State<T> {
    fn put(&mut self, number: usize, piece: T) {
        let next = self.next;
        if let Some(place) = number.checked_sub(next).and_then(|index| self.begun.get_mut(index)) {
            *place = Some(piece);
        }
    }
}

impl<T> Line<T> {
    /// `total` pieces, at most `ahead` of which (at least one) are begun before they are taken.
    pub(super) fn new(total: usize, ahead: usize) -> Self {
        let state = State { next: 0, begun: VecDeque::new(), awaited: false, resting: 0, closed: false };
        Line { total, ahead: ahead.max(1), state: Mutex::new(state), done: Condvar::new(), room: Condvar::new() }
    }

    /// Does pieces until none is left or nobody takes them any more.
    pub(super) fn help(&self, mut work: impl FnMut(usize) -> T) {
        let mut state = self.lock();
        loop {
            if state.closed || state.next + state.begun.len() >= self.total {
                return;
            }
            if let Some(number) = self.begin(&mut state) {
                drop(state);
                let piece = work(number);
                state = self.lock();
                state.put(number, piece);
                if state.awaited && state.next == number {
                    self.done.notify_one();
                }
            } else {
                state.resting += 1;
                state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.resting -= 1;
            }
        }
    }

    /// The next piece in order; `None` behind the last one.
    pub(super) fn take(&self, mut work: impl FnMut(usize) -> T) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.next == self.total {
                return None;
            }
            if let Some(piece) = state.begun.front_mut().and_then(Option::take) {
                state.begun.pop_front();
                state.next += 1;
                // Waking somebody costs as much as a piece; who rests may do so until there is more than one to do.
                if state.resting > 0 && state.begun.len() <= self.ahead / 2 {
                    self.room.notify_all();
                }
                return Some(piece);
            }
            if let Some(number) = self.begin(&mut state) {
                drop(state);
                let piece = work(number);
                state = self.lock();
                state.put(number, piece);
            } else {
                state.awaited = true;
                state = self.done.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.awaited = false;
            }
        }
    }

    /// Sends the helpers home: nobody takes any more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.room.notify_all();
    }

    /// Begins the first piece that nobody has begun, if there is room ahead.
    fn begin(&self, state: &mut State<T>) -> Option<usize> {
        let number = state.next + state.begun.len();
        let free = number < self.total && state.begun.len() < self.ahead;
        free.then(|| {
            state.begun.push_back(None);
            number
        })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    fn taken(line: &Line<usize>, work: impl Fn(usize) -> usize) -> Vec<usize> {
        std::iter::from_fn(|| line.take(&work)).collect()
    }

    #[test]
    fn all_come_in_order_whoever_does_them() {
        for helpers in 0..4 {
            for ahead in [0, 1, 2, 7] {
                for total in [0, 1, 5, 300] {
                    let line = Line::new(total, ahead);
                    let (line, done) = (&line, &AtomicUsize::new(0));
                    let work = move |number: usize| {
                        done.fetch_add(1, Ordering::Relaxed);
                        if number.is_multiple_of(7) {
                            thread::yield_now();
                        }
                        number * number
                    };
                    let all = thread::scope(|scope| {
                        for _ in 0..helpers {
                            scope.spawn(move || line.help(work));
                        }
                        taken(line, work)
                    });
                    assert_eq!(all, (0..total).map(|number| number * number).collect::<Vec<_>>());
                    assert_eq!(done.load(Ordering::Relaxed), total);
                }
            }
        }
    }

    #[test]
    fn helpers_run_ahead_only_so_far_before_anything_is_taken() {
        let line = Line::new(100, 5);
        let (line, done) = (&line, &AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || line.help(|_| done.fetch_add(1, Ordering::SeqCst)));
            }
            while line.lock().resting < 2 {
                thread::yield_now();
            }
            assert_eq!(done.load(Ordering::SeqCst), 5);
            line.close();
        });
        assert_eq!(done.load(Ordering::SeqCst), 5);
    }

    #[test]
    fn helpers_go_home_when_nobody_takes_any_more() {
        let line = Line::new(1000, 4);
        let line = &line;
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || line.help(|number| number));
            }
            assert_eq!(line.take(|number| number), Some(0));
            line.close();
        });
        assert!(line.lock().next < 1000);
    }
}
