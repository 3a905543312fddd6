//! With any option that judges records or tells about them, the rows do not depend on how they are read.

use std::collections::BTreeMap;
use std::fmt;

use datafusion::prelude::SessionContext;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use prost::Message;
use riegeli::{CompressionType, WriterOptions};
use serde_json::{Map, Value};

use crate::support::{EVENT, context, event, in_memory, metadata, riegeli_bytes, rows};
use crate::surfaces::hex;

/// What may stand in a select list, by name.
const COLUMNS: [(&str, &str); 14] = [
    ("id", "id"),
    ("tag", "tag"),
    ("place", "place"),
    ("city", "place['inner']['city']"),
    ("zone", "place['zone']"),
    ("cities", "places[1]['city']"),
    ("counts", "counts"),
    ("k", "counts['k1']"),
    ("level", "level"),
    ("score", "score"),
    ("file", "_file"),
    ("position", "_position"),
    ("record", "encode(_record, 'hex')"),
    ("unknown", "encode(_unknown, 'hex')"),
];
/// Those of the message.
const OF_MESSAGE: usize = 10;

/// What becomes of a record that is no message, or lacks a required field.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Policy {
    /// There are none.
    Fine,
    Skip,
    Null,
}

/// Records, what they are read with, and which of them are bad then.
#[derive(Clone)]
struct Table {
    records: Vec<Vec<u8>>,
    bad: Vec<bool>,
    policy: Policy,
    strict: bool,
    metadata_columns: bool,
    chunk_size: u64,
    transpose: bool,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { records, chunk_size, transpose, .. } = self;
        let bad: Vec<usize> = (0..records.len()).filter(|at| self.bad[*at]).collect();
        write!(f, "{} records of which {bad:?} are bad, {}, ", records.len(), self.options())?;
        write!(f, "chunks of {chunk_size} bytes, transposed: {transpose}")
    }
}

/// A kind of record, weighed so that most are good.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Good,
    WithUnknown,
    WithoutTag,
    /// One of [`BAD`].
    Bad(usize),
}

/// No messages: cut in a value, a wire type that there is not, a string and a nested string that are not
/// UTF-8, a field number 0, a length beyond the end.
const BAD: [&str; 6] = ["08", "0f", "08 05 12 02 c3 28", "08 05 1a 03 0a 01 ff", "00 00", "08 01 12 05 61"];

fn record((id, kind): (i64, Kind)) -> Vec<u8> {
    let mut message = event(id);
    match kind {
        Kind::Good => message.encode_to_vec(),
        Kind::WithUnknown => [message.encode_to_vec(), hex("a0 06 05 aa 06 01 78")].concat(),
        Kind::WithoutTag => {
            message.tag = String::new();
            message.encode_to_vec()
        }
        Kind::Bad(which) => hex(BAD[which]),
    }
}

fn any_table() -> impl Strategy<Value = Table> {
    let kind = prop_oneof![
        8 => Just(Kind::Good),
        2 => Just(Kind::WithUnknown),
        1 => Just(Kind::WithoutTag),
        1 => (0..BAD.len()).prop_map(Kind::Bad),
    ];
    let records = prop::collection::vec((0i64..1000, kind), 0..1500);
    let policy = prop_oneof![Just(Policy::Fine), Just(Policy::Skip), Just(Policy::Null)];
    (records, policy, any::<bool>(), any::<bool>(), 500u64..50_000, any::<bool>()).prop_map(
        |(mut kinds, policy, strict, metadata_columns, chunk_size, transpose)| {
            let is_bad = |kind: Kind| matches!(kind, Kind::Bad(_)) || strict && kind == Kind::WithoutTag;
            if policy == Policy::Fine {
                kinds.retain(|(_, kind)| !is_bad(*kind));
            }
            let bad = kinds.iter().map(|(_, kind)| is_bad(*kind)).collect();
            let records = kinds.into_iter().map(record).collect();
            Table { records, bad, policy, strict, metadata_columns, chunk_size, transpose }
        },
    )
}

impl Table {
    fn file(&self) -> Vec<u8> {
        // The same on the wire, but a record has to have a tag.
        let required = EVENT
            .replace("proto3", "proto2")
            .replace("string tag = 2", "required string tag = 2")
            .replace("int64 id = 1", "optional int64 id = 1")
            .replace("string city = 1", "optional string city = 1")
            .replace("Place inner = 3", "optional Place inner = 3")
            .replace("Place place = 3", "optional Place place = 3")
            .replace("Level level = 6", "optional Level level = 6");
        let proto = if self.strict { required.as_str() } else { EVENT };
        let options = WriterOptions::new()
            .compression(CompressionType::None)
            .chunk_size(self.chunk_size)
            .transpose(self.transpose)
            .set_serialized_metadata(metadata(proto, "t.Event"));
        riegeli_bytes(&self.records, options)
    }

    fn options(&self) -> String {
        let mut options = vec![];
        match self.policy {
            Policy::Fine => {}
            Policy::Skip => options.push("on_bad_record 'skip'"),
            Policy::Null => options.push("on_bad_record 'null'"),
        }
        if self.strict {
            // Strings of proto2 need not be UTF-8 otherwise.
            options.push("required 'strict', invalid_utf8 'error'");
        }
        if self.metadata_columns {
            options.push("metadata_columns 'file,position,record,unknown'");
        }
        if options.is_empty() { String::new() } else { format!("OPTIONS ({})", options.join(", ")) }
    }

    fn columns(&self) -> &'static [(&'static str, &'static str)] {
        if self.metadata_columns { &COLUMNS } else { &COLUMNS[..OF_MESSAGE] }
    }

    async fn open(&self, bytes: &[u8], partitions: usize, batch_size: usize) -> SessionContext {
        let ctx = context(partitions, batch_size);
        in_memory(&ctx, &[("t.riegeli", bytes.to_vec())]).await;
        let options = self.options();
        let create =
            format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t.riegeli' {options}");
        rows(&ctx, &create).await.expect(&create);
        ctx
    }

    /// How many rows there are, by what is known of the records.
    fn expected_rows(&self) -> usize {
        match self.policy {
            Policy::Skip => self.bad.iter().filter(|bad| !**bad).count(),
            Policy::Fine | Policy::Null => self.records.len(),
        }
    }
}

type Row = BTreeMap<String, Value>;

async fn select(ctx: &SessionContext, columns: &[(&str, &str)]) -> Result<Vec<Row>, TestCaseError> {
    let list: Vec<String> = columns.iter().map(|(name, text)| format!("{text} AS \"{name}\"")).collect();
    let sql = format!("SELECT {} FROM t", list.join(", "));
    let lines = rows(ctx, &sql).await.map_err(|error| TestCaseError::fail(format!("{sql}: {error}")))?;
    let parse = |line: &String| serde_json::from_str::<Map<String, Value>>(line).expect("JSON");
    Ok(lines.iter().map(|line| parse(line).into_iter().collect()).collect())
}

fn sorted(rows: impl Iterator<Item = Row>) -> Vec<String> {
    let mut rows: Vec<String> = rows.map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

async fn check(
    table: &Table,
    projections: &[Vec<bool>],
    partitions: usize,
    batch_size: usize,
) -> Result<(), TestCaseError> {
    let bytes = table.file();
    let columns = table.columns();
    let all = select(&table.open(&bytes, 1, 8192).await, columns).await?;
    prop_assert_eq!(all.len(), table.expected_rows());
    if table.policy == Policy::Null {
        let nulls = |row: &Row| COLUMNS[..OF_MESSAGE].iter().all(|(name, _)| row[*name].is_null());
        prop_assert_eq!(all.iter().map(nulls).collect::<Vec<_>>(), table.bad.clone());
    }
    if table.metadata_columns && table.policy != Policy::Skip {
        let hex = |record: &Vec<u8>| record.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        prop_assert!(
            all.iter().map(|row| row["record"].clone()).eq(table.records.iter().map(hex).map(Value::from))
        );
    }
    let ctx = table.open(&bytes, partitions, batch_size).await;
    for wanted in projections {
        let some: Vec<_> =
            columns.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(c, _)| *c).collect();
        if some.is_empty() {
            continue;
        }
        let part = |row: &Row| {
            some.iter().map(|(name, _)| ((*name).to_string(), row[*name].clone())).collect::<Row>()
        };
        let found = sorted(select(&ctx, &some).await?.into_iter());
        prop_assert_eq!(found, sorted(all.iter().map(part)), "{:?}", some);
    }
    let count = rows(&ctx, "SELECT count(*) AS n FROM t").await.expect("counts");
    prop_assert_eq!(count, [format!("{{\"n\":{}}}", all.len())]);
    let limit = all.len() / 2 + 1;
    let limited = rows(&ctx, &format!("SELECT id FROM t LIMIT {limit}")).await.expect("reads").len();
    prop_assert_eq!(limited, limit.min(all.len()));
    Ok(())
}

#[test]
fn rows_do_not_depend_on_how_they_are_read() {
    let config = ProptestConfig {
        cases: 24,
        max_shrink_iters: 50,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let projections = prop::collection::vec(prop::collection::vec(any::<bool>(), COLUMNS.len()), 3);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    proptest!(config, |(table in any_table(), projections in projections, partitions in 1usize..=8, batch_size in 1usize..=100)| {
        runtime.block_on(check(&table, &projections, partitions, batch_size))?;
    });
}

/// A message with everything that options change, at the top and below messages, lists and maps.
const NESTED: &str = r#"
    syntax = "proto3";
    package t;
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/any.proto";
    enum Level { LOW = 0; HIGH = 1; }
    message None {}
    message Sub {
      int32 x = 1; optional string text = 2; Level level = 3; uint64 big = 4;
      oneof one { int32 a = 5; string b = 6; Sub c = 7; }
      google.protobuf.Timestamp at = 8; google.protobuf.Duration took = 9; google.protobuf.Any any = 10;
      map<int32, Sub> children = 11; None none = 12; repeated Level levels = 13;
    }
    message M { int32 id = 1; Sub sub = 2; repeated Sub subs = 3; map<string, Sub> named = 4; }
"#;

/// Subs: without anything; with scalars, times and a member; with one below that and in a map.
const SUBS: [&str; 3] = [
    "",
    "08 05 12 01 78 18 01 20 ff ff ff ff ff ff ff ff ff 01 28 07 42 04 08 05 10 06 4a 02 08 03 62 00 6a 02 01 00",
    "18 09 3a 04 08 06 32 00 5a 06 08 01 12 02 08 08 52 03 0a 01 75",
];

fn nested_record(id: i32, sub: Option<usize>, subs: &[usize], named: &[usize]) -> Vec<u8> {
    use prost::encoding::{bytes, int32};
    let mut record = vec![];
    int32::encode(1, &id, &mut record);
    if let Some(sub) = sub {
        bytes::encode(2, &hex(SUBS[sub]), &mut record);
    }
    for sub in subs {
        bytes::encode(3, &hex(SUBS[*sub]), &mut record);
    }
    for sub in named {
        let mut entry = vec![0x0a, 1, b'a' + *sub as u8];
        bytes::encode(2, &hex(SUBS[*sub]), &mut entry);
        bytes::encode(4, &entry, &mut record);
    }
    record
}

/// Parts of columns, asked for alone and together, are what they are in whole columns: with every option that
/// changes what columns look like.
#[tokio::test]
async fn parts_are_those_of_whole_columns_with_any_options() {
    let records = [
        nested_record(0, None, &[], &[]),
        nested_record(1, Some(1), &[0, 1, 2], &[1, 2]),
        nested_record(2, Some(2), &[2, 2], &[0]),
        nested_record(3, Some(0), &[1], &[2, 1, 0]),
    ];
    let fields = [
        "x", "text", "level", "big", "a", "b", "c", "at", "took", "any", "children", "none", "levels",
        "one_case",
    ];
    for (at, options) in [
        "enum 'number', recursion_depth '2', recursion 'drop'",
        "map 'list', map_keys 'exact', string_type 'utf8'",
        "map 'list', oneof_case 'true', on_bad_record 'null'",
        "oneof_case 'true', enum 'string', absent 'default'",
        "absent 'default', empty_list 'null', implicit 'null'",
        "timestamp 'struct', duration 'struct', empty_message 'struct', unsigned 'widen'",
        "on_bad_record 'skip', recursion 'json', string_type 'large_utf8', oneof_case 'true'",
    ]
    .iter()
    .enumerate()
    {
        let writer = WriterOptions::new().transpose(at % 2 == 1);
        let file = riegeli_bytes(&records, writer.set_serialized_metadata(metadata(NESTED, "t.M")));
        let ctx = context(1, 3);
        in_memory(&ctx, &[("t.riegeli", file)]).await;
        let create = format!(
            "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t.riegeli' OPTIONS ({options})"
        );
        rows(&ctx, &create).await.expect(&create);
        rows(&ctx, "CREATE TABLE whole AS SELECT * FROM t").await.expect("reads");
        let places = match options.contains("map 'list'") {
            true => ["subs[2]", "named[1]['value']", "sub['children'][1]['value']", "named[1]['value']['c']"],
            false => ["subs[2]", "named['b']", "sub['children'][1]", "named['c']['c']"],
        };
        // Where recursion ends there are no fields, and some fields are there with an option only.
        let mut parts = vec![];
        for part in places.iter().flat_map(|place| fields.map(|field| format!("{place}['{field}'] AS p"))) {
            if ctx.sql(&format!("SELECT {part} FROM whole")).await.is_ok() {
                parts.push(part);
            }
        }
        assert!(parts.len() > 30, "{} parts with {options}", parts.len());
        let pairs = parts
            .windows(2)
            .step_by(4)
            .map(|pair| format!("{}, {} AS q", pair[0], pair[1].trim_end_matches(" AS p")));
        for list in parts.iter().cloned().chain(pairs.collect::<Vec<_>>()) {
            let found = rows(&ctx, &format!("SELECT {list} FROM t")).await.expect(&list);
            let whole = rows(&ctx, &format!("SELECT {list} FROM whole")).await.expect(&list);
            assert_eq!(found, whole, "{list} with {options}");
        }
    }
}
