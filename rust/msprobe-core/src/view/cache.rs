//! What is worked out once per state of a file, in the background, and kept up to a bound of memory.
//!
//! This is a cache, not state: losing it changes nothing but time. Entries are keyed by path, size and time of the file.

use super::error::ViewError;
use super::file::FileKey;
use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// How long a question waits for work in the background before it answers "still indexing".
pub(crate) const PATIENCE: Duration = Duration::from_millis(400);
/// How long a failure is remembered before the work is tried again.
const FAILURE_KEPT: Duration = Duration::from_secs(5);

/// Key of one result: the file's state and a place in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) file: FileKey,
    pub(crate) step: i64,
    pub(crate) rank: i64,
}

enum Slot<T> {
    Working(Arc<AtomicU64>),
    Ready { value: Arc<T>, bytes: usize, used: u64 },
    Failed { reason: Arc<ViewError>, at: Instant },
}

struct Inner<T> {
    slots: HashMap<Key, Slot<T>>,
    clock: u64,
}

/// Results of one kind.
pub(crate) struct Cache<T> {
    inner: Arc<(Mutex<Inner<T>>, Condvar)>,
    /// Only so many are worked on at once.
    workers: Arc<(Mutex<usize>, Condvar)>,
    budget: usize,
}

/// A cached result, or how far it is.
pub(crate) enum Found<T> {
    Ready(Arc<T>),
    Working(u64),
}

impl<T: Send + Sync + 'static> Cache<T> {
    pub(crate) fn new(budget: usize, workers: usize) -> Self {
        let inner = Inner { slots: HashMap::new(), clock: 0 };
        Self { inner: Arc::new((Mutex::new(inner), Condvar::new())), workers: Arc::new((Mutex::new(workers), Condvar::new())), budget }
    }

    /// The result for `key`; started with `work` if nobody did, waited for at most `patience`.
    pub(crate) fn get<F>(&self, key: &Key, patience: Duration, work: F) -> Result<Found<T>, Arc<ViewError>>
    where
        F: FnOnce(&AtomicU64) -> Result<(T, usize), ViewError> + Send + 'static,
    {
        let (lock, changed) = &*self.inner;
        let mut inner = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = match inner.slots.get(key) {
            None => true,
            Some(Slot::Failed { at, .. }) => at.elapsed() > FAILURE_KEPT,
            Some(_) => false,
        };
        if fresh {
            let progress = Arc::new(AtomicU64::new(0));
            if self.start(key.clone(), Arc::clone(&progress), work).is_err() {
                // The system gives no more threads; who asks again tries again.
                return Ok(Found::Working(0));
            }
            inner.slots.insert(key.clone(), Slot::Working(progress));
        }
        let end = Instant::now() + patience;
        loop {
            inner.clock += 1;
            let now = inner.clock;
            match inner.slots.get_mut(key) {
                Some(Slot::Ready { value, used, .. }) => {
                    *used = now;
                    return Ok(Found::Ready(Arc::clone(value)));
                }
                Some(Slot::Failed { reason, .. }) => return Err(Arc::clone(reason)),
                Some(Slot::Working(progress)) => {
                    let left = end.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(Found::Working(progress.load(Ordering::Relaxed)));
                    }
                    inner = changed.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
                }
                // Pushed out by others while we waited.
                None => return Ok(Found::Working(0)),
            }
        }
    }

    /// The result for `key` if it is there already.
    pub(crate) fn peek(&self, key: &Key) -> Option<Arc<T>> {
        match self.inner.0.lock().unwrap_or_else(PoisonError::into_inner).slots.get(key) {
            Some(Slot::Ready { value, .. }) => Some(Arc::clone(value)),
            _ => None,
        }
    }

    fn start<F>(&self, key: Key, progress: Arc<AtomicU64>, work: F) -> io::Result<()>
    where
        F: FnOnce(&AtomicU64) -> Result<(T, usize), ViewError> + Send + 'static,
    {
        let (inner, workers, budget) = (Arc::clone(&self.inner), Arc::clone(&self.workers), self.budget);
        let working = Builder::new().spawn(move || {
            let (free, freed) = &*workers;
            let mut left = free.lock().unwrap_or_else(PoisonError::into_inner);
            while *left == 0 {
                left = freed.wait(left).unwrap_or_else(PoisonError::into_inner);
            }
            *left -= 1;
            drop(left);
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&progress)));
            *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            freed.notify_one();
            let (lock, changed) = &*inner;
            let mut inner = lock.lock().unwrap_or_else(PoisonError::into_inner);
            inner.clock += 1;
            let used = inner.clock;
            let failed = |reason| Slot::Failed { reason: Arc::new(reason), at: Instant::now() };
            let slot = match done {
                Ok(Ok((value, bytes))) => Slot::Ready { value: Arc::new(value), bytes, used },
                Ok(Err(reason)) => failed(reason),
                Err(_) => failed(ViewError::Unreadable {
                    path: key.file.path.display().to_string(),
                    code: "damaged",
                    reason: "the index of this file could not be made".into(),
                }),
            };
            inner.slots.insert(key, slot);
            inner.shrink(budget);
            changed.notify_all();
        });
        working.map(drop)
    }
}

impl<T> Inner<T> {
    /// Drops what was used longest ago until the rest fits; the newest always stays.
    fn shrink(&mut self, budget: usize) {
        self.slots.retain(|_, slot| !matches!(slot, Slot::Failed { at, .. } if at.elapsed() > FAILURE_KEPT * 12));
        loop {
            let ready = self.slots.iter().filter_map(|(key, slot)| match slot {
                Slot::Ready { bytes, used, .. } => Some((*used, *bytes, key)),
                _ => None,
            });
            let (mut total, mut count, mut oldest) = (0, 0, None::<(u64, &Key)>);
            for (used, bytes, key) in ready {
                total += bytes;
                count += 1;
                if oldest.is_none_or(|(age, _)| used < age) {
                    oldest = Some((used, key));
                }
            }
            let Some(key) = oldest.map(|(_, key)| key.clone()) else { return };
            if count <= 1 || total <= budget {
                return;
            }
            self.slots.remove(&key);
        }
    }
}
