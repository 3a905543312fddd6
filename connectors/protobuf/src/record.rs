//! How the records of a table become columns.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use bytes::Bytes;
use recordfusion_core::{ColumnProjection, Error, Projection, RecordBlock, Result};

use crate::batch::{BatchDecoder, OutputColumn, Restore};
use crate::column_tree::{self, Node};
use crate::encode::{
    Hint, RECORD, RecordEncoder, apply_hint_under_options, hinted_mapping, kept_schema_hint, schema_hint,
};
use crate::example::{self, ExampleDecoder, FeatureColumn, Features};
use crate::messages::MessageDecoder;
use crate::open::{FileDescriptors, RecordType, common_arrow_schema, record_descriptors};
use crate::options::{
    AnyForm, ArrowSchemaUse, DurationForm, EmptyList, Implicit, InvalidUtf8, Mapping, MetadataColumn,
    OnBadRecord, OnBadValue, PayloadForm, ProtobufOptions, TimeOfDayForm, TimestampForm,
};
use crate::plain_text::TextDecoder;
use crate::plan::Wanted;
use crate::rows::{Decoder, RowDecoder};
use crate::schema;

/// Name of the column of a table whose records are no messages.
const RAW_COLUMN: &str = "record";

/// How the records of a table become columns. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RecordDecoder {
    /// The columns of the records, then the metadata columns.
    schema: SchemaRef,
    payload: Payload,
    metadata: Vec<MetadataColumn>,
    /// How the columns of the records become those that they were made of.
    hint: Option<Arc<Hint>>,
    /// The Arrow schema that the files keep, if the columns depend on it.
    arrow_schema: Option<Bytes>,
    /// Whether values that no column can hold are NULL.
    nulls_bad_values: bool,
}

#[derive(Debug, Clone)]
enum Payload {
    Raw,
    Text { mapping: Arc<Mapping> },
    Message { record: RecordType, columns: Arc<[Node]>, mapping: Arc<Mapping> },
    Examples { columns: Arc<[FeatureColumn]>, mapping: Arc<Mapping>, record: Option<RecordType> },
}

impl RecordDecoder {
    /// The decoder for what these files and options say of their records: of messages, or, if neither names a
    /// message type, of plain bytes as one BinaryView column `record`, or of plain text as one Utf8View column `record`.
    ///
    /// `sample` are some of the records, for options that infer columns from them: see
    /// [`ProtobufOptions::sample_records`].
    ///
    /// # Errors
    /// Descriptors that are missing, broken or contradictory, see [`record_descriptors`]; columns that the
    /// options make impossible: more than 10 000 leaves, two of one name.
    pub fn open(
        files: &[FileDescriptors],
        options: &ProtobufOptions,
        sample: &[RecordBlock],
    ) -> Result<Self> {
        let record = record_descriptors(files, options)?;
        let hint = hint(files, options);
        let given = options;
        let hinted = hint.as_ref().map(|hint| ProtobufOptions {
            mapping: hinted_mapping(hint, &options.mapping),
            ..options.clone()
        });
        let options = hinted.as_ref().unwrap_or(options);
        let usual = match (&hint, &record) {
            (Some(hint), Some(record)) => usual_columns(record, hint, &given.mapping)?,
            _ => None,
        };
        let (payload, fields) = match (&options.features, record) {
            (Some(features), record) => examples(features, record, &options.mapping, sample)?,
            (None, Some(record)) => message(record, options)?,
            (None, None) => plain(options),
        };
        if options.payload == PayloadForm::Text && !matches!(payload, Payload::Text { .. }) {
            let reason = "'text' is for records that are no messages".to_string();
            return Err(Error::Option { name: "payload".to_string(), reason });
        }
        let metadata = options.metadata_columns.clone();
        if !matches!(payload, Payload::Message { .. }) && metadata.contains(&MetadataColumn::Unknown) {
            return Err(Error::Option {
                name: "metadata_columns".to_string(),
                reason: "'unknown' needs records that are read as messages".to_string(),
            });
        }
        let decoded = Arc::new(Schema::new(fields.clone()));
        let arrow_schema = hint.clone();
        let hint = match hint {
            Some(hint) => applied(&hint, usual.as_ref().unwrap_or(decoded.fields()), &decoded, files, given)?,
            None => None,
        };
        let hint = hint.map(Arc::new);
        let fields = hint.as_ref().map_or(fields, |hint| hint.schema().fields().iter().cloned().collect());
        let nulls_bad_values = options.mapping.on_bad_value == OnBadValue::Null;
        let schema = with_metadata(fields, &metadata)?;
        Ok(Self { schema, payload, metadata, hint, arrow_schema, nulls_bad_values })
    }

    /// The decoder of records that are not looked into, whatever they are: their bytes are the one column `_record`.
    pub fn whole_records() -> Self {
        let schema = Arc::new(Schema::new(vec![whole_record(&DataType::BinaryView)]));
        Self {
            schema,
            payload: Payload::Raw,
            metadata: Vec::new(),
            hint: None,
            arrow_schema: None,
            nulls_bad_values: false,
        }
    }

    /// The columns of the table. Every field is nullable, at every depth, but keys and entries of maps, and
    /// columns of the table that the option `nullability` makes NOT NULL.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The message type and all that it needs as .proto text; `None` if they are no messages.
    pub fn proto_text(&self) -> Option<String> {
        match &self.payload {
            Payload::Raw | Payload::Text { .. } => None,
            Payload::Message { record, .. } => Some(record.proto_text()),
            Payload::Examples { record, .. } => record.as_ref().map(RecordType::proto_text),
        }
    }

    /// The records' message type, if they are messages.
    pub fn record_type(&self) -> Option<&RecordType> {
        match &self.payload {
            Payload::Raw | Payload::Text { .. } => None,
            Payload::Message { record, .. } => Some(record),
            Payload::Examples { record, .. } => record.as_ref(),
        }
    }

    /// The Arrow schema that the files keep, as an Arrow IPC message, if the columns depend on it.
    pub fn arrow_schema(&self) -> Option<&Bytes> {
        self.arrow_schema.as_ref()
    }

    /// The features that are columns, if they are.
    pub fn features(&self) -> Option<&[FeatureColumn]> {
        match &self.payload {
            Payload::Examples { columns, .. } => Some(columns),
            Payload::Raw | Payload::Text { .. } | Payload::Message { .. } => None,
        }
    }

    /// Whether the records are no messages, but bytes or text in one column.
    pub fn are_plain_records(&self) -> bool {
        matches!(self.payload, Payload::Raw | Payload::Text { .. })
    }

    /// Whether every record is a row, whatever is in it: rows can then be counted without decoding.
    pub fn every_record_is_a_row(&self) -> bool {
        match &self.payload {
            Payload::Raw => true,
            Payload::Text { mapping }
            | Payload::Message { mapping, .. }
            | Payload::Examples { mapping, .. } => !mapping.judges_whole_records(),
        }
    }

    /// Compiles the decoding of these columns.
    ///
    /// # Errors
    /// [`Error::Schema`] if the projection names a column that there is not.
    pub fn scan(&self, projection: &Projection) -> Result<BatchDecoder> {
        let indices: Vec<usize> = projection.columns.iter().map(|column| column.index).collect();
        let schema = Arc::new(self.schema.project(&indices)?);
        let of_records = self.schema.fields().len().saturating_sub(self.metadata.len());
        let mut wanted: Vec<ColumnProjection> = Vec::new();
        let mut columns = Vec::new();
        for column in &projection.columns {
            columns.push(match column.index.checked_sub(of_records) {
                Some(metadata) => {
                    let missing = || Error::Schema(format!("there is no column {}", column.index));
                    OutputColumn::Metadata(*self.metadata.get(metadata).ok_or_else(missing)?)
                }
                None => {
                    let place = wanted.len();
                    wanted.push(column.clone());
                    OutputColumn::Payload(place)
                }
            });
        }
        let decoder = match &self.payload {
            Payload::Raw => None,
            Payload::Text { mapping } => {
                let text = TextDecoder::new(wanted.len(), mapping);
                Some(RowDecoder::new(Decoder::Text(text), None, mapping.on_bad_record))
            }
            Payload::Message { record, columns: tree, mapping } => {
                let unknown = columns.contains(&OutputColumn::Metadata(MetadataColumn::Unknown));
                let wanted = Wanted { projection: &Projection { columns: wanted }, unknown };
                let messages = MessageDecoder::new(record, tree, mapping, &wanted)?;
                let name = record.descriptors.message(record.message).full_name.clone();
                Some(RowDecoder::new(
                    Decoder::Messages(Box::new(messages)),
                    Some(name),
                    mapping.on_bad_record,
                ))
            }
            Payload::Examples { columns: features, mapping, .. } => {
                let wanted: Vec<usize> = wanted.iter().map(|column| column.index).collect();
                let examples = ExampleDecoder::new(features, &wanted, mapping);
                let name = Some(example::MESSAGE.to_string());
                Some(RowDecoder::new(Decoder::Examples(examples), name, mapping.on_bad_record))
            }
        };
        let restore = self.hint.as_ref().map(|hint| {
            let of_records: Vec<usize> = indices.into_iter().filter(|index| *index < of_records).collect();
            Ok::<_, Error>(Restore {
                hint: Arc::clone(hint),
                columns: of_records,
                message: self.record_type().map(|record| record.full_name().to_string()),
                bad_values_are_null: self.nulls_bad_values,
            })
        });
        Ok(BatchDecoder::new(schema, columns, decoder, restore.transpose()?))
    }
}

/// The Arrow schema that all files have, if it is to be used.
fn hint(files: &[FileDescriptors], options: &ProtobufOptions) -> Option<Bytes> {
    let usable = options.arrow_schema == ArrowSchemaUse::Use && options.features.is_none();
    common_arrow_schema(files).filter(|_| usable)
}

/// The columns that there are without the options that make other ones; `None` if no option does.
fn usual_columns(record: &RecordType, hint: &[u8], mapping: &Mapping) -> Result<Option<Fields>> {
    let mut usual = mapping.with_usual_columns();
    if usual == *mapping {
        return Ok(None);
    }
    let decoded = hinted_mapping(hint, &usual);
    // A unit that an option gives is what the option is about.
    if mapping.timestamp == TimestampForm::default() {
        usual.timestamp = decoded.timestamp;
    }
    if mapping.duration == DurationForm::default() {
        usual.duration = decoded.duration;
    }
    if mapping.time_of_day == TimeOfDayForm::default() {
        usual.time_of_day = decoded.time_of_day;
    }
    decoded_columns(record, &usual).map(Some)
}

/// The columns of messages as they are decoded.
fn decoded_columns(record: &RecordType, mapping: &Mapping) -> Result<Fields> {
    let columns = column_tree::columns(&record.descriptors, record.message, mapping, false)?;
    Ok(columns.iter().filter(|column| column.shown).map(|column| Arc::clone(&column.field)).collect())
}

/// The way from the columns `decoded` to those of the files' Arrow schema, as far as the options let it hold.
fn applied(
    hint: &[u8],
    usual: &Fields,
    decoded: &Schema,
    files: &[FileDescriptors],
    options: &ProtobufOptions,
) -> Result<Option<Hint>> {
    let mapping = &options.mapping;
    let hint = apply_hint_under_options(usual, decoded.fields(), hint).map_err(|column| Error::Option {
        name: mapping.options_of_columns().join(", "),
        reason: format!(
            "column '{column}' can be neither what the option makes of it nor what the Arrow schema in the file says; \
             the option arrow_schema = ignore reads it without that schema"
        ),
    })?;
    let Some(hint) = hint else { return Ok(None) };
    if let Some(unknown) = hint.unknown_zone() {
        let file = files.first().map_or("", |file| file.file.as_str());
        return Err(Error::Schema(format!(
            "{file}: in the Arrow schema of the file {unknown}; the option arrow_schema = ignore reads the file without \
             that schema"
        )));
    }
    Ok(Some(if makes_nulls(mapping) { hint.nullable() } else { hint }))
}

/// The Arrow schema of columns that are written as records, to be kept beside them; `None` where it does not hold for
/// the message type, which is not made for the columns.
///
/// # Errors
/// [`Error::Schema`] for columns of a type that could not be read again, if the message type is made for them.
pub fn arrow_schema_to_keep(encoder: &RecordEncoder, schema: &Schema) -> Result<Option<Bytes>> {
    let Some(record) = encoder.message() else { return Ok(None) };
    let mapping = hinted_mapping(&schema_hint(schema), &Mapping::default());
    let kept = decoded_columns(record, &mapping).and_then(|decoded| kept_schema_hint(schema, &decoded));
    match (kept, encoder.derived()) {
        (Err(error), Some(_)) => Err(error),
        (kept, _) => Ok(kept.ok().map(Bytes::from)),
    }
}

/// The column of whole records.
fn whole_record(data_type: &DataType) -> Field {
    Field::new(RECORD, data_type.clone(), true)
}

/// Whether the options make NULLs, which columns that are NOT NULL cannot hold.
fn makes_nulls(mapping: &Mapping) -> bool {
    mapping.on_bad_record == OnBadRecord::Null
        || mapping.on_bad_value == OnBadValue::Null
        || mapping.invalid_utf8 == InvalidUtf8::Null
        || mapping.implicit == Implicit::Null
        || mapping.empty_list == EmptyList::Null
}

/// Records that are no messages, and their column.
fn plain(options: &ProtobufOptions) -> (Payload, Vec<FieldRef>) {
    let (payload, data_type) = match options.payload {
        PayloadForm::Bytes => (Payload::Raw, DataType::BinaryView),
        PayloadForm::Text => {
            let mapping = Arc::new(options.mapping.clone());
            (Payload::Text { mapping }, DataType::Utf8View)
        }
    };
    (payload, vec![Arc::new(Field::new(RAW_COLUMN, data_type, true))])
}

/// Records that are read field by field, and their columns.
fn message(record: RecordType, options: &ProtobufOptions) -> Result<(Payload, Vec<FieldRef>)> {
    let mapping = &options.mapping;
    let record = match mapping.any {
        AnyForm::Json => record.with_all_types()?,
        AnyForm::Struct => record,
    };
    let has_metadata = !options.metadata_columns.is_empty();
    let columns = column_tree::columns(&record.descriptors, record.message, mapping, has_metadata)?;
    let shown = columns.iter().filter(|column| column.shown);
    let fields = shown.map(|column| Arc::clone(&column.field)).collect();
    let mapping = Arc::new(mapping.clone());
    Ok((Payload::Message { record, columns: columns.into(), mapping }, fields))
}

/// Records whose features are columns.
fn examples(
    features: &Features,
    record: Option<RecordType>,
    mapping: &Mapping,
    sample: &[RecordBlock],
) -> Result<(Payload, Vec<FieldRef>)> {
    let named = record.as_ref().map(|record| &record.descriptors.message(record.message).full_name);
    if let Some(name) = named.filter(|name| *name != example::MESSAGE) {
        let reason = format!("the records are of type {name}, not of {}", example::MESSAGE);
        return Err(Error::Option { name: "features".to_string(), reason });
    }
    let columns = match features {
        Features::Given(columns) => columns.clone(),
        Features::Infer => example::infer(sample)?,
    };
    let fields: Vec<FieldRef> = columns.iter().map(|column| Arc::new(column.field(mapping))).collect();
    let twice =
        |(at, field): &(usize, &FieldRef)| fields.iter().take(*at).any(|other| other.name() == field.name());
    if let Some((_, field)) = fields.iter().enumerate().find(twice) {
        return Err(Error::Schema(format!(
            "two features make the column '{}' (option 'names' says how columns are named)",
            field.name()
        )));
    }
    let mapping = Arc::new(mapping.clone());
    Ok((Payload::Examples { columns: columns.into(), mapping, record }, fields))
}

/// A schema of columns of the records and metadata columns.
fn with_metadata(mut fields: Vec<FieldRef>, metadata: &[MetadataColumn]) -> Result<SchemaRef> {
    for column in metadata {
        let field = schema::metadata_column(*column);
        if fields.iter().any(|known| known.name() == field.name()) {
            return Err(Error::Schema(format!(
                "the records have a field '{0}', so that there can be no metadata column '{0}' (option \
                 'metadata_columns')",
                field.name()
            )));
        }
        fields.push(Arc::new(field));
    }
    Ok(Arc::new(Schema::new(fields)))
}
