//! Decoding chunks to blocks of records, beside the `riegeli` crate handing out the records of the same file.

use std::hint::black_box;
use std::io::Cursor;
use std::time::Duration;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use recordfusion_riegeli::decoder::ChunkDecoder;
use recordfusion_riegeli::hash::hash;
use recordfusion_riegeli::header::{BlockHeader, Chunk};
use recordfusion_riegeli::position::{BLOCK, BLOCK_HEADER, remaining};
use riegeli::{CompressionType, ReaderOptions, RecordReader, RecordWriter, WriterOptions};

/// Messages of texts, small and large numbers, a nested message and fixed values, about 130 bytes each.
fn records() -> Vec<Vec<u8>> {
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut record = move || {
        let host = format!("host-{:03}.example.net", next() % 200);
        let path = format!("/a/{}/b/{}/index.html", next() % 50, next());
        let mut bytes = vec![0x08, next() as u8 % 4, 0x10, next() as u8 | 0x80, next() as u8 | 0x80, 0x01];
        for (tag, text) in [(0x1a, &host), (0x22, &path)] {
            bytes.extend([tag, text.len() as u8]);
            bytes.extend(text.as_bytes());
        }
        bytes.push(0x29);
        bytes.extend((next() % 1_000_000).to_le_bytes());
        bytes.extend([0x32, 0x06, 0x08, next() as u8 % 100, 0x15, 0, 0, next() as u8]);
        bytes.extend([0x38, next() as u8 % 2, 0x3a, 0x28]);
        bytes.extend((0..40).map(|_| next() as u8));
        bytes
    };
    (0..80_000).map(|_| record()).collect()
}

fn write(records: &[Vec<u8>], options: WriterOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = RecordWriter::new(&mut bytes, options).expect("valid options");
    records.iter().for_each(|record| writer.write_record(record).expect("memory takes it"));
    writer.close().expect("memory takes it");
    bytes
}

/// The data of a chunk, put together from its blocks, with every hash verified.
fn chunk_data(file: &[u8], chunk: &Chunk) -> Bytes {
    let mut position = Chunk::header_end(chunk.begin, file.len() as u64).expect("valid file");
    let size = chunk.header.data_size as usize;
    let mut data = Vec::with_capacity(size);
    while data.len() < size {
        if remaining(position) == 0 {
            let header = &file[position as usize..(position + BLOCK_HEADER) as usize];
            BlockHeader::parse(position, header).expect("valid file");
            position += BLOCK_HEADER;
        }
        let part = ((BLOCK - position % BLOCK) as usize).min(size - data.len());
        data.extend_from_slice(&file[position as usize..position as usize + part]);
        position += part as u64;
    }
    assert_eq!(hash(&data), chunk.header.data_hash);
    Bytes::from(data)
}

fn decode_file(file: &[u8], decoder: &mut ChunkDecoder) -> usize {
    let size = file.len() as u64;
    let (mut begin, mut records) = (0, 0);
    while begin < size {
        let header_end = Chunk::header_end(begin, size).expect("valid file");
        let chunk =
            Chunk::parse(begin, &file[begin as usize..header_end as usize], size).expect("valid file");
        let block = decoder.decode(&chunk.header, begin, &chunk_data(file, &chunk)).expect("valid chunk");
        records += black_box(block).map_or(0, |block| block.len());
        begin = chunk.end;
    }
    records
}

fn read_file(file: &[u8]) -> usize {
    let mut reader = RecordReader::new(Cursor::new(file), ReaderOptions::new()).expect("valid file");
    let mut records = 0;
    while let Some(record) = reader.read_record().expect("valid file") {
        black_box(record);
        records += 1;
    }
    records
}

fn chunks(criterion: &mut Criterion) {
    let records = records();
    let decoded: usize = records.iter().map(Vec::len).sum();
    let zstd = WriterOptions::new().compression(CompressionType::Zstd);
    let layouts = [
        ("simple uncompressed", WriterOptions::new()),
        ("simple zstd", zstd.clone()),
        ("transposed zstd", zstd.transpose(true)),
    ];
    let mut group = criterion.benchmark_group("chunk");
    group
        .throughput(Throughput::Bytes(decoded as u64))
        .sample_size(20)
        .measurement_time(Duration::from_secs(4));
    for (name, options) in layouts {
        let file = write(&records, options);
        let mut decoder = ChunkDecoder::default();
        assert_eq!((decode_file(&file, &mut decoder), read_file(&file)), (records.len(), records.len()));
        group.bench_function(format!("{name}/recordfusion"), |bencher| {
            bencher.iter(|| decode_file(&file, &mut decoder));
        });
        group.bench_function(format!("{name}/riegeli crate"), |bencher| bencher.iter(|| read_file(&file)));
    }
    group.finish();
}

criterion_group!(benches, chunks);
criterion_main!(benches);
