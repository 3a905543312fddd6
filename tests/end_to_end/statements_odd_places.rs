//! Outputs that are private, links, pipes, of odd names, or files that are needed: the same in all commands.

#![cfg(unix)]

use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::{event_file, text, tool};

/// Writes to a file in each way, of which some add to it and others replace it.
fn ways(input: &str, output: &str) -> Vec<Vec<String>> {
    let table = format!("CREATE EXTERNAL TABLE t STORED AS RIEGELI LOCATION '{output}'");
    let ways: [&[&str]; 6] = [
        &["query", &format!("COPY (SELECT 1 AS a) TO '{output}' STORED AS RIEGELI")],
        &["query", &format!("{table}; INSERT INTO t SELECT * FROM '{input}'")],
        &["convert", "--progress", "never", input, output],
        &["convert", "--progress", "never", "--append", input, output],
        &["repair", input, output],
        &["convert", "--progress", "never", "--report", output, input, &format!("{output}.csv")],
    ];
    ways.iter().map(|args| args.iter().map(ToString::to_string).collect()).collect()
}

fn run(args: &[String]) -> Output {
    let done = tool(args);
    assert_eq!(done.status.code(), Some(0), "{args:?}: {}", text(&done.stderr));
    done
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().display().to_string()).collect();
    names.sort();
    names
}

#[test]
fn modes_and_links_are_kept() {
    for way in 0..6 {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let shown = |name: &str| at(name).display().to_string();
        std::fs::write(at("in.riegeli"), event_file(0..20, 300, false)).expect("written");
        std::fs::copy(at("in.riegeli"), at("real.riegeli")).expect("copied");
        std::fs::set_permissions(at("real.riegeli"), std::fs::Permissions::from_mode(0o640)).expect("set");
        symlink("real.riegeli", at("link.riegeli")).expect("linked");
        let before = std::fs::metadata(at("real.riegeli")).expect("there");
        let args = &ways(&shown("in.riegeli"), &shown("link.riegeli"))[way];
        run(args);
        assert!(std::fs::symlink_metadata(at("link.riegeli")).expect("there").is_symlink(), "{args:?}");
        let after = std::fs::metadata(at("real.riegeli")).expect("there");
        assert_eq!(after.mode(), before.mode(), "{args:?}");
        assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()), "{args:?}");
        assert_ne!(after.ino(), before.ino(), "{args:?}: it was written in place");
        assert!(!names(folder.path()).iter().any(|name| name.starts_with('.')), "{:?}", names(folder.path()));
    }
}

/// A link to nothing leads to the file that is made.
#[test]
fn links_to_nothing_are_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let shown = |name: &str| at(name).display().to_string();
    std::fs::write(at("in.riegeli"), event_file(0..20, 300, false)).expect("written");
    symlink("new.riegeli", at("link.riegeli")).expect("linked");
    run(&ways(&shown("in.riegeli"), &shown("link.riegeli"))[2]);
    assert!(std::fs::symlink_metadata(at("link.riegeli")).expect("there").is_symlink());
    assert_eq!(names(folder.path()), ["in.riegeli", "link.riegeli", "new.riegeli"]);
    symlink("loop", at("loop")).expect("linked");
    let refused = tool(["convert", "--to", "csv", &shown("in.riegeli"), &shown("loop")]);
    assert!(text(&refused.stderr).contains("no regular file"), "{}", text(&refused.stderr));
    assert!(std::fs::symlink_metadata(at("loop")).expect("there").is_symlink());
}

#[test]
fn pipes_get_the_bytes_and_stay_pipes() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let shown = |name: &str| at(name).display().to_string();
    std::fs::write(at("in.riegeli"), event_file(0..2000, 3000, false)).expect("written");
    assert!(Command::new("mkfifo").arg(at("pipe")).status().expect("runs").success());
    run(&["convert".into(), "--to".into(), "ndjson".into(), shown("in.riegeli"), shown("file.ndjson")]);
    let expected = std::fs::read_to_string(at("file.ndjson")).expect("there");
    let copy =
        format!("COPY (SELECT * FROM '{}') TO '{}' STORED AS RIEGELI", shown("in.riegeli"), shown("pipe"));
    for (args, is_text) in [
        (vec!["convert", "--to", "ndjson", &shown("in.riegeli"), &shown("pipe")], true),
        (vec!["query", &copy], false),
        (vec!["repair", &shown("in.riegeli"), &shown("pipe")], false),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_recordfusion"))
            .args(&args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("runs");
        let mut found = vec![];
        std::fs::File::open(at("pipe")).and_then(|mut pipe| pipe.read_to_end(&mut found)).expect("readable");
        assert!(child.wait().expect("a child").success(), "{args:?}");
        assert!(std::os::unix::fs::FileTypeExt::is_fifo(
            &std::fs::symlink_metadata(at("pipe")).expect("there").file_type()
        ));
        if is_text {
            assert!(text(&found) == expected);
        } else {
            std::fs::write(at("found.riegeli"), found).expect("written");
            let counted = format!("SELECT count(*) AS n FROM '{}'", shown("found.riegeli"));
            assert_eq!(text(&tool(["query", "--format", "csv", &counted]).stdout), "n\n2000\n");
        }
    }
    let refused = tool(["convert", "--append", "--to", "riegeli", &shown("in.riegeli"), &shown("pipe")]);
    assert!(text(&refused.stderr).contains("no regular file"), "{}", text(&refused.stderr));
    let through = tool(["convert", "--to", "ndjson", &shown("in.riegeli"), "/dev/stdout"]);
    assert!(text(&through.stdout) == expected);
}

#[test]
fn a_name_is_written_whatever_characters_it_has() {
    for name in
        ["res[final].riegeli", "what?.riegeli", "a*b.riegeli", "100%25.riegeli", "a#b.riegeli", "ü x.riegeli"]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let input = folder.path().join("in.riegeli").display().to_string();
        let output = folder.path().join(name).display().to_string();
        std::fs::write(&input, event_file(0..20, 300, false)).expect("written");
        for way in [0, 2, 3, 4] {
            run(&ways(&input, &output)[way]);
            let mut expected = ["in.riegeli", name];
            expected.sort_unstable();
            assert_eq!(names(folder.path()), expected, "{way}");
            assert!(std::fs::metadata(&output).expect("there").len() > 0);
            if way != 2 {
                std::fs::remove_file(&output).expect("there");
            }
        }
        let into = folder.path().join(format!("{name}.d")).display().to_string();
        run(&["query".into(), format!("COPY (SELECT 1 AS a) TO '{into}/' STORED AS RIEGELI")]);
        assert_eq!(names(Path::new(&into)).len(), 1);
    }
}

#[test]
fn side_files_take_the_place_of_nothing_that_is_needed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("in.riegeli"), event_file(0..20, 300, false)).expect("written");
    std::fs::hard_link(at("in.riegeli"), at("other_name.riegeli")).expect("linked");
    std::fs::copy(at("in.riegeli"), at("x.recordio.fds")).expect("copied");
    let (input, output, fds) = (at("in.riegeli"), at("x.recordio"), at("x.recordio.fds"));
    let before = std::fs::read(&input).expect("there");
    let set = "--write-descriptor-set";
    for (args, expected) in [
        (vec!["--report", &input, &input, &output], "is an input"),
        (vec!["--report", &at("other_name.riegeli"), &input, &output], "is an input"),
        (vec!["--report", &output, &input, &output], "both the report and an output"),
        (vec!["--report", &at("./x.recordio"), &input, &output], "both the report and an output"),
        (vec!["--report", &fds, set, &input, &output], "both the report and an output"),
        (vec![set, &fds, &output], "is an input"),
        (vec![set, "-o", &format!("descriptor_set={fds}"), &input, &output], "is read too"),
        (vec!["--report", &at("out/report.json"), "--to", "csv", &input, &at("out/")], "lies in the folder"),
        (vec!["--report", &at("nowhere.json/"), &input, &output], "is a folder"),
    ] {
        let failed = tool([&["convert", "--progress", "never"], &args[..]].concat());
        assert_eq!(failed.status.code(), Some(1), "{args:?}");
        assert!(text(&failed.stderr).contains(expected), "{args:?}: {}", text(&failed.stderr));
        assert!(
            std::fs::read(&input).expect("there") == before && std::fs::read(&fds).expect("there") == before
        );
        assert_eq!(names(folder.path()), ["in.riegeli", "other_name.riegeli", "x.recordio.fds"], "{args:?}");
    }
    let done = tool(["convert", "--progress", "never", set, "--report", &at("r.json"), &input, &output]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(at("r.json")).expect("there")).expect("JSON");
    assert_eq!(report["rows"], 20);
    assert_eq!(
        names(folder.path()),
        ["in.riegeli", "other_name.riegeli", "r.json", "x.recordio", "x.recordio.fds"]
    );
}

/// A limit on the size of files stands for a full disk: what was there stays, with all that belongs to it.
#[test]
fn a_full_disk_leaves_the_old_files_in_every_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let inputs = tempfile::tempdir().expect("a folder");
    let input = inputs.path().join("in.riegeli").display().to_string();
    std::fs::write(&input, event_file(0..20_000, 3000, false)).expect("written");
    let small = inputs.path().join("small.riegeli").display().to_string();
    std::fs::write(&small, event_file(0..20, 3000, false)).expect("written");
    let limited = |args: &[&str]| {
        let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
        let done = Command::new("sh")
            .args(["-c", limited, env!("CARGO_BIN_EXE_recordfusion")])
            .args(args)
            .output()
            .expect("runs");
        let message = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{args:?}: {message}");
        assert!(message.contains("too large"), "{args:?}: {message}");
    };
    run(&["convert".into(), "--write-descriptor-set".into(), small.clone(), at("x.recordio")]);
    std::fs::copy(&small, at("x.riegeli")).expect("copied");
    let contents = || {
        names(folder.path()).iter().map(|name| std::fs::read(at(name)).expect("there")).collect::<Vec<_>>()
    };
    let (all, before) = (names(folder.path()), contents());
    let (recordio, riegeli) = (at("x.recordio"), at("x.riegeli"));
    limited(&["convert", "--write-descriptor-set", "-o", "compressor=none", &input, &recordio]);
    limited(&["convert", "--append", &input, &riegeli]);
    limited(&["repair", &input, &riegeli]);
    limited(&[
        "query",
        &format!(
            "COPY (SELECT * FROM '{input}') TO '{riegeli}' STORED AS RIEGELI OPTIONS (compression 'uncompressed')"
        ),
    ]);
    limited(&[
        "query",
        &format!(
            "COPY (SELECT *, id % 3 AS k FROM '{input}') TO '{}' STORED AS RIEGELI PARTITIONED BY (k) OPTIONS (compression 'uncompressed')",
            at("p/")
        ),
    ]);
    assert_eq!(names(folder.path()), all);
    assert!(contents() == before);
}
