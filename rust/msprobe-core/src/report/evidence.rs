//! Turns a candidate, which is numbers, into what a person wants to see.

use super::answer::{Difference, Elements, Evidence, FlowNode, Frame, Inputs, IntegerInput, NodeLine};
use super::candidate::{Candidate, What};
use super::error::{Error, Result};
use super::file::{Place, VisFile};
use super::inside;
use crate::facts::{for_each_row, is_integer_tensor, measure, role, Break, Cell, Cells, STATISTICS};
use crate::name;
use crate::visdb::{partner_of, OverflowLevel, Side, Task};
use rusqlite::OptionalExtension;
use std::borrow::Cow;

/// A node as stored, but for its rows.
pub(super) struct Stored {
    pub line: NodeLine,
    /// Name of the partner.
    pub golden: Option<String>,
    stack: Option<String>,
    rows: Vec<String>,
}

/// Names of APIs that draw random numbers.
const RANDOM: [&str; 12] = [
    "dropout",
    "dropout_",
    "alpha_dropout",
    "feature_dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "bernoulli",
    "rand",
    "randn",
    "normal_",
    "uniform_",
];

/// Reads the node of order `order` of a side.
pub(super) fn stored(file: &VisFile, place: Place, side: Side, order: u32) -> Result<Stored> {
    type Row = (String, Option<String>, Option<f64>, Option<String>, Option<String>, Option<String>, Option<String>, Option<String>);
    let sql =
        "SELECT node_name, up_node, precision_index, overflow_level, matched_node_link, stack_id, input_data, output_data FROM tb_nodes \
               WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_order = ?4";
    let found: Option<Row> = file
        .conn
        .prepare_cached(sql)
        .and_then(|mut statement| {
            statement
                .query_row((place.step, place.rank, side.as_str(), order), |r| {
                    Ok((r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?, r.get(5)?, r.get(6)?, r.get(7)?))
                })
                .optional()
        })
        .map_err(file.fail())?;
    let Some((node, parent, index, overflow, link, stack, inputs, outputs)) = found else {
        return Err(Error::unreadable(&file.path, format!("node {order} of step {}, rank {} is missing", place.step, place.rank)));
    };
    let golden = link.as_deref().and_then(partner_of).map(Cow::into_owned);
    let described = NodeLine {
        step: place.step,
        rank: place.rank,
        node,
        parent: parent.unwrap_or_default(),
        order,
        verdict: index.map(|index| Cow::Borrowed(verdict(index))),
        overflow: overflow.as_deref().and_then(OverflowLevel::from_text).map(|level| Cow::Borrowed(level.as_str())),
        matched: golden.is_some(),
        frame: None,
    };
    Ok(Stored { line: described, golden, stack, rows: [inputs, outputs].into_iter().flatten().collect() })
}

/// The verdict that is stored as a number.
pub(super) fn verdict(index: f64) -> &'static str {
    if index < 0.3 {
        "pass"
    } else if index < 0.6 {
        "warning"
    } else {
        "error"
    }
}

/// A node that is an answer by itself: with its frame.
pub(super) fn line_with_frame(file: &VisFile, place: Place, side: Side, order: u32) -> Result<NodeLine> {
    let node = stored(file, place, side, order)?;
    let frame = frame(file, &node)?;
    Ok(NodeLine { frame, ..node.line })
}

/// Describes a candidate.
pub(super) fn describe(file: &VisFile, place: Place, nodes: u64, candidate: &Candidate) -> Result<Difference> {
    let node = stored(file, place, Side::Target, candidate.order)?;
    let elsewhere =
        if candidate.row.order == candidate.order { None } else { Some(stored(file, place, Side::Target, candidate.row.order)?) };
    let evidence = if file.task == Task::Structure { None } else { evidence(file, place, elsewhere.as_ref().unwrap_or(&node), candidate)? };
    let evidence = evidence.map(|evidence| Evidence { node: elsewhere.as_ref().map(|stored| stored.line.node.clone()), ..evidence });
    let kind = name::api_name(&node.line.node).unwrap_or("").to_ascii_lowercase();
    let is_random = RANDOM.contains(&kind.as_str()) || name::parts(&node.line.node).any(|part| part.contains("Dropout"));
    let only_extremes = if candidate.what == What::Computation { integers(file, &node)? } else { None };
    let unmatched_inside = inside::first_unmatched(file, place, &node.line.node, candidate)?;
    Ok(Difference {
        step: place.step,
        rank: place.rank,
        parent: node.line.parent.clone(),
        order: candidate.order,
        nodes,
        micro_step: candidate.micro_step,
        what: candidate.what,
        evidence,
        inputs: candidate.inputs.map(|(error, noise)| Inputs { error, noise, only_extremes }),
        frame: frame(file, &node)?.or(elsewhere.map(|stored| frame(file, &stored)).transpose()?.flatten()),
        communications_before: candidate.communications,
        is_communication: candidate.is_distributed,
        is_random,
        verdict: node.line.verdict,
        unmatched_inside: unmatched_inside.map(|order| line_with_frame(file, place, Side::Target, order)).transpose()?,
        only_golden: None,
        unlike_calls: None,
        golden_node: node.golden,
        node: node.line.node,
    })
}

/// The first input of integers whose values are hidden behind the largest and the smallest.
fn integers(file: &VisFile, node: &Stored) -> Result<Option<IntegerInput>> {
    let mut found = None;
    let Some(inputs) = node.rows.first().filter(|_| file.task == Task::Summary) else { return Ok(None) };
    for_each_row(inputs, |row_name, cells: &Cells<'_>| {
        let known = [0, 1, 2, 3].map(|which| cells.statistics[which].number().is_some());
        if found.is_none() && known == [true, true, false, false] && is_integer_tensor(cells) {
            let row = row_name.strip_prefix(node.line.node.as_str()).unwrap_or(row_name).trim_start_matches('.');
            found = Some(IntegerInput { row: row.to_owned(), dtype: cells.dtype.shown() });
        }
    })
    .map_err(|error| Error::no_rows(&file.path, &node.line.node, &error))?;
    Ok(found)
}

/// The cells of the row that shows the difference.
fn evidence(file: &VisFile, place: Place, node: &Stored, candidate: &Candidate) -> Result<Option<Evidence>> {
    let damaged = |error| Error::no_rows(&file.path, &node.line.node, &error);
    let mut found: Option<Evidence> = None;
    let (mut full_name, mut column) = (String::new(), "");
    let mut number = 0;
    for (at, text) in node.rows.iter().enumerate() {
        for_each_row(text, |row_name, cells: &Cells<'_>| {
            if number == candidate.row.row {
                let short = row_name.strip_prefix(node.line.node.as_str()).unwrap_or(row_name).trim_start_matches('.');
                let (statistic, which) = statistic(file.task, cells, candidate);
                let shown = |cell: &Cell<'_>| cell.shown();
                row_name.clone_into(&mut full_name);
                column = if at == 1 { "output" } else { "input" };
                found = Some(Evidence {
                    node: None,
                    row: short.to_owned(),
                    role: role(&node.line.node, row_name, at == 1, &measure(cells, file.task)),
                    statistic: Cow::Borrowed(statistic),
                    target: shown(which.map_or(&Cell::None, |i| &cells.statistics[i])),
                    golden: which.and_then(|i| golden_value(cells, i)),
                    error: candidate.error.is_finite().then_some(candidate.error),
                    noise: candidate.tolerance,
                    broken: candidate.broken,
                    dtype: shown(&cells.dtype),
                    shape: shown(&cells.shape),
                    tensor: None,
                });
            }
            number += 1;
        })
        .map_err(damaged)?;
    }
    if let (Some(evidence), Task::All) = (&mut found, file.task) {
        evidence.tensor = elements(file, place, &node.line.node, column, &full_name)?;
    }
    if let (Some(evidence), Some(golden)) = (&mut found, &node.golden) {
        complete(file, place, golden, &node.line.node, evidence)?;
    }
    Ok(found)
}

/// What our own table knows of a pair of tensors; the reference's files have no such table.
fn elements(file: &VisFile, place: Place, node: &str, column: &str, row: &str) -> Result<Option<Elements>> {
    let known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'msprobe_tensor'";
    let sql = "SELECT largest_at, equal, ulp, target_nan, golden_nan, target_inf, golden_inf FROM msprobe_tensor \
               WHERE step = ?1 AND rank = ?2 AND node_name = ?3 AND place = ?4 AND row_name = ?5";
    let read = |r: &rusqlite::Row<'_>| {
        let ulp = r.get::<_, Option<f64>>(2)?.filter(|ulp| ulp.is_finite());
        Ok(Elements { largest_at: r.get(0)?, equal: r.get(1)?, ulp, nan: [r.get(3)?, r.get(4)?], infinite: [r.get(5)?, r.get(6)?] })
    };
    let found = file.conn.prepare_cached(known).and_then(|mut statement| statement.exists([])).and_then(|known| {
        if !known {
            return Ok(None);
        }
        let mut statement = file.conn.prepare_cached(sql)?;
        statement.query_row((place.step, place.rank, node, column, row), read).optional()
    });
    found.map_err(file.fail())
}

/// The statistic whose error is the one that counted, and where its value stands.
fn statistic(task: Task, cells: &Cells<'_>, candidate: &Candidate) -> (&'static str, Option<usize>) {
    match candidate.broken {
        Some(Break::Checksum) => return ("md5", Some(3)),
        Some(Break::Shape) => return ("shape", Some(3)),
        Some(Break::Value) => return ("value", Some(0)),
        Some(Break::NonFinite) => return ("Max", Some(0)),
        None => {}
    }
    let measured = measure(cells, task);
    // A number by itself has no norm.
    if measured.is_scalar {
        return ("value", Some(0));
    }
    let crate::facts::Difference::Relative(errors) = measured.difference else { return ("Max", Some(0)) };
    if task == Task::All {
        return if errors[0] == candidate.error { ("EucDist", Some(3)) } else { ("MaxAbsErr", Some(0)) };
    }
    if errors[0] == candidate.error {
        return ("Norm", Some(3));
    }
    if errors[2] == candidate.error {
        return ("Mean", Some(2));
    }
    let by = |i: usize| cells.differences[i].number().map_or(0.0, f64::abs);
    let which = usize::from(by(1) > by(0));
    (STATISTICS[which], Some(which))
}

fn golden_value(cells: &Cells<'_>, which: usize) -> Option<String> {
    let (target, by) = (cells.statistics[which].number()?, cells.differences[which].number()?);
    (target.is_finite() && by.is_finite()).then(|| (target - by).to_string())
}

/// Takes golden's own text for the statistic, which the difference gives only up to rounding.
fn complete(file: &VisFile, place: Place, golden: &str, target: &str, evidence: &mut Evidence) -> Result<()> {
    if !file.indexed {
        return Ok(());
    }
    let sql = "SELECT input_data, output_data FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = 'Bench' AND node_name = ?3";
    let found: Option<(Option<String>, Option<String>)> = file
        .conn
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row((place.step, place.rank, golden), |r| Ok((r.get(0)?, r.get(1)?))).optional())
        .map_err(file.fail())?;
    let Some((inputs, outputs)) = found else { return Ok(()) };
    let wanted = format!("{golden}.{}", evidence.row);
    for text in [inputs, outputs].into_iter().flatten() {
        // The golden side only adds to what is told.
        let _ = for_each_row(&text, |row, cells: &Cells<'_>| {
            if row != wanted && row != format!("{target}.{}", evidence.row) {
                return;
            }
            let which = match &*evidence.statistic {
                "Max" | "MaxAbsErr" | "value" => 0,
                "Min" => 1,
                "Mean" => 2,
                _ => 3,
            };
            let shown = if evidence.statistic == "shape" { cells.shape.shown() } else { cells.statistics[which].shown() };
            evidence.golden = Some(shown).filter(|text| !text.is_empty());
        });
    }
    if evidence.statistic == "shape" {
        evidence.target.clone_from(&evidence.shape);
    }
    Ok(())
}

/// The innermost frame of the node's stack outside the framework and this tool.
fn frame(file: &VisFile, node: &Stored) -> Result<Option<Frame>> {
    let Some(stack) = &node.stack else { return Ok(None) };
    let sql = "SELECT stack_info FROM tb_stack WHERE id = ?1";
    let text: Option<Option<String>> = file
        .conn
        .prepare_cached(sql)
        .and_then(|mut statement| statement.query_row([stack], |row| row.get(0)).optional())
        .map_err(file.fail())?;
    let frames = text.flatten().and_then(|text| serde_json::from_str::<Vec<String>>(&text).ok()).unwrap_or_default();
    let parsed: Vec<Frame> = frames.iter().filter_map(|frame| parse_frame(frame)).collect();
    let is_user = |frame: &&Frame| !is_library(&frame.file);
    Ok(parsed.iter().find(is_user).or(parsed.first()).cloned())
}

/// Whether a file of a stack belongs to a framework or to Python itself. Installed packages that hold models do not count; the
/// viewer has the same rule.
fn is_library(file: &str) -> bool {
    let of_python = file.contains("/lib/python") && !file.contains("-packages/");
    of_python || file.starts_with("<frozen") || FRAMEWORKS.iter().any(|part| file.contains(part))
}

/// Folders of frameworks in the paths of stacks.
const FRAMEWORKS: [&str; 6] = ["/torch/", "/torch_npu/", "/mindspore/", "/msprobe/", "/megatron/core/tensor_parallel/", "/mindtorch/"];

/// `File PATH, line N, in FUNCTION, \n CODE`.
fn parse_frame(text: &str) -> Option<Frame> {
    let rest = text.strip_prefix("File ")?;
    let (file, rest) = rest.split_once(", line ")?;
    let (line, rest) = rest.split_once(", in ")?;
    let (function, code) = rest.split_once('\n').unwrap_or((rest, ""));
    Some(Frame {
        file: file.trim_matches('"').to_owned(),
        line: line.parse().ok()?,
        function: function.trim().trim_end_matches(',').to_owned(),
        code: code.trim().to_owned(),
    })
}

/// A node on the way, named later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Flow {
    pub order: u32,
    pub input_error: f32,
    pub output_error: Option<f32>,
}

/// Names the nodes on the way.
pub(super) fn name_flow(file: &VisFile, place: Place, flow: &[Flow]) -> Result<Vec<FlowNode>> {
    let named = flow.iter().map(|flow| {
        let node = stored(file, place, Side::Target, flow.order)?.line.node;
        let finite = |error: f32| error.is_finite().then_some(error);
        Ok(FlowNode { node, order: flow.order, input_error: finite(flow.input_error), output_error: flow.output_error.and_then(finite) })
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_both_frameworks_are_read() {
        let frame = parse_frame("File /home/user/train/model.py, line 372, in forward, \n ctx = self.core(q, k, v)").unwrap();
        assert_eq!((frame.file.as_str(), frame.line, frame.function.as_str()), ("/home/user/train/model.py", 372, "forward"));
        assert_eq!(frame.code, "ctx = self.core(q, k, v)");
        let frame = parse_frame("File /a, b/c.py, line 7, in <module>, \n x = 1").unwrap();
        assert_eq!((frame.file.as_str(), frame.function.as_str()), ("/a, b/c.py", "<module>"));
        assert_eq!(parse_frame("no frame"), None);
    }

    #[test]
    fn models_of_a_package_are_no_library() {
        for (file, library) in [
            ("/home/user/train/model.py", false),
            ("/home/user/venv/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py", false),
            ("/home/user/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", true),
            ("/opt/Megatron-LM/megatron/core/tensor_parallel/layers.py", true),
            ("/opt/Megatron-LM/megatron/core/transformer/mlp.py", false),
            ("/usr/lib/python3.11/contextlib.py", true),
            ("<frozen runpy>", true),
        ] {
            assert_eq!(is_library(file), library, "{file}");
        }
    }
}
