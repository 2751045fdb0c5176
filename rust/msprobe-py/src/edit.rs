//! Changes of matches for Python: a file below the log directory, a request and an answer as JSON.

use std::path::Path;

use msprobe_core::edit::{self, Edit};
use serde::Serialize;
use serde_json::json;

/// Changes the file; status of HTTP and strict JSON.
pub fn apply(file: &Path, request: &str) -> (u16, Vec<u8>) {
    match serde_json::from_str::<Edit>(request) {
        Ok(request) => answer(edit::apply(file, &request)),
        Err(error) => failure(400, "parameter", &error.to_string()),
    }
}

/// What can be done with a step and rank of the file.
pub fn state(file: &Path, step: u64, rank: u64) -> (u16, Vec<u8>) {
    answer(edit::state(file, step, rank))
}

fn answer<T: Serialize>(outcome: Result<T, edit::Error>) -> (u16, Vec<u8>) {
    match outcome {
        Ok(value) => (200, json!(value).to_string().into_bytes()),
        Err(error) => failure(error.status(), error.code(), &error.to_string()),
    }
}

fn failure(status: u16, code: &str, message: &str) -> (u16, Vec<u8>) {
    (status, json!({ "error": { "code": code, "message": message } }).to_string().into_bytes())
}
