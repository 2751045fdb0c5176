//! Which calls belong together. Expectations come from the programs that the calls describe.

use std::convert::Infallible;

use bumpalo::Bump;
use proptest::prelude::*;
use serde_json::{json, Value as Json};

use super::call::RankCalls;
use super::join::{join, Rank};
use super::tally::{Reason, Tally};
use crate::dump::json::{parse, Scanner};
use crate::text::checksum::crc_text;
use crate::visdb::CommunicationNode;

/// A call: its name without `Distributed.` and `.forward`, and its entry.
type Call = (String, Json);

/// Links of every call, `null` for those without, by rank and call.
fn linked(ranks: &[(u64, Vec<Call>)]) -> (Vec<Vec<Json>>, Tally) {
    let mut row = 0;
    let ranks: Vec<Rank> = ranks
        .iter()
        .map(|(rank, recorded)| {
            let (mut calls, mut nodes) = (RankCalls::default(), Vec::new());
            for (name, entry) in recorded {
                let (bump, text) = (Bump::new(), entry.to_string());
                let name = format!("Distributed.{name}.forward");
                calls.push(&name, Some(&parse(&mut Scanner::new(&text, 0), &bump).unwrap()), nodes.len() as u32);
                nodes.push(CommunicationNode { row, name: name.into(), index: "Nan".into() });
                row += 1;
            }
            Rank { number: *rank, calls, nodes }
        })
        .collect();
    let mut tally = Tally::default();
    let mut stored = vec![Json::Null; row as usize];
    let Ok(()) = join(&ranks, &mut tally, |row, text| -> Result<(), Infallible> {
        let object: Json = serde_json::from_str(text).unwrap();
        // A key that stands there twice would be one after reading.
        assert_eq!(text.matches(r#"": ["Nan", "#).count(), object["nodes_info"].as_object().unwrap().len(), "{text}");
        stored[row as usize] = object;
        Ok(())
    });
    let mut stored = stored.into_iter();
    (ranks.iter().map(|rank| stored.by_ref().take(rank.nodes.len()).collect()).collect(), tally)
}

fn call(name: &str, arguments: &[Json], keywords: &Json) -> Call {
    (name.to_owned(), json!({"input_args": arguments, "input_kwargs": keywords, "output": []}))
}

fn int(value: i64) -> Json {
    json!({"type": "int", "value": value})
}

fn tensor(shape: &[u64], dtype: &str) -> Json {
    json!({"type": "torch.Tensor", "dtype": dtype, "shape": shape, "Max": 1.0, "Min": 1.0, "Mean": 1.0, "Norm": 1.0})
}

fn group(ranks: &[u64]) -> Json {
    let id = crc_text(format!("{ranks:?}").as_bytes());
    json!({"type": "torch.ProcessGroup", "group_ranks": ranks, "group_id": std::str::from_utf8(&id).unwrap()})
}

fn operation(op: &str, peer: u64, tag: i64) -> Json {
    json!({"class_type": "torch.distributed.P2POp", "op": op, "peer": peer, "tag": tag, "group_id": "77849d8c"})
}

fn batch(name: &str, operations: &[Json]) -> Call {
    (name.to_owned(), json!({"input_args": [operations], "input_kwargs": {}, "output": [operations]}))
}

/// The stored object; partners are rank and name without `Distributed.` and `.forward`.
fn links(kind: &str, partners: &[(u64, &str)]) -> Json {
    let of = |&(rank, name): &(u64, &str)| (rank.to_string(), json!(["Nan", format!("Distributed.{name}.forward")]));
    json!({"communications_type": kind, "nodes_info": partners.iter().map(of).collect::<serde_json::Map<_, _>>()})
}

#[test]
fn point_to_point_counts_per_peer() {
    let to = |name, peer| call(name, &[tensor(&[4], "torch.float32")], &json!({"dst": int(peer)}));
    let from = |name, peer| call(name, &[Json::Null], &json!({"src": int(peer)}));
    let (found, tally) = linked(&[
        (0, vec![to("send.0", 1), to("send.1", 2), to("send.2", 1), to("send.3", 2)]),
        (1, vec![from("recv.0", 0), from("recv.1", 0)]),
        (2, vec![from("recv.0", 0), from("recv.1", 0)]),
    ]);
    assert_eq!(found[0][3], links("send", &[(2, "recv.1")]));
    assert_eq!(found[0][2], links("send", &[(1, "recv.1")]));
    assert_eq!(found[2], [links("receive", &[(0, "send.1")]), links("receive", &[(0, "send.3")])]);
    assert_eq!((tally.linked, tally.unlinked()), (8, 0));
}

#[test]
fn blocking_and_not_in_every_spelling() {
    let (found, _) = linked(&[
        (
            0,
            vec![
                call("isend.0", &[Json::Null, int(1)], &json!({})),
                call("send.0", &[Json::Null], &json!({"group": group(&[0, 1]), "group_dst": int(1)})),
                call("send.1", &[Json::Null, Json::Null, Json::Null, Json::Null, int(1)], &json!({})),
            ],
        ),
        (
            1,
            vec![
                call("recv.0", &[Json::Null], &json!({"src": int(0)})),
                call("irecv.0", &[], &json!({"tensor": Json::Null, "src": {"type": "str", "value": "0"}})),
                call("recv.1", &[Json::Null, int(0), group(&[0, 1])], &json!({})),
            ],
        ),
    ]);
    assert_eq!(found[0], [links("send", &[(1, "recv.0")]), links("send", &[(1, "irecv.0")]), links("send", &[(1, "recv.1")])]);
    assert_eq!(found[1][2], links("receive", &[(0, "send.1")]));
}

#[test]
fn tags_and_groups_keep_apart() {
    let to = |name, tag| call(name, &[Json::Null], &json!({"dst": int(1), "tag": int(tag)}));
    let from = |name, tag| call(name, &[Json::Null, int(0), Json::Null, int(tag)], &json!({}));
    let (found, _) = linked(&[(0, vec![to("send.0", 5), to("send.1", 7)]), (1, vec![from("recv.0", 7), from("recv.1", 5)])]);
    assert_eq!(found[0], [links("send", &[(1, "recv.1")]), links("send", &[(1, "recv.0")])]);
    let within = |name, ranks: &[u64]| call(name, &[Json::Null], &json!({"group": group(ranks)}));
    let (found, _) = linked(&[
        (0, vec![within("all_reduce.0", &[0, 2]), within("all_reduce.1", &[0, 1])]),
        (1, vec![within("all_reduce.0", &[0, 1])]),
        (2, vec![within("all_reduce.0", &[0, 2])]),
    ]);
    assert_eq!(found[0], [links("send_receive", &[(2, "all_reduce.0")]), links("send_receive", &[(1, "all_reduce.0")])]);
    assert_eq!(found[1], [links("send_receive", &[(0, "all_reduce.1")])]);
}

#[test]
fn a_batch_is_one_object_with_all_peers() {
    let (found, tally) = linked(&[
        (0, vec![batch("batch_isend_irecv.0", &[operation("isend", 1, 0), operation("irecv", 1, 0), operation("irecv", 2, 0)])]),
        (1, vec![batch("batch_isend_irecv.0", &[operation("irecv", 0, 0), operation("isend", 0, 0)])]),
        (2, vec![batch("batch_isend_irecv.0", &[operation("isend", 0, 0)])]),
    ]);
    assert_eq!(found[0], [links("send_receive", &[(1, "batch_isend_irecv.0"), (2, "batch_isend_irecv.0")])]);
    assert_eq!(found[1], [links("send_receive", &[(0, "batch_isend_irecv.0")])]);
    assert_eq!(found[2], [links("send", &[(0, "batch_isend_irecv.0")])]);
    assert_eq!(tally.linked, 3);
}

#[test]
fn a_root_has_all_and_all_have_the_root() {
    let whole = group(&[2, 0, 1]);
    let (found, _) = linked(&[
        (0, vec![call("reduce.0", &[Json::Null, int(2)], &json!({"group": whole}))]),
        (1, vec![call("reduce.0", &[Json::Null], &json!({"dst": int(2), "group": whole}))]),
        (2, vec![call("reduce.0", &[Json::Null], &json!({"group_dst": int(0), "group": whole}))]),
    ]);
    assert_eq!(found[2], [links("receive", &[(0, "reduce.0"), (1, "reduce.0")])]);
    assert_eq!((&found[0][0], &found[1][0]), (&links("send", &[(2, "reduce.0")]), &links("send", &[(2, "reduce.0")])));
    // The root of scatter is 0 unless said otherwise, and the group everybody.
    let (found, _) = linked(&[(0, vec![call("scatter.0", &[], &json!({}))]), (1, vec![call("scatter.0", &[], &json!({}))])]);
    assert_eq!((&found[0][0], &found[1][0]), (&links("send", &[(1, "scatter.0")]), &links("receive", &[(0, "scatter.0")])));
}

#[test]
fn a_root_that_others_do_not_know_is_not_theirs() {
    let from = |root| call("broadcast.0", &[Json::Null, int(root)], &json!({}));
    let (found, tally) = linked(&[(0, vec![from(0)]), (1, vec![from(2)]), (2, vec![from(0)])]);
    assert_eq!(found[0], [links("send", &[(2, "broadcast.0")])]);
    assert_eq!((&found[1][0], &found[2][0]), (&Json::Null, &links("receive", &[(0, "broadcast.0")])));
    assert_eq!(tally.of(Reason::Differs), 1);
    // Rank 2 names a group in which the root does not name rank 2.
    let within = |ranks: &[u64]| call("broadcast.0", &[], &json!({"src": int(0), "group": {"group_ranks": ranks, "group_id": "x"}}));
    let (found, _) = linked(&[(0, vec![within(&[0, 1])]), (1, vec![within(&[0, 1])]), (2, vec![within(&[0, 1, 2])])]);
    assert_eq!((&found[1][0], &found[2][0]), (&links("receive", &[(0, "broadcast.0")]), &Json::Null));
}

#[test]
fn what_differs_is_not_linked() {
    let reduce = |name, shape: &[u64], dtype| call(name, &[tensor(shape, dtype)], &json!({"group": group(&[0, 1])}));
    let (found, tally) = linked(&[
        (0, vec![reduce("all_reduce.0", &[2, 3], "torch.float32"), reduce("all_reduce.1", &[4], "torch.float32")]),
        (1, vec![reduce("all_reduce.0", &[6], "torch.float32"), reduce("all_reduce.1", &[4], "torch.bfloat16")]),
    ]);
    assert_eq!(found[0], [links("send_receive", &[(1, "all_reduce.0")]), Json::Null]);
    assert_eq!((tally.linked, tally.of(Reason::Differs)), (2, 2));
    let with = |op: &str| call("all_reduce.0", &[Json::Null, json!({"type": "x", "value": op})], &json!({}));
    let (found, tally) = linked(&[(0, vec![with("RedOpType.SUM")]), (1, vec![with("RedOpType.MAX")])]);
    assert_eq!((&found[0][0], tally.of(Reason::Differs)), (&Json::Null, 2));
}

#[test]
fn reasons() {
    let ranks = [
        (
            0,
            vec![
                call("all_reduce.0", &[], &json!({"group": group(&[0])})),
                call("all_reduce.1", &[], &json!({"group": group(&[0, 7])})),
                call("send.0", &[Json::Null, int(7)], &json!({})),
                call("send.1", &[Json::Null, int(-1)], &json!({})),
                call("send.2", &[Json::Null, int(1)], &json!({})),
                call("recv.0", &[], &json!({})),
                call("all_gather.0", &[], &json!({"group": {"type": "torch.ProcessGroup", "group_ranks": "all", "group_id": "x"}})),
                call("broadcast.0", &[], &json!({})),
            ],
        ),
        (1, vec![]),
    ];
    let (found, tally) = linked(&ranks);
    assert_eq!(found[0], vec![Json::Null; 8]);
    let counts = [Reason::RankMissing, Reason::NoCounterpart, Reason::Unreadable].map(|reason| tally.of(reason));
    assert_eq!((counts, tally.linked), ([3, 1, 3], 0));
}

#[test]
fn order_is_that_of_the_dump() {
    // Two calls whose nodes stand the other way round on rank 1.
    let mut ranks = Vec::new();
    for (rank, entries) in [(0, [0, 1]), (1, [1, 0])] {
        let mut calls = RankCalls::default();
        let mut nodes = Vec::new();
        for (row, entry) in entries.into_iter().enumerate() {
            let (bump, name) = (Bump::new(), format!("Distributed.all_reduce.{entry}.forward"));
            calls.push(&name, Some(&parse(&mut Scanner::new("{}", 0), &bump).unwrap()), entry);
            nodes.push(CommunicationNode { row: row as i64, name: name.into(), index: "Nan".into() });
        }
        ranks.push(Rank { number: rank, calls, nodes });
    }
    let mut texts = Vec::new();
    join(&ranks, &mut Tally::default(), |_, text| -> Result<(), Infallible> {
        texts.push(text.to_owned());
        Ok(())
    })
    .unwrap();
    let order: Vec<bool> = texts.iter().map(|text| text.contains("all_reduce.0")).collect();
    assert_eq!(order, [true, false, false, true]);
}

#[test]
fn odd_groups() {
    let with = |ranks: Json, id: Json| call("all_reduce.0", &[], &json!({"group": {"group_ranks": ranks, "group_id": id}}));
    let text = || with(json!("[0, 1]"), json!("77849d8c"));
    // Without an id, as a text, with a rank named twice, with ranks that cannot be: still one group.
    for odd in [
        with(json!([0, 1]), Json::Null),
        with(json!([0, 1, 1, 0]), json!("77849d8c")),
        with(json!([-5, 0, 1, 1e3 as u64, "99999999999999999999"]), json!("77849d8c")),
    ] {
        let (found, _) = linked(&[(0, vec![text()]), (1, vec![odd])]);
        assert_eq!(
            (&found[0][0], &found[1][0]),
            (&links("send_receive", &[(1, "all_reduce.0")]), &links("send_receive", &[(0, "all_reduce.0")]))
        );
    }
    let (found, tally) = linked(&[(0, vec![text()]), (1, vec![with(json!([]), json!("77849d8c"))])]);
    assert_eq!((&found[1][0], tally.unlinked()), (&Json::Null, 0));
}

#[test]
fn entries_of_any_shape_are_no_trouble() {
    let names = ["send.0", "batch_isend_irecv.0", "all_reduce.0", "gather.0", "", ".", "who.0", "\"\\\u{0}é.0"];
    let entries = [
        json!(null),
        json!(5),
        json!([]),
        json!({"input_args": 3, "input_kwargs": [], "output": "x"}),
        json!({"input_args": [[1, null, {"op": "isend"}, {"op": "irecv", "peer": []}]], "output": [[{"op": 1}]]}),
        json!({"input_args": [], "input_kwargs": {"group": 3, "dst": {"value": 1e300}, "tag": {"value": "x"}}}),
        json!({"input_kwargs": {"group": {"group_ranks": [[0]], "group_id": 4}, "dst": {"value": true}}}),
    ];
    for name in names {
        let calls: Vec<Call> = entries.iter().map(|entry| (name.to_owned(), entry.clone())).collect();
        let (found, tally) = linked(&[(0, calls.clone()), (1, calls)]);
        let linked = found.iter().flatten().filter(|links| !links.is_null()).count();
        assert_eq!(linked as u64, tally.linked, "{name}");
    }
}

/// One thing that happens in a program of several ranks.
#[derive(Clone, Debug)]
enum Event {
    Send { from: u64, to: u64, tag: i64, batched: [bool; 2] },
    Reduce { root: u64 },
    All { ranks: Vec<u64> },
}

const RANKS: u64 = 4;

fn event() -> impl Strategy<Value = Event> {
    let rank = 0..RANKS;
    prop_oneof![
        (rank.clone(), rank.clone(), 0..2i64, any::<[bool; 2]>())
            .prop_filter("to itself", |(from, to, ..)| from != to)
            .prop_map(|(from, to, tag, batched)| Event::Send { from, to, tag, batched }),
        rank.prop_map(|root| Event::Reduce { root }),
        proptest::sample::subsequence((0..RANKS).collect::<Vec<_>>(), 2..=4).prop_map(|ranks| Event::All { ranks }),
    ]
}

proptest! {
    /// Every rank records its calls in the order of the program; whatever the program, the links are its events.
    #[test]
    fn links_are_what_happened(events in proptest::collection::vec(event(), 0..40)) {
        let mut ranks: Vec<(u64, Vec<Call>)> = (0..RANKS).map(|rank| (rank, Vec::new())).collect();
        let mut expected: Vec<Vec<Json>> = vec![Vec::new(); RANKS as usize];
        for (number, event) in events.iter().enumerate() {
            let whole: Vec<u64> = (0..RANKS).collect();
            let mut add = |rank: u64, (name, entry): Call, kind: &str, partners: &[(u64, &str)]| {
                ranks[rank as usize].1.push((name, entry));
                expected[rank as usize].push(links(kind, partners));
            };
            match event {
                Event::Send { from, to, tag, batched } => {
                    let base = |batched: bool, api: &str| format!("{}.{number}", if batched { "batch_isend_irecv" } else { api });
                    let (sender, receiver) = (base(batched[0], "send"), base(batched[1], "irecv"));
                    let one = |batched: bool, name: &str, key: &str, op: &str, peer: u64| if batched {
                        let id = crc_text(format!("{whole:?}").as_bytes());
                        batch(name, &[json!({"op": op, "peer": peer, "tag": tag, "group_id": std::str::from_utf8(&id).unwrap()})])
                    } else {
                        call(name, &[], &json!({key: int(peer as i64), "tag": int(*tag)}))
                    };
                    add(*from, one(batched[0], &sender, "dst", "isend", *to), "send", &[(*to, &receiver)]);
                    add(*to, one(batched[1], &receiver, "src", "irecv", *from), "receive", &[(*from, &sender)]);
                }
                Event::Reduce { root } => {
                    let name = format!("reduce.{number}");
                    for rank in 0..RANKS {
                        let others: Vec<(u64, &str)> = (0..RANKS).filter(|r| r != root).map(|r| (r, &*name)).collect();
                        let (kind, partners) = if rank == *root { ("receive", others) } else { ("send", vec![(*root, &*name)]) };
                        add(rank, call(&name, &[Json::Null, int(*root as i64)], &json!({})), kind, &partners);
                    }
                }
                Event::All { ranks } => {
                    let name = format!("all_to_all.{number}");
                    for &rank in ranks {
                        let others: Vec<(u64, &str)> = ranks.iter().filter(|&&r| r != rank).map(|&r| (r, &*name)).collect();
                        add(rank, call(&name, &[], &json!({"group": group(ranks)})), "send_receive", &others);
                    }
                }
            }
        }
        let (found, tally) = linked(&ranks);
        prop_assert_eq!(tally.unlinked(), 0);
        prop_assert_eq!(found, expected);
    }
}

/// Values as an entry might hold them in the place of an argument, sane or not.
fn odd_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (0..3i64).prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[0-9, .\\[\\]-]{0,6}".prop_map(Json::from),
    ];
    let keys = ["value", "group", "group_ranks", "group_id", "dst", "src", "op", "peer", "tag", "tensor", "dtype", "shape"];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let object = proptest::collection::vec((proptest::sample::select(keys.to_vec()), inner.clone()), 0..4);
        prop_oneof![
            proptest::collection::vec(inner, 0..4).prop_map(Json::from),
            object.prop_map(|members| Json::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
        ]
    })
}

proptest! {
    /// Whatever stands in the entries: every link names a rank and a node that are there.
    #[test]
    fn links_of_anything_lead_somewhere(
        apis in proptest::collection::vec(proptest::sample::select(vec!["send", "recv", "broadcast", "all_reduce", "batch_isend_irecv", "x"]), 1..6),
        entries in proptest::collection::vec((odd_value(), odd_value(), odd_value()), 6),
    ) {
        let calls: Vec<Call> = apis.iter().zip(&entries).enumerate().map(|(number, (api, (positional, keywords, output)))| {
            (format!("{api}.{number}"), json!({"input_args": positional, "input_kwargs": keywords, "output": [output]}))
        }).collect();
        let (found, _) = linked(&[(0, calls.clone()), (1, calls.clone())]);
        for links in found.iter().flatten().filter(|links| !links.is_null()) {
            for (rank, partner) in links["nodes_info"].as_object().unwrap() {
                prop_assert!(["0", "1"].contains(&rank.as_str()));
                let name = partner[1].as_str().unwrap();
                let known = calls.iter().any(|(call, _)| format!("Distributed.{call}.forward") == name);
                prop_assert!(known, "{}", name);
            }
        }
    }
}

#[test]
fn many_calls_between_the_same_two() {
    let many = |api: &str, key: &str, peer: i64| -> Vec<Call> {
        (0..20_000).map(|number| call(&format!("{api}.{number}"), &[], &json!({key: int(peer)}))).collect()
    };
    let (found, tally) = linked(&[(0, many("send", "dst", 1)), (1, many("recv", "src", 0))]);
    assert_eq!((tally.linked, &found[1][19_999]), (40_000, &links("receive", &[(0, "send.19999")])));
}
