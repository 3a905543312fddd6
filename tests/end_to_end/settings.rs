//! Table options as settings of a session, and in the help of the tool.

use std::collections::HashMap;
use std::fs;

use datafusion::catalog::TableProvider;
use datafusion::datasource::listing::{ListingOptions, ListingTableUrl};
use datafusion::prelude::{SessionConfig, SessionContext};
use recordfusion::datasource::execute_logical_plan;
use recordfusion::{Options, RecordTable, TableDefinition, registry};
use tempfile::TempDir;

use crate::support::{EVENT, context, error, event_file, in_memory, rows, text, tool};

/// A session with a file of events, whose first column is `id`; that of a place is `city`.
async fn with_events(initial: Options) -> SessionContext {
    let ctx = SessionContext::new_with_config(SessionConfig::new().with_information_schema(true));
    recordfusion::register_with_options(&ctx, initial).expect("registers");
    in_memory(&ctx, &[("t.riegeli", event_file(0..5, 1000, false))]).await;
    ctx
}

async fn run(ctx: &SessionContext, sql: &str) {
    let plan = ctx.state().create_logical_plan(sql).await.expect(sql);
    execute_logical_plan(ctx, plan).await.expect(sql);
}

async fn first_column(ctx: &SessionContext, table: &str) -> String {
    let table = ctx.sql(&format!("SELECT * FROM {table}")).await.expect(table);
    table.schema().field(0).name().clone()
}

async fn first_column_created(ctx: &SessionContext, options: &str) -> String {
    let create =
        format!("CREATE OR REPLACE EXTERNAL TABLE c STORED AS RIEGELI LOCATION 'mem:///t.riegeli' {options}");
    run(ctx, &create).await;
    first_column(ctx, "c").await
}

async fn first_column_opened(ctx: &SessionContext, options: Options) -> String {
    let definition = TableDefinition::new("mem:///t.riegeli").with_options(options);
    let table = RecordTable::open(&ctx.state(), definition).await.expect("opens");
    table.schema().field(0).name().clone()
}

async fn first_column_listed(ctx: &SessionContext) -> String {
    let state = ctx.state();
    let factory = state.get_file_format_factory("riegeli").expect("registered");
    let format = factory.create(&state, &HashMap::new()).expect("no options");
    let path = ListingTableUrl::parse("mem:///").expect("a URL");
    let schema = ListingOptions::new(format).infer_schema(&state, &path).await.expect("a schema");
    schema.field(0).name().clone()
}

async fn shown(ctx: &SessionContext, option: &str) -> Option<String> {
    let line = rows(ctx, &format!("SHOW recordfusion.{option}")).await.expect("shows").remove(0);
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(line["name"], format!("recordfusion.{option}"));
    line["value"].as_str().map(String::from)
}

#[tokio::test]
async fn a_setting_applies_to_all_tables_opened_afterwards() {
    let ctx = with_events(Options::new()).await;
    assert_eq!(first_column(&ctx, "'mem:///t.riegeli'").await, "id");
    run(&ctx, "CREATE EXTERNAL TABLE before STORED AS RIEGELI LOCATION 'mem:///t.riegeli'").await;
    for (statement, column, value) in [
        ("SET recordfusion.message_type = 't.Place'", "city", Some("t.Place")),
        ("SET RecordFusion.Message_Type TO 't.Event'", "id", Some("t.Event")),
        ("SET recordfusion.message_type = 't.Place'", "city", Some("t.Place")),
        ("RESET recordfusion.message_type", "id", None),
        ("SET recordfusion.message_type = 't.Place'", "city", Some("t.Place")),
        ("SET recordfusion.message_type = ''", "id", None),
    ] {
        run(&ctx, statement).await;
        assert_eq!(shown(&ctx, "message_type").await.as_deref(), value, "{statement}");
        assert_eq!(first_column(&ctx, "'mem:///t.riegeli'").await, column, "{statement}");
        assert_eq!(first_column_created(&ctx, "").await, column, "{statement}");
        assert_eq!(first_column_opened(&ctx, Options::new()).await, column, "{statement}");
        assert_eq!(first_column_listed(&ctx).await, column, "{statement}");
        assert_eq!(first_column(&ctx, "before").await, "id", "{statement}");
    }
}

#[tokio::test]
async fn options_of_the_table_win() {
    let ctx = with_events(Options::new()).await;
    run(&ctx, "SET recordfusion.message_type = 't.Place'").await;
    for options in [
        "OPTIONS (message_type 't.Event')",
        "OPTIONS ('format.message_type' 't.Event')",
        "OPTIONS ('riegeli.message_type' 't.Event')",
        "OPTIONS ('recordfusion.message_type' 't.Event')",
        "OPTIONS (message_type '')",
    ] {
        assert_eq!(first_column_created(&ctx, options).await, "id", "{options}");
    }
    assert_eq!(first_column_created(&ctx, "OPTIONS ('aws.region' 'x')").await, "city");
    assert_eq!(first_column_opened(&ctx, Options::new().with("message_type", "t.Event")).await, "id");
    let create = "CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION 'mem:///t.riegeli' \
                  OPTIONS ('recordfusion.mesage_type' 'x')";
    assert_eq!(error(&ctx, create).await, "unknown option 'mesage_type'; did you mean 'message_type'?");
}

#[tokio::test]
async fn a_setting_that_contradicts_an_option_of_the_table_gives_way() {
    let folder = TempDir::new().expect("a folder");
    let proto = folder.path().join("event.proto");
    fs::write(&proto, EVENT).expect("written");
    let ctx = with_events(Options::new()).await;
    run(&ctx, "SET recordfusion.descriptor_set = 'nowhere.fds'").await;
    run(&ctx, "SET recordfusion.message_type = 't.Place'").await;
    let by_path = error(&ctx, "SELECT * FROM 'mem:///t.riegeli'").await;
    assert!(by_path.contains("nowhere.fds"), "{by_path}");
    let options = format!("OPTIONS (proto '{}')", proto.display());
    assert_eq!(first_column_created(&ctx, &options).await, "city");
}

#[tokio::test]
async fn registered_options_are_the_initial_values() {
    let ctx = with_events(Options::new().with("message_type", "t.Place")).await;
    for (statement, column, value) in [
        ("SELECT 1", "city", Some("t.Place")),
        ("SET recordfusion.message_type = ''", "id", None),
        ("RESET recordfusion.message_type", "city", Some("t.Place")),
        ("SET recordfusion.message_type = 't.Event'", "id", Some("t.Event")),
        ("RESET recordfusion.message_type", "city", Some("t.Place")),
    ] {
        run(&ctx, statement).await;
        assert_eq!(shown(&ctx, "message_type").await.as_deref(), value, "{statement}");
        assert_eq!(first_column(&ctx, "'mem:///t.riegeli'").await, column, "{statement}");
        assert_eq!(first_column_created(&ctx, "").await, column, "{statement}");
    }
    assert_eq!(first_column_created(&ctx, "OPTIONS (message_type 't.Event')").await, "id");
}

#[test]
fn wrong_options_are_not_registered() {
    for (options, message) in [
        (
            Options::new().with("protos", "x"),
            "unknown option 'protos'; did you mean 'proto' or 'proto_path'?",
        ),
        (
            Options::new().with("proto", "a").with("descriptor_set", "b"),
            "option 'proto': descriptor_set is given too, and only one of them can be",
        ),
    ] {
        let error = recordfusion::register_with_options(&SessionContext::new(), options).unwrap_err();
        assert_eq!(recordfusion::error_message(&error), message);
    }
}

#[tokio::test]
async fn a_wrong_setting_is_refused_and_changes_nothing() {
    let ctx = context(1, 1000);
    run(&ctx, "SET recordfusion.proto = 'a.proto'").await;
    let known: Vec<_> = registry::all_options().iter().map(|option| option.name).collect();
    let far_off = format!("unknown option 'zzz'; known options are {}", known.join(", "));
    for (statement, message) in [
        ("SET recordfusion.mesage_type = 'x'", "unknown option 'mesage_type'; did you mean 'message_type'?"),
        ("SET recordfusion.zzz = ''", far_off.as_str()),
        ("SET recordfusion.enum = 'nam'", "option 'enum': 'nam' is not one of name, number, string"),
        (
            "SET recordfusion.descriptor_set = 'a.fds'",
            "option 'proto': descriptor_set is given too, and only one of them can be",
        ),
    ] {
        assert_eq!(error(&ctx, statement).await, message, "{statement}");
        assert_eq!(shown(&ctx, "proto").await.as_deref(), Some("a.proto"));
        assert_eq!(shown(&ctx, "descriptor_set").await, None);
    }
    let reset = ctx.state().create_logical_plan("RESET recordfusion.protos").await.expect("plans");
    let refused = execute_logical_plan(&ctx, reset).await.expect_err("unknown");
    assert!(recordfusion::error_message(&refused).contains("did you mean 'proto' or"), "{refused}");
}

#[tokio::test]
async fn the_settings_are_the_options_of_the_registry() {
    let ctx = context(1, 1000);
    let sql = "SELECT name, description FROM information_schema.df_settings \
               WHERE name LIKE 'recordfusion.%' ORDER BY name";
    let found = rows(&ctx, sql).await.expect("runs");
    let known = registry::all_options().into_iter().map(|option| {
        let name = format!("recordfusion.{}", option.name);
        serde_json::json!({ "name": name, "description": option.description })
    });
    let found: Vec<serde_json::Value> =
        found.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(found, known.collect::<Vec<_>>());
    assert!(!found.is_empty());
}

#[tokio::test]
async fn other_settings_and_formats_are_as_ever() {
    let folder = TempDir::new().expect("a folder");
    let copy = folder.path().join("x.parquet");
    let ctx = with_events(Options::new()).await;
    run(&ctx, "SET recordfusion.message_type = 't.Place'").await;
    let write = format!(
        "COPY (SELECT city FROM 'mem:///t.riegeli') TO '{}' OPTIONS (compression 'zstd(3)')",
        copy.display()
    );
    rows(&ctx, &write).await.expect("writes");
    assert_eq!(first_column(&ctx, &format!("'{}'", copy.display())).await, "city");
    run(&ctx, "SET datafusion.execution.batch_size = 7").await;
    assert_eq!(ctx.state().config().batch_size(), 7);
    run(&ctx, "RESET datafusion.execution.batch_size").await;
    assert_eq!(ctx.state().config().batch_size(), SessionConfig::new().batch_size());
    let plan = ctx.state().create_logical_plan("RESET other.x").await.expect("plans");
    assert!(execute_logical_plan(&ctx, plan).await.is_err());
}

#[test]
fn the_tool_resets_to_what_it_was_called_with() {
    let sql = "SHOW recordfusion.message_type; SET recordfusion.message_type = 'a.C'; \
               SHOW recordfusion.message_type; RESET recordfusion.message_type; SHOW recordfusion.message_type";
    let output = tool(["query", "--format", "tsv", "-o", "message_type=a.B", sql]);
    let values: Vec<_> = text(&output.stdout)
        .lines()
        .filter_map(|line| Some(line.strip_prefix("recordfusion.message_type\t")?.to_string()))
        .collect();
    assert_eq!(values, ["a.B", "a.C", "a.B"], "{}", text(&output.stderr));
    let both = tool(["query", "-o", "proto=a", "-o", "descriptor_set=b", "SELECT 1"]);
    assert_eq!(both.status.code(), Some(2), "{}", text(&both.stderr));
}

#[test]
fn the_help_lists_the_table_options() {
    for command in ["query", "convert", "schema", "cat", "verify", "repair"] {
        let long = text(&tool([command, "--help"]).stdout);
        let (_, section) = long.split_once("\nTable options (-o KEY=VALUE):\n").expect(command);
        for option in registry::options() {
            let line = format!("  {}={}\n", option.name, option.values);
            let (_, below) = section.split_once(&line).expect(&line);
            let first_word = option.description.split(' ').next().unwrap_or_default();
            assert!(below.trim_start().starts_with(first_word), "{command}: {section}");
        }
        let short = text(&tool([command, "-h"]).stdout);
        assert!(short.contains("Table options") && !short.contains("descriptor_set="), "{short}");
    }
    assert!(!text(&tool(["inspect", "--help"]).stdout).contains("Table options"));
}
