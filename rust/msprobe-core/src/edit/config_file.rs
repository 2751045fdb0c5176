//! `*.vis.config` files: the matches made by hand of one step and rank, in the reference's format.
//!
//! A flat JSON object, target name to golden name. The reference writes every match in both directions; we write one, and read
//! both. What it has no place for goes into a file of ours beside it, `*.vis.unmatched.json`: the version of its format, nodes that
//! were taken apart, and the number of entries, by which it is seen whether it still belongs to the file beside it.

use std::collections::HashSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::Error;
use crate::text::message::system;

/// Ending of the reference's files.
pub const CONFIG_SUFFIX: &str = ".vis.config";
const OWN_SUFFIX: &str = ".vis.unmatched.json";
const VERSION: u32 = 1;
/// Largest file that is read, bytes: a million matches.
const MOST_BYTES: u64 = 256 << 20;
/// Most files that are listed.
const MOST_FILES: usize = 1_000;

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Target and golden name, in order.
    pub matches: Vec<(String, String)>,
    /// Target nodes that face nobody.
    pub unmatched_target: Vec<String>,
    /// Golden nodes that face nobody.
    pub unmatched_golden: Vec<String>,
    /// Whether each match stands there once, target first, so that two names that occur on both sides are no riddle.
    pub one_direction: bool,
    pairs: HashSet<(String, String)>,
}

impl Entries {
    /// Whether there is an entry from one name to the other.
    pub(super) fn has(&self, from: &str, to: &str) -> bool {
        self.pairs.contains(&(from.to_owned(), to.to_owned()))
    }
}

/// Our own file.
#[derive(Debug, Deserialize, Serialize)]
struct Unmatched {
    version: u32,
    matches: usize,
    target: Vec<String>,
    golden: Vec<String>,
}

/// Names of the `*.vis.config` files beside `file`, in order.
#[must_use]
pub fn config_files(file: &Path) -> Vec<String> {
    let entries = file.parent().and_then(|folder| fs::read_dir(folder).ok());
    let mut names: Vec<String> = entries
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.ends_with(CONFIG_SUFFIX))
        .take(MOST_FILES)
        .collect();
    names.sort();
    names
}

/// Reads a file beside `file`: its entries, and why some of its lines are none.
pub(super) fn read(file: &Path, name: &str) -> Result<(Entries, Vec<String>), Error> {
    let path = beside(file, name)?;
    let text = read_text(&path)?;
    let mut refused = Vec::new();
    let mut entries = Entries::default();
    let mut take = |key: String, value: &Value, place: &str| match value {
        Value::String(golden) => {
            entries.pairs.insert((key.clone(), golden.clone()));
            entries.matches.push((key, golden.clone()));
        }
        _ => refused.push(format!("{place}: the golden name of \"{key}\" is no text")),
    };
    match serde_json::from_str::<Map<String, Value>>(&text) {
        Ok(object) => object.into_iter().for_each(|(key, value)| take(key, &value, name)),
        Err(error) if text.trim_start().starts_with('{') => {
            // One entry a line, as both tools write it: what can be read is applied.
            let mut bad = Vec::new();
            for (number, line) in text.lines().enumerate() {
                let entry = line.trim().trim_start_matches('{').trim_end_matches([',', '}']).trim();
                if entry.is_empty() {
                    continue;
                }
                match serde_json::from_str::<Map<String, Value>>(&format!("{{{entry}}}")) {
                    Ok(object) => object.into_iter().for_each(|(key, value)| take(key, &value, &format!("{name}, line {}", number + 1))),
                    Err(_) => bad.push(format!("{name}, line {}: this is no entry \"target\": \"golden\"", number + 1)),
                }
            }
            if bad.is_empty() {
                bad.push(format!("{name}: {error}"));
            }
            refused.append(&mut bad);
        }
        Err(error) => return Err(Error::Config { path, reason: format!("this is no match configuration ({error})") }),
    }
    read_unmatched(&path, name, &mut entries, &mut refused);
    Ok((entries, refused))
}

fn read_unmatched(config: &Path, name: &str, entries: &mut Entries, refused: &mut Vec<String>) {
    let Some(stem) = name.strip_suffix(CONFIG_SUFFIX) else { return };
    let path = config.with_file_name(format!("{stem}{OWN_SUFFIX}"));
    if !path.exists() {
        return;
    }
    let own = read_text(&path).and_then(|text| {
        serde_json::from_str::<Unmatched>(&text).map_err(|error| Error::Config { path: path.clone(), reason: error.to_string() })
    });
    match own {
        // Another tool has written the matches since.
        Ok(own) if own.version == VERSION && own.matches != entries.matches.len() => {}
        Ok(own) if own.version == VERSION => {
            entries.one_direction = true;
            entries.unmatched_target = own.target;
            entries.unmatched_golden = own.golden;
        }
        Ok(own) => refused.push(format!("{stem}{OWN_SUFFIX}: version {} is not known here, {VERSION} is", own.version)),
        Err(error) => refused.push(error.to_string()),
    }
}

/// The path of a plain file name beside `file`.
fn beside(file: &Path, name: &str) -> Result<PathBuf, Error> {
    let path = file.with_file_name(name);
    let plain = !name.contains(['/', '\\', '\0']) && name.ends_with(CONFIG_SUFFIX);
    if plain && path.file_name().is_some_and(|own| own == name) {
        return Ok(path);
    }
    let reason = format!("give the name of a *{CONFIG_SUFFIX} file that lies beside the result file");
    Err(Error::Config { path: PathBuf::from(name), reason })
}

fn read_text(path: &Path) -> Result<String, Error> {
    let failed = |reason: String| Error::Config { path: path.to_owned(), reason };
    let kind = fs::symlink_metadata(path).map_err(|error| failed(system(&error)))?;
    if !kind.is_file() {
        return Err(failed("this is no regular file".to_owned()));
    }
    if kind.len() > MOST_BYTES {
        return Err(failed(format!("more than {MOST_BYTES} bytes are not read")));
    }
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| failed(system(&error)))?;
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(|error| failed(system(&error)))?;
    Ok(text)
}

/// Writes the matches made by hand beside `file`, and what was taken apart beside them. Returns the names of the files.
pub(super) fn write(
    file: &Path,
    step: u64,
    rank: u64,
    target: &[(String, Option<String>)],
    golden: &[(String, Option<String>)],
) -> Result<Vec<String>, Error> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let place = format!("{}_{step}_{rank}", name.strip_suffix(".vis.db").unwrap_or(&name));
    let matches: Map<String, Value> =
        target.iter().filter_map(|(name, partner)| Some((name.clone(), Value::String(partner.clone()?)))).collect();
    let config = format!("{place}{CONFIG_SUFFIX}");
    put(&file.with_file_name(&config), &matches)?;
    let mut files = vec![config];
    let apart = |nodes: &[(String, Option<String>)]| -> Vec<String> {
        nodes.iter().filter(|(_, partner)| partner.is_none()).map(|(name, _)| name.clone()).collect()
    };
    let own = Unmatched { version: VERSION, matches: matches.len(), target: apart(target), golden: apart(golden) };
    put(&file.with_file_name(format!("{place}{OWN_SUFFIX}")), &own)?;
    files.push(format!("{place}{OWN_SUFFIX}"));
    Ok(files)
}

/// Writes a JSON file as the reference does, four blanks a level, at once or not at all.
fn put(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    let failed = |reason: String| Error::Config { path: path.to_owned(), reason };
    let mut out = Vec::new();
    let indent = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, indent)).map_err(|error| failed(error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut partial = tempfile::NamedTempFile::new_in(folder)?;
        partial.write_all(&out)?;
        partial.as_file().set_permissions(fs::Permissions::from_mode(0o640))?;
        partial.as_file().sync_all()?;
        partial.persist(path)?;
        Ok(())
    };
    write().map_err(|error| failed(format!("cannot be written: {}", system(&error))))
}
