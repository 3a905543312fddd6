//! Writes benchmark records to memory, in turn with the `riegeli` crate, from serialized records, and with our
//! writer, from Arrow batches; then reads both files back with both. Prints CPU seconds of one thread, and of
//! writing also the seconds that pass, ours with two threads that encode chunks.
//!
//! ```text
//! cargo run --release -p recordfusion-bench --bin write -- [RECORDS [ROUNDS]]
//! ```

use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::Arc;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use recordfusion_bench::{LogEvents, Result, message_type, timed};
use recordfusion_core::{
    Assembler, ByteRecords, EncodedChunk, Options, Projection, RecordBlock, RecordFile, ScanCounters, Writer,
    Writing,
};
use recordfusion_protobuf::{ProtobufOptions, RecordDecoder};
use recordfusion_riegeli::RiegeliConnector;
use riegeli::{CompressionType, ReaderOptions, RecordReader, RecordWriter, WriterOptions};

/// Rows of a batch.
const ROWS: usize = 8192;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let records: usize = args.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let rounds: usize = args.next().map_or(Ok(5), |text| text.parse())?;
    let mut events = LogEvents::new(1);
    let records: Vec<Vec<u8>> = (0..records).map(|_| events.next_record()).collect();
    let batches = batches(&records)?;
    for (layout, transpose) in [("transposed,zstd", true), ("simple,zstd", false)] {
        let peer = WriterOptions::new().transpose(transpose).compression(CompressionType::Zstd);
        let options = message_type().with("writer_options", format!("transpose:{transpose},zstd"));
        let ours = RiegeliConnector::default().writer(&batches[0].schema(), "riegeli", &options, None)?;
        let write_peer = |file: &mut Vec<u8>| write_peer(&records, &peer, file);
        let (one, two) = (
            |file: &mut Vec<u8>| write_ours(&batches, ours.as_ref(), file),
            |file: &mut Vec<u8>| write_in_parallel(&batches, ours.as_ref(), file),
        );
        compare(layout, rounds, write_peer, one, two)?;
    }
    Ok(())
}

/// Measures a layout.
fn compare(
    layout: &str,
    rounds: usize,
    peer: impl Fn(&mut Vec<u8>) -> Result<()>,
    ours: impl Fn(&mut Vec<u8>) -> Result<Split>,
    parallel: impl Fn(&mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    let mut times: [Vec<f64>; 11] = Default::default();
    // The files keep their memory, so that what it costs to get it is not measured.
    let mut files = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        files.iter_mut().for_each(Vec::clear);
        let (peer_time, ()) = timed(|| peer(&mut files[0]))?;
        let (our_time, split) = timed(|| ours(&mut files[1]))?;
        let mut found = vec![peer_time, our_time, split.rows, split.chunks, split.file];
        files.iter_mut().for_each(Vec::clear);
        found.push(elapsed(|| peer(&mut files[0]))?);
        found.push(elapsed(|| parallel(&mut files[1]))?);
        for file in &files {
            found.push(timed(|| read_peer(file))?.0);
        }
        for file in &files {
            let file = in_store(file)?;
            found.push(timed(|| read_ours(&file))?.0);
        }
        times.iter_mut().zip(found).for_each(|(times, time)| times.push(time));
    }
    let [peer, ours, rows, chunks, file, peer_elapsed, elapsed, reads @ ..] = times.map(Summary::of);
    println!("{layout}: {} bytes by the riegeli crate, {} by us", files[0].len(), files[1].len());
    peer.print("write, riegeli crate", &peer);
    ours.print("write, ours", &peer);
    rows.print("  rows to records", &ours);
    chunks.print("  records to chunks", &ours);
    file.print("  chunks to the file", &ours);
    peer_elapsed.print("elapsed, riegeli crate", &peer_elapsed);
    elapsed.print("elapsed, ours with two encoders", &peer_elapsed);
    for (reader, [theirs, ours]) in ["the riegeli crate", "us"].iter().zip(reads.as_chunks().0) {
        theirs.print(&format!("read by {reader}, its file"), theirs);
        ours.print(&format!("read by {reader}, ours"), theirs);
    }
    Ok(())
}

/// The shortest and the median time of several rounds.
struct Summary {
    min: f64,
    median: f64,
}

impl Summary {
    fn of(mut times: Vec<f64>) -> Self {
        times.sort_unstable_by(f64::total_cmp);
        Self { min: times[0], median: times[times.len() / 2] }
    }

    /// Prints the times, and the ratio to others.
    fn print(&self, name: &str, base: &Self) {
        let ratio = self.min / base.min;
        println!("  {name:34} min {:6.3} s, median {:6.3} s, ratio {ratio:.2}", self.min, self.median);
    }
}

/// Seconds that pass during `work`.
fn elapsed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed().as_secs_f64())
}

fn batches(records: &[Vec<u8>]) -> Result<Vec<RecordBatch>> {
    let decoder = RecordDecoder::open(&[], &ProtobufOptions::from_options(&message_type())?, &[])?;
    let mut scan = decoder.scan(&Projection::all(decoder.schema().fields().len()))?;
    let counters = ScanCounters::default();
    let mut batch = |records: &[Vec<u8>]| {
        let mut end = 0;
        let place = |record: &Vec<u8>| {
            let begin = end;
            end += record.len() as u32;
            (begin, end)
        };
        let places = records.iter().map(place).collect();
        let block = RecordBlock::new(Buffer::from_vec(records.concat()), places, 0).ok_or("no block")?;
        Ok(scan.decode("records", &block, 0..records.len(), &counters)?.batch)
    };
    records.chunks(ROWS).map(&mut batch).collect()
}

fn write_peer(records: &[Vec<u8>], options: &WriterOptions, file: &mut Vec<u8>) -> Result<()> {
    let mut writer = RecordWriter::new(file, options.clone())?;
    for record in records {
        writer.write_record(record)?;
    }
    Ok(writer.close()?)
}

/// CPU seconds of the stages of our writer.
#[derive(Default)]
struct Split {
    rows: f64,
    chunks: f64,
    file: f64,
}

fn write_ours(batches: &[RecordBatch], writer: &dyn Writer, file: &mut Vec<u8>) -> Result<Split> {
    let mut split = Split::default();
    let (mut chunker, mut assembler) = (writer.chunker()?, writer.assembler()?);
    file.extend(assembler.begin()?);
    for batch in batches.iter().map(Some).chain([None]) {
        let (time, jobs) = timed(|| match batch {
            Some(batch) => Ok(chunker.push(batch)?),
            None => Ok(chunker.finish()?),
        })?;
        split.rows += time;
        for job in jobs {
            let (time, chunk) = timed(|| Ok(job()?))?;
            split.chunks += time;
            let (time, bytes) = timed(|| Ok(assembler.append(chunk)?))?;
            split.file += time;
            file.extend(bytes);
        }
    }
    file.extend(assembler.finish()?);
    Ok(split)
}

/// Encodes rows on this thread and chunks on two others, as many at a time as the engine has, in order.
fn write_in_parallel(batches: &[RecordBatch], writer: &dyn Writer, file: &mut Vec<u8>) -> Result<()> {
    const MOST: usize = 3;
    let (mut chunker, mut assembler) = (writer.chunker()?, writer.assembler()?);
    file.extend(assembler.begin()?);
    std::thread::scope(|scope| {
        let mut running = VecDeque::new();
        for batch in batches.iter().map(Some).chain([None]) {
            let jobs = match batch {
                Some(batch) => chunker.push(batch)?,
                None => chunker.finish()?,
            };
            for job in jobs {
                if running.len() == MOST
                    && let Some(first) = running.pop_front()
                {
                    append(first, assembler.as_mut(), file)?;
                }
                running.push_back(scope.spawn(job));
            }
        }
        running.into_iter().try_for_each(|job| append(job, assembler.as_mut(), file))
    })?;
    file.extend(assembler.finish()?);
    Ok(())
}

fn append(
    job: ScopedJoinHandle<'_, recordfusion_core::Result<EncodedChunk>>,
    assembler: &mut dyn Assembler,
    file: &mut Vec<u8>,
) -> Result<()> {
    let chunk = job.join().map_err(|_| "a job panicked")??;
    file.extend(assembler.append(chunk)?);
    Ok(())
}

fn read_peer(file: &[u8]) -> Result<u64> {
    let mut reader = RecordReader::new(Cursor::new(file), ReaderOptions::new())?;
    let mut bytes = 0;
    while let Some(record) = reader.read_record()? {
        bytes += record.len() as u64;
    }
    Ok(bytes)
}

fn in_store(file: &[u8]) -> Result<RecordFile> {
    let (store, location) = (Arc::new(InMemory::new()), Path::from("file"));
    block_on(store.put(&location, file.to_vec().into()))?;
    Ok(RecordFile::new(store, location, file.len() as u64, "file"))
}

fn read_ours(file: &RecordFile) -> Result<u64> {
    let blocks = RiegeliConnector::default().records(file, 0..file.size, &Options::new(), Arc::default());
    let bytes = |block: RecordBlock| block.records().map(|record| record.len() as u64).sum::<u64>();
    Ok(block_on(blocks.map_ok(bytes).try_fold(0, async |sum, bytes| Ok(sum + bytes)))?)
}
