//! Runs the engine on a thread of its own while the calling thread watches signals and forwards progress.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::RecvTimeoutError;
use pyo3::prelude::*;

use crate::algorithms::PythonAlgorithms;
use crate::engine::{self, Failure, Lines, Progress, Request};

/// Often enough that Ctrl-C feels immediate and a bar moves smoothly, seldom enough to cost nothing.
const POLL: Duration = Duration::from_millis(100);

/// How long a cancelled run may take to remove what it began. A run stuck in the kernel (a dead network file system)
/// must not hold the terminal.
pub const CLEAN_UP: Duration = Duration::from_secs(5);

/// Whom the engine talks to.
pub struct Listeners<'py> {
    /// Called with where the work stands, as JSON.
    pub progress: Option<Bound<'py, PyAny>>,
    /// Called with new lines of the tensor log.
    pub tensor_log: Option<Bound<'py, PyAny>>,
}

/// Runs `request` to its end. The outer error is Python's (a signal handler or a listener raised), with the `summary` of a run
/// that was through by then; the inner is the engine's.
pub fn run(
    py: Python<'_>,
    request: Request,
    listeners: &Listeners<'_>,
    algorithms: Option<PythonAlgorithms>,
    drift: bool,
) -> PyResult<Result<String, Failure>> {
    let progress = Arc::new(Progress::default());
    let lines = listeners.tensor_log.is_some().then(|| Arc::new(Lines::default()));
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let (shared, log) = (Arc::clone(&progress), lines.clone());
    std::thread::Builder::new().name("msprobe-engine".into()).spawn(move || {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            engine::run(&request, &shared, log.as_deref(), algorithms.as_ref(), drift)
        }));
        // Nobody listens any more after a second Ctrl-C.
        let _ = sender.send(outcome.unwrap_or_else(|_| Err(Failure::panic())));
    })?;

    let mut last = String::new();
    let mut stopped: Option<(PyErr, Instant)> = None;
    loop {
        match py.allow_threads(|| receiver.recv_timeout(POLL)) {
            Ok(outcome) => {
                // A signal may have come when the file had its name already. Whoever raised tells of it then.
                let raised = stopped.map_or_else(|| py.check_signals(), |(error, _)| Err(error));
                if let (Err(error), Ok(summary)) = (&raised, &outcome) {
                    // Not every exception takes it.
                    let _ = error.value(py).setattr("summary", summary);
                }
                raised?;
                log_lines(listeners, lines.as_deref())?;
                return Ok(outcome);
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(Err(Failure::panic())),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let told = py.check_signals().and_then(|()| {
            if stopped.is_some() {
                return Ok(());
            }
            log_lines(listeners, lines.as_deref())?;
            listeners.progress.as_ref().map_or(Ok(()), |callback| tell(callback, &progress, &mut last))
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

/// Answers a question on a thread of its own while the calling thread watches signals. The error is the engine's, or what a signal
/// handler raised: then the question is told that it is unwanted, and may take `clean_up` to remove what it began.
pub fn answer<T: Send + 'static>(
    py: Python<'_>,
    clean_up: Duration,
    question: impl FnOnce(&AtomicBool) -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    let unwanted = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = crossbeam_channel::bounded(1);
    let told = Arc::clone(&unwanted);
    std::thread::Builder::new().name("msprobe-question".into()).spawn(move || {
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| question(&told)));
        let _ = sender.send(answer.unwrap_or_else(|_| Err(Failure::panic())));
    })?;
    loop {
        match py.allow_threads(|| receiver.recv_timeout(POLL)) {
            Ok(answer) => return answer.map_err(Failure::raise),
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::panic().raise()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(error) = py.check_signals() {
            unwanted.store(true, Ordering::Relaxed);
            let _ = py.allow_threads(|| receiver.recv_timeout(clean_up));
            return Err(error);
        }
    }
}

/// Hands over the lines of the tensor log since the last time.
fn log_lines(listeners: &Listeners<'_>, lines: Option<&Lines>) -> PyResult<()> {
    let (Some(callback), Some(lines)) = (&listeners.tensor_log, lines) else { return Ok(()) };
    let lines = lines.take();
    if !lines.is_empty() {
        callback.call1((lines,))?;
    }
    Ok(())
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
