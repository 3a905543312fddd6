//! Making files, running queries and the tool.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use prost::Message;
use recordfusion::json;
use riegeli::{CompressionType, RecordWriter, WriterOptions};

/// A message with a struct, a list of structs and a map.
pub(crate) const EVENT: &str = r#"
    syntax = "proto3";
    package t;
    enum Level { LOW = 0; HIGH = 1; }
    message Place { string city = 1; optional int32 zone = 2; Place inner = 3; }
    message Event {
      int64 id = 1;
      string tag = 2;
      Place place = 3;
      repeated Place places = 4;
      map<string, int32> counts = 5;
      Level level = 6;
      optional double score = 7;
    }
"#;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Place {
    #[prost(string, tag = "1")]
    pub(crate) city: String,
    #[prost(int32, optional, tag = "2")]
    pub(crate) zone: Option<i32>,
    #[prost(message, optional, boxed, tag = "3")]
    pub(crate) inner: Option<Box<Place>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Event {
    #[prost(int64, tag = "1")]
    pub(crate) id: i64,
    #[prost(string, tag = "2")]
    pub(crate) tag: String,
    #[prost(message, optional, tag = "3")]
    pub(crate) place: Option<Place>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) places: Vec<Place>,
    #[prost(btree_map = "string, int32", tag = "5")]
    pub(crate) counts: std::collections::BTreeMap<String, i32>,
    #[prost(int32, tag = "6")]
    pub(crate) level: i32,
    #[prost(double, optional, tag = "7")]
    pub(crate) score: Option<f64>,
}

/// An event whose every part follows from `id`.
pub(crate) fn event(id: i64) -> Event {
    let place = |n: i64| Place {
        city: format!("city number {n} of the world"),
        zone: (n % 3 > 0).then_some(n as i32),
        inner: (n % 2 == 0).then(|| Box::new(Place { city: format!("in{n}"), ..Default::default() })),
    };
    Event {
        id,
        tag: if id % 7 == 0 { "x".into() } else { format!("tag-{}-{id}", id % 5) },
        place: (id % 4 > 0).then(|| place(id)),
        places: (0..id % 4).map(place).collect(),
        counts: (0..id % 3).map(|n| (format!("k{n}"), n as i32)).collect(),
        level: (id % 3) as i32,
        score: (id % 5 > 0).then_some(id as f64 / 2.0),
    }
}

#[derive(Message)]
struct RecordsMetadata {
    #[prost(string, tag = "2")]
    record_type_name: String,
    #[prost(bytes = "vec", repeated, tag = "3")]
    file_descriptor: Vec<Vec<u8>>,
}

/// The metadata of a file of `message` as `proto` declares it.
pub(crate) fn metadata(proto: &str, message: &str) -> Vec<u8> {
    let files = compiled(&[("t.proto", proto)]);
    metadata_of(message, files.into_iter().map(|(_, file)| file).collect())
}

/// The metadata of a file of `message` with these descriptors.
pub(crate) fn metadata_of(message: &str, file_descriptor: Vec<Vec<u8>>) -> Vec<u8> {
    RecordsMetadata { record_type_name: message.to_string(), file_descriptor }.encode_to_vec()
}

/// The names and descriptors of the first of these .proto files and all that it imports.
pub(crate) fn compiled(sources: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, source) in sources {
        std::fs::write(folder.path().join(name), source).expect("written");
    }
    let files = protox::compile([sources[0].0], [folder.path()]).expect("valid .proto");
    files.file.iter().map(|file| (file.name().to_string(), file.encode_to_vec())).collect()
}

/// The bytes of a Riegeli file with these records.
pub(crate) fn riegeli_bytes<R: AsRef<[u8]>>(
    records: impl IntoIterator<Item = R>,
    options: WriterOptions,
) -> Vec<u8> {
    let mut bytes = vec![];
    let mut writer = RecordWriter::new(Cursor::new(&mut bytes), options).expect("memory");
    for record in records {
        writer.write_record(record.as_ref()).expect("memory");
    }
    writer.close().expect("memory");
    bytes
}

/// The bytes of a Riegeli file of events with the ids `ids`, about `chunk_size` bytes in a chunk.
pub(crate) fn event_file(ids: std::ops::Range<i64>, chunk_size: u64, transpose: bool) -> Vec<u8> {
    let options = WriterOptions::new()
        .compression(CompressionType::Zstd)
        .chunk_size(chunk_size)
        .transpose(transpose)
        .set_serialized_metadata(metadata(EVENT, "t.Event"));
    riegeli_bytes(ids.map(|id| event(id).encode_to_vec()), options)
}

/// A session that splits even the smallest files.
pub(crate) fn context(partitions: usize, batch_size: usize) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_batch_size(batch_size)
        .with_information_schema(true)
        .with_repartition_file_min_size(0);
    let ctx = SessionContext::new_with_config(config);
    recordfusion::register(&ctx).expect("registers");
    ctx
}

/// The rows of a query as JSON lines.
pub(crate) async fn rows(ctx: &SessionContext, sql: &str) -> Result<Vec<String>> {
    let batches = ctx.sql(sql).await?.collect().await?;
    Ok(lines(&batches))
}

/// The error of a query, as the tool would print it.
pub(crate) async fn error(ctx: &SessionContext, sql: &str) -> String {
    match rows(ctx, sql).await {
        Ok(rows) => panic!("{sql} gives {rows:?}"),
        Err(error) => recordfusion::error_message(&error),
    }
}

pub(crate) fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let mut text = vec![];
    let mut writer = json::lines(&mut text);
    for batch in batches {
        writer.write(batch).expect("has a JSON form");
    }
    drop(writer);
    String::from_utf8(text).expect("UTF-8").lines().map(String::from).collect()
}

/// The text of a plan.
pub(crate) async fn explain(ctx: &SessionContext, sql: &str) -> String {
    let plan = ctx.sql(sql).await.expect("plans").create_physical_plan().await.expect("plans");
    datafusion::physical_plan::displayable(plan.as_ref()).indent(true).to_string()
}

pub(crate) fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path)
}

/// A store in memory with these files, registered as `mem:///`.
pub(crate) async fn in_memory(ctx: &SessionContext, files: &[(&str, Vec<u8>)]) {
    use object_store::{ObjectStore, ObjectStoreExt};
    let store: Arc<dyn ObjectStore> = Arc::new(object_store::memory::InMemory::new());
    for (path, bytes) in files {
        store.put(&(*path).into(), bytes.clone().into()).await.expect("memory");
    }
    ctx.register_object_store(&url::Url::parse("mem:///").expect("a URL"), store);
}

/// Runs the tool.
pub(crate) fn tool<S: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = S>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_recordfusion")).args(args).output().expect("runs")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
