//! Files written here with all options and records of all sorts, read here and by another reader.

use proptest::prelude::*;
use recordfusion_riegeli::metadata::RecordsMetadata;
use recordfusion_riegeli::write::{Compression, WriterOptions, descriptor_files};

use crate::differential::{assorted, message, noise};
use crate::support::*;
use crate::writing::*;

fn options(text: &str) -> WriterOptions {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The options of the other writer.
fn others(options: &WriterOptions) -> riegeli::WriterOptions {
    let codec = match options.compression {
        Compression::None => riegeli::CompressionType::None,
        Compression::Brotli { .. } => riegeli::CompressionType::Brotli,
        Compression::Zstd { .. } => riegeli::CompressionType::Zstd,
        Compression::Snappy => riegeli::CompressionType::Snappy,
    };
    riegeli::WriterOptions::new()
        .compression(codec)
        .transpose(options.transpose)
        .chunk_size(options.chunk_size())
        .bucket_fraction(options.bucket_fraction)
        .final_padding(options.final_padding)
}

fn check(name: &str, records: &Records, options: &WriterOptions) -> Vec<u8> {
    let written = write_file(records, options, None);
    let (found, error) = read(&written);
    assert!(error.is_none() && found == *records, "{name} with {options}: {error:?}");
    assert!(by_other_reader(&written) == *records, "{name} with {options}");
    if options.final_padding > 1 {
        assert!((written.len() as u64).is_multiple_of(options.final_padding), "{name} with {options}");
    }
    written
}

fn samples() -> Vec<(&'static str, Records)> {
    vec![
        ("none", vec![]),
        ("one", vec![b"abc".to_vec()]),
        ("one empty", vec![vec![]]),
        ("many empty", vec![vec![]; 3000]),
        ("assorted", assorted()),
        ("messages", (0..200).map(message).collect()),
        ("huge", vec![noise(200_000, 9), vec![], vec![7; 300_000], message(3)]),
    ]
}

const CODECS: [&str; 4] = ["uncompressed", "brotli:5", "zstd", "snappy"];

#[test]
fn every_combination_of_options_is_read() {
    for (name, records) in samples() {
        for codec in CODECS {
            for (chunk_size, padding) in [("1", "64K"), ("300", "1000"), ("64K", "1"), ("1M", "64K")] {
                let text = format!("{codec},chunk_size:{chunk_size},padding:{padding}");
                check(name, &records, &options(&text));
                for fraction in ["0", "0.05", "1"] {
                    let text = format!("transpose,{text},bucket_fraction:{fraction}");
                    check(name, &records, &options(&text));
                }
            }
        }
    }
}

#[test]
fn levels_and_windows_are_read() {
    let texts = [
        "brotli:0",
        "brotli:1",
        "brotli:2",
        "brotli:11",
        "brotli:9,window_log:10",
        "brotli:5,window_log:25",
        "brotli:1,window_log:30",
        "zstd:-131072",
        "zstd:0",
        "zstd:1,window_log:10",
        "zstd:3,window_log:31",
        "zstd:19",
        "zstd:22,window_log:27",
    ];
    let records = assorted();
    for text in texts {
        check("assorted", &records, &options(text));
        check("assorted", &records, &options(&format!("transpose,{text}")));
    }
}

/// Both writers make the same file where the format leaves no choice, and else equally large ones, if chunks
/// are not tiny: the other writer does not tell Zstandard the size.
#[test]
fn another_writer_writes_the_same() {
    for (name, records) in samples() {
        for transpose in ["", "transpose,", "transpose,bucket_fraction:0,", "transpose,bucket_fraction:0.1,"]
        {
            for rest in ["chunk_size:2K", "chunk_size:1M,final_padding:64K"] {
                let options = options(&format!("{transpose}uncompressed,{rest}"));
                let theirs = write(&records, others(&options));
                assert!(write_file(&records, &options, None) == theirs, "{name} with {options}");
            }
            for codec in CODECS {
                let options = options(&format!("{transpose}{codec},chunk_size:1M"));
                let (ours, theirs) =
                    (write_file(&records, &options, None).len(), write(&records, others(&options)).len());
                assert!(ours as f64 <= theirs as f64 * 1.02 + 50.0, "{name} with {options}: {ours} {theirs}");
            }
        }
    }
}

#[test]
fn metadata_are_read_by_another_reader() {
    let fixture = fixture("riegeli/kitchen_simple_zstd.riegeli");
    let stored = RecordsMetadata::parse(&metadata_of(&fixture).expect("metadata")).expect("valid");
    let shuffled: Vec<_> = stored.file_descriptors.iter().rev().cloned().collect();
    let name = stored.record_type_name.as_deref().expect("a name");
    let file_descriptors = descriptor_files(&shuffled, name).expect("valid");
    assert_eq!(file_descriptors, stored.file_descriptors, "the order of the reference implementation");

    for codec in CODECS {
        let options = options(codec);
        let metadata = RecordsMetadata {
            file_comment: Some("written by a test".into()),
            file_descriptors: file_descriptors.clone(),
            record_writer_options: Some(options.to_string()),
            extensions: b"\xc2\x3e\x05arrow"[..].into(),
            ..stored.clone()
        };
        let written = write_file(&[message(1)], &options, Some(&metadata.encode()));
        let serialized = metadata_of(&written).expect("metadata");
        assert_eq!(RecordsMetadata::parse(&serialized), Ok(metadata.clone()));

        let reader = std::io::Cursor::new(written);
        let mut reader = riegeli::RecordReader::new(reader, riegeli::ReaderOptions::new()).expect("valid");
        let found = reader.read_metadata().expect("valid").expect("metadata");
        assert_eq!(found.record_type_name(), metadata.record_type_name.as_deref().unwrap_or_default());
        assert_eq!(found.record_writer_options(), options.to_string().as_str());
    }
}

fn any_options() -> impl Strategy<Value = WriterOptions> {
    let codec = prop_oneof![
        Just("uncompressed".to_string()),
        (0..10u8, 10..25u8).prop_map(|(level, log)| format!("brotli:{level},window_log:{log}")),
        (-10..10i32, 10..25u8).prop_map(|(level, log)| format!("zstd:{level},window_log:{log}")),
        Just("snappy".to_string()),
    ];
    let sizes = (1..5000u64, 1..3000u64);
    (codec, any::<bool>(), 0.0..=1.0f64, sizes).prop_map(|(codec, transpose, fraction, (chunk, padding))| {
        options(&format!(
            "{codec},transpose:{transpose},bucket_fraction:{fraction},chunk_size:{chunk},padding:{padding}"
        ))
    })
}

fn any_record() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<u8>().prop_map(message),
        prop::collection::vec(any::<u8>(), 0..100),
        prop::collection::vec(prop_oneof![Just(8u8), Just(0x12), 0..3u8], 0..20),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn records_and_options_of_any_kind_come_back(
        records in prop::collection::vec(any_record(), 0..80),
        options in any_options(),
    ) {
        prop_assert_eq!(options.to_string().parse(), Ok(options.clone()));
        check("any", &records, &options);
    }
}
