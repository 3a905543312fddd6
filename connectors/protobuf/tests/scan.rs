//! Scans of blocks.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use recordfusion_core::{Projection, RecordFile, Result, RowFilter, ScanCounters, ScanRequest};
use recordfusion_protobuf::{ScanPlan, scan_batches};

use crate::support::{block, decoder_with};

/// Keeps all rows.
#[derive(Debug)]
struct All(Projection);

impl RowFilter for All {
    fn columns(&self) -> &Projection {
        &self.0
    }

    fn keep(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        Ok(BooleanArray::from(vec![true; batch.num_rows()]))
    }
}

#[test]
fn batches_may_be_of_any_size() {
    // So many columns that few records make a batch, whatever size is wanted.
    let fields: String = (1..=9000).map(|number| format!("bool f{number} = {number};")).collect();
    let source = format!("syntax = 'proto3'; message M {{ {fields} }}");
    let decoder = decoder_with(&source, &[("on_bad_record", "skip")]);
    let columns = Projection::all(decoder.schema().fields().len());
    let bad: &[u8] = &[0xff];
    let records: Vec<&[u8]> = std::iter::once(bad).chain(std::iter::repeat_n(&[][..], 4000)).collect();
    for filter in [None, Some(Arc::new(All(columns.clone())) as Arc<dyn RowFilter>)] {
        let file = RecordFile::new(Arc::new(InMemory::new()), "f".into(), 0, "f");
        let request = ScanRequest {
            file,
            range: 0..1,
            projection: columns.clone(),
            filter,
            limit: None,
            batch_size: usize::MAX,
            counters: Arc::new(ScanCounters::default()),
        };
        let plan = ScanPlan::new(&decoder, &request).expect("a plan");
        let skipped = Arc::clone(&request.counters);
        let batches = scan_batches(stream::iter([Ok(block(&records))]).boxed(), plan, request);
        let batches: Vec<RecordBatch> =
            futures::executor::block_on(batches.try_collect()).expect("no more bad records");
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 4000);
        assert_eq!(skipped.records_skipped.value(), 1);
    }
}
