//! Rows as a table with lines around.

use std::error::Error;
use std::io::{self, Write};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

use super::terminal::in_one_line;

/// Rows that decide how wide the columns of a table are printed.
const ROWS_TO_MEASURE: usize = 1000;
/// Characters of such rows that are kept for it at most.
const CHARS_TO_MEASURE: usize = 16 << 20;
/// The widest column: longer cells stand out, so that the others need not be filled up to their length.
const MAX_WIDTH: usize = 4096;

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Prints all rows of `batches`. A cell of several lines takes several lines of the table; all else that acts on a
/// terminal is shown as an escape.
///
/// # Errors
/// Those of the batches, of a value without a text, and of `out`.
pub(super) fn print_table<E: Error + Send + Sync + 'static>(
    out: &mut impl Write,
    schema: &SchemaRef,
    batches: &mut dyn Iterator<Item = Result<RecordBatch, E>>,
) -> Fallible<()> {
    let names: Vec<Cell> = schema.fields().iter().map(|field| cell(field.name())).collect();
    let mut widths: Vec<usize> = vec![0; names.len()];
    measure(&mut widths, &names);
    let (mut measured, mut chars) = (Vec::new(), 0);
    let mut behind = None;
    'batches: for batch in &mut *batches {
        let batch = batch?;
        let rows = Rows::try_new(&batch)?;
        for row in 0..batch.num_rows() {
            if measured.len() == ROWS_TO_MEASURE || chars > CHARS_TO_MEASURE {
                behind = Some(batch.slice(row, batch.num_rows() - row));
                break 'batches;
            }
            // One row at a time: a batch may repeat a long text in all of its rows.
            let cells = rows.cells(row)?;
            chars += cells.iter().flatten().map(String::len).sum::<usize>();
            measure(&mut widths, &cells);
            measured.push(cells);
        }
    }
    write_rule(out, &widths)?;
    write_row(out, &widths, &names)?;
    write_rule(out, &widths)?;
    for row in std::mem::take(&mut measured) {
        write_row(out, &widths, &row)?;
    }
    for batch in behind.into_iter().map(Ok).chain(batches) {
        let batch = batch?;
        let rows = Rows::try_new(&batch)?;
        for row in 0..batch.num_rows() {
            write_row(out, &widths, &rows.cells(row)?)?;
        }
    }
    Ok(write_rule(out, &widths)?)
}

/// The lines of a cell.
type Cell = Vec<String>;

fn cell(text: &str) -> Cell {
    text.lines().map(|line| in_one_line(line).into_owned()).collect()
}

/// The rows of a batch as text.
struct Rows<'a>(Vec<ArrayFormatter<'a>>);

impl<'a> Rows<'a> {
    fn try_new(batch: &'a RecordBatch) -> Fallible<Self> {
        const OPTIONS: FormatOptions<'static> = FormatOptions::new();
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &OPTIONS));
        Ok(Self(columns.collect::<Result<_, _>>()?))
    }

    fn cells(&self, row: usize) -> Fallible<Vec<Cell>> {
        self.0.iter().map(|column| Ok(cell(&column.value(row).try_to_string()?))).collect()
    }
}

fn measure(widths: &mut [usize], cells: &[Cell]) {
    for (column, lines) in widths.iter_mut().zip(cells) {
        let longest = lines.iter().map(|line| width(line)).max().unwrap_or(0);
        *column = (*column).max(longest.min(MAX_WIDTH));
    }
}

fn write_rule(out: &mut impl Write, widths: &[usize]) -> io::Result<()> {
    for width in widths {
        out.write_all(b"+")?;
        out.write_all(&vec![b'-'; width + 2])?;
    }
    out.write_all(b"+\n")
}

fn write_row(out: &mut impl Write, widths: &[usize], cells: &[Cell]) -> io::Result<()> {
    let lines = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
    for line in 0..lines {
        for (&column, cell) in widths.iter().zip(cells) {
            let text = cell.get(line).map_or("", String::as_str);
            out.write_all(b"| ")?;
            out.write_all(text.as_bytes())?;
            write_spaces(out, column.saturating_sub(width(text)) + 1)?;
        }
        out.write_all(b"|\n")?;
    }
    Ok(())
}

/// The formatter of the standard library takes no width beyond 65535, and this any.
pub(super) fn write_spaces(out: &mut impl Write, count: usize) -> io::Result<()> {
    out.write_all(&vec![b' '; count])
}

/// Characters of a text.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
    use datafusion::arrow::datatypes::Int32Type;
    use datafusion::arrow::error::ArrowError;

    use super::*;

    fn table(batches: Vec<RecordBatch>) -> String {
        let (mut out, schema) = (Vec::new(), batches[0].schema());
        let mut batches = batches.into_iter().map(Ok::<_, ArrowError>);
        print_table(&mut out, &schema, &mut batches).expect("memory");
        String::from_utf8(out).expect("UTF-8")
    }

    fn texts(name: &str, texts: &[&str]) -> RecordBatch {
        let column: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
        RecordBatch::try_from_iter([(name, column)]).expect("a batch")
    }

    #[test]
    fn cells_of_lines_and_of_controls() {
        let shown = table(vec![texts("a\x1bb", &["x\ny", "\x1b[2J\t", ""])]);
        let expected = "\
            +-----------+\n\
            | a\\x1bb    |\n\
            +-----------+\n\
            | x         |\n\
            | y         |\n\
            | \\x1b[2J\\t |\n\
            |           |\n\
            +-----------+\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn long_cells_are_whole_and_do_not_widen_the_others() {
        let long = "a".repeat(70_000);
        for batch in [texts("x", &[&long, "b"]), texts("x", &["b", &long]), texts(&long, &["b", "c"])] {
            let shown = table(vec![batch]);
            assert!(shown.contains(&format!("| {long} |\n")), "the cell is not whole");
            assert!(shown.contains(&format!("| b{} |\n", " ".repeat(MAX_WIDTH - 1))), "{}", shown.len());
        }
        let lines = "x\n".repeat(300_000);
        assert_eq!(table(vec![texts("x", &[&lines])]).lines().count(), 300_004);
    }

    #[test]
    fn a_text_repeated_in_all_rows_is_not_kept_for_all() {
        let keys = Int32Array::from(vec![0; 2000]);
        let values: ArrayRef = Arc::new(StringArray::from(vec!["v".repeat(20_000)]));
        let column: ArrayRef =
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).expect("keys fit"));
        let batch = RecordBatch::try_from_iter([("e", column)]).expect("a batch");
        struct Count(usize);
        impl Write for Count {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 += bytes.iter().filter(|byte| **byte == b'v').count();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (mut out, schema) = (Count(0), batch.schema());
        print_table(&mut out, &schema, &mut [Ok::<_, ArrowError>(batch)].into_iter()).expect("counts");
        assert_eq!(out.0, 2000 * 20_000);
    }
}
