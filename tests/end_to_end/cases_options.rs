//! The options of reading, through SQL, settings, the library and the tool.

use prost::Message;
use riegeli::{CompressionType, ReaderOptions, RecordReader, WriterOptions};

use crate::support::{EVENT, context, data, event, in_memory, metadata, riegeli_bytes, rows, text, tool};
use crate::surfaces::{Converted, OnDisk, answer, files, hex, lines, message_files};

/// Twenty events in both layouts.
fn events() -> [Vec<u8>; 2] {
    let records: Vec<Vec<u8>> = (0..20).map(|id| event(id).encode_to_vec()).collect();
    files(&records, &metadata(EVENT, "t.Event"))
}

#[tokio::test]
async fn types_of_strings_enums_and_maps_are_chosen() {
    let files = events();
    for (options, query, expected) in [
        (&[][..], "arrow_typeof(tag)", "Utf8View"),
        (&[("string_type", "utf8view")], "arrow_typeof(tag)", "Utf8View"),
        (&[("string_type", "utf8")], "arrow_typeof(tag)", "Utf8"),
        (&[("string_type", "LARGE_UTF8")], "arrow_typeof(tag)", "LargeUtf8"),
        (&[("string_type", "utf8")], "arrow_typeof(place['inner']['city'])", "Utf8"),
        (&[], "arrow_typeof(level)", "Dictionary(Int32, Utf8)"),
        (&[("enum", "number")], "arrow_typeof(level)", "Int32"),
        (&[("enum", "string")], "arrow_typeof(level)", "Utf8View"),
        (&[("enum", "string"), ("string_type", "utf8")], "arrow_typeof(level)", "Utf8"),
        (&[("enum", "number")], "level || ''", "1"),
        (&[("enum", "string")], "level", "HIGH"),
        (&[("string_type", "utf8")], "tag || counts['k0']", "tag-1-10"),
        (&[("map", "list")], "substr(arrow_typeof(counts), 1, 5)", "List("),
        (&[("map", "list")], "counts[1]['key'] || counts[1]['value']", "k00"),
    ] {
        let query = format!("SELECT {query} AS v FROM t WHERE id = 1");
        let expected = format!("{{\"v\":\"{expected}\"}}");
        assert_eq!(answer(&files, options, &query).await, lines(&[&expected]), "{query} {options:?}");
    }
    let everything = answer(&files, &[], "SELECT * FROM t").await;
    for string_type in ["utf8", "large_utf8"] {
        assert_eq!(answer(&files, &[("string_type", string_type)], "SELECT * FROM t").await, everything);
    }
}

#[tokio::test]
async fn lower_case_names_need_no_quotes() {
    let proto = "message In { int32 deepField = 1; } message M { int32 userId = 1; In someMessage = 2; int32 plain_name = 3; }";
    let camel = message_files(proto, &[hex("08 05 12 02 08 07 18 09")]);
    let lower = [("names", "lower")];
    for query in [
        "SELECT userid, somemessage['deepfield'] AS d, plain_name FROM t",
        "SELECT userId, someMessage['deepfield'] AS d, plain_name FROM t",
        "SELECT USERID, t.SomeMessage['deepfield'] AS d, Plain_Name FROM t WHERE userId = 5",
    ] {
        let expected = lines(&[r#"{"userid":5,"d":7,"plain_name":9}"#]);
        assert_eq!(answer(&camel, &lower, query).await, expected, "{query}");
    }
    assert!(answer(&camel, &[], "SELECT userId FROM t").await.is_err());
    let quoted = answer(&camel, &[], r#"SELECT "userId" FROM t"#).await;
    assert_eq!(quoted, lines(&[r#"{"userId":5}"#]));
    let json = answer(&camel, &[("names", "json")], r#"SELECT "plainName", "userId" FROM t"#).await;
    assert_eq!(json, lines(&[r#"{"plainName":9,"userId":5}"#]));
    let proto = r#"syntax = "proto2"; package t; message M { optional int32 id = 1; optional int32 ID = 2 [json_name = "x"]; }"#;
    let twice = files(&[], &metadata(proto, "t.M"));
    let message = answer(&twice, &lower, "SELECT * FROM t").await.expect_err("two columns of one name");
    assert!(message.contains("id"), "{message}");
}

/// Events 0 to 19, and the indices of the records that are no messages instead.
const BAD: [usize; 3] = [0, 7, 8];

fn events_and_bad_ones() -> Vec<Vec<u8>> {
    let bad = ["08", "12 02 c3 28", "07 01"].map(hex);
    let mut records: Vec<Vec<u8>> = (0..20).map(|id| event(id).encode_to_vec()).collect();
    for (at, bad) in BAD.into_iter().zip(bad) {
        records[at] = bad;
    }
    records
}

const PROJECTIONS: [&str; 6] = [
    "*",
    "id",
    "place['zone'] AS z",
    "counts['k1'] AS k, tag",
    "1 AS one",
    "score IS NULL AS n, places[1]['city'] AS c",
];

#[tokio::test]
async fn skipped_records_are_no_rows_of_any_query() {
    let files = files(&events_and_bad_ones(), &metadata(EVENT, "t.Event"));
    let skip = [("on_bad_record", "skip")];
    let expected: Vec<String> =
        (0..20).filter(|id| !BAD.contains(id)).map(|id| format!("{{\"id\":{id}}}")).collect();
    assert_eq!(answer(&files, &skip, "SELECT id FROM t").await, Ok(expected));
    assert_eq!(answer(&files, &skip, "SELECT count(*) AS n FROM t").await, lines(&[r#"{"n":17}"#]));
    for projection in PROJECTIONS {
        let found = answer(&files, &skip, &format!("SELECT {projection} FROM t")).await;
        assert_eq!(found.map(|rows| rows.len()), Ok(17), "{projection}");
        let limited = answer(&files, &skip, &format!("SELECT {projection} FROM t LIMIT 16")).await;
        assert_eq!(limited.map(|rows| rows.len()), Ok(16), "{projection}");
    }
    for query in ["SELECT count(*) FROM t", "SELECT id FROM t", "SELECT * FROM t", "SELECT 1 FROM t"] {
        let ctx = context(2, 3);
        in_memory(&ctx, &[("t.riegeli", files[1].clone())]).await;
        rows(&ctx, "SET recordfusion.on_bad_record = 'skip'").await.expect("sets");
        let query = query.replace("FROM t", "FROM 'mem:///t.riegeli'");
        let plan = rows(&ctx, &format!("EXPLAIN ANALYZE {query}")).await.expect("runs").concat();
        assert!(plan.contains("records_skipped=3"), "{query}: {plan}");
    }
    for file in &files {
        let converted = Converted::new(file, &skip);
        assert!(converted.line.starts_with("17 rows, "), "{}", converted.line);
        assert!(converted.line.ends_with(" s, 3 records skipped\n"), "{}", converted.line);
        assert_eq!(
            converted.rows("SELECT count(*) AS n, sum(id) AS s FROM t").await,
            [r#"{"n":17,"s":175}"#]
        );
    }
}

#[tokio::test]
async fn bad_records_are_rows_of_nulls_or_end_the_query() {
    let files = files(&events_and_bad_ones(), &metadata(EVENT, "t.Event"));
    let null = [("on_bad_record", "null")];
    let ids = (0..20).map(|id| if BAD.contains(&id) { "null".to_string() } else { id.to_string() });
    let ids: Vec<String> = ids.map(|id| format!("{{\"id\":{id}}}")).collect();
    assert_eq!(answer(&files, &null, "SELECT id FROM t").await, Ok(ids));
    let count = "SELECT count(*) AS n, count(id) AS i FROM t";
    assert_eq!(answer(&files, &null, count).await, lines(&[r#"{"n":20,"i":17}"#]));
    for projection in PROJECTIONS {
        let found = answer(&files, &null, &format!("SELECT {projection} FROM t")).await;
        assert_eq!(found.map(|rows| rows.len()), Ok(20), "{projection}");
    }
    let line = Converted::new(&files[1], &null).line;
    assert!(line.starts_with("20 rows, ") && line.ends_with(" s, 3 records nulled\n"), "{line}");
    let message = answer(&files, &[], "SELECT * FROM t").await.expect_err("bad records");
    assert!(message.starts_with("t.riegeli: record at position "), "{message}");
    let both = [("on_bad_record", "null"), ("nullability", "proto")];
    let message = answer(&files, &both, "SELECT 1 FROM t").await.expect_err("NULL where it cannot be");
    assert!(
        message.starts_with("option 'nullability': on_bad_record = null makes rows of NULLs"),
        "{message}"
    );
}

#[tokio::test]
async fn values_without_a_form_are_null_and_counted() {
    let proto = r#"import "google/protobuf/timestamp.proto"; import "google/protobuf/struct.proto";
        message M { int32 id = 1; google.protobuf.Timestamp t = 2; google.protobuf.Value v = 3; }"#;
    let beyond = "12 0a 08 80 80 80 80 80 80 80 80 10";
    let nan = "1a 09 11 00 00 00 00 00 00 f8 7f";
    let records = [format!("08 01 {beyond}"), format!("08 02 {nan}"), "08 03 12 02 08 05 1a 02 20 01".into()];
    let files = message_files(proto, &records.map(|record| hex(&record)));
    let all = lines(&[
        r#"{"id":1,"t":null,"v":null}"#,
        r#"{"id":2,"t":null,"v":null}"#,
        r#"{"id":3,"t":"1970-01-01T00:00:05Z","v":"true"}"#,
    ]);
    let options = [("on_bad_value", "null")];
    assert_eq!(answer(&files, &options, "SELECT * FROM t").await, all);
    let converted = Converted::new(&files[1], &options);
    assert!(converted.line.ends_with(" s, 2 values nulled\n"), "{}", converted.line);
    for (column, field) in [("t", "field t"), ("v", "field v")] {
        let message = answer(&files, &[], &format!("SELECT {column} FROM t")).await.expect_err("no form");
        assert!(message.contains(field) && message.contains("has no form"), "{message}");
    }
    let ids = lines(&[r#"{"id":1}"#, r#"{"id":2}"#, r#"{"id":3}"#]);
    assert_eq!(
        answer(&files, &[], "SELECT id FROM t").await,
        ids,
        "what is not asked for is not looked into"
    );
}

#[tokio::test]
async fn columns_that_always_have_a_value_are_required_in_parquet() {
    let file = &events()[0];
    let nullable = |column: &str| {
        format!("SELECT is_nullable AS n FROM information_schema.columns WHERE column_name = '{column}'")
    };
    let schema = Converted::new(file, &[("nullability", "proto")]).schema();
    for part in
        ["required int64 id", "required byte_array tag", "optional double score", "optional group place"]
    {
        assert!(schema.to_lowercase().contains(part), "{part} is missing in {schema}");
    }
    let schema = Converted::new(file, &[]).schema();
    assert!(!schema.to_lowercase().contains("required int64 id"), "{schema}");
    let ctx = context(1, 10);
    in_memory(&ctx, &[("t.riegeli", file.clone())]).await;
    let create =
        "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t.riegeli' OPTIONS (nullability 'proto')";
    rows(&ctx, create).await.expect("creates");
    for (column, expected) in [("id", "NO"), ("tag", "NO"), ("score", "YES"), ("place", "YES")] {
        let found = rows(&ctx, &nullable(column)).await.expect("runs");
        assert_eq!(found, [format!("{{\"n\":\"{expected}\"}}")], "{column}");
    }
    let all = answer(&events(), &[], "SELECT * FROM t").await;
    assert_eq!(answer(&events(), &[("nullability", "proto")], "SELECT * FROM t").await, all);
}

/// The records of a file and their positions, as another implementation reads them.
fn positions(bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut reader = RecordReader::new(std::io::Cursor::new(bytes), ReaderOptions::new()).expect("a file");
    let mut records = vec![];
    while let Some(record) = reader.read_record().expect("intact") {
        records.push((reader.last_pos().numeric(), record));
    }
    records
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn columns_about_records_say_where_they_come_from() {
    let unknown = hex("a0 06 05 aa 06 01 78");
    let records: Vec<Vec<u8>> = (0..200)
        .map(|id| [event(id).encode_to_vec(), if id % 3 == 0 { unknown.clone() } else { vec![] }].concat())
        .collect();
    let options = [("metadata_columns", "file,position,record,unknown")];
    for transpose in [false, true] {
        let writer = WriterOptions::new().chunk_size(2000).transpose(transpose);
        let writer =
            writer.compression(CompressionType::Zstd).set_serialized_metadata(metadata(EVENT, "t.Event"));
        let file = riegeli_bytes(&records, writer);
        let known = positions(&file);
        assert!(known.iter().map(|(_, record)| record).eq(&records));
        let expected: Vec<String> = known
            .iter()
            .enumerate()
            .map(|(id, (position, record))| {
                let unknown = if id % 3 == 0 { in_hex(&unknown) } else { String::new() };
                format!(
                    "{{\"_position\":{position},\"id\":{id},\"_file\":\"t.riegeli\",\"r\":\"{}\",\"u\":\"{unknown}\"}}",
                    in_hex(record)
                )
            })
            .collect();
        let query = "SELECT _position, id, _file, encode(_record, 'hex') AS r, coalesce(encode(_unknown, 'hex'), '') AS u FROM t";
        let found = answer(std::slice::from_ref(&file), &options, query).await;
        assert_eq!(found, Ok(expected));
        let disk = OnDisk::new("t.riegeli", &file);
        let raw = tool(["cat", "--raw", &disk.path().display().to_string()]).stdout;
        let mut delimited = vec![];
        for record in &records {
            prost::encoding::encode_varint(record.len() as u64, &mut delimited);
            delimited.extend(record);
        }
        assert!(raw == delimited);
    }
    let file = &events()[0];
    for (columns, names) in [("position", "_position"), ("record, FILE", "_file,_record")] {
        let options = [("metadata_columns", columns)];
        let all =
            answer(std::slice::from_ref(file), &options, "SELECT * FROM t LIMIT 1").await.expect("reads");
        let row: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&all[0]).expect("JSON");
        let own: Vec<&str> = row.keys().map(String::as_str).filter(|name| name.starts_with('_')).collect();
        assert_eq!(own.join(","), names);
    }
    let count = answer(std::slice::from_ref(file), &options, "SELECT count(*) AS n FROM t").await;
    assert_eq!(count, lines(&[r#"{"n":20}"#]));
    let wrong = answer(std::slice::from_ref(file), &[("metadata_columns", "pos")], "SELECT 1 FROM t").await;
    assert!(wrong.expect_err("unknown").contains("'pos' is not one of file, position, record, unknown"));
}

#[tokio::test]
async fn columns_about_records_join_with_other_files() {
    let ctx = context(3, 10);
    let [file, _] = events();
    in_memory(&ctx, &[("d/a.riegeli", file.clone()), ("d/b.riegeli", file.clone())]).await;
    let create = "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///d/' OPTIONS (metadata_columns 'file,position')";
    rows(&ctx, create).await.expect("creates");
    let by_file =
        rows(&ctx, "SELECT _file, count(*) AS n, min(_position) AS p FROM t GROUP BY 1 ORDER BY 1").await;
    let first = positions(&file)[0].0;
    let line = |name: &str| format!("{{\"_file\":\"mem:///d/{name}.riegeli\",\"n\":20,\"p\":{first}}}");
    assert_eq!(by_file.expect("reads"), [line("a"), line("b")]);
    let joined = "SELECT count(*) AS n FROM t AS a JOIN t AS b ON a._position = b._position AND a.id = b.id";
    assert_eq!(rows(&ctx, joined).await.expect("reads"), [r#"{"n":80}"#]);
}

/// A `tf.train.Example` with these features, each as the number of its member and the list in it.
fn example(features: &[(&str, u32, &[u8])]) -> Vec<u8> {
    use prost::encoding::{bytes, string};
    let mut all = vec![];
    for (name, member, list) in features {
        let (mut entry, mut feature) = (vec![], vec![]);
        string::encode(1, &(*name).to_string(), &mut entry);
        bytes::encode(*member, &list.to_vec(), &mut feature);
        bytes::encode(2, &feature, &mut entry);
        bytes::encode(1, &entry, &mut all);
    }
    let mut record = vec![];
    bytes::encode(1, &all, &mut record);
    record
}

const BYTES: u32 = 1;
const FLOAT: u32 = 2;
const INT64: u32 = 3;

#[tokio::test]
async fn features_of_examples_are_columns() {
    let records = [
        example(&[
            ("label", INT64, &[0x0a, 1, 5]),
            ("name", BYTES, b"\x0a\x02hi"),
            ("box", FLOAT, &[0x0a, 8, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]),
        ]),
        example(&[("label", INT64, &[0x0a, 1, 6]), ("box", FLOAT, &[])]),
        example(&[]),
    ];
    let files =
        [false, true].map(|transpose| riegeli_bytes(&records, WriterOptions::new().transpose(transpose)));
    let all = lines(&[
        r#"{"box":[1.0,2.0],"label":5,"name":"hi"}"#,
        r#"{"box":[],"label":6,"name":null}"#,
        r#"{"box":null,"label":null,"name":null}"#,
    ]);
    let given = [("features", "box:float[], label:int64, name:string")];
    for options in [&[("features", "infer")][..], &given] {
        assert_eq!(answer(&files, options, "SELECT * FROM t").await, all, "{options:?}");
        let query = "SELECT label, box[2] AS b FROM t WHERE name = 'hi'";
        assert_eq!(answer(&files, options, query).await, lines(&[r#"{"label":5,"b":2.0}"#]), "{options:?}");
        assert_eq!(answer(&files, options, "SELECT count(*) AS n FROM t").await, lines(&[r#"{"n":3}"#]));
        assert_eq!(Ok(Converted::new(&files[1], options).rows("SELECT * FROM t").await), all, "{options:?}");
    }
    let wrong = [("features", "label:float")];
    let message = answer(&files, &wrong, "SELECT label FROM t").await.expect_err("another kind");
    assert!(message.starts_with("t.riegeli: record at position ") && message.contains("label"), "{message}");
    let lenient = [("features", "label:float"), ("on_bad_value", "null")];
    let nulls = lines(&[r#"{"label":null}"#; 3]);
    assert_eq!(answer(&files, &lenient, "SELECT label FROM t").await, nulls);
    let named = [("message_type", "tensorflow.Example")];
    let query = "SELECT features['feature']['label']['int64_list']['value'][1] AS l FROM t";
    let values = lines(&[r#"{"l":5}"#, r#"{"l":6}"#, r#"{"l":null}"#]);
    assert_eq!(answer(&files, &named, query).await, values);
}

#[tokio::test]
async fn features_of_an_array_record_file_are_columns() {
    let path = data("array_record/default.array_record").display().to_string();
    let infer = tool([
        "query",
        "--format=csv",
        "--partitions=1",
        "-o",
        "features=infer",
        &format!("SELECT id, label FROM '{path}' ORDER BY id LIMIT 3"),
    ]);
    assert_eq!(text(&infer.stdout), "id,label\n0,red\n1,green\n2,blue\n", "{}", text(&infer.stderr));
    let counts = "SELECT count(*) AS n, count(id) AS i, count(weights) AS w FROM t";
    let ctx = context(2, 7);
    for options in [
        "features 'infer'",
        "features 'id:int64, label:string, weights:float[], counts:int64[], tags:bytes[]'",
    ] {
        let create = format!(
            "CREATE OR REPLACE EXTERNAL TABLE t STORED AS ARRAY_RECORD LOCATION '{path}' OPTIONS ({options})"
        );
        rows(&ctx, &create).await.expect(&create);
        assert_eq!(rows(&ctx, counts).await.expect("reads"), [r#"{"n":25,"i":25,"w":25}"#], "{options}");
        let labels = rows(&ctx, "SELECT label FROM t WHERE id < 3 ORDER BY id").await.expect("reads");
        assert_eq!(
            labels,
            [r#"{"label":"red"}"#, r#"{"label":"green"}"#, r#"{"label":"blue"}"#],
            "{options}"
        );
    }
}
