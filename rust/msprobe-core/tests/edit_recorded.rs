//! Matching by hand gives the numbers of the comparison: every match of recorded files is taken back and made again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use msprobe_core::edit::{apply, state, Action, Done, Edit, Error};
use msprobe_core::pipeline::{self, Hooks, Progress, Request};
use rusqlite::{Connection, OpenFlags};

fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("MSPROBE_SHARED").map_or(beside, PathBuf::from).join("golden/visdb");
    folder.is_dir().then_some(folder)
}

/// Link, verdict, rows and hand mark of every node of a step and rank.
type Nodes = BTreeMap<(String, String), (String, Option<f64>, String, String)>;

fn nodes(file: &Path, step: u64, rank: u64) -> Nodes {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let sql = "SELECT data_source, node_name, matched_node_link, precision_index, input_data, output_data FROM tb_nodes \
               WHERE step = ?1 AND rank = ?2";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map((step as i64, rank as i64), |row| {
        Ok(((row.get(0)?, row.get(1)?), (row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

fn partner(link: &str) -> Option<String> {
    serde_json::from_str::<Vec<String>>(link).ok()?.pop()
}

fn is_collection(name: &str) -> bool {
    name.starts_with("Apis_Between_Modules")
}

/// A text of rows as the reference would have written it: without our reasons.
fn without_reasons(rows: &str) -> serde_json::Value {
    let mut rows: serde_json::Value = serde_json::from_str(if rows.is_empty() { "{}" } else { rows }).unwrap();
    for row in rows.as_object_mut().unwrap().values_mut() {
        if let Some(text) = row.get("Err_message").and_then(|text| text.as_str()) {
            let mut messages: Vec<String> = serde_json::from_str(text).unwrap();
            messages.retain(|message| !message.starts_with("info:"));
            row["Err_message"] = serde_json::to_string(&messages).unwrap().replace("\",\"", "\", \"").into();
        }
        // Sums in another order: the reference's last digits are not ours.
        if let Some(distance) = row.get("EucDist").and_then(|text| text.as_str()?.parse::<f64>().ok()) {
            row["EucDist"] = format!("{distance:.12e}").into();
        }
    }
    rows
}

/// A file of its own that may be changed.
struct Scratch {
    folder: tempfile::TempDir,
    file: PathBuf,
    step: u64,
    rank: u64,
}

impl Scratch {
    fn of(recorded: &Path, step: u64, rank: u64) -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.vis.db");
        fs::copy(recorded, &file).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        Scratch { folder, file, step, rank }
    }

    fn apply(&self, action: Action) -> Result<Done, Error> {
        apply(&self.file, &Edit { step: self.step, rank: self.rank, action })
    }

    fn pair(&self, target: &str, golden: &str, descendants: bool) -> Result<Done, Error> {
        self.apply(Action::Match { target: target.into(), golden: golden.into(), descendants })
    }

    fn part(&self, target: &str, golden: &str, descendants: bool) -> Result<Done, Error> {
        self.apply(Action::Unmatch { target: target.into(), golden: golden.into(), descendants })
    }

    fn import(&self, name: &str, text: &str) -> Done {
        self.put(&format!("{name}.vis.config"), text);
        self.apply(Action::Import { config: format!("{name}.vis.config") }).unwrap()
    }

    fn put(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn nodes(&self) -> Nodes {
        nodes(&self.file, self.step, self.rank)
    }

    fn partner(&self, side: &str, name: &str) -> Option<String> {
        partner(&self.nodes()[&(side.to_owned(), name.to_owned())].0)
    }

    /// Files beside it but configurations: a journal or a log that was left behind.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains("db-")).collect()
    }
}

/// Pairs of target nodes and their partners, the root left out.
fn pairs(nodes: &Nodes) -> BTreeMap<String, String> {
    nodes
        .iter()
        .filter(|((side, node), _)| side == "NPU" && node != "DefaultModel")
        .filter_map(|((_, node), (link, ..))| Some((node.clone(), partner(link)?)))
        .collect()
}

/// Takes every match back and makes it again; the nodes before, the scratch file after.
fn take_apart_and_join(scratch: &Scratch, name: &str) -> Nodes {
    let before = scratch.nodes();
    let pairs = pairs(&before);
    assert!(pairs.len() > 60, "{name}");
    // Everything is taken apart by a file of ours ...
    let apart: Vec<&String> = pairs.keys().collect();
    let own = serde_json::json!({"version": 1, "matches": 0, "target": apart, "golden": []});
    scratch.put("apart.vis.unmatched.json", &own.to_string());
    let done = scratch.import("apart", "{}");
    assert_eq!((done.unmatched, done.refused), (pairs.len() as u64, Vec::<String>::new()), "{name}");
    for ((side, node), (link, precision, input, output)) in scratch.nodes() {
        if node != "DefaultModel" {
            assert_eq!((link.as_str(), precision), ("[]", None), "{name} {side} {node}");
            assert!(!input.contains("\"Result\"") && !output.contains("\"Result\""), "{name} {node}");
        }
    }
    // ... and matched again by a file in the reference's format.
    let done = scratch.import("again", &serde_json::to_string_pretty(&pairs).unwrap());
    assert_eq!((done.matched, done.refused), (pairs.len() as u64, Vec::new()), "{name}");
    before
}

#[test]
fn every_match_made_again_gives_the_recorded_numbers() {
    let Some(folder) = shared() else {
        eprintln!("skipped: neither MSPROBE_SHARED nor ../shared has golden/visdb");
        return;
    };
    for (name, step, rank) in [("compare_statistics", 0, 0), ("compare_md5", 0, 0), ("compare_multirank", 1, 1), ("compare_tensor", 0, 0)] {
        let scratch = Scratch::of(&folder.join(format!("{name}.vis.db")), step, rank);
        if name == "compare_tensor" {
            find_tensors(&scratch.file, &folder.join("dumps"));
        }
        let before = take_apart_and_join(&scratch, name);
        let after = scratch.nodes();
        for (key, (link, precision, input, output)) in &before {
            let (link_now, precision_now, input_now, output_now) = &after[key];
            assert_eq!(link_now, link, "{name} {key:?}");
            // The reference gives unmatched collections a verdict (M2), and colours uninitialised memory by md5 (M1).
            let differs = is_collection(&key.1) || key.1.split('.').nth(1).is_some_and(|api| api.contains("empty"));
            if !differs {
                assert_eq!(precision_now, precision, "{name} {key:?}");
            }
            assert_eq!(without_reasons(input_now), without_reasons(input), "{name} {key:?}");
            assert_eq!(without_reasons(output_now), without_reasons(output), "{name} {key:?}");
        }

        // Two steps back, everything is as it was, to the letter.
        for _ in 0..2 {
            apply(&scratch.file, &Edit { step: 7, rank: 7, action: Action::Undo }).unwrap();
        }
        for (key, now) in scratch.nodes() {
            assert_eq!(now, before[&key], "{name} {key:?}");
        }
        let nothing = scratch.apply(Action::Undo).unwrap_err();
        assert!(matches!(nothing, Error::NothingToUndo(_)), "{nothing}");
        assert_eq!(state(&scratch.file, step, rank).unwrap().by_hand, 0);
        // A copy of the file alone has everything: no log is left behind.
        assert_eq!(scratch.left(), Vec::<String>::new());
    }
}

/// Writes into the file where the tensors are here.
fn find_tensors(file: &Path, dumps: &Path) {
    let connection = Connection::open(file).unwrap();
    for (side, dump) in [("NPU", "cnn_mixed"), ("Bench", "cnn_base")] {
        let folder = dumps.join(dump).join("step0/rank0/dump_tensor_data");
        let changed = connection.execute(
            "UPDATE tb_nodes SET dump_data_dir = ?1 WHERE data_source = ?2 AND dump_data_dir <> ''",
            (folder.to_str().unwrap(), side),
        );
        assert!(changed.unwrap() > 50);
    }
}

/// Rows of `msprobe_node`, `msprobe_surplus` and `msprobe_tensor` as text.
fn facts(file: &Path) -> Vec<String> {
    let connection = Connection::open(file).unwrap();
    let mut lines = Vec::new();
    for table in ["msprobe_node", "msprobe_surplus", "msprobe_tensor"] {
        let Ok(mut statement) = connection.prepare(&format!("SELECT * FROM {table}")) else { continue };
        let columns = statement.column_count();
        let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            // How a match was made is what differs.
            let cells = (0..columns).filter(|&at| names[at] != "matched_by").map(|at| format!("{:?}", row.get_ref(at).unwrap()));
            lines.push(format!("{table} {}", cells.collect::<Vec<_>>().join(" ")));
        }
    }
    lines
}

#[test]
fn files_of_ours_keep_their_counts() {
    let Some(folder) = shared() else { return };
    for (target, golden) in [("tf_mixed", "tf_base"), ("cnn_mixed", "cnn_base"), ("md5_mixed", "md5_base")] {
        let scratch = tempfile::tempdir().unwrap();
        let side = |name: &str| folder.join("dumps").join(name).join("step0/rank0");
        let request = Request {
            target: side(target),
            golden: Some(side(golden)),
            output: scratch.path().to_owned(),
            stamp: "20261130101500".into(),
            ..Request::default()
        };
        let summary = pipeline::run(&request, &Progress::default(), Hooks::default()).unwrap();
        let scratch = Scratch::of(&summary.output, 0, 0);
        let (before, counts) = (scratch.nodes(), facts(&scratch.file));
        assert!(counts.len() > 50);
        take_apart_and_join(&scratch, target);
        assert_eq!(scratch.nodes(), before, "{target}");
        assert_eq!(facts(&scratch.file), counts, "{target}");
        scratch.apply(Action::Undo).unwrap();
        assert_ne!(facts(&scratch.file), counts, "{target}");
        scratch.apply(Action::Undo).unwrap();
        assert_eq!((scratch.nodes(), facts(&scratch.file)), (before, counts), "{target}");
    }
}

#[test]
fn modules_of_two_names_are_matched_with_all_that_lies_below() {
    let Some(folder) = shared() else { return };
    let scratch = Scratch::of(&folder.join("compare_statistics.vis.db"), 0, 0);
    let (target, golden) = ("Module.layers.1.mlp.FusedMLP.forward.0", "Module.layers.1.mlp.MLP.forward.0");
    let before = scratch.nodes();
    let free = |side: &str| before.iter().filter(|((of, _), (link, ..))| of == side && link == "[]").count();
    assert_eq!((free("NPU"), free("Bench")), (32, 28));
    let done = scratch.pair(target, golden, true).unwrap();
    // The module, its backward call, and the APIs that both have; `up` and `down` are called `fc1` and `fc2` on the other side.
    assert_eq!(scratch.partner("NPU", "Module.layers.1.mlp.FusedMLP.backward.0").as_deref(), Some("Module.layers.1.mlp.MLP.backward.0"));
    assert!(done.matched > 2 && done.unmatched == 0, "{done:?}");
    let after = scratch.nodes();
    for (key, now) in &after {
        if before[key].0 != "[]" && !is_collection(&key.1) {
            assert_eq!(now, &before[key], "{key:?}");
        }
    }
    // The link has the whole way down, as the comparison writes it.
    assert_eq!(
        after[&("NPU".to_owned(), target.to_owned())].0,
        r#"["DefaultModel", "Module.layers.1.Block.forward.0", "Module.layers.1.mlp.MLP.forward.0"]"#
    );
    let again = scratch.pair(target, golden, false).unwrap_err();
    assert_eq!(again.code(), "unlike");
    // Taking it back takes all of it back.
    let back = scratch.part(target, golden, true).unwrap();
    assert_eq!(back.unmatched, done.matched);
    for (key, now) in scratch.nodes() {
        if !is_collection(&key.1) {
            assert_eq!((&now.0, now.1), (&before[&key].0, before[&key].1), "{key:?}");
        }
    }
    let state = state(&scratch.file, 0, 0).unwrap();
    assert_eq!(state.last.unwrap().what, "unmatch");
}

#[test]
fn a_match_of_a_taken_node_moves_and_says_so() {
    let Some(folder) = shared() else { return };
    let scratch = Scratch::of(&folder.join("compare_statistics.vis.db"), 0, 0);
    let (first, second) = ("Module.layers.0.ln1.LayerNorm.forward.0", "Module.layers.0.ln2.LayerNorm.forward.0");
    let done = scratch.pair(first, second, false).unwrap();
    assert!(done.notes.iter().any(|note| note == &format!("{first} does not face {first} any more")), "{:?}", done.notes);
    assert_eq!(scratch.partner("NPU", first).as_deref(), Some(second));
    assert_eq!(scratch.partner("Bench", second).as_deref(), Some(first));
    assert_eq!((scratch.partner("NPU", second), scratch.partner("Bench", first)), (None, None));

    let refused = |target: &str, golden: &str| scratch.pair(target, golden, false).unwrap_err().code();
    assert_eq!(refused("DefaultModel", first), "unlike");
    assert_eq!(refused(first, "DefaultModel"), "unlike");
    assert_eq!(refused(first, "Torch.softmax.0.forward"), "unlike");
    assert_eq!(refused(first, "Module.nowhere.N.forward.0"), "no_node");
    assert_eq!(scratch.part(second, second, false).unwrap_err().code(), "not_matched");
    assert_eq!(scratch.apply(Action::Import { config: "../x.vis.config".into() }).unwrap_err().code(), "config");
    assert_eq!(scratch.apply(Action::Import { config: "none.vis.config".into() }).unwrap_err().code(), "config");
}

#[test]
fn files_of_matches_go_out_and_come_back() {
    let Some(folder) = shared() else { return };
    let scratch = Scratch::of(&folder.join("compare_statistics.vis.db"), 0, 0);
    let (target, golden) = ("Module.layers.1.mlp.FusedMLP.forward.0", "Module.layers.1.mlp.MLP.forward.0");
    scratch.pair(target, golden, true).unwrap();
    scratch.part("Module.norm.LayerNorm.forward.0", "Module.norm.LayerNorm.forward.0", false).unwrap();
    let wanted = scratch.nodes();
    let files = scratch.apply(Action::Export).unwrap().files;
    assert_eq!(files, ["x_0_0.vis.config", "x_0_0.vis.unmatched.json"]);
    let config = fs::read_to_string(scratch.folder.path().join("x_0_0.vis.config")).unwrap();
    let flat: BTreeMap<String, String> = serde_json::from_str(&config).unwrap();
    assert_eq!(flat[target], golden);
    assert!(!flat.contains_key(golden), "one direction only");
    assert!(config.starts_with("{\n    \""), "{config}");
    assert_eq!(state(&scratch.file, 0, 0).unwrap().configs, ["x_0_0.vis.config"]);

    // On an untouched copy the two files give the same result.
    let other = Scratch::of(&folder.join("compare_statistics.vis.db"), 0, 0);
    for name in &files {
        fs::copy(scratch.folder.path().join(name), other.folder.path().join(name)).unwrap();
    }
    let done = other.apply(Action::Import { config: files[0].clone() }).unwrap();
    assert_eq!(done.refused, Vec::<String>::new());
    assert_eq!(other.nodes(), wanted);

    // The reference writes both directions, and a person may spoil a line: the rest is applied.
    let other = Scratch::of(&folder.join("compare_statistics.vis.db"), 0, 0);
    let both = format!(
        "{{\n    \"{golden}\": \"{target}\",\n    \"{target}\": \"{golden}\",\n    \"Module.x.X.forward.0\": 3,\n    oops,\n    \
         \"Module.no.N.forward.0\": \"{golden}\"\n}}"
    );
    let done = other.import("both", &both);
    assert_eq!((done.matched, done.refusals), (1, 3), "{done:?}");
    assert!(done.refused.iter().any(|reason| reason.starts_with("both.vis.config, line 5")), "{:?}", done.refused);
    assert_eq!(other.partner("NPU", target).as_deref(), Some(golden));
    assert_eq!(other.apply(Action::Import { config: "both.vis.config".into() }).unwrap().matched, 0);
    other.put("list.vis.config", "[1, 2]");
    assert_eq!(other.apply(Action::Import { config: "list.vis.config".into() }).unwrap_err().code(), "config");
}

#[test]
fn files_that_may_not_change_are_refused_with_the_reason() {
    let Some(folder) = shared() else { return };
    let scratch = Scratch::of(&folder.join("compare_tensor.vis.db"), 0, 0);
    let before = scratch.nodes();
    let (target, partner) = pairs(&before).into_iter().find(|(name, _)| name.starts_with("Functional.conv")).unwrap();
    scratch.part(&target, &partner, false).unwrap();
    // The tensors are not where the file says.
    let gone = scratch.pair(&target, &partner, false).unwrap_err();
    assert!(gone.to_string().contains("/home/user/train/dumps/cnn_mixed/step0/rank0/dump_tensor_data"), "{gone}");
    scratch.apply(Action::Undo).unwrap();
    assert_eq!(scratch.nodes(), before);

    fs::set_permissions(&scratch.file, fs::Permissions::from_mode(0o440)).unwrap();
    let refused = scratch.part(&target, &partner, false).unwrap_err();
    assert_eq!((refused.code(), refused.status()), ("read_only", 403));
    assert!(refused.to_string().contains("read-only") && state(&scratch.file, 0, 0).unwrap().refused.is_some(), "{refused}");

    fs::set_permissions(&scratch.file, fs::Permissions::from_mode(0o640)).unwrap();
    let writer = Connection::open(&scratch.file).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(scratch.part(&target, &partner, false).unwrap_err().code(), "locked");
    drop(writer);
    let single = Scratch::of(&folder.join("build_overflow.vis.db"), 0, 0);
    assert_eq!(single.pair("DefaultModel", "DefaultModel", false).unwrap_err().code(), "single_graph");
}
