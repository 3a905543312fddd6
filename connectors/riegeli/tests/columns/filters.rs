//! Scans with a filter give the rows that it keeps of a scan without, however the file is written, whatever the
//! filter looks at, and whether few or many rows are kept.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::array::{BooleanArray, Int32Array, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use recordfusion_core::{ColumnBounds, Nulls, Result, RowFilter, ScanRequest};

use super::*;

/// Keeps about `kept` of 256 rows, by their values.
#[derive(Debug)]
struct ByHash {
    columns: Projection,
    kept: u64,
}

impl RowFilter for ByHash {
    fn columns(&self) -> &Projection {
        &self.columns
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        assert_eq!(batch.num_columns(), self.columns.columns.len());
        let options = FormatOptions::default();
        // Not all can be shown: times of time zones with a name cannot.
        let columns =
            batch.columns().iter().filter_map(|column| ArrayFormatter::try_new(column, &options).ok());
        let columns: Vec<_> = columns.collect();
        let keep = |row| {
            let mut hasher = DefaultHasher::new();
            columns.iter().for_each(|column| column.value(row).to_string().hash(&mut hasher));
            hasher.finish() % 256 < self.kept
        };
        Ok((0..batch.num_rows()).map(keep).map(Some).collect())
    }
}

fn whole_columns(schema: &Schema, picks: &[Index]) -> Projection {
    let mut indices: Vec<usize> = picks.iter().map(|pick| pick.index(schema.fields().len())).collect();
    indices.sort_unstable();
    indices.dedup();
    let column = |index| ColumnProjection { index, selection: Selection::All };
    Projection { columns: indices.into_iter().map(column).collect() }
}

/// The rows of `wanted` that a filter keeps, by the scan itself and by hand; `None` if a record is bad.
fn both_ways(
    table: &dyn Table,
    base: &ScanRequest,
    wanted: &Projection,
    filter: &Arc<ByHash>,
) -> Option<[Option<RecordBatch>; 2]> {
    let read = |projection: &Projection, filter: Option<Arc<dyn RowFilter>>, limit| {
        let request = ScanRequest { projection: projection.clone(), filter, limit, ..base.clone() };
        let (batches, error) = scan(table, request);
        assert!(batches.iter().all(|batch| batch.num_rows() <= base.batch_size));
        together((batches, error.map(|error| error.to_string())))
    };
    let all = Projection::all(table.schema().fields().len());
    if read(&all, None, None).1.is_some() {
        return None;
    }
    let (found, error) = read(wanted, Some(Arc::clone(filter) as _), base.limit);
    assert_eq!(error, None);
    let (looked_at, rows) = (read(&filter.columns, None, None).0, read(wanted, None, None).0);
    let expected = looked_at.zip(rows).map(|(looked_at, rows)| {
        let keep = filter.keep(&looked_at).expect("computed");
        let kept = filter_record_batch(&rows, &keep).expect("as long");
        kept.slice(0, kept.num_rows().min(base.limit.unwrap_or(usize::MAX)))
    });
    let some = |batch: Option<RecordBatch>| batch.filter(|batch| batch.num_rows() > 0);
    Some([some(found), some(expected)])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn filtered_rows_are_those_of_the_whole(
        schema in 0..SCHEMAS.len(),
        records in records(1..60),
        layout in layouts(),
        transpose in any::<bool>(),
        options in options(),
        (wanted, looked_at) in (
            proptest::collection::vec(any::<Index>(), 0..4),
            proptest::collection::vec(any::<Index>(), 1..3),
        ),
        kept in proptest::sample::select(vec![0, 8, 100, 200, 256]),
        batch_size in 1..12usize,
        limit in proptest::option::of(0..40usize),
    ) {
        let chunks = WriterOptions::new().compression(layout.codec).chunk_size(layout.chunk_size);
        let chunks = match transpose {
            true => chunks.transpose(true).bucket_fraction(layout.bucket_fraction),
            false => chunks,
        };
        let file = memory_file(&write(&records, chunks.set_serialized_metadata(metadata(SCHEMAS[schema]))));
        let Ok(table) = block_on(RiegeliConnector::default().open(std::slice::from_ref(&file), &options)) else {
            return Ok(());
        };
        let wanted = whole_columns(table.schema(), &wanted);
        let filter = ByHash { columns: whole_columns(table.schema(), &looked_at), kept };
        let base = ScanRequest { batch_size, limit, ..request(&file, 0..file.size, 0) };
        if let Some([found, expected]) = both_ways(table.as_ref(), &base, &wanted, &Arc::new(filter)) {
            prop_assert_eq!(found, expected);
        }
    }
}

/// Keeps rows whose `status` is at least this, by the bounds of a chunk if they tell.
#[derive(Debug)]
struct AtLeast(Projection, i32);

impl RowFilter for AtLeast {
    fn columns(&self) -> &Projection {
        &self.0
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let status: &Int32Array = batch.column(0).as_any().downcast_ref().expect("status");
        Ok(status.iter().map(|status| Some(status.is_some_and(|status| status >= self.1))).collect())
    }

    fn may_keep(&self, bounds: &mut dyn FnMut(usize) -> Option<ColumnBounds>) -> bool {
        bounds(0).is_none_or(|bounds| {
            let high = bounds.high.as_ref().and_then(|high| high.as_any().downcast_ref::<Int32Array>());
            bounds.nulls != Nulls::All && high.is_none_or(|high| high.value(0) >= self.1)
        })
    }
}

#[test]
fn chunks_that_cannot_be_wanted_are_not_decompressed() {
    let mut events = LogEvents::new(7);
    let records: Records = (0..4000).map(|_| events.next_record()).collect();
    let options = WriterOptions::new().transpose(true).compression(CompressionType::Zstd);
    let metadata = recordfusion_bench::metadata().expect("the .proto file compiles");
    let file = memory_file(&write(&records, options.chunk_size(200_000).set_serialized_metadata(metadata)));
    let table = block_on(RiegeliConnector::default().open(std::slice::from_ref(&file), &Options::new()))
        .expect("opens");
    let (index, _) = table.schema().column_with_name("status").expect("a column");
    let status = Projection { columns: vec![ColumnProjection { index, selection: Selection::All }] };
    let read = |least| {
        let filter = Some(Arc::new(AtLeast(status.clone(), least)) as _);
        let request = ScanRequest { filter, batch_size: 100, ..request(&file, 0..file.size, 22) };
        let counters = Arc::clone(&request.counters);
        let rows: usize = scan(table.as_ref(), request).0.iter().map(RecordBatch::num_rows).sum();
        (rows, counters)
    };
    let (rows, counters) = read(500);
    assert!(rows > 0 && rows < 400, "{rows}");
    assert_eq!(counters.chunks_pruned.value(), 0);
    assert_eq!(counters.rows_filtered.value() as usize, records.len() - rows);
    // No status has as many bits.
    let (rows, counters) = read(1 << 14);
    assert_eq!(rows, 0);
    assert!(counters.chunks_pruned.value() > 3, "{counters:?}");
    assert_eq!(counters.rows_filtered.value(), 0);
    assert!(counters.bytes_decompressed.value() < 20_000, "{counters:?}");
}
