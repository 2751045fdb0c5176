//! Runs the engine on a thread of its own while the calling thread watches signals and forwards progress.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use pyo3::prelude::*;

use crate::engine::{self, Failure, Progress, Request};

/// Often enough that Ctrl-C feels immediate and a bar moves smoothly, seldom enough to cost nothing.
const POLL: Duration = Duration::from_millis(100);

/// How long a cancelled run may take to remove what it began. A run stuck in the kernel (a dead network file system)
/// must not hold the terminal.
const CLEAN_UP: Duration = Duration::from_secs(5);

/// Runs `request` to its end. The outer error is Python's (a signal handler or the callback raised), the inner the engine's.
pub fn run(py: Python<'_>, request: Request, callback: Option<&Bound<'_, PyAny>>) -> PyResult<Result<String, Failure>> {
    let progress = Arc::new(Progress::default());
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let shared = Arc::clone(&progress);
    std::thread::Builder::new().name("msprobe-engine".into()).spawn(move || {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| engine::run(&request, &shared)));
        // Nobody listens any more after a second Ctrl-C.
        let _ = sender.send(outcome.unwrap_or_else(|_| Err(Failure::panic())));
    })?;

    let mut last = String::new();
    let mut stopped: Option<(PyErr, Instant)> = None;
    loop {
        match py.allow_threads(|| receiver.recv_timeout(POLL)) {
            Ok(outcome) => return stopped.map_or(Ok(outcome), |(error, _)| Err(error)),
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(Failure::panic())),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let told = py.check_signals().and_then(|()| match callback {
            Some(callback) if stopped.is_none() => tell(callback, &progress, &mut last),
            _ => Ok(()),
        });
        stopped = match (told, stopped) {
            (Ok(()), Some((error, since))) if since.elapsed() > CLEAN_UP => return Err(error),
            (Ok(()), stopped) => stopped,
            (Err(_again), Some((error, _))) => return Err(error),
            (Err(error), None) => {
                engine::cancel(&progress);
                Some((error, Instant::now()))
            }
        };
    }
}

/// Calls back if anything changed since the last time.
fn tell(callback: &Bound<'_, PyAny>, progress: &Progress, last: &mut String) -> PyResult<()> {
    let now = engine::snapshot(progress);
    if now != *last {
        callback.call1((now.as_str(),))?;
        *last = now;
    }
    Ok(())
}
