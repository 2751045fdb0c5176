//! The viewer's answers against the recorded answers of the reference's own server for files that the reference wrote.

use msprobe_core::view::Viewer;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

fn folder() -> Option<PathBuf> {
    let place = std::env::var_os("MSPROBE_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from)
        .join("golden/visdb");
    if !place.is_dir() {
        eprintln!("skipped: neither MSPROBE_SHARED nor ../shared has golden/visdb");
        return None;
    }
    Some(place)
}

fn ask(viewer: &Viewer, route: &str, pairs: &[(&str, String)]) -> Value {
    let pairs: Vec<(String, String)> = pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    for _ in 0..200 {
        let answer = viewer.answer(route, &pairs);
        if answer.status != 202 {
            let text = String::from_utf8(answer.body).unwrap();
            assert_eq!(answer.status, 200, "{route}: {text}");
            return serde_json::from_str(&text).unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("{route} is never ready");
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// The recorded requests of one file, with the fields every one of them has.
fn recorded(place: &std::path::Path, file: &str) -> Vec<(String, Value, Value)> {
    let text = std::fs::read_to_string(place.join(format!("expected/{file}.json"))).unwrap();
    let list: Vec<Value> = serde_json::from_str(&text).unwrap();
    list.into_iter()
        .map(|mut entry| (entry["route"].as_str().unwrap().to_owned(), entry["body"].take(), entry["answer"]["data"].take()))
        .collect()
}

const FILES: [&str; 6] = ["build_overflow", "compare_md5", "compare_multirank", "compare_statistics", "compare_tensor", "compare_tp_merge"];

fn context(file: &str, meta: &Value) -> Vec<(&'static str, String)> {
    vec![
        ("path", format!("{file}.vis.db")),
        ("step", meta["step"].to_string()),
        ("rank", meta["rank"].to_string()),
        ("micro", meta["microStep"].to_string()),
    ]
}

#[test]
fn filters_give_the_same_nodes_in_the_same_order() {
    let Some(place) = folder() else { return };
    let viewer = Viewer::new(place.clone());
    let mut seen = 0;
    for file in FILES {
        for (route, body, expected) in recorded(&place, file) {
            if route != "filterNodes" {
                continue;
            }
            let mut query = context(file, &body["metaData"]);
            let words: Vec<String> =
                body["values"].as_array().unwrap().iter().map(|v| v.as_str().unwrap_or("unmatched").to_owned()).collect();
            let single = file == "build_overflow";
            if single && body["type"] == "precision" {
                // Without a second side every node is "unmatched" to the reference; here it has no verdict at all.
                continue;
            }
            query.push((if body["type"] == "precision" { "status" } else { "overflow" }, words.join(",")));
            query.push(("leaves", "1".into()));
            query.push(("limit", "2000".into()));
            let hits = ask(&viewer, "search", &query);
            let names: Vec<String> = expected.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
            assert_eq!(texts(&hits["name"]), names, "{file}: {body}");
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} recorded filters");
}

#[test]
fn all_names_and_all_counterparts_are_the_same() {
    let Some(place) = folder() else { return };
    let viewer = Viewer::new(place.clone());
    for file in FILES {
        for (route, body, expected) in recorded(&place, file) {
            let sides = match route.as_str() {
                "loadGraphAllNodeList" => [("target", &expected["npuNodeList"]), ("golden", &expected["benchNodeList"])],
                "loadGraphMatchedRelations" => [("target", &expected["npuUnMatchNodes"]), ("golden", &expected["benchUnMatchNodes"])],
                _ => continue,
            };
            for (side, names) in sides {
                if names.is_null() {
                    continue;
                }
                let mut query = context(file, &body["metaData"]);
                query.extend([("side", side.to_owned()), ("limit", "2000".to_owned())]);
                if route == "loadGraphMatchedRelations" {
                    query.push(("status", "unmatched".into()));
                }
                let hits = ask(&viewer, "search", &query);
                assert_eq!(texts(&hits["name"]), texts(names), "{file} {side} {route}");
            }
        }
    }
}

#[test]
fn children_of_the_root_stand_in_the_same_order() {
    let Some(place) = folder() else { return };
    let viewer = Viewer::new(place.clone());
    for file in FILES {
        for (route, body, expected) in recorded(&place, file) {
            if route != "changeNodeExpandState" || body["nodeInfo"]["nodeName"] != "root" {
                continue;
            }
            let golden = body["nodeInfo"]["nodeType"] == "Bench";
            let query = context(file, &body["metaData"]);
            let roots = ask(&viewer, "roots", &query);
            let root = &roots[if golden { "golden" } else { "target" }];
            let mut asked = query.clone();
            asked.push(("ids", root["id"][0].to_string()));
            let children = ask(&viewer, "children", &asked);
            // The order of keys is the order of drawing: JSON objects keep it here.
            let boxes: Vec<String> = expected
                .as_object()
                .unwrap()
                .iter()
                .filter(|(_, shape)| shape["parentNode"].as_str().is_some_and(|parent| !parent.is_empty()))
                .map(|(name, _)| name.clone())
                .collect();
            assert_eq!(texts(&children["nodes"]["name"]), boxes, "{file} {}", body["nodeInfo"]);
        }
    }
}

#[test]
fn details_hold_the_same_rows_and_stack() {
    let Some(place) = folder() else { return };
    let viewer = Viewer::new(place.clone());
    let mut seen = 0;
    for file in FILES {
        for (route, body, expected) in recorded(&place, file) {
            if route != "getNodeInfo" {
                continue;
            }
            let golden = body["nodeInfo"]["nodeType"] == "Bench";
            let mut query = context(file, &body["metaData"]);
            query.push(("side", if golden { "golden" } else { "target" }.into()));
            query.push(("name", body["nodeInfo"]["nodeName"].as_str().unwrap().into()));
            let answer = ask(&viewer, "node", &query);
            let own = &expected[if golden { "bench" } else { "npu" }];
            assert_eq!(answer["node"]["stack"], own["stack_info"], "{file}");
            assert_eq!(answer["node"]["micro"], own["micro_step_id"]);
            let rows: BTreeSet<String> = answer["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| &row[if golden { "golden" } else { "target" }])
                .filter(|row| !row.is_null())
                .map(ToString::to_string)
                .collect();
            let named: BTreeSet<String> = ["input_data", "output_data"]
                .iter()
                .flat_map(|column| own[*column].as_object().unwrap().values())
                .map(ToString::to_string)
                .collect();
            assert_eq!(rows, named, "{file} {}", body["nodeInfo"]);
            seen += 1;
        }
    }
    assert!(seen > 20);
}
