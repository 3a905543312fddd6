//! Rows to files of byte records: the writer that the engine drives.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use recordfusion_core::{Assembler, Chunker, Error, MessageType, Options, Result, Writer};
use recordfusion_protobuf::{
    ArrowSchemaHint, DerivedType, ProtobufOptions, RecordEncoder, RecordType, Target, WriteOptions,
    arrow_schema_to_keep, record_descriptors,
};

use crate::chunker::RecordChunker;
use crate::container::{Container, ContainerWriter};
use crate::description::{FileDescription, InheritedMetadata};
use crate::whole_records::{Meaning, WholeRecordChunker, is_whole_record};

/// Why rows cannot be added to records, and what can be done.
const NO_MESSAGE_TYPE: &str = "the records that are there are of no known message type, so that rows of columns cannot \
    be added to them: name their type with the options message_type and descriptor_set or proto, or add a single \
    column of whole records (convert --append copies those of record files as they are)";

/// What is known of the rows to write.
pub(crate) struct RowsToWrite<'a> {
    pub schema: &'a SchemaRef,
    /// The message type of the table that they go to.
    pub table_type: Option<&'a RecordType>,
    /// What is there already.
    pub behind: Behind,
    /// What the files of that table say of themselves.
    pub inherited: &'a InheritedMetadata,
}

/// What the rows are added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind {
    /// Nothing.
    Nothing,
    /// Records that are messages, or features of them.
    Messages,
    /// Records that are no messages, as far as is known.
    PlainRecords,
}

/// Plans the writing of rows: as messages of the type that the options name, else of the table's type. If there is
/// neither, a single column of [whole records](crate::whole_records) is the records, and other columns become messages
/// of a type made for them.
///
/// # Errors
/// Wrong options; columns that the message type has no field for, or that no message can hold; other columns than whole
/// records for a table whose message type is not known: the records made of them would be of another kind than those
/// that are there.
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
    let meaning = match (rows.behind, keeps_type) {
        (Behind::PlainRecords, _) => Meaning::OfPlainRecords,
        (_, false) => Meaning::WithoutType,
        (_, true) => Meaning::WithType,
    };
    let plan = match target.is_none() && is_whole_record(rows.schema, meaning) {
        true => RowPlan::WholeRecords,
        false if target.is_none() && rows.behind != Behind::Nothing => {
            return Err(Error::Schema(NO_MESSAGE_TYPE.to_string()));
        }
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
        arrow_schema: match encoder.as_ref().filter(|encoder| keeps_type && plan.keeps_arrow_schema(encoder))
        {
            Some(encoder) => arrow_schema_to_keep(encoder, rows.schema)?,
            None => None,
        },
        inherited: rows.inherited.clone(),
        verbatim: false,
    };
    let container = container.writer(extension, options, description)?;
    let message_type = message_type.filter(|_| !keeps_type);
    Ok(Arc::new(RecordWriter { rows: plan, container, message_type }))
}

/// Plans the writing of records as they are. A file says of them what `said` says, but for a message type that the
/// options name.
///
/// # Errors
/// Wrong options.
pub(crate) fn record_writer<C: Container>(
    container: &C,
    said: FileDescription,
    extension: &str,
    options: &Options,
) -> Result<Arc<dyn Writer>> {
    WriteOptions::from_options(options)?;
    let description = match record_descriptors(&[], &ProtobufOptions::from_options(options)?)? {
        Some(target) => {
            let MessageType { name, descriptors } = target.message_type();
            let inherited = said.inherited;
            FileDescription {
                message_type: Some(name),
                descriptors,
                arrow_schema: None,
                inherited,
                verbatim: false,
            }
        }
        None => said,
    };
    let beside = !container.keeps_descriptions(extension) && !description.descriptors.is_empty();
    let message_type = description.message_type.clone().filter(|_| beside);
    let message_type =
        message_type.map(|name| MessageType { name, descriptors: description.descriptors.clone() });
    let container = container.writer(extension, options, description)?;
    Ok(Arc::new(RecordWriter { rows: RowPlan::WholeRecords, container, message_type }))
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

    /// Whether the file keeps the Arrow schema of the rows: not of records that were there before.
    fn keeps_arrow_schema(&self, encoder: &RecordEncoder) -> bool {
        match self {
            Self::WholeRecords => false,
            Self::Messages { options, .. } => {
                options.arrow_schema_hint == ArrowSchemaHint::Write && !encoder.takes_whole_records()
            }
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
