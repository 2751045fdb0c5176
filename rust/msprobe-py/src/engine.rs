//! The core's types as the boundary sees them: JSON in, JSON out, an exit status for each kind of failure.

use std::sync::atomic::{AtomicBool, Ordering};

/// Why the engine gave up.
pub struct Failure {
    /// The exit status a command ends with.
    pub exit_status: u8,
    /// One line: what, where, what to do.
    pub message: String,
}

impl Failure {
    /// A defect of ours. The panic message itself has gone to standard error.
    pub fn panic() -> Self {
        Self { exit_status: 1, message: "the engine stopped on a defect of its own; please report the lines above".to_owned() }
    }
}

/// What is to be done.
pub struct Request;

/// How far it is.
#[derive(Default)]
pub struct Progress {
    cancelled: AtomicBool,
}

/// Reads a request.
pub fn request(json: &str) -> Result<Request, serde_json::Error> {
    serde_json::from_str::<serde_json::Value>(json).map(|_| Request)
}

/// Does the work and returns the summary as JSON.
pub fn run(_request: &Request, progress: &Progress) -> Result<String, Failure> {
    let exit_status = if progress.cancelled.load(Ordering::Relaxed) { 130 } else { 1 };
    Err(Failure { exit_status, message: "this build has no engine yet".to_owned() })
}

/// Asks the work to stop.
pub fn cancel(progress: &Progress) {
    progress.cancelled.store(true, Ordering::Relaxed);
}

/// Where the work stands, as JSON.
pub fn snapshot(_progress: &Progress) -> String {
    "{}".to_owned()
}
