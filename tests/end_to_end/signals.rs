//! A signal ends the tool, whatever it waits for.
#![cfg(unix)]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::event_file;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/requests.riegeli");

fn start(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_recordfusion"))
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("runs")
}

/// The exit code after a signal, which must come soon.
fn code_after(signal: &str, mut child: Child, args: &[&str]) -> Option<i32> {
    sleep(Duration::from_millis(1500));
    assert!(child.try_wait().expect("a process").is_none(), "{args:?} does not wait");
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("runs");
    assert!(sent.success());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        if let Some(status) = child.try_wait().expect("a process") {
            return status.code();
        }
        sleep(Duration::from_millis(10));
    }
    child.kill().expect("ends");
    panic!("{args:?} goes on after {signal}");
}

#[test]
fn nobody_reads_its_output() {
    let all = format!("SELECT * FROM '{SAMPLE}'");
    for (signal, args) in [
        ("-INT", &["cat", SAMPLE][..]),
        ("-TERM", &["cat", "--raw", SAMPLE]),
        ("-TERM", &["query", &all]),
        ("-INT", &["query", "--format", "csv", "--partitions", "1", &all]),
        ("-INT", &["query", "--format", "json", &all]),
    ] {
        assert_eq!(code_after(signal, start(args), args), Some(130), "{args:?}");
    }
}

#[test]
fn nobody_writes_to_a_pipe_that_it_reads() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("pipe").display().to_string();
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("runs").success());
    let descriptors = format!("descriptor_set={pipe}");
    for args in [&["query", "-f", &pipe][..], &["cat", "-o", "message_type=x.Y", "-o", &descriptors, SAMPLE]]
    {
        assert_eq!(code_after("-TERM", start(args), args), Some(130), "{args:?}");
    }
}

#[test]
fn what_is_staged_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("in.riegeli");
    std::fs::write(&input, event_file(0..40_000, 100_000, false)).expect("written");
    let output = folder.path().join("out.riegeli");
    let sql = format!(
        "COPY (SELECT a.* FROM '{0}' a, '{0}' b) TO '{1}' STORED AS RIEGELI OPTIONS (compression 'uncompressed')",
        input.display(),
        output.display()
    );
    let args = ["query", &sql];
    assert_eq!(code_after("-TERM", start(&args), &args), Some(130));
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("a folder").flatten().map(|file| file.path()).collect();
    assert_eq!(names, [Path::new(&input)]);
}
