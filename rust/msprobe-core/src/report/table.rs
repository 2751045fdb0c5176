//! Nodes and parameters as columns: record batches of Arrow, a few thousand nodes each, however large the file.

use super::error::{Error, Result};
use super::evidence::verdict;
use super::file::{Place, VisFile};
use crate::facts::{for_each_row, Cell, Members};
use crate::name;
use crate::visdb::Side;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::path::Path;
use std::sync::Arc;

/// Nodes read at once.
const NODES: i64 = 2_048;

/// What a row of the table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A node.
    Nodes,
    /// A parameter of a node.
    Parameters,
}

/// Which rows.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// Nodes or parameters.
    pub rows: Rows,
    /// Target or golden.
    pub side: Side,
    /// Only this step.
    pub step: Option<i64>,
    /// Only this rank.
    pub rank: Option<i64>,
}

const INTEGERS: [&str; 4] = ["step", "rank", "node_order", "micro_step"];
const OF_NODES: [&str; 6] = ["node", "kind", "parent", "partner", "verdict", "overflow"];
const OF_ROWS: [&str; 2] = ["parameter", "role"];
/// Cells that are texts, with the name of the column.
const TEXTS: [(&str, &str); 8] = [
    ("Result", "result"),
    ("type", "type"),
    ("dtype", "dtype"),
    ("shape", "shape"),
    ("value", "value"),
    ("requires_grad", "requires_grad"),
    ("md5", "md5"),
    ("Err_message", "message"),
];
/// Cells that are numbers; relative errors are fractions of one.
const NUMBERS: [(&str, &str); 17] = [
    ("Max", "max"),
    ("Min", "min"),
    ("Mean", "mean"),
    ("Norm", "norm"),
    ("Max diff", "max_difference"),
    ("Min diff", "min_difference"),
    ("Mean diff", "mean_difference"),
    ("L2norm diff", "norm_difference"),
    ("MaxRelativeErr", "max_relative_error"),
    ("MinRelativeErr", "min_relative_error"),
    ("MeanRelativeErr", "mean_relative_error"),
    ("NormRelativeErr", "norm_relative_error"),
    ("Cosine", "cosine"),
    ("EucDist", "euclidean_distance"),
    ("MaxAbsErr", "max_absolute_error"),
    ("One Thousandth Err Ratio", "within_one_thousandth"),
    ("Five Thousandths Err Ratio", "within_five_thousandths"),
];

/// Reads a file as a sequence of record batches.
#[derive(Debug)]
pub struct Table {
    file: VisFile,
    selection: Selection,
    schema: SchemaRef,
    /// Places still to be read, the next one last.
    places: Vec<Place>,
    after: i64,
}

impl Table {
    /// Opens `path`.
    pub fn open(path: &Path, selection: Selection) -> Result<Self> {
        let file = VisFile::open(path)?;
        if !file.indexed {
            return Err(Error::unreadable(path, "its indexes are missing; the run that wrote it did not finish"));
        }
        if selection.side == Side::Golden && !file.is_comparison() {
            return Err(Error::unreadable(path, "is a single graph, which has no golden side"));
        }
        let mut places = file.places_of(selection.step, selection.rank)?;
        places.reverse();
        Ok(Table { file, selection, schema: schema(selection.rows), places, after: i64::MIN })
    }

    /// What the rows are: `parameters` or `nodes`.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self.selection.rows {
            Rows::Nodes => "nodes",
            Rows::Parameters => "parameters",
        }
    }

    /// The next batch; it may be empty.
    fn batch(&mut self, place: Place) -> Result<RecordBatch> {
        let sql = "SELECT node_order, micro_step_id, precision_index, node_name, node_type, up_node, matched_node_link, overflow_level, \
                   input_data, output_data FROM tb_nodes WHERE step = ?1 AND rank = ?2 AND data_source = ?3 AND node_order > ?4 \
                   ORDER BY node_order LIMIT ?5";
        let fail = self.file.fail();
        let mut columns = Columns::new(self.selection.rows);
        let mut statement = self.file.conn.prepare_cached(sql).map_err(&fail)?;
        let mut rows = statement.query((place.step, place.rank, self.selection.side.as_str(), self.after, NODES)).map_err(&fail)?;
        let mut last = None;
        while let Some(row) = rows.next().map_err(&fail)? {
            let order = row.get::<_, i64>(0).map_err(&fail)?;
            last = Some(order);
            let text = |column: usize| -> Result<&str> {
                let cell = row.get_ref(column).map_err(&fail)?;
                let name = |_| Error::no_text(&self.file.path, row.as_ref().column_name(column).unwrap_or_default());
                Ok(cell.as_str_or_null().map_err(name)?.unwrap_or(""))
            };
            let link = text(6)?;
            let partner = serde_json::from_str::<Vec<String>>(link).ok().and_then(|mut way| way.pop());
            let index = row.get::<_, Option<f64>>(2).map_err(&fail)?;
            let kind = match text(4)? {
                "0" => "module",
                "1" => "api",
                "9" => "collection",
                other => other,
            };
            let node = NodeCells {
                integers: [place.step, place.rank, order, row.get::<_, Option<i64>>(1).map_err(&fail)?.unwrap_or(0)],
                texts: [Some(text(3)?), Some(kind), Some(text(5)?), partner.as_deref(), index.map(verdict), Some(text(7)?)],
            };
            match self.selection.rows {
                Rows::Nodes => columns.node(&node),
                Rows::Parameters => {
                    let read = columns.parameters(&node, [text(8)?, text(9)?]);
                    read.map_err(|error| Error::no_rows(&self.file.path, node.name(), &error))?;
                }
            }
        }
        drop(rows);
        drop(statement);
        if let Some(order) = last {
            self.after = order;
        } else {
            self.places.pop();
            self.after = i64::MIN;
        }
        columns.finish(&self.schema).map_err(|error| Error::unreadable(&self.file.path, error.to_string()))
    }
}

impl Iterator for Table {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let place = *self.places.last()?;
            match self.batch(place) {
                Ok(batch) if batch.num_rows() == 0 => {}
                Ok(batch) => return Some(Ok(batch)),
                Err(error) => {
                    self.places.clear();
                    return Some(Err(ArrowError::ExternalError(Box::new(error))));
                }
            }
        }
    }
}

impl RecordBatchReader for Table {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

fn schema(rows: Rows) -> SchemaRef {
    let of = |kind: DataType| move |name: &str| Field::new(name, kind.clone(), true);
    let mut fields: Vec<Field> = INTEGERS.iter().map(|name| Field::new(*name, DataType::Int64, false)).collect();
    fields.extend(OF_NODES.into_iter().map(of(DataType::Utf8)));
    if rows == Rows::Parameters {
        fields.extend(OF_ROWS.into_iter().chain(TEXTS.map(|text| text.1)).map(of(DataType::Utf8)));
        fields.extend(NUMBERS.map(|number| number.1).into_iter().map(of(DataType::Float64)));
    }
    Arc::new(Schema::new(fields))
}

/// What a node says in every row.
struct NodeCells<'a> {
    integers: [i64; 4],
    /// In the order of [`OF_NODES`].
    texts: [Option<&'a str>; 6],
}

impl NodeCells<'_> {
    fn name(&self) -> &str {
        self.texts[0].unwrap_or("")
    }
}

/// A batch under way.
struct Columns {
    integers: Vec<Int64Builder>,
    texts: Vec<StringBuilder>,
    numbers: Vec<Float64Builder>,
}

impl Columns {
    fn new(rows: Rows) -> Self {
        let (texts, numbers) = match rows {
            Rows::Nodes => (OF_NODES.len(), 0),
            Rows::Parameters => (OF_NODES.len() + OF_ROWS.len() + TEXTS.len(), NUMBERS.len()),
        };
        let mut columns = Columns { integers: Vec::new(), texts: Vec::new(), numbers: Vec::new() };
        columns.integers.resize_with(INTEGERS.len(), Int64Builder::new);
        columns.texts.resize_with(texts, StringBuilder::new);
        columns.numbers.resize_with(numbers, Float64Builder::new);
        columns
    }

    fn node(&mut self, node: &NodeCells<'_>) {
        for (column, &integer) in self.integers.iter_mut().zip(&node.integers) {
            column.append_value(integer);
        }
        for (column, text) in self.texts.iter_mut().zip(node.texts) {
            column.append_option(text.filter(|text| !text.is_empty()));
        }
    }

    fn parameters(&mut self, node: &NodeCells<'_>, sides: [&str; 2]) -> std::result::Result<(), serde_json::Error> {
        for (text, is_output) in sides.into_iter().zip([false, true]) {
            for_each_row(text, |name, Members(cells): &Members<'_>| self.parameter(node, name, cells, is_output))?;
        }
        Ok(())
    }

    fn parameter(&mut self, node: &NodeCells<'_>, name: &str, cells: &[(std::borrow::Cow<'_, str>, Cell<'_>)], is_output: bool) {
        self.node(node);
        let short = name.strip_prefix(node.name()).map_or(name, |rest| rest.trim_start_matches('.'));
        let role = match short {
            _ if name::is_parameters_grad(node.name()) => "gradient",
            _ if is_output => "output",
            _ if short == "parameters" || short.starts_with("parameters.") => "parameter",
            _ => "input",
        };
        let cell = |key: &str| cells.iter().rev().find(|cell| cell.0 == key).map(|cell| &cell.1);
        let (own, other) = self.texts[OF_NODES.len()..].split_at_mut(OF_ROWS.len());
        for (column, text) in own.iter_mut().zip([short, role]) {
            column.append_value(text);
        }
        for (column, (key, _)) in other.iter_mut().zip(TEXTS) {
            let nothing = match key {
                // A row without remarks has an empty list of them.
                "Err_message" => "[]",
                // What is no tensor, between rows of tensors.
                "requires_grad" => "null",
                _ => "",
            };
            column.append_option(cell(key).map(Cell::shown).filter(|text| !text.is_empty() && text != nothing));
        }
        for (column, (key, _)) in self.numbers.iter_mut().zip(NUMBERS) {
            column.append_option(cell(key).and_then(number));
        }
    }

    fn finish(mut self, schema: &SchemaRef) -> std::result::Result<RecordBatch, ArrowError> {
        let mut columns: Vec<ArrayRef> = Vec::new();
        columns.extend(self.integers.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef));
        columns.extend(self.texts.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef));
        columns.extend(self.numbers.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef));
        RecordBatch::try_new(Arc::clone(schema), columns)
    }
}

/// The number of a cell; a percentage as a fraction of one.
fn number(cell: &Cell<'_>) -> Option<f64> {
    match cell.text().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => cell.number(),
    }
}
