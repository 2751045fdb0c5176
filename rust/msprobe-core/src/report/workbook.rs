//! A table as a workbook of Excel (Office Open XML, ECMA-376 part 1, chapter 18), written as it is read.
//!
//! Each sheet is one deflated entry of the archive, and rows go into it as they come: nothing is held but the row under way, and
//! nothing is kept beside the file. A sheet that is full goes on in the next, under the same head line.

use super::export::{value, ExportError, Value};
use crate::text::python;
use arrow_array::RecordBatchReader;
use flate2::write::DeflateEncoder;
use flate2::Compression;
use rawzip::time::UtcDateTime;
use rawzip::{CompressionMethod, ZipArchiveWriter, ZipDataWriter, ZipDataWriterConfig, ZipEntryWriter};
use std::fmt::Write as _;
use std::io::{self, Write};

/// When a sheet is full.
pub(super) struct Limits {
    /// Rows, the head line among them.
    pub rows: u64,
    /// Bytes of XML: entries of 4 GiB need an extension of the archive's format that some readers lack.
    pub bytes: u64,
}

/// The limits of Excel.
pub(super) const EXCEL: Limits = Limits { rows: 1_048_576, bytes: 4_000_000_000 };

/// UTF-16 code units of a text at most, in Excel.
const LONGEST: usize = 32_767;
/// The end of a text that is longer.
const CUT: &str = " [cut]";
/// Integers beyond are no exact numbers in Excel.
const LARGEST_EXACT: i64 = 1 << 53;
/// Columns with names of nodes or parameters, and how wide they are in characters.
const WIDE: ([&str; 4], u32) = (["node", "parent", "partner", "parameter"], 48);

const NAMESPACE: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONSHIPS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const CONTENT: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";

/// Writes all rows of `table` to `out`, on sheets called `title`, `title 2`, ..., and returns their number.
pub(super) fn write<E: Fn(io::Error) -> ExportError>(
    mut table: impl RecordBatchReader,
    title: &str,
    out: &mut impl Write,
    limits: &Limits,
    failed: &E,
) -> Result<u64, ExportError> {
    let broken = |error: rawzip::Error| failed(io_error(error));
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let columns: Vec<String> = (0..names.len()).map(letters).collect();
    let mut archive = ZipArchiveWriter::new(out);
    // The first entry by which programs know what kind of archive this is.
    entry(&mut archive, "_rels/.rels", &package_relationships()).map_err(broken)?;
    let (mut rows, mut sheets) = (0, 0);
    // The batch that a full sheet left off in, and the row.
    let mut left = None;
    let mut xml = String::new();
    loop {
        sheets += 1;
        let path = format!("xl/worksheets/sheet{sheets}.xml");
        let (mut file, config) = begin(&mut archive, &path).map_err(broken)?;
        let mut sheet = config.wrap(DeflateEncoder::new(&mut file, Compression::fast()));
        let mut room = Room { rows: limits.rows, bytes: limits.bytes };
        xml.clear();
        push_head(&mut xml, &names, &columns);
        room.take(&mut sheet, &xml).map_err(failed)?;
        let full = loop {
            let (batch, from) = match left.take() {
                Some(left) => left,
                None => match table.next() {
                    Some(batch) => (batch?, 0),
                    None => break false,
                },
            };
            let mut row = from;
            while row < batch.num_rows() && !room.is_full() {
                xml.clear();
                let at = limits.rows - room.rows + 1;
                let _ = write!(xml, "<row r=\"{at}\">");
                for (column, letters) in columns.iter().enumerate() {
                    push_cell(&mut xml, letters, at, &value(&batch, column, row));
                }
                xml.push_str("</row>");
                room.take(&mut sheet, &xml).map_err(failed)?;
                row += 1;
            }
            rows += (row - from) as u64;
            if row < batch.num_rows() {
                left = Some((batch, row));
                break true;
            }
        };
        sheet.write_all(b"</sheetData></worksheet>").map_err(failed)?;
        let (packed, told) = sheet.finish().map_err(broken)?;
        packed.finish().map_err(failed)?;
        file.finish(told).map_err(broken)?;
        if !full {
            break;
        }
    }
    entry(&mut archive, "xl/workbook.xml", &workbook(title, sheets)).map_err(broken)?;
    entry(&mut archive, "xl/_rels/workbook.xml.rels", &sheet_relationships(sheets)).map_err(broken)?;
    entry(&mut archive, "[Content_Types].xml", &content_types(sheets)).map_err(broken)?;
    archive.finish().map_err(broken)?;
    Ok(rows)
}

/// What still fits into a sheet.
struct Room {
    rows: u64,
    bytes: u64,
}

impl Room {
    fn is_full(&self) -> bool {
        self.rows == 0 || self.bytes == 0
    }

    /// Writes a row.
    fn take(&mut self, sheet: &mut ZipDataWriter<impl Write>, xml: &str) -> io::Result<()> {
        self.rows -= 1;
        self.bytes = self.bytes.saturating_sub(xml.len() as u64);
        sheet.write_all(xml.as_bytes())
    }
}

/// The error of the system, if there is one below.
fn io_error(error: rawzip::Error) -> io::Error {
    match error.kind() {
        rawzip::ErrorKind::IO(inner) => {
            inner.raw_os_error().map_or_else(|| io::Error::other(inner.to_string()), io::Error::from_raw_os_error)
        }
        _ => io::Error::other(error),
    }
}

/// Adds a small entry. All entries are deflated: a reader that streams could not find the end of one that is only stored.
fn entry(archive: &mut ZipArchiveWriter<impl Write>, path: &str, xml: &str) -> Result<(), rawzip::Error> {
    let (mut file, config) = begin(archive, path)?;
    let mut writer = config.wrap(DeflateEncoder::new(&mut file, Compression::fast()));
    writer.write_all(xml.as_bytes())?;
    let (packed, told) = writer.finish()?;
    packed.finish()?;
    file.finish(told).map(|_| ())
}

/// Begins an entry. Its time is the earliest there is, so that the same rows give the same file.
fn begin<'a, W: Write>(
    archive: &'a mut ZipArchiveWriter<W>,
    path: &str,
) -> Result<(ZipEntryWriter<'a, W>, ZipDataWriterConfig), rawzip::Error> {
    let file = archive.new_file(path).compression_method(CompressionMethod::DEFLATE);
    match UtcDateTime::from_components(1980, 1, 1, 0, 0, 0, 0) {
        Some(time) => file.last_modified(time).start(),
        None => file.start(),
    }
}

/// The name of a column: `A`, `B`, ..., `Z`, `AA`, ...
fn letters(mut column: usize) -> String {
    let mut name = Vec::new();
    loop {
        name.insert(0, b'A' + (column % 26) as u8);
        if column < 26 {
            return String::from_utf8_lossy(&name).into_owned();
        }
        column = column / 26 - 1;
    }
}

/// The beginning of a sheet, down to the head line, which stays in sight.
fn push_head(xml: &mut String, names: &[String], columns: &[String]) {
    let _ = write!(
        xml,
        "{XML}<worksheet xmlns=\"{NAMESPACE}\"><sheetViews><sheetView workbookViewId=\"0\"><pane ySplit=\"1\" topLeftCell=\"A2\" \
         activePane=\"bottomLeft\" state=\"frozen\"/></sheetView></sheetViews><cols>"
    );
    for (at, name) in names.iter().enumerate() {
        let width = if WIDE.0.contains(&name.as_str()) { WIDE.1 } else { 12 };
        let _ = write!(xml, "<col min=\"{0}\" max=\"{0}\" width=\"{width}\" customWidth=\"1\"/>", at + 1);
    }
    xml.push_str("</cols><sheetData><row r=\"1\">");
    for (name, letters) in names.iter().zip(columns) {
        push_cell(xml, letters, 1, &Value::Text(name));
    }
    xml.push_str("</row>");
}

/// A cell; nothing for one without a value. A text is never anything but a text, whatever it begins with.
fn push_cell(xml: &mut String, column: &str, row: u64, value: &Value<'_>) {
    let mut number = Vec::new();
    match *value {
        Value::Null => {}
        Value::Integer(integer) if integer.unsigned_abs() <= LARGEST_EXACT.unsigned_abs() => {
            let _ = write!(xml, "<c r=\"{column}{row}\"><v>{integer}</v></c>");
        }
        Value::Integer(integer) => push_text(xml, column, row, &integer.to_string()),
        Value::Number(value) => {
            python::push_float(&mut number, value);
            let text = String::from_utf8_lossy(&number);
            if value.is_finite() {
                let _ = write!(xml, "<c r=\"{column}{row}\"><v>{text}</v></c>");
            } else {
                push_text(xml, column, row, &text);
            }
        }
        Value::Text(text) => push_text(xml, column, row, text),
    }
}

fn push_text(xml: &mut String, column: &str, row: u64, text: &str) {
    let _ = write!(xml, "<c r=\"{column}{row}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">");
    match longest(text) {
        Some(end) => {
            push_escaped(xml, &text[..end]);
            xml.push_str(CUT);
        }
        None => push_escaped(xml, text),
    }
    xml.push_str("</t></is></c>");
}

/// Where a text has to be cut; `None` if it fits.
fn longest(text: &str) -> Option<usize> {
    if text.len() <= LONGEST {
        return None;
    }
    let mut units = 0;
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        if units + letter.len_utf16() <= LONGEST - CUT.len() {
            end = at + letter.len_utf8();
        }
        units += letter.len_utf16();
        if units > LONGEST {
            return Some(end);
        }
    }
    None
}

/// A text in XML. Characters that XML lacks are written as `_xHHHH_`, and what looks like that already gets its underscore
/// written so (ECMA-376 part 1, 22.9.2.19).
fn push_escaped(xml: &mut String, text: &str) {
    for (at, letter) in text.char_indices() {
        match letter {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '_' if is_escape(&text.as_bytes()[at..]) => xml.push_str("_x005F_"),
            '\t' | '\n' => xml.push(letter),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(xml, "_x{:04X}_", u32::from(letter));
            }
            _ => xml.push(letter),
        }
    }
}

/// Whether the text begins with `_xHHHH_`.
fn is_escape(text: &[u8]) -> bool {
    matches!(text, [b'_', b'x', digits @ .., _] if digits.len() >= 4) && text[2..6].iter().all(u8::is_ascii_hexdigit) && text[6] == b'_'
}

fn package_relationships() -> String {
    format!(
        "{XML}<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"rId1\" Type=\"{RELATIONSHIPS}/officeDocument\" \
         Target=\"xl/workbook.xml\"/></Relationships>"
    )
}

fn workbook(title: &str, sheets: u32) -> String {
    let mut xml = format!("{XML}<workbook xmlns=\"{NAMESPACE}\" xmlns:r=\"{RELATIONSHIPS}\"><sheets>");
    for sheet in 1..=sheets {
        let number = if sheet == 1 { String::new() } else { format!(" {sheet}") };
        let _ = write!(xml, "<sheet name=\"{title}{number}\" sheetId=\"{sheet}\" r:id=\"rId{sheet}\"/>");
    }
    xml + "</sheets></workbook>"
}

fn sheet_relationships(sheets: u32) -> String {
    let mut xml = format!("{XML}<Relationships xmlns=\"{PACKAGE}/relationships\">");
    for sheet in 1..=sheets {
        let _ = write!(xml, "<Relationship Id=\"rId{sheet}\" Type=\"{RELATIONSHIPS}/worksheet\" Target=\"worksheets/sheet{sheet}.xml\"/>");
    }
    xml + "</Relationships>"
}

fn content_types(sheets: u32) -> String {
    let mut xml = format!(
        "{XML}<Types xmlns=\"{PACKAGE}/content-types\"><Default Extension=\"rels\" \
         ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/><Override PartName=\"/xl/workbook.xml\" \
         ContentType=\"{CONTENT}.sheet.main+xml\"/>"
    );
    for sheet in 1..=sheets {
        let _ = write!(xml, "<Override PartName=\"/xl/worksheets/sheet{sheet}.xml\" ContentType=\"{CONTENT}.worksheet+xml\"/>");
    }
    xml + "</Types>"
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchIterator};
    use std::io::Read;
    use std::path::PathBuf;
    use std::sync::Arc;

    /// The sheets of a workbook of one column of integers, in batches of `sizes` rows.
    fn sheets(sizes: &[i64], limits: &Limits) -> Vec<String> {
        let mut next = 0;
        let batches: Vec<RecordBatch> = sizes
            .iter()
            .map(|size| {
                let from = next;
                next += size;
                RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(from..next)) as ArrayRef)]).unwrap()
            })
            .collect();
        let schema = batches[0].schema();
        let mut out = Vec::new();
        let failed = |error: io::Error| ExportError::Write { path: PathBuf::new(), reason: error.to_string() };
        let table = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        assert_eq!(write(table, "rows", &mut out, limits, &failed).unwrap(), next as u64);
        let archive = rawzip::ZipArchive::from_slice(&out).unwrap();
        let mut found = Vec::new();
        for entry in archive.entries() {
            let entry = entry.unwrap();
            if entry.file_path().as_ref().starts_with(b"xl/worksheets/") {
                let mut text = String::new();
                let packed = archive.get_entry(entry.wayfinder()).unwrap();
                flate2::read::DeflateDecoder::new(packed.data()).read_to_string(&mut text).unwrap();
                found.push(text);
            }
        }
        found
    }

    /// The numbers in a sheet, in their order.
    fn numbers(sheet: &str) -> Vec<i64> {
        sheet.split("<v>").skip(1).map(|rest| rest.split("</v>").next().unwrap().parse().unwrap()).collect()
    }

    #[test]
    fn full_sheets_go_on_in_the_next() {
        let found = sheets(&[3, 5, 1], &Limits { rows: 5, ..EXCEL });
        assert_eq!(found.iter().map(|sheet| numbers(sheet)).collect::<Vec<_>>(), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8]]);
        assert!(found.iter().all(|sheet| sheet.matches("<row r=\"1\"><c r=\"A1\" t=\"inlineStr\">").count() == 1));
        assert!(found[1].contains("<row r=\"5\"><c r=\"A5\"><v>7</v>") && !found[1].contains("<row r=\"6\">"));
        // No sheet without rows when the last row fills one.
        assert_eq!(sheets(&[8], &Limits { rows: 5, ..EXCEL }).len(), 2);
        assert_eq!(sheets(&[0], &EXCEL).len(), 1);
    }

    #[test]
    fn sheets_end_before_they_are_too_many_bytes() {
        let found = sheets(&[100], &Limits { bytes: 1_500, ..EXCEL });
        assert!(
            found.len() > 2 && found.iter().all(|sheet| sheet.len() < 1_700),
            "{:?}",
            found.iter().map(String::len).collect::<Vec<_>>()
        );
        assert_eq!(found.iter().flat_map(|sheet| numbers(sheet)).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn columns_are_named_as_excel_names_them() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702, 16_383].map(letters), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA", "XFD"]);
    }

    #[test]
    fn texts_are_escaped() {
        for (text, expected) in [
            ("a<b>&c", "a&lt;b&gt;&amp;c"),
            ("a\x01\r\nb", "a_x0001__x000D_\nb"),
            ("\u{ffff}", "_xFFFF_"),
            ("_x0041_", "_x005F_x0041_"),
            ("_x004_ _x004G_ _x0041", "_x004_ _x004G_ _x0041"),
            ("=1+1", "=1+1"),
        ] {
            let mut xml = String::new();
            push_escaped(&mut xml, text);
            assert_eq!(xml, expected);
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(longest(&"x".repeat(LONGEST)), None);
        assert_eq!(longest(&"x".repeat(LONGEST + 1)), Some(LONGEST - CUT.len()));
        // Two code units and four bytes each.
        assert_eq!(longest(&"𝄞".repeat(LONGEST / 2)), None);
        assert_eq!(longest(&"𝄞".repeat(LONGEST / 2 + 1)), Some((LONGEST - CUT.len()) / 2 * 4));
    }

    #[test]
    fn numbers_that_excel_lacks_are_texts() {
        let cell = |value| {
            let mut xml = String::new();
            push_cell(&mut xml, "B", 7, &value);
            xml
        };
        assert_eq!(cell(Value::Number(0.5)), "<c r=\"B7\"><v>0.5</v></c>");
        assert!(cell(Value::Number(f64::NAN)).contains(">nan<") && cell(Value::Number(f64::NEG_INFINITY)).contains(">-inf<"));
        assert!(cell(Value::Integer(i64::MAX)).contains("inlineStr") && !cell(Value::Integer(1 << 53)).contains("inlineStr"));
        assert_eq!(cell(Value::Null), "");
    }
}
