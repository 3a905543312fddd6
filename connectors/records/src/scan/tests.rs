use object_store::memory::InMemory;
use prost::Message;
use protox::file::{File, FileResolver};
use recordfusion_core::{Options, Projection, RecordBlockBuilder, RecordFile, RowFilter, ScanPlan, scan};
use recordfusion_protobuf::counters::RECORDS_SKIPPED;
use recordfusion_protobuf::{FileDescriptors, ProtobufOptions, RecordDecoder};

use arrow::buffer::Buffer;
use futures::stream::{self, StreamExt, TryStreamExt};

use super::*;

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

struct Source(String);

impl FileResolver for Source {
    fn open_file(&self, name: &str) -> std::result::Result<File, protox::Error> {
        File::from_source(name, &self.0)
    }
}

/// The decoder of the message `M`, which leaves out bad records.
fn decoder(source: String) -> RecordDecoder {
    let mut compiler = protox::Compiler::with_file_resolver(Source(source));
    compiler.open_file("test.proto").expect("the source compiles");
    let descriptors = compiler.file_descriptor_set().file;
    let file = FileDescriptors {
        file: "f".to_string(),
        message_type: Some("M".to_string()),
        descriptors: descriptors.iter().map(|file| file.encode_to_vec().into()).collect(),
        arrow_schema: None,
    };
    let options = ProtobufOptions::from_options(&Options::new().with("on_bad_record", "skip"));
    RecordDecoder::open(&[file], &options.expect("good options"), &[]).expect("a decoder")
}

fn block(records: &[&[u8]]) -> RecordBlock {
    let mut builder = RecordBlockBuilder::default();
    for record in records {
        let places = vec![(0, record.len() as u32)];
        builder.append(&RecordBlock::new(Buffer::from(*record), places, 0).expect("places lie inside"));
    }
    builder.finish()
}

#[test]
fn batches_may_be_of_any_size() {
    // So many columns that few records make a batch, whatever size is wanted.
    let fields: String = (1..=9000).map(|number| format!("bool f{number} = {number};")).collect();
    let decoder = decoder(format!("syntax = 'proto3'; message M {{ {fields} }}"));
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
        let plan = ScanPlan::new(decoder.schema(), &request, decoder.every_record_is_a_row(), |projection| {
            Ok(RecordColumns { decoder: decoder.scan(projection)?, reader: () })
        })
        .expect("a plan");
        let skipped = Arc::clone(&request.counters);
        let items = stream::iter([Ok(ScanItem::<NoColumnChunk>::Records(block(&records)))]).boxed();
        let batches = scan(RecordGroups::new(items, &request), plan, request);
        let batches: Vec<RecordBatch> =
            futures::executor::block_on(batches.try_collect()).expect("no more bad records");
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 4000);
        assert_eq!(skipped.value(&RECORDS_SKIPPED), 1);
    }
}
