//! Writes the rows of a Riegeli file from memory, as Arrow batches, to a Parquet file, once, with two threads that
//! encode row groups, and prints the CPU seconds and the elapsed seconds of the writing alone: what
//! `recordfusion convert --partitions 2` to Parquet is compared with. Codec and row groups are those of `convert`.
//!
//! ```text
//! cargo run --release -p recordfusion-bench --bin parquet_write -- FILE PARQUET
//! ```

use std::fs::File;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::TryStreamExt;
use futures::executor::block_on;
use object_store::ObjectStoreExt;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use recordfusion_bench::{Result, timed};
use recordfusion_core::{Connector, Options, Projection, RecordFile, ScanRequest};
use recordfusion_riegeli::RiegeliConnector;

/// Bytes of the Riegeli file that become one row group.
const RANGE_BYTES: u64 = 8 << 20;
/// Rows of a batch.
const ROWS: usize = 8192;
/// Row groups that are encoded at the same time.
const THREADS: usize = 2;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [input, output] = args.as_slice() else {
        return Err("usage: parquet_write FILE PARQUET".into());
    };
    let (schema, groups) = block_on(read(input))?;
    let begin = Instant::now();
    let seconds = write(output, &schema, &groups)?;
    println!("{seconds:.4} s, {:.4} s elapsed", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The batches of each range of the file.
async fn read(input: &str) -> Result<(SchemaRef, Vec<Vec<RecordBatch>>)> {
    let location = Path::from_absolute_path(std::fs::canonicalize(input)?)?;
    let store = Arc::new(LocalFileSystem::new());
    let size = store.head(&location).await?.size;
    let file = RecordFile::new(store, location, size, input);
    let table = RiegeliConnector::default().open(std::slice::from_ref(&file), &Options::new()).await?;
    let mut groups = vec![];
    let ranges = (size / RANGE_BYTES).max(1);
    for n in 0..ranges {
        let request = ScanRequest {
            file: file.clone(),
            range: size * n / ranges..size * (n + 1) / ranges,
            projection: Projection::all(table.schema().fields().len()),
            filter: None,
            limit: None,
            batch_size: ROWS,
            counters: Arc::default(),
        };
        groups.push(table.scan(request).try_collect().await?);
    }
    Ok((Arc::clone(table.schema()), groups))
}

/// CPU seconds of writing a Parquet file with one row group for each of `groups`.
fn write(output: &str, schema: &SchemaRef, groups: &[Vec<RecordBatch>]) -> Result<f64> {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let properties = WriterProperties::builder().set_compression(zstd).build();
    let writer = ArrowWriter::try_new(File::create(output)?, Arc::clone(schema), Some(properties))?;
    let (mut file, factory) = writer.into_serialized_writer()?;
    let mut seconds = 0.0;
    for together in groups.chunks(THREADS) {
        let encoded = std::thread::scope(|scope| {
            let threads: Vec<_> = together
                .iter()
                .map(|batches| scope.spawn(|| timed(|| encode(&factory, schema, batches))))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().map_err(|_| "encoding panicked")?)
                .collect::<Result<Vec<_>>>()
        })?;
        let (time, ()) = timed(|| {
            for (time, columns) in encoded {
                seconds += time;
                let mut group = file.next_row_group()?;
                for column in columns {
                    column.append_to_row_group(&mut group)?;
                }
                group.close()?;
            }
            Ok(())
        })?;
        seconds += time;
    }
    let (time, _) = timed(|| Ok(file.close()?))?;
    Ok(seconds + time)
}

fn encode(
    factory: &ArrowRowGroupWriterFactory,
    schema: &SchemaRef,
    batches: &[RecordBatch],
) -> Result<Vec<ArrowColumnChunk>> {
    let mut writers = factory.create_column_writers(0)?;
    for batch in batches {
        let mut writers = writers.iter_mut();
        for (field, column) in schema.fields().iter().zip(batch.columns()) {
            for (leaf, writer) in compute_leaves(field, column)?.iter().zip(writers.by_ref()) {
                writer.write(leaf)?;
            }
        }
    }
    writers.drain(..).map(|writer| Ok(writer.close()?)).collect()
}
