use super::*;
use crate::fault::MAX_CHUNK_SIZE;

fn parse(text: &str) -> Result<WriterOptions, String> {
    text.parse().map_err(|error: OptionsError| error.to_string())
}

#[test]
fn options_are_read_from_text() {
    let default = WriterOptions::default();
    let brotli = |level, window_log| Compression::Brotli { level, window_log };
    let zstd = |level, window_log| Compression::Zstd { level, window_log };
    let with = |compression| WriterOptions { compression, ..default.clone() };
    let padded =
        |initial_padding, final_padding| WriterOptions { initial_padding, final_padding, ..default.clone() };
    let sized = |chunk_size| WriterOptions { chunk_size, ..default.clone() };
    let cases = [
        ("", default.clone()),
        ("default", default.clone()),
        (",default,,", default.clone()),
        ("brotli", default.clone()),
        ("brotli:", default.clone()),
        ("brotli_encoder:cbrotli", default.clone()),
        ("window_log:auto,chunk_size:auto,transpose:false", default.clone()),
        ("transpose", WriterOptions { transpose: true, ..default.clone() }),
        ("transpose:true", WriterOptions { transpose: true, ..default.clone() }),
        ("uncompressed", with(Compression::None)),
        ("brotli:11,window_log:30", with(brotli(11, Some(30)))),
        ("window_log:10", with(brotli(6, Some(10)))),
        ("zstd", with(zstd(3, None))),
        ("zstd:-131072", with(zstd(-131_072, None))),
        ("zstd:22,window_log:31", with(zstd(22, Some(31)))),
        ("snappy:1", with(Compression::Snappy)),
        ("chunk_size:1", sized(Some(1))),
        ("chunk_size:1.5K", sized(Some(1536))),
        ("chunk_size:64k", sized(Some(65_536))),
        ("chunk_size:7B", sized(Some(7))),
        ("chunk_size:1E", sized(Some(1 << 60))),
        ("chunk_size:0.6", sized(Some(1))),
        ("chunk_size:18446744073709551615", sized(Some(u64::MAX))),
        ("bucket_fraction:0.25", WriterOptions { bucket_fraction: 0.25, ..default.clone() }),
        ("padding", padded(65_536, 65_536)),
        ("padding:1000,final_padding:1", padded(1000, 1)),
        ("initial_padding", padded(65_536, 1)),
        ("final_padding:4K", padded(1, 4096)),
        ("parallelism:3", WriterOptions { parallelism: 3, ..default.clone() }),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text), Ok(expected.clone()), "{text}");
        assert_eq!(parse(&expected.to_string()), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_wrong_with_options_is_said() {
    let cases = [
        ("tranpose", "unknown option 'tranpose'; did you mean 'transpose'?"),
        ("brotli,zstd", "options 'brotli' and 'zstd' exclude each other"),
        ("snappy:2", "option 'snappy': '2' is not 1, the only level of snappy that can be written here"),
        ("padding:2T", "option 'padding': '2T' is not a size from 1 to 1T, such as 64K"),
        ("final_padding:16E", "option 'final_padding': '16E' is not a size from 1 to 1T, such as 64K"),
        ("snappy,uncompressed", "options 'uncompressed' and 'snappy' exclude each other"),
        ("window_log:20,uncompressed", "options 'uncompressed' and 'window_log' exclude each other"),
        ("snappy,window_log:20", "options 'snappy' and 'window_log' exclude each other"),
        ("zstd,zstd:5", "option 'zstd' is given twice"),
        ("zstd:23", "option 'zstd': '23' is not a level from -131072 to 22"),
        ("brotli:12", "option 'brotli': '12' is not a level from 0 to 11"),
        ("brotli: 6", "option 'brotli': ' 6' is not a level from 0 to 11"),
        ("window_log:9", "option 'window_log': '9' is not 'auto' or a number from 10 to 31"),
        ("window_log:31", "option 'window_log': '31' is not a number from 10 to 30 with brotli"),
        ("uncompressed:1", "option 'uncompressed': '1' is not allowed, as the option takes no value"),
        ("transpose:yes", "option 'transpose': 'yes' is not 'true' or 'false'"),
        ("chunk_size:0", "option 'chunk_size': '0' is not a size of at least 1, such as 64K or 1.5M"),
        ("bucket_fraction:1.1", "option 'bucket_fraction': '1.1' is not a number from 0 to 1"),
        ("bucket_fraction:NaN", "option 'bucket_fraction': 'NaN' is not a number from 0 to 1"),
        ("zstd,default", "option 'default' must come before all others"),
        ("final_padding:1,padding", "option 'padding' must come before final_padding"),
        ("parallelism:-1", "option 'parallelism': '-1' is not a whole number"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text), Err(expected.to_string()), "{text}");
    }
    let names = parse(" transpose").unwrap_err();
    assert!(names.starts_with("unknown option ' transpose'"), "{names}");
    for size in ["", "K", "-1", "1KK", "1 K", "+", ".", "inf", "1e3", "16E", "18446744073709551616", "0x10"] {
        assert!(parse(&format!("chunk_size:{size}")).is_err(), "{size}");
    }
}

#[test]
fn array_record_options_are_those_that_the_reference_stores() {
    let cases = [
        (
            "",
            "group_size:1,transpose:false,pad_to_block_boundary:false,zstd:3,window_log:20,max_parallelism:1",
        ),
        (
            "group_size:128,transpose,uncompressed,max_parallelism:4,saturation_delay_ms:10",
            "group_size:128,transpose:true,pad_to_block_boundary:false,transpose_bucket_size:256,uncompressed,\
             max_parallelism:4",
        ),
        (
            "pad_to_block_boundary:true,brotli:9",
            "group_size:1,transpose:false,pad_to_block_boundary:true,brotli:9,max_parallelism:1",
        ),
        (
            "group_size:100,zstd,window_log:12",
            "group_size:100,transpose:false,pad_to_block_boundary:false,zstd:3,window_log:12,max_parallelism:1",
        ),
    ];
    for (text, expected) in cases {
        let options: ArrayRecordOptions = text.parse().expect("valid");
        assert_eq!(options.to_string(), expected);
        assert_eq!(expected.parse(), Ok(options));
    }
    for text in ["group_size:0", "chunk_size:1", "transpose_bucket_size:0", "zstd,brotli"] {
        assert!(text.parse::<ArrayRecordOptions>().is_err(), "{text}");
    }
}

#[test]
fn options_out_of_range_make_no_encoder() {
    let default = WriterOptions::default();
    let brotli = |level, window_log| WriterOptions {
        compression: Compression::Brotli { level, window_log },
        ..default.clone()
    };
    let zstd = |level| WriterOptions {
        compression: Compression::Zstd { level, window_log: None },
        ..default.clone()
    };
    let cases = [
        brotli(12, None),
        brotli(6, Some(9)),
        brotli(6, Some(31)),
        zstd(23),
        zstd(-131_073),
        WriterOptions { bucket_fraction: f64::NAN, ..default.clone() },
        WriterOptions { chunk_size: Some(0), ..default.clone() },
        WriterOptions { initial_padding: 0, ..default.clone() },
        WriterOptions { final_padding: 0, ..default.clone() },
    ];
    for options in cases {
        assert!(ChunkEncoder::new(&options).is_err(), "{options:?}");
    }
}

/// The numbers of records of the chunks of records with these lengths.
fn chunks(lengths: &[usize], chunk_size: u64) -> Vec<usize> {
    let mut chunks = Vec::new();
    let mut records = ChunkRecords::default();
    for &len in lengths {
        if !records.fits(len, chunk_size) {
            chunks.push(records.take().len());
        }
        records.push(&vec![0; len]).expect("short");
        if records.is_full(chunk_size) {
            chunks.push(records.take().len());
        }
    }
    chunks.extend((!records.is_empty()).then_some(records.len()));
    chunks
}

#[test]
fn chunks_end_where_the_accounting_says() {
    let cases: [(&[usize], u64, &[usize]); 7] = [
        (&[], 100, &[]),
        (&[0, 0, 0], 16, &[2, 1]),
        (&[0, 0, 0], 1, &[1, 1, 1]),
        (&[1000, 1, 1], 100, &[1, 2]),
        (&[1, 1000, 1], 100, &[1, 1, 1]),
        (&[42, 42, 1], 100, &[2, 1]),
        (&[42, 43, 1], 100, &[1, 2]),
    ];
    for (lengths, chunk_size, expected) in cases {
        assert_eq!(chunks(lengths, chunk_size), expected, "{lengths:?} {chunk_size}");
    }
}

#[test]
fn a_chunk_takes_no_more_than_readers_do() {
    let huge = vec![0; MAX_CHUNK_SIZE as usize];
    let mut records = ChunkRecords::default();
    records.push(b"small").expect("fits");
    assert!(!records.fits(huge.len(), u64::MAX));
    let too_long = WriteError::RecordTooLong { size: MAX_CHUNK_SIZE, limit: MAX_CHUNK_SIZE };
    assert_eq!(records.push(&huge), Err(too_long));
    assert_eq!(records.len(), 1);
}

#[test]
fn chunks_can_be_encoded_in_any_thread() {
    let options = WriterOptions::default();
    let encode = |record: &'static [u8]| {
        let mut encoder = ChunkEncoder::new(&options).expect("valid options");
        let mut records = ChunkRecords::default();
        records.push(record).expect("fits");
        std::thread::spawn(move || encoder.encode(&records)).join().expect("no panic").expect("encodes")
    };
    let chunks = [encode(b"one"), encode(b"two")];
    let mut out = Vec::new();
    let mut writer = FileWriter::create(&options, &mut out);
    let begins = chunks.map(|chunk| writer.write(&chunk, &mut out).expect("short"));
    assert_eq!((begins[0], writer.position()), (64, out.len() as u64));
}
