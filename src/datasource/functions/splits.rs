//! `record_splits('path', n)`: byte ranges for those who hand out the work themselves.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use recordfusion_core::{OnCorruption, Options, RecordFile};

use super::{AboutFiles, FunctionTable, columns, path_argument};
use crate::datasource::external;
use crate::datasource::files::recognise_files;
use crate::datasource::listing::list_files;
use crate::datasource::location::locate;
use crate::datasource::range::pieces;
use crate::datasource::settings::{given_or_set, open_files_setting};

/// The table function: `SELECT file, "begin", "end" FROM record_splits('logs/', 16)`.
///
/// The pieces of all files have about the same number of bytes; there are about as many as asked for, and at
/// least one of each file that is not empty. All pieces together hold each record once: a task reads one with
/// the option `range`.
#[derive(Debug)]
pub(super) struct RecordSplits;

impl TableFunctionImpl for RecordSplits {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let [Expr::Literal(path, _), Expr::Literal(count, _)] = args.exprs() else {
            return plan_err!(
                "record_splits takes a path and a number of pieces, as in record_splits('logs/', 16)"
            );
        };
        let path = path_argument("record_splits", path)?;
        let count = match count.cast_to(&DataType::UInt64) {
            Ok(ScalarValue::UInt64(Some(count))) if count > 0 && count <= MOST => count,
            _ => return plan_err!("the number of pieces of record_splits is from 1 to {MOST}, not {count}"),
        };
        Ok(Arc::new(FunctionTable(SplitsOf { path, count })))
    }
}

/// Most pieces that can be asked for.
const MOST: u64 = 1 << 20;

#[derive(Debug)]
struct SplitsOf {
    path: String,
    count: u64,
}

#[async_trait]
impl AboutFiles for SplitsOf {
    fn schema(&self) -> SchemaRef {
        columns(&[("file", DataType::Utf8), ("begin", DataType::UInt64), ("end", DataType::UInt64)])
    }

    async fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let files = list_files(session, &locate(session, &self.path).await?).await?;
        if files.is_empty() {
            return plan_err!("no files at {}", self.path);
        }
        let on_corruption = given_or_set(session, &Options::new(), OnCorruption::OPTION);
        let on_corruption = OnCorruption::from_options(&on_corruption).map_err(external)?;
        let open_files = open_files_setting(session, &Options::new())?;
        let alignment = match recognise_files(&files, None, on_corruption, open_files).await? {
            Some(connector) => connector.range_alignment(),
            None if files.iter().all(|file| file.size == 0) => 1,
            None => return plan_err!("{} is of no known record format", self.path),
        };
        let splits = splits(&files, self.count, alignment);
        let bounds =
            |of: fn(&Range<u64>) -> u64| splits.iter().map(|(_, range)| of(range)).collect::<UInt64Array>();
        let (begins, ends) = (bounds(|range| range.start), bounds(|range| range.end));
        let names = StringArray::from_iter_values(splits.iter().map(|(name, _)| name));
        Ok(RecordBatch::try_new(self.schema(), vec![Arc::new(names), Arc::new(begins), Arc::new(ends)])?)
    }
}

/// About `count` pieces of `files`, in their order.
fn splits(files: &[RecordFile], count: u64, alignment: u64) -> Vec<(&str, Range<u64>)> {
    let total: u64 = files.iter().map(|file| file.size).sum();
    let length = total.div_ceil(count).max(1);
    let of_file = |file: &RecordFile| pieces(0..file.size, (file.size + length / 2) / length, alignment);
    let with_data = files.iter().filter(|file| file.size > 0);
    with_data.flat_map(|file| of_file(file).into_iter().map(|piece| (file.name.as_str(), piece))).collect()
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;

    use super::*;

    fn file(name: &str, size: u64) -> RecordFile {
        RecordFile::new(Arc::new(InMemory::new()), name.into(), size, name)
    }

    #[test]
    fn pieces_are_shared_out_by_size() {
        let files = [file("a", 1000), file("empty", 0), file("b", 10), file("c", 3000)];
        let splits = splits(&files, 4, 100);
        let expected = [("a", 0..1000), ("b", 0..10), ("c", 0..1000), ("c", 1000..2000), ("c", 2000..3000)];
        assert_eq!(splits, expected);
    }
}
