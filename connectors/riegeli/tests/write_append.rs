//! Files written in several runs.

use futures::executor::block_on;
use recordfusion_core::Connector;
use recordfusion_riegeli::RiegeliConnector;
use recordfusion_riegeli::fault::Fault;
use recordfusion_riegeli::write::{FileWriter, WriterOptions, append};

use crate::support::*;
use crate::writing::*;

const BLOCK: usize = 1 << 16;

/// Appends records to a file.
fn append_records<R: AsRef<[u8]>>(file: &mut Vec<u8>, records: &[R], options: &WriterOptions) {
    let mut writer = FileWriter::append(file.len() as u64, options, file).expect("short");
    write_records(records, options, &mut writer, file);
    writer.pad(file).expect("short");
    assert_eq!(writer.position(), file.len() as u64);
}

fn check_end(file: &[u8]) -> Result<(), Fault> {
    let size = file.len() as u64;
    let tail = append::tail(size);
    append::check(size, &file[tail.start as usize..tail.end as usize])
}

/// Begin, kind, records and size of each chunk.
fn chunks(bytes: &[u8]) -> Vec<(u64, String, u64, u64)> {
    let inspection = block_on(RiegeliConnector::default().inspect(&memory_file(bytes))).expect("valid file");
    let chunks = inspection.chunks.into_iter();
    chunks.map(|chunk| (chunk.begin, chunk.kind, chunk.records, chunk.data_size)).collect()
}

#[test]
fn fixtures_in_several_runs_are_written_alike() {
    let cases = [
        ("appended_three", &["log_tail", "nonproto", "log_tail"][..]),
        ("appended_initial_padding", &["log_small", "log_tail"]),
        ("appended_empty", &["none", "log_tail"]),
        ("appended", &["log_small", "log_tail"]),
    ];
    let manifest = json("riegeli/manifest.json");
    for (name, sources) in cases {
        let entry = manifest["files"].as_array().expect("a list").iter();
        let entry = entry.clone().find(|entry| entry["file"] == format!("{name}.riegeli")).expect("an entry");
        let reference = fixture(&format!("riegeli/{name}.riegeli"));
        let metadata = metadata_of(&reference);
        let mut written = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let options = entry["options"][index].as_str().expect("a text").parse().expect("valid options");
            let records = match *source {
                "none" => vec![],
                source => records_of(&fixture(&format!("riegeli/sources/{source}.bin"))),
            };
            if index == 0 {
                written = write_file(&records, &options, metadata.as_deref());
            } else {
                assert_eq!(check_end(&written), Ok(()), "{name}");
                append_records(&mut written, &records, &options);
            }
        }
        let kinds = |bytes: &[u8]| -> Vec<_> {
            chunks(bytes).into_iter().map(|(_, kind, records, _)| (kind, records)).collect()
        };
        assert_eq!(kinds(&written), kinds(&reference), "{name}");
        assert!(read(&written).0 == read(&reference).0, "{name}");
        assert!(written.len() as f64 <= reference.len() as f64 * 1.02, "{name}");
    }
}

#[test]
fn any_size_can_be_appended_to() {
    let options: WriterOptions = "uncompressed".parse().expect("valid");
    let padded: WriterOptions = "uncompressed,padding:1000".parse().expect("valid");
    for len in (1..BLOCK).step_by(1021).chain(BLOCK - 250..BLOCK) {
        let first = vec![7; len];
        let mut file = write_file(&[&first], &options, None);
        assert_eq!(check_end(&file), Ok(()), "{len}");
        append_records(&mut file, &["second"], &options);
        append_records(&mut file, &["third"], &padded);
        assert!(file.len().is_multiple_of(1000), "{len}");
        let (found, error) = read(&file);
        assert!(error.is_none(), "{len}: {error:?}");
        assert!(found == [first, b"second".to_vec(), b"third".to_vec()], "{len}");
        assert!(by_other_reader(&file) == found, "{len}");
    }
}

#[test]
fn a_file_is_good_for_appending_where_a_chunk_ends() {
    let options: WriterOptions = "uncompressed,chunk_size:20K".parse().expect("valid");
    let records: Vec<_> = (0..20).map(|index| vec![index; 7000]).collect();
    let file = write_file(&records, &options, None);
    let ends: Vec<u64> = chunks(&file).iter().map(|&(begin, ..)| begin).collect();
    assert!(file.len() > 2 * BLOCK && ends.len() > 5);
    for size in 0..=file.len() {
        let expected = ends.contains(&(size as u64)) || size == file.len();
        assert_eq!(check_end(&file[..size]).is_ok(), expected, "{size}");
    }
    assert!(matches!(check_end(&file[..file.len() - 3]), Err(Fault::TruncatedChunk { missing: 3 })));
    assert!(check_end(b"a text").is_err());
}

/// The zeros in front of what is appended to a file that ends inside a block header are passed over.
#[test]
fn a_new_block_begins_behind_what_is_no_boundary() {
    let options = WriterOptions::default();
    for (size, position) in [(BLOCK + 1, 2 * BLOCK), (BLOCK + 24, 2 * BLOCK), (BLOCK + 25, BLOCK + 25)] {
        let mut out = Vec::new();
        let writer = FileWriter::append(size as u64, &options, &mut out).expect("short");
        assert_eq!(writer.position(), position as u64);
        assert_eq!(out, vec![0; position - size]);
    }
}

#[test]
fn padded_files_can_be_put_behind_each_other() {
    let options: WriterOptions = "transpose,zstd,padding".parse().expect("valid");
    let files = [["one", "two"], ["three", "four"]].map(|records| write_file(&records, &options, None));
    let (found, error) = read(&files.concat());
    assert!(error.is_none() && found == ["one", "two", "three", "four"].map(Vec::from), "{error:?}");
}
