//! Which files a path or a pattern stands for, and what is taken of files whose head is damaged.

use std::path::Path;

use recordfusion::convert::Conversion;
use recordfusion::{Options, RecordTable, TableDefinition};

use crate::support::{context, error, event_file, in_memory, rows, text, tool};

fn write(folder: &Path, files: &[(&str, std::ops::Range<i64>)]) {
    for (name, ids) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("writable");
        std::fs::write(path, event_file(ids.clone(), 1000, false)).expect("writable");
    }
}

const TREE: [(&str, std::ops::Range<i64>); 6] = [
    ("day=1/f.riegeli", 0..1),
    ("day=2/f.riegeli", 1..3),
    ("day=2/g.bin", 3..7),
    ("mix/a/f.riegeli", 7..15),
    ("mix/b/c/f.riegeli", 15..31),
    ("mix/top.riegeli", 31..63),
];

/// Patterns below the folder of [`TREE`], and the number of rows in their files.
const PATTERNS: [(&str, usize); 9] = [
    ("day=*/f.riegeli", 3),
    ("*/f.riegeli", 3),
    ("day=*2/*", 6),
    ("day=[!1]/*.bin", 4),
    ("mix/*.riegeli", 32),
    ("mix/?/f.riegeli", 8),
    ("mix/**/f.riegeli", 24),
    ("mix/*/c/*", 16),
    ("mix/*/", 24),
];

#[tokio::test]
async fn patterns_match_as_in_a_shell_in_every_place() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &TREE);
    let ctx = context(2, 100);
    let files: Vec<_> =
        TREE.iter().map(|(name, ids)| (*name, event_file(ids.clone(), 1000, false))).collect();
    in_memory(&ctx, &files).await;
    for (pattern, expected) in PATTERNS {
        let local = format!("{}/{pattern}", folder.path().display());
        for place in [local.clone(), format!("mem:///{pattern}")] {
            let count = rows(&ctx, &format!("SELECT count(*) AS n FROM '{place}'")).await;
            assert_eq!(count.expect("reads"), [format!("{{\"n\":{expected}}}")], "{place}");
            let splits = format!("SELECT count(DISTINCT file) > 0 AS n FROM record_splits('{place}', 4)");
            assert_eq!(rows(&ctx, &splits).await.expect("lists"), ["{\"n\":true}"], "{place}");
        }
        assert_eq!(text(&tool(["cat", &local]).stdout).lines().count(), expected, "{pattern}");
        let verified = text(&tool(["verify", &local]).stdout);
        let files = verified.lines().filter(|line| line.starts_with("ok ")).count();
        assert!(files > 0 && files == verified.lines().count(), "{pattern}: {verified}");
        let output = folder.path().join("out.ndjson");
        let output = output.display().to_string();
        let said = text(&tool(["convert", &local, &output]).stderr);
        assert!(said.starts_with(&format!("{expected} rows")), "{pattern}: {said}");
        std::fs::remove_file(output).expect("written");
    }
    let local = format!("{}/*.riegeli", folder.path().display());
    let message = error(&ctx, &format!("SELECT * FROM '{local}'")).await;
    assert!(message.contains("no files at") && message.contains("** would look into folders"), "{message}");
}

#[tokio::test]
async fn partition_columns_come_from_the_folders_that_a_pattern_spans() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &TREE);
    let ctx = context(2, 100);
    let root = folder.path().display();
    let days = ["{\"day\":\"1\",\"n\":1}", "{\"day\":\"2\",\"n\":2}"];
    let query = |table: &str| format!("SELECT day, count(*) AS n FROM {table} GROUP BY day ORDER BY day");
    assert_eq!(rows(&ctx, &query(&format!("'{root}/day=*/f.riegeli'"))).await.expect("reads"), days);
    let create = format!(
        "CREATE EXTERNAL TABLE t STORED AS RIEGELI PARTITIONED BY (day) LOCATION '{root}/*/f.riegeli'"
    );
    rows(&ctx, &create).await.expect("creates");
    assert_eq!(rows(&ctx, &query("t")).await.expect("reads"), days);
    assert_eq!(rows(&ctx, "SELECT id FROM t WHERE day = '1'").await.expect("reads"), ["{\"id\":0}"]);
    // Files of several kinds of folders have no partition columns.
    write(folder.path(), &[("mixed/kind=1/x.riegeli", 0..1), ("mixed/plain/x.riegeli", 1..2)]);
    let mixed = rows(&ctx, &format!("SELECT id FROM '{root}/mixed/*/x.riegeli' ORDER BY id")).await;
    assert_eq!(mixed.expect("reads"), ["{\"id\":0}", "{\"id\":1}"]);
    // A file that is put beside the partitions afterwards is not left out without a word.
    write(folder.path(), &[("stray/f.riegeli", 0..1)]);
    let message = error(&ctx, "SELECT id FROM t").await;
    assert!(message.contains("stray/f.riegeli lies in no partition folder"), "{message}");
}

#[tokio::test]
async fn other_formats_follow_the_same_rules() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().display().to_string();
    let ctx = context(2, 100);
    for (name, id) in [("day=1/f", 1), ("day=2/f", 2), ("top", 3), ("res[final]", 4)] {
        for format in ["parquet", "csv"] {
            let path = folder.path().join(format!("{format}/{name}.{format}"));
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            let plain = folder.path().join(format!("x.{format}")).display().to_string();
            let sql = format!("COPY (SELECT {id} AS id) TO '{plain}' STORED AS {format}");
            rows(&ctx, &sql).await.expect("writes");
            std::fs::rename(plain, path).expect("moves");
        }
    }
    for format in ["parquet", "csv"] {
        for (pattern, expected) in [
            (format!("{format}/*.{format}"), "{\"n\":2,\"s\":7}"),
            (format!("{format}/day=*/*.{format}"), "{\"n\":2,\"s\":3}"),
            (format!("{format}/res[final].{format}"), "{\"n\":1,\"s\":4}"),
            (format!("{format}/t?p.{format}"), "{\"n\":1,\"s\":3}"),
        ] {
            let sql = format!("SELECT count(*) AS n, sum(id) AS s FROM '{root}/{pattern}'");
            assert_eq!(rows(&ctx, &sql).await.expect("reads"), [expected], "{pattern}");
        }
        let sql = format!("SELECT day, id FROM '{root}/{format}/day=*/*.{format}' WHERE day > '1'");
        assert_eq!(rows(&ctx, &sql).await.expect("reads"), ["{\"day\":\"2\",\"id\":2}"]);
        let input = format!("{root}/{format}/*.{format}");
        let said = text(&tool(["convert", &input, &format!("{root}/out.{format}.ndjson")]).stderr);
        assert!(said.starts_with("2 rows"), "{said}");
    }
    let message = error(&ctx, &format!("SELECT * FROM '{root}/parquet/nothing*.parquet'")).await;
    assert!(message.contains("no files at"), "{message}");
}

#[test]
fn a_path_that_exists_is_that_path_in_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in [
        "res[final].riegeli",
        "what?.riegeli",
        "a*b.riegeli",
        "50%.riegeli",
        "a%20b.riegeli",
        "a#b.riegeli",
        "a b .riegeli",
        "größe-日本.riegeli",
        "in [x]/f.riegeli",
        "a:b.riegeli",
        "[open.riegeli",
    ] {
        write(folder.path(), &[(name, 0..3)]);
        let path = folder.path().join(name).display().to_string();
        let output = folder.path().join("out.csv").display().to_string();
        for (command, more) in
            [("cat", None), ("schema", None), ("inspect", None), ("verify", None), ("convert", Some(&output))]
        {
            let done = tool([command, &path].into_iter().chain(more.map(String::as_str)));
            assert!(done.status.success(), "{command} {name}: {}", text(&done.stderr));
        }
        let counted = tool(["query", "--format", "csv", &format!("SELECT count(*) AS n FROM '{path}'")]);
        assert_eq!(text(&counted.stdout), "n\n3\n", "{name}: {}", text(&counted.stderr));
    }
    // As results of a pattern, and of a folder.
    let root = folder.path().display();
    for (place, expected) in [(format!("{root}/*.riegeli"), "30"), (format!("{root}/**/*.riegeli"), "33")] {
        let counted = tool(["query", "--format", "csv", &format!("SELECT count(*) AS n FROM '{place}'")]);
        assert_eq!(text(&counted.stdout), format!("n\n{expected}\n"), "{}", text(&counted.stderr));
    }
    // A name that has pattern characters can still be written as a pattern.
    let escaped = tool(["cat", &format!("{root}/res[[]final*")]);
    assert_eq!(text(&escaped.stdout).lines().count(), 3);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_does_not_hide_the_rest_of_a_folder() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    write(root, &[("a.riegeli", 0..3), ("sub/b.riegeli", 3..7)]);
    let bytes = event_file(7..9, 1000, false);
    std::fs::write(root.join(OsStr::from_bytes(b"bad\xff.riegeli")), &bytes).expect("writable");
    std::fs::write(root.join("tab\there.riegeli"), &bytes).expect("writable");
    std::os::unix::fs::symlink(root, root.join("sub/loop")).expect("writable");
    let place = root.display().to_string();
    let output = root.with_extension("csv").display().to_string();
    for (args, rows) in [
        (vec!["query", "--format", "csv", "SELECT count(*) AS n FROM '%'"], "n\n7\n"),
        (vec!["convert", "%", &output], ""),
        (vec!["verify", "%"], "2"),
    ] {
        let done = tool(args.iter().map(|arg| arg.replace('%', &place)));
        let said = text(&done.stderr);
        assert!(done.status.success(), "{args:?}: {said}");
        for reason in [
            "is passed over: its name is not UTF-8",
            "is passed over: its name has a control character",
            "sub/loop is passed over: it is a link to a folder that it lies in",
        ] {
            assert_eq!(said.matches(reason).count(), 1, "{args:?}: {said}");
        }
        match args[0] {
            "query" => assert_eq!(text(&done.stdout), rows),
            "verify" => assert_eq!(text(&done.stdout).lines().count().to_string(), rows),
            _ => assert!(said.contains("7 rows"), "{said}"),
        }
    }
    // A pattern that does not reach a place says nothing of it.
    let named =
        tool(["query", "--format", "csv", &format!("SELECT count(*) AS n FROM '{place}/a*.riegeli'")]);
    assert_eq!((text(&named.stdout), text(&named.stderr)), ("n\n3\n".to_string(), String::new()));
    std::fs::remove_file(output).expect("written");
}

#[tokio::test]
async fn a_damaged_head_does_not_hide_a_file_that_is_read_in_spite_of_damage() {
    let ctx = context(2, 100);
    let whole = event_file(0..3000, 3000, false);
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    let text_file = b"no records at all".to_vec();
    let files = [
        ("d/x.riegeli", damaged.clone()),
        ("d/unnamed", damaged.clone()),
        ("e/a.riegeli", whole),
        ("e/b.riegeli", damaged),
        ("n/notes.txt", text_file),
    ];
    in_memory(&ctx, &files).await;
    for file in ["d/x.riegeli", "d/unnamed"] {
        let message = error(&ctx, &format!("SELECT count(*) FROM 'mem:///{file}'")).await;
        assert!(message.contains("is not a riegeli file: its first bytes are others"), "{message}");
        assert!(message.contains("on_corruption=skip") && message.contains("repair"), "{message}");
    }
    rows(&ctx, "SET recordfusion.on_corruption = 'skip'").await.expect("sets");
    let of_one = rows(&ctx, "SELECT count(*) AS n, max(id) AS m FROM 'mem:///d/x.riegeli'").await;
    let of_one = of_one.expect("reads");
    assert!(of_one[0].ends_with("\"m\":2999}") && !of_one[0].contains("\"n\":3000"), "{of_one:?}");
    let unnamed = rows(&ctx, "SELECT count(*) AS n, max(id) AS m FROM 'mem:///d/unnamed'").await;
    assert_eq!(unnamed.expect("reads"), of_one);
    // The metadata behind the signature are whole, so that the columns are known.
    assert!(!rows(&ctx, "SELECT tag FROM 'mem:///d/x.riegeli' LIMIT 1").await.expect("reads").is_empty());
    let both = rows(&ctx, "SELECT count(*) > 3000 AS n FROM 'mem:///e/'").await.expect("reads");
    assert_eq!(both, ["{\"n\":true}"]);
    let message = error(&ctx, "SELECT count(*) FROM 'mem:///n/notes.txt'").await;
    assert!(message.contains("notes.txt"), "{message}");
}

#[test]
fn verify_and_repair_read_a_file_with_a_damaged_head() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut bytes = event_file(0..3000, 3000, false);
    bytes[40] ^= 1;
    std::fs::write(path("x.riegeli"), &bytes).expect("writable");
    let verified = tool(["verify", &path("x.riegeli")]);
    let said = text(&verified.stdout);
    assert_eq!(verified.status.code(), Some(1));
    assert!(said.contains("damaged at byte 0") && said.contains("are whole"), "{said}");
    let repaired = tool(["repair", &path("x.riegeli"), &path("y.riegeli")]);
    assert!(repaired.status.success(), "{}", text(&repaired.stderr));
    assert!(text(&tool(["verify", &path("y.riegeli")]).stdout).starts_with("ok "));
    // The metadata come along.
    let count = |path: &str, options: &[&str]| {
        let sql = format!("SELECT count(id) AS n FROM '{path}'");
        text(&tool(["query", "--format", "csv", &sql].iter().chain(options)).stdout)
    };
    let rows = count(&path("y.riegeli"), &[]);
    assert!(rows.starts_with("n\n") && rows != "n\n0\n", "{rows}");
    assert_eq!(rows, count(&path("x.riegeli"), &["-o", "on_corruption=skip"]));
    let inspected = tool(["inspect", &path("x.riegeli")]);
    assert!(text(&inspected.stderr).contains("repair copies that"), "{}", text(&inspected.stderr));
}

#[test]
fn recordio_files_with_a_damaged_head_are_known_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let sql = format!(
        "COPY (SELECT value AS id FROM generate_series(1, 10000)) TO '{}' STORED AS RECORDIO
           OPTIONS (max_chunk_bytes '4K')",
        path("x.recordio")
    );
    assert!(tool(["query", &sql]).status.success());
    let mut bytes = std::fs::read(path("x.recordio")).expect("written");
    bytes[1] ^= 1;
    for name in ["x.recordio", "unnamed"] {
        std::fs::write(path(name), &bytes).expect("writable");
    }
    let query = |sql: String| tool(["query", "--format", "csv", "-o", "on_corruption=skip", &sql]);
    let rows = text(&query(format!("SELECT count(*) AS n FROM '{}'", path("x.recordio"))).stdout);
    let rows: u64 = rows.trim_start_matches("n\n").trim().parse().expect("a number");
    assert!(rows > 5000 && rows < 10000, "{rows}");
    assert!(!query(format!("SELECT count(*) FROM '{}'", path("unnamed"))).status.success());
    let named = format!(
        "CREATE EXTERNAL TABLE t STORED AS RECORDIO LOCATION '{}'; SELECT count(*) AS n FROM t",
        path("unnamed")
    );
    assert!(text(&query(named).stdout).ends_with(&format!("n\n{rows}\n")));
    let verified = text(&tool(["verify", &path("x.recordio")]).stdout);
    assert!(verified.contains("damaged at byte 0"), "{verified}");
    let repaired = tool(["repair", &path("x.recordio"), &path("y.recordio")]);
    assert!(repaired.status.success(), "{}", text(&repaired.stderr));
    let refused = text(&query(format!("SELECT 1 FROM '{}'", path("y.recordio"))).stderr);
    assert_eq!(refused, "");
    let strict = tool(["query", &format!("SELECT count(*) FROM '{}'", path("x.recordio"))]);
    assert!(text(&strict.stderr).contains("on_corruption=skip"), "{}", text(&strict.stderr));
}

#[tokio::test]
async fn unknown_options_are_refused_wherever_they_are_given() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &[("x.riegeli", 0..3)]);
    let path = folder.path().join("x.riegeli").display().to_string();
    let output = |name: &str| folder.path().join(name).display().to_string();
    let ctx = context(1, 100);
    let wrong = Options::new().with("mesage_type", "t.Event");
    let expected = "unknown option 'mesage_type'; did you mean 'message_type'?";
    let message = |error| recordfusion::error_message(&error);
    let table = TableDefinition::new(path.as_str()).with_options(wrong.clone());
    let opened = RecordTable::open(&ctx.state(), table).await;
    assert_eq!(message(opened.expect_err("unknown")), expected);
    assert_eq!(message(recordfusion::register_with_options(&ctx, wrong.clone()).unwrap_err()), expected);
    for to in ["y.parquet", "y.riegeli"] {
        let conversion = Conversion { options: wrong.clone(), ..Conversion::new([&path], output(to)) };
        assert_eq!(message(conversion.prepare(&ctx).await.expect_err("unknown")), expected, "{to}");
    }
    let conversion = Conversion { write_options: wrong, ..Conversion::new([&path], output("y.riegeli")) };
    assert_eq!(message(conversion.prepare(&ctx).await.expect_err("unknown")), expected);
    let write_options = Options::new().with("transpose", "true");
    let conversion = Conversion { write_options, ..Conversion::new([&path], output("y.parquet")) };
    let said = message(conversion.prepare(&ctx).await.expect_err("it would have no effect"));
    assert!(said.contains("option 'transpose' is of writing record files"), "{said}");
}

#[test]
fn options_work_bare_in_every_statement_of_the_tool() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().display();
    write(folder.path(), &[("t/x.riegeli", 0..3)]);
    let sql = format!(
        "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{root}/t/'
           OPTIONS (compression 'zstd:5', transpose 'true', on_corruption 'skip');
         INSERT INTO t SELECT * FROM t;
         COPY (SELECT 1 AS id) TO '{root}/y.riegeli' STORED AS RIEGELI OPTIONS (compression 'brotli:3');
         SELECT count(*) AS n FROM t"
    );
    let done = tool(["query", "--format", "csv", &sql]);
    assert!(text(&done.stdout).ends_with("n\n6\n"), "{}{}", text(&done.stdout), text(&done.stderr));
    let wrong = tool([
        "query",
        &format!(
            "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{root}/t/' OPTIONS (compresion 'none')"
        ),
    ]);
    assert!(text(&wrong.stderr).contains("did you mean 'compression'?"), "{}", text(&wrong.stderr));
}

#[tokio::test]
async fn the_library_runs_statements_with_bare_options() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().display();
    write(folder.path(), &[("t/x.riegeli", 0..3)]);
    let ctx = context(1, 100);
    let create = |name: &str, option: &str| {
        format!(
            "CREATE EXTERNAL TABLE {name} STORED AS RIEGELI LOCATION '{root}/t/' OPTIONS ({option} 'zstd:5')"
        )
    };
    for (name, option) in [("a", "compression"), ("b", "format.compression"), ("c", "riegeli.compression")] {
        recordfusion::sql(&ctx, &create(name, option)).await.expect("creates");
    }
    // What a plain session takes.
    for (name, option) in [("d", "'riegeli.compression'"), ("e", "'recordfusion.compression'")] {
        ctx.sql(&create(name, option)).await.expect("creates");
    }
    recordfusion::sql(&ctx, "RESET recordfusion.message_type").await.expect("resets");
}

#[tokio::test]
async fn conditions_find_values_by_aliases() {
    use crate::support::{metadata, riegeli_bytes};
    use riegeli::WriterOptions;
    let proto = "syntax = \"proto3\"; package t;
        enum E { option allow_alias = true; ZERO = 0; ONE = 1; UNO = 1; TWO = 2; }
        message S { E e = 1; }
        message M { E e = 1; repeated E es = 2; S s = 3; map<string, E> m = 4; }";
    let options = || WriterOptions::new().set_serialized_metadata(metadata(proto, "t.M"));
    // e, es = [e], s.e, m['k'] are all the same number.
    let record = |n: u8| {
        let parts: [&[u8]; 4] =
            [&[8, n], &[0x12, 1, n], &[0x1a, 2, 8, n], &[0x22, 5, 0x0a, 1, b'k', 0x10, n]];
        parts.concat()
    };
    let ctx = context(1, 100);
    in_memory(&ctx, &[("x.riegeli", riegeli_bytes([0, 1, 2, 7, 1].map(record), options()))]).await;
    for form in ["name", "string"] {
        rows(&ctx, &format!("SET recordfusion.enum = '{form}'")).await.expect("sets");
        for (condition, expected) in [
            ("e = 'UNO'", 2),
            ("'UNO' = e", 2),
            ("e = 'ONE'", 2),
            ("e <> 'UNO'", 3),
            ("e IN ('UNO', 'TWO')", 3),
            ("e NOT IN ('UNO', 'TWO')", 2),
            ("e IS DISTINCT FROM 'UNO'", 3),
            ("s['e'] = 'UNO'", 2),
            ("es[1] = 'UNO'", 2),
            ("m['k'] = 'UNO'", 2),
            ("e = '7'", 1),
            ("e = 'UNA'", 0),
            ("NOT (e = 'UNO' AND e = 'ONE')", 3),
        ] {
            let sql = format!("SELECT count(*) AS n FROM 'mem:///x.riegeli' WHERE {condition}");
            assert_eq!(
                rows(&ctx, &sql).await.expect("reads"),
                [format!("{{\"n\":{expected}}}")],
                "{form}: {condition}"
            );
        }
        let shown = rows(&ctx, "SELECT e = 'UNO' FROM 'mem:///x.riegeli' LIMIT 2").await.expect("reads");
        assert!(shown[1].ends_with(":true}"), "{shown:?}");
    }
}

#[test]
fn a_condition_that_no_value_can_meet_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), &[("x.riegeli", 0..3)]);
    let path = folder.path().join("x.riegeli").display().to_string();
    let output = folder.path().join("y.csv").display().to_string();
    let query = |condition: &str| {
        let done = tool(["query", &format!("SELECT count(*) FROM '{path}' WHERE {condition}")]);
        text(&done.stderr)
    };
    let said = query("level = 'HIHG'");
    assert!(
        said.contains("warning: 'HIHG' is no value of") && said.contains("did you mean 'HIGH'?"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(query("level IN ('HIGH', 'HI')").contains("'HI' is no value of"));
    assert!(query("level = '1'").contains("the number shows as 'HIGH'"));
    assert_eq!(query("level = 'HIGH' OR level = '2'"), "");
    let converted = tool(["convert", &path, &output, "--where", "level = 'HIHG'"]);
    assert!(text(&converted.stderr).contains("'HIHG' is no value of"), "{}", text(&converted.stderr));
}

#[test]
fn a_sort_goes_on_in_files_under_a_memory_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let rows = "SELECT value AS id, md5(cast(value AS varchar)) AS k, repeat('x', 200) AS t
                FROM generate_series(1, 300000)";
    let made = tool(["query", &format!("COPY ({rows}) TO '{}' STORED AS RIEGELI", path("x.riegeli"))]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let sort = format!(
        "COPY (SELECT * FROM '{}' ORDER BY k) TO '{}' STORED AS PARQUET",
        path("x.riegeli"),
        path("y.parquet")
    );
    let options = ["--partitions", "2", "-o", "string_type=utf8"];
    let limited = tool(["query", "--memory-limit", "64M", &sort].iter().chain(&options));
    assert!(limited.status.success(), "{}", text(&limited.stderr));
    let count = format!("SELECT count(*) AS n FROM '{}'", path("y.parquet"));
    assert_eq!(text(&tool(["query", "--format", "csv", &count]).stdout), "n\n300000\n");
    // The limit is one: too little is an error that says so.
    let failed = tool(["query", "--memory-limit", "64K", &sort].iter().chain(&options));
    assert!(!failed.status.success());
    let wrong = tool(["query", "--memory-limit", "much", &sort]);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong.stderr));
}
