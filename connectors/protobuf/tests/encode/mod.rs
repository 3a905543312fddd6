//! Columns to records and back.

mod derived;
mod faults;
mod generate;
mod given;
mod options;
mod properties;
mod round_trips;
mod types;

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use prost::Message;
use recordfusion_core::{Error, Options};
use recordfusion_protobuf::{
    EncodedRecords, FileDescriptors, Mapping, ProtobufOptions, RecordDecoder, RecordEncoder, RecordType,
    Target, WriteOptions, apply_hint, hinted_mapping, record_descriptors, schema_hint,
};

use crate::support::{compile, decode};

/// A batch of nullable columns.
fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let field = |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), columns).expect("columns of one length")
}

fn write_options(options: &[(&str, &str)]) -> WriteOptions {
    let options: Options = options.iter().copied().collect();
    WriteOptions::from_options(&options).expect("options")
}

/// The message type `M` of a .proto text.
fn message(source: &str) -> RecordType {
    let descriptors = compile(source).file.iter().map(|file| file.encode_to_vec().into()).collect();
    let file =
        FileDescriptors { file: "t".into(), message_type: Some("M".into()), descriptors, arrow_schema: None };
    record_descriptors(&[file], &ProtobufOptions::default()).expect("descriptors").expect("a message type")
}

/// The records of a batch, and what encoded them.
fn encode(
    batch: &RecordBatch,
    target: Target<'_>,
    options: &[(&str, &str)],
) -> Result<(Vec<Vec<u8>>, RecordEncoder), Error> {
    let mut encoder = RecordEncoder::new(batch.schema(), target, &write_options(options))?;
    let mut records = EncodedRecords::default();
    encoder.encode(batch, &mut records)?;
    Ok((records.iter().map(<[u8]>::to_vec).collect(), encoder))
}

fn derive_and_encode(batch: &RecordBatch, options: &[(&str, &str)]) -> (Vec<Vec<u8>>, RecordEncoder) {
    encode(batch, Target::Derived("t.Row"), options).expect("records")
}

/// The decoder of derived records.
fn decoder(encoder: &RecordEncoder, mapping: Mapping) -> RecordDecoder {
    let derived = encoder.derived().expect("derived");
    let descriptors = derived.descriptors.clone();
    let file = FileDescriptors {
        file: "t".into(),
        message_type: Some("t.Row".into()),
        descriptors,
        arrow_schema: None,
    };
    RecordDecoder::open(&[file], &ProtobufOptions { mapping, ..ProtobufOptions::default() }, &[])
        .expect("a table")
}

/// The rows of derived records, read without a hint.
fn reread(batch: &RecordBatch, options: &[(&str, &str)]) -> RecordBatch {
    let (records, encoder) = derive_and_encode(batch, options);
    decode(&decoder(&encoder, Mapping::default()), &records).expect("valid records")
}

/// The rows of derived records, read with the hint.
fn reread_hinted(batch: &RecordBatch, options: &[(&str, &str)]) -> RecordBatch {
    let (records, encoder) = derive_and_encode(batch, options);
    let hint = schema_hint(&batch.schema());
    let decoder = decoder(&encoder, hinted_mapping(&hint, &Mapping::default()));
    let decoded = decode(&decoder, &records).expect("valid records");
    let applied = apply_hint(decoder.schema(), &hint)
        .unwrap_or_else(|| panic!("the hint fits: {:?} {:?}", decoder.schema(), batch.schema()));
    let all: Vec<usize> = (0..decoded.num_columns()).collect();
    applied.restore(&decoded, &all).expect("restored")
}
