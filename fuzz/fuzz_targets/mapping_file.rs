//! A layer mapping: a one-line error, or rules that match a small dump and report themselves in one line each.

#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use msprobe_core::dump::RankFiles;
use msprobe_core::graph::Graph;
use msprobe_core::matching::mapping::Rules;
use msprobe_core::matching::{match_by_mapping, Calls, Side};

const DUMP: &str = r#"{"task": "statistics", "framework": "pytorch", "data": {
    "Torch.add.0.forward": {}, "Module.net.layers.0.Layer.forward.0": {}, "Module.net.layers.1.Layer.forward.0": {}, "Module.net.Net.forward.0": {}
}}"#;
const CONSTRUCT: &str = r#"{"Module.net.Net.forward.0": null, "Module.net.layers.0.Layer.forward.0": "Module.net.Net.forward.0",
    "Torch.add.0.forward": "Module.net.layers.0.Layer.forward.0", "Module.net.layers.1.Layer.forward.0": "Module.net.Net.forward.0"}"#;

fn rank() -> &'static RankFiles {
    static RANK: OnceLock<RankFiles> = OnceLock::new();
    RANK.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("msprobe-fuzz-mapping-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a folder");
        for (name, text) in [("dump.json", DUMP), ("construct.json", CONSTRUCT), ("stack.json", "{}")] {
            std::fs::write(dir.join(name), text).expect("a file");
        }
        let files = RankFiles::open(&dir).expect("a dump");
        let _ = std::fs::remove_dir_all(&dir);
        files
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Rules::parse(Path::new("m.yaml"), text) {
        Ok(rules) => {
            // A lone carriage return ends a line too.
            let lines = text.matches(['\r', '\n']).count() + 1;
            assert!(rules.all().iter().all(|rule| (1..=lines).contains(&rule.line)), "a line that is not there");
            let (graph, _) = Graph::build(rank()).expect("a tree");
            let side = Side { graph: &graph, files: rank() };
            let mapped = match_by_mapping(side, side, &rules, Calls::Mapped);
            assert!(mapped.matched.len() <= graph.len());
            assert!(mapped.usage.warnings(&rules).iter().all(|warning| !warning.contains('\n')), "a warning of several lines");
        }
        Err(error) => {
            let error = error.to_string();
            assert!(error.starts_with("m.yaml") && !error.contains('\n'), "{error:?}");
        }
    }
});
