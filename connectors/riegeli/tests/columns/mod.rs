//! Columns straight from transposed chunks are those of the same records in simple chunks, which are decoded as
//! rows: for records of every sort, every projection, and all options of the mapping.

mod awkward;
mod filters;
#[path = "../../../protobuf/tests/properties/generate.rs"]
mod generate;
mod schemas;

use std::cell::Cell;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use futures::executor::block_on;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use recordfusion_bench::LogEvents;
use recordfusion_core::{
    ColumnProjection, Connector, Error, Options, Projection, RecordFile, Selection, Table,
};
use recordfusion_riegeli::{CHUNKS_COLUMNAR, RiegeliConnector};
use riegeli::{CompressionType, WriterOptions};

use crate::differential::CODECS;
use crate::support::*;
use awkward::records;
use schemas::{SCHEMAS, compile, metadata};

/// How the transposed file is written.
#[derive(Debug, Clone)]
struct Layout {
    codec: CompressionType,
    bucket_fraction: f64,
    chunk_size: u64,
}

fn layouts() -> impl Strategy<Value = Layout> {
    let codecs = proptest::sample::select(CODECS.to_vec());
    let fractions = proptest::sample::select(vec![0.0, 0.05, 1.0]);
    let sizes = proptest::sample::select(vec![300u64, 1 << 20, 1 << 20, 1 << 20]);
    (codecs, fractions, sizes).prop_map(|(codec, bucket_fraction, chunk_size)| Layout {
        codec,
        bucket_fraction,
        chunk_size,
    })
}

/// Options with values that change how fields become columns.
const OPTIONS: [(&str, &[&str]); 22] = [
    ("string_type", &["utf8", "large_utf8"]),
    ("enum", &["number", "string"]),
    ("closed_enum", &["open"]),
    ("unsigned", &["widen"]),
    ("implicit", &["null"]),
    ("absent", &["default"]),
    ("required", &["strict"]),
    ("empty_list", &["null"]),
    ("map", &["list"]),
    ("map_keys", &["exact"]),
    ("extensions", &["columns"]),
    ("empty_message", &["struct"]),
    ("timestamp", &["ns", "struct"]),
    ("duration", &["int64", "struct"]),
    ("recursion", &["json", "drop"]),
    ("recursion_depth", &["0", "2"]),
    ("oneof_case", &["true"]),
    ("invalid_utf8", &["error", "replace", "null"]),
    ("on_bad_record", &["skip", "null"]),
    ("on_bad_value", &["null"]),
    ("metadata_columns", &["file,position", "record", "unknown,position"]),
    ("any", &["json"]),
];

fn options() -> impl Strategy<Value = Options> {
    let one = (0..OPTIONS.len(), any::<Index>());
    proptest::collection::vec(one, 0..3).prop_map(|picks| {
        picks.into_iter().fold(Options::new(), |options, (option, value)| {
            let (name, values) = OPTIONS[option];
            options.with(name, values[value.index(values.len())])
        })
    })
}

/// Some of the columns, whole or in part.
fn projection(schema: &Schema, picks: &[(Index, Vec<Index>)]) -> Projection {
    let mut columns: Vec<ColumnProjection> = Vec::new();
    for (column, path) in picks {
        let index = column.index(schema.fields().len());
        let mut names = Vec::new();
        let mut at = schema.field(index).data_type();
        for pick in path {
            let Some(fields) = fields_below(at) else { break };
            let field = &fields[pick.index(fields.len())];
            names.push(field.name().as_str());
            at = field.data_type();
        }
        if !columns.iter().any(|known| known.index == index) {
            columns.push(ColumnProjection { index, selection: Selection::none() });
        }
        let known = columns.iter_mut().find(|known| known.index == index);
        known.expect("just added").selection.add(&names);
    }
    Projection { columns }
}

fn picks() -> impl Strategy<Value = Option<Vec<(Index, Vec<Index>)>>> {
    let path = proptest::collection::vec(any::<Index>(), 0..4);
    proptest::option::of(proptest::collection::vec((any::<Index>(), path), 1..6))
}

fn fields_below(data_type: &DataType) -> Option<&arrow::datatypes::Fields> {
    match data_type {
        DataType::Struct(fields) if !fields.is_empty() => Some(fields),
        DataType::List(item) => fields_below(item.data_type()),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(entry) => fields_below(entry[1].data_type()),
            _ => None,
        },
        _ => None,
    }
}

type Outcome = (Vec<RecordBatch>, Option<String>);

/// What a scan gave.
struct Read {
    /// The batches and the error after them, without the places that depend on how the file is written.
    outcome: Outcome,
    /// Whether chunks became columns without their records.
    shredded: bool,
}

/// Reads a file.
fn read_columns(
    file: &[u8],
    options: &Options,
    picks: Option<&[(Index, Vec<Index>)]>,
    batch_size: usize,
    limit: Option<usize>,
) -> Result<Read, Error> {
    let file = memory_file(file);
    let table = block_on(RiegeliConnector::default().open(std::slice::from_ref(&file), options))?;
    let mut request = request(&file, 0..file.size, table.schema().fields().len());
    (request.batch_size, request.limit) = (batch_size, limit);
    if let Some(picks) = picks {
        request.projection = projection(table.schema(), picks);
    }
    let counters = Arc::clone(&request.counters);
    let (batches, error) = scan(table.as_ref(), request);
    let error = error.map(|error| match error {
        Error::BadRecord { fault, .. } => fault,
        other => other.to_string(),
    });
    Ok(Read { outcome: (batches, error), shredded: counters.value(&CHUNKS_COLUMNAR) > 0 })
}

/// Records that are judged as a whole are never taken as columns.
fn by_rows() -> Options {
    Options::new().with("on_bad_record", "skip")
}

#[test]
fn columns_of_all_transposed_fixtures_are_those_of_rows() {
    let mut compared = 0;
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/riegeli");
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.ends_with(".riegeli") || name.contains("simple") {
            continue;
        }
        let bytes = std::fs::read(&path).expect(&name);
        for batch_size in [1, 10, 8192] {
            let read = |options| read_columns(&bytes, &options, None, batch_size, None);
            let rows = together(read(by_rows()).expect(&name).outcome);
            let columns = together(read(Options::new()).expect(&name).outcome);
            // The one leaves out what the other stops at.
            if columns.1.is_none() {
                assert_eq!(columns, rows, "{name}");
                compared += 1;
            }
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn only_wanted_buckets_are_decompressed() {
    let mut events = LogEvents::new(7);
    let records: Records = (0..2000).map(|_| events.next_record()).collect();
    let metadata = recordfusion_bench::metadata().expect("the .proto file compiles");
    let options =
        WriterOptions::new().transpose(true).bucket_fraction(0.0).compression(CompressionType::Zstd);
    let file = memory_file(&write(&records, options.set_serialized_metadata(metadata)));
    let [columns, rows] = [Options::new(), by_rows()].map(|options| {
        block_on(RiegeliConnector::default().open(std::slice::from_ref(&file), &options)).expect("valid file")
    });
    let count = columns.schema().fields().len();
    let whole: usize = records.iter().map(Vec::len).sum();
    for index in 0..count {
        let wanted = ColumnProjection { index, selection: Selection::All };
        let read = |table: &dyn Table| scan_column(table, &file, wanted.clone());
        let name = columns.schema().field(index).name().clone();
        let ((found, decompressed), (expected, all)) = (read(columns.as_ref()), read(rows.as_ref()));
        assert_eq!(found, expected, "{name}");
        assert!(decompressed < whole / 3 && all > whole / 2, "{name}: {decompressed} of {whole}, {all}");
    }
}

/// One column of a file, and the bytes that were decompressed for it.
fn scan_column(
    table: &dyn Table,
    file: &RecordFile,
    column: ColumnProjection,
) -> ((Option<RecordBatch>, Option<String>), usize) {
    let mut wanted = request(file, 0..file.size, 1);
    (wanted.projection.columns, wanted.batch_size) = (vec![column], 1000);
    let counters = Arc::clone(&wanted.counters);
    let (batches, error) = scan(table, wanted);
    let outcome = (batches, error.map(|error| error.to_string()));
    (together(outcome), counters.bytes_decompressed.value() as usize)
}

#[test]
fn presence_and_lengths_need_no_bucket() {
    let mut events = LogEvents::new(7);
    let records: Records = (0..2000).map(|_| events.next_record()).collect();
    let metadata = recordfusion_bench::metadata().expect("the .proto file compiles");
    let options =
        WriterOptions::new().transpose(true).bucket_fraction(0.0).compression(CompressionType::Zstd);
    let file = memory_file(&write(&records, options.set_serialized_metadata(metadata)));
    let table = block_on(RiegeliConnector::default().open(std::slice::from_ref(&file), &Options::new()));
    let table = table.expect("valid file");
    let read = |name: &str, selection: Selection| {
        let index = table.schema().index_of(name).expect("a column");
        scan_column(table.as_ref(), &file, ColumnProjection { index, selection })
    };
    // Nothing but headers and transitions: as little as for a column that no bucket has more than a few values of.
    let ((errors, _), least) = read("error", Selection::none());
    let ((whole, _), _) = read("error", Selection::All);
    let nulls = |rows: Option<RecordBatch>| rows.expect("rows").column(0).nulls().cloned();
    assert_eq!(nulls(errors), nulls(whole));
    for name in ["geo", "spans", "tags", "latency_us", "session_key", "trace_id"] {
        let ((presence, _), decompressed) = read(name, Selection::none());
        let ((whole, _), all) = read(name, Selection::All);
        let (presence, whole) = (presence.expect("rows"), whole.expect("rows"));
        let (presence, whole) = (presence.column(0), whole.column(0));
        assert_eq!(presence.nulls(), whole.nulls(), "{name}");
        if let DataType::List(_) = whole.data_type() {
            assert_eq!(presence.as_list::<i32>().offsets(), whole.as_list::<i32>().offsets(), "{name}");
        }
        assert_eq!(decompressed, least, "{name}");
        assert!(all > decompressed + records.len(), "{name}: {all}");
    }
}

/// The rows of batches, whatever their sizes.
fn together((batches, error): Outcome) -> (Option<RecordBatch>, Option<String>) {
    let first = batches.first().map(RecordBatch::schema);
    (first.map(|schema| arrow::compute::concat_batches(&schema, &batches).expect("one schema")), error)
}

/// How often chunks became columns without their records.
#[derive(Default)]
struct Share {
    scans: Cell<u32>,
    shredded: Cell<u32>,
}

impl Share {
    fn note(&self, read: &Read) {
        self.scans.set(self.scans.get() + 1);
        self.shredded.set(self.shredded.get() + u32::from(read.shredded));
    }

    fn assert_at_least(&self, percent: u32) {
        let (scans, shredded) = (self.scans.get(), self.shredded.get());
        assert!(100 * shredded >= percent * scans, "{shredded} of {scans} scans");
    }
}

/// Runs a property; most cases can be told from a failure.
fn holds<S: Strategy>(strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = Config { cases: 384, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(strategy, property).unwrap_or_else(|failed| panic!("{failed}"));
}

#[test]
fn columns_are_those_of_rows() {
    let share = Share::default();
    let limit = proptest::option::of(0..40usize);
    let files = (0..SCHEMAS.len(), records(1..30), layouts());
    let scans = (options(), picks(), 1..12usize, limit);
    holds(&(files, scans), |((schema, records, layout), (options, picks, batch_size, limit))| {
        let metadata = metadata(SCHEMAS[schema]);
        let write_as =
            |options: WriterOptions| write(&records, options.set_serialized_metadata(metadata.clone()));
        let chunks = WriterOptions::new().compression(layout.codec).chunk_size(layout.chunk_size);
        let simple = write_as(chunks.clone());
        let transposed = write_as(chunks.transpose(true).bucket_fraction(layout.bucket_fraction));
        let read = |file| read_columns(file, &options, picks.as_deref(), batch_size, limit);
        match (read(&simple), read(&transposed)) {
            (Ok(rows), Ok(columns)) => {
                share.note(&columns);
                let positions_differ =
                    options.get("metadata_columns").is_some_and(|text| text.contains("position"));
                if !positions_differ || layout.chunk_size > 300 {
                    prop_assert_eq!(together(columns.outcome), together(rows.outcome));
                }
            }
            (rows, columns) => prop_assert_eq!(
                columns.err().map(|error| error.to_string()),
                rows.err().map(|error| error.to_string())
            ),
        }
        Ok(())
    });
    share.assert_at_least(30);
}

#[test]
fn columns_of_random_types_are_those_of_rows() {
    let share = Share::default();
    let files = generate::schema().prop_flat_map(|schema| {
        let records = generate::messages(&schema, 1..20, 0);
        (Just(schema.source()), records)
    });
    holds(&(files, layouts(), picks(), 1..8usize), |((schema, records), layout, picks, batch_size)| {
        let write_as =
            |options: WriterOptions| write(&records, options.set_serialized_metadata(compile(&schema)));
        let chunks = WriterOptions::new().compression(layout.codec);
        let simple = write_as(chunks.clone());
        let transposed = write_as(chunks.transpose(true).bucket_fraction(layout.bucket_fraction));
        let read =
            |file| read_columns(file, &Options::new(), picks.as_deref(), batch_size, None).expect("a table");
        let columns = read(&transposed);
        share.note(&columns);
        prop_assert_eq!(together(columns.outcome), together(read(&simple).outcome));
        Ok(())
    });
    share.assert_at_least(65);
}
