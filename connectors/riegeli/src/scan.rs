//! Scans of a byte range: record blocks, batches of columns, or row counts.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use futures::stream::{self, StreamExt, TryStreamExt};
use recordfusion_core::{
    BatchStream, BlockStream, Error, RecordBlock, RecordFile, Result, ScanCounters, ScanRequest,
};
use recordfusion_protobuf::{BatchDecoder, DecodedBatch};

use crate::header::ChunkKind;
use crate::read::index::data_part;
use crate::read::{BlockReader, Damage, GatheredBlocks, HeaderWalk, Piece, ReadError, ReadResult};
use crate::transposed::columns::ColumnReader;

/// The records of a range as bytes, a block a chunk, without the index of an ArrayRecord file.
pub(crate) fn records(file: RecordFile, range: Range<u64>, counters: Arc<ScanCounters>) -> BlockStream {
    let open = async move {
        let part = data_part(&file, &counters).await?;
        let blocks = BlockReader::new(part, range, counters);
        Ok::<_, Error>(stream::try_unfold((blocks, file), |(mut blocks, file)| async move {
            let block = blocks.next_records().await.map_err(ReadError::of(&file))?;
            Ok(block.map(|block| (block, (blocks, file))))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// The first records of `files` together: at least `wanted`, if they have so many, up to the end of a chunk.
pub(crate) async fn sample(files: &[RecordFile], wanted: usize) -> Result<Vec<RecordBlock>> {
    let mut sample: Vec<RecordBlock> = Vec::new();
    let mut left = wanted;
    for file in files {
        let mut blocks = records(file.clone(), 0..file.size, Arc::default());
        while left > 0
            && let Some(block) = blocks.try_next().await?
        {
            left = left.saturating_sub(block.len());
            sample.push(block);
        }
    }
    Ok(sample)
}

/// The records of a range as columns.
pub(crate) fn batches(request: ScanRequest, decoder: BatchDecoder) -> BatchStream {
    let open = async move {
        let part = data_part(&request.file, &request.counters).await?;
        let blocks = BlockReader::new(part, request.range.clone(), Arc::clone(&request.counters));
        let columns = ColumnReader::new(&decoder);
        let mut blocks = GatheredBlocks::new(blocks);
        blocks.keep_transposed(columns.is_some(), request.batch_size);
        let scan = BatchScan {
            blocks,
            decoder,
            columns,
            left: request.limit.unwrap_or(usize::MAX),
            current: None,
            request,
        };
        Ok::<_, Error>(stream::try_unfold(scan, |mut scan| async move {
            Ok(scan.next().await?.map(|batch| (batch, scan)))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

struct BatchScan {
    blocks: GatheredBlocks,
    decoder: BatchDecoder,
    request: ScanRequest,
    /// Takes columns from transposed chunks; `None` if the decoder needs whole records.
    columns: Option<ColumnReader>,
    /// Rows that the limit still allows.
    left: usize,
    /// What was read and not yet handed out.
    current: Option<Current>,
}

/// What the next batches come from.
enum Current {
    /// Records, and how many of them were decoded.
    Records(RecordBlock, usize),
    /// Rows that are decoded.
    Rows(RecordBatch),
}

impl BatchScan {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let wanted = self.request.batch_size.min(self.left);
        if wanted == 0 {
            return Ok(None);
        }
        let current = match self.current.take() {
            Some(current) => current,
            None => match self.read(wanted).await? {
                Some(current) => current,
                None => return Ok(None),
            },
        };
        let (block, begin) = match current {
            Current::Records(block, begin) => (block, begin),
            Current::Rows(rows) => return Ok(Some(self.slice(&rows, wanted))),
        };
        let file = &self.request.file;
        let end = block.len().min(begin + wanted);
        let counters = &self.request.counters;
        let decode = || self.decoder.decode(&file.name, &block, begin..end, counters);
        let DecodedBatch { batch, consumed } = counters.decode_time.time(decode)?;
        self.left -= batch.num_rows();
        if begin + consumed < block.len() {
            self.current = Some(Current::Records(block, begin + consumed));
        }
        Ok(Some(batch))
    }

    /// The next records, or the rows of the next chunk.
    async fn read(&mut self, wanted: usize) -> Result<Option<Current>> {
        let file = &self.request.file;
        let Some(piece) = self.blocks.next(wanted).await.map_err(ReadError::of(file))? else {
            return Ok(None);
        };
        let chunk = match piece {
            Piece::Records(block) => return Ok(Some(Current::Records(block, 0))),
            Piece::Transposed(chunk) => chunk,
        };
        let blocks = &mut self.blocks.blocks;
        if let Some(columns) = &mut self.columns
            && let Some(rows) = blocks.columns(&chunk, columns, &mut self.decoder)
        {
            return Ok(Some(Current::Rows(rows)));
        }
        let block = blocks.decode(&chunk).map_err(ReadError::of(file))?;
        Ok(block.map(|block| Current::Records(block, 0)))
    }

    /// The first `wanted` rows; the others are for later.
    fn slice(&mut self, rows: &RecordBatch, wanted: usize) -> RecordBatch {
        let batch = rows.slice(0, wanted.min(rows.num_rows()));
        self.left -= batch.num_rows();
        if batch.num_rows() < rows.num_rows() {
            let len = batch.num_rows();
            self.current = Some(Current::Rows(rows.slice(len, rows.num_rows() - len)));
        }
        batch
    }
}

/// Batches without columns, with as many rows as the chunk headers of a range say.
pub(crate) fn row_counts(request: ScanRequest) -> BatchStream {
    let open = async move {
        let part = data_part(&request.file, &request.counters).await?;
        let counters = Arc::clone(&request.counters);
        let walk = HeaderWalk::start(part, request.range.clone(), counters).await;
        let walk = walk.map_err(ReadError::of(&request.file))?;
        let left = request.limit.unwrap_or(usize::MAX) as u64;
        let count = RowCount { walk, counted: 0, left, stopped: None, request };
        Ok::<_, Error>(stream::try_unfold(count, |mut count| async move {
            Ok(count.next().await?.map(|batch| (batch, count)))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

struct RowCount {
    walk: HeaderWalk,
    request: ScanRequest,
    /// Rows that were counted, but not yet handed out.
    counted: u64,
    /// Rows that the limit still allows.
    left: u64,
    /// How the walk came to its end.
    stopped: Option<ReadResult<()>>,
}

impl RowCount {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let wanted = (self.request.batch_size as u64).min(self.left);
        while self.stopped.is_none() && self.counted < wanted {
            match self.count_chunk().await {
                Ok(Some(rows)) => self.counted = self.counted.saturating_add(rows),
                Ok(None) => self.stopped = Some(Ok(())),
                Err(error) => self.stopped = Some(Err(error)),
            }
        }
        let rows = self.counted.min(wanted);
        if rows == 0 && wanted > 0 {
            let stopped = self.stopped.replace(Ok(())).unwrap_or(Ok(()));
            stopped.map_err(ReadError::of(&self.request.file))?;
        }
        if rows == 0 {
            return Ok(None);
        }
        self.counted -= rows;
        self.left -= rows;
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        Ok(Some(RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?))
    }

    /// The number of records of the next chunk.
    async fn count_chunk(&mut self) -> ReadResult<Option<u64>> {
        let Some(chunk) = self.walk.next().await? else { return Ok(None) };
        match chunk.header.kind().map_err(Damage::at(chunk.begin))? {
            ChunkKind::Simple | ChunkKind::Transposed => {
                self.request.counters.chunks_counted.add(1);
                Ok(Some(chunk.header.num_records))
            }
            _ => Ok(Some(0)),
        }
    }
}
