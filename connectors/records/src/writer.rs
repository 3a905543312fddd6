//! Rows to files of byte records: the writer that the engine drives.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use recordfusion_core::{Assembler, Chunker, MessageType, Options, Result, Writer};
use recordfusion_protobuf::{
    ArrowSchemaHint, DerivedType, ProtobufOptions, RecordEncoder, RecordType, Target, WriteOptions,
    record_descriptors, schema_hint,
};

use crate::chunker::RecordChunker;
use crate::container::{Container, ContainerWriter};
use crate::description::{FileDescription, InheritedMetadata};
use crate::whole_records::{Meaning, WholeRecordChunker, is_whole_record};

/// What is known of the rows to write.
pub(crate) struct RowsToWrite<'a> {
    pub schema: &'a SchemaRef,
    /// The message type of the table that they go to, or come from.
    pub table_type: Option<&'a RecordType>,
    /// Whether they go to a table whose records are no messages.
    pub to_plain_records: bool,
    /// What the files of that table say of themselves.
    pub inherited: &'a InheritedMetadata,
}

/// Plans the writing of rows: as messages of the type that the options name, else of the table's type. If there is
/// neither, a single column of [whole records](crate::whole_records) is the records, and other columns become messages
/// of a type made for them.
///
/// # Errors
/// Wrong options; columns that the message type has no field for, or that no message can hold.
pub(crate) fn writer<C: Container>(
    container: &C,
    rows: &RowsToWrite<'_>,
    extension: &str,
    options: &Options,
) -> Result<Arc<dyn Writer>> {
    let records = WriteOptions::from_options(options)?;
    let target = record_descriptors(&[], &ProtobufOptions::from_options(options)?)?;
    let target = target.or_else(|| rows.table_type.cloned());
    let keeps_type = container.keeps_descriptions(extension);
    let meaning = match (rows.to_plain_records, keeps_type) {
        (true, _) => Meaning::OfPlainRecords,
        (false, false) => Meaning::WithoutType,
        (false, true) => Meaning::WithType,
    };
    let plan = match target.is_none() && is_whole_record(rows.schema, meaning) {
        true => RowPlan::WholeRecords,
        false => RowPlan::Messages {
            schema: Arc::clone(rows.schema),
            target,
            derived_name: format!("{}.Row", container.name()),
            options: records,
        },
    };
    let encoder = plan.encoder()?;
    let message_type = encoder.as_ref().and_then(message_type);
    let described = message_type.clone();
    let description = FileDescription {
        message_type: described.as_ref().map(|described| described.name.clone()),
        descriptors: described.map(|described| described.descriptors).unwrap_or_default(),
        arrow_schema: (plan.keeps_arrow_schema()).then(|| schema_hint(rows.schema).into()),
        inherited: rows.inherited.clone(),
    };
    let container = container.writer(extension, options, description)?;
    let message_type = message_type.filter(|_| !keeps_type);
    Ok(Arc::new(RecordWriter { rows: plan, container, message_type }))
}

/// The message type of the records.
fn message_type(encoder: &RecordEncoder) -> Option<MessageType> {
    match encoder.derived() {
        Some(DerivedType { record, descriptors, .. }) => {
            Some(MessageType { name: record.full_name().to_string(), descriptors: descriptors.clone() })
        }
        None => encoder.message().map(RecordType::message_type),
    }
}

/// What rows are written as.
#[derive(Debug)]
enum RowPlan {
    /// As they are.
    WholeRecords,
    /// As messages of the given type, or of one made for the columns.
    Messages { schema: SchemaRef, target: Option<RecordType>, derived_name: String, options: WriteOptions },
}

impl RowPlan {
    fn encoder(&self) -> Result<Option<RecordEncoder>> {
        let Self::Messages { schema, target, derived_name, options } = self else { return Ok(None) };
        let target = match target {
            Some(target) => Target::Given(target.clone()),
            None => Target::Derived(derived_name),
        };
        RecordEncoder::new(Arc::clone(schema), target, options).map(Some)
    }

    /// Whether the file keeps the Arrow schema of the rows.
    fn keeps_arrow_schema(&self) -> bool {
        match self {
            Self::WholeRecords => false,
            Self::Messages { options, .. } => options.arrow_schema_hint == ArrowSchemaHint::Write,
        }
    }
}

/// Writes files of one kind of records.
#[derive(Debug)]
struct RecordWriter {
    rows: RowPlan,
    container: Arc<dyn ContainerWriter>,
    /// If the files do not keep it.
    message_type: Option<MessageType>,
}

impl Writer for RecordWriter {
    fn chunker(&self) -> Result<Box<dyn Chunker>> {
        let chunk = self.container.open_chunk()?;
        Ok(match self.rows.encoder()? {
            Some(encoder) => Box::new(RecordChunker::new(encoder, chunk)),
            None => Box::new(WholeRecordChunker::new(chunk)),
        })
    }

    fn assembler(&self) -> Result<Box<dyn Assembler>> {
        self.container.assembler()
    }

    fn tail(&self, size: u64) -> Range<u64> {
        self.container.tail(size)
    }

    fn appender(&self, size: u64, tail: &Bytes) -> Result<Box<dyn Assembler>> {
        self.container.appender(size, tail)
    }

    fn parallelism(&self) -> Option<usize> {
        self.container.parallelism()
    }

    fn message_type(&self) -> Option<MessageType> {
        self.message_type.clone()
    }
}
