//! Scans of a byte range: record blocks, batches of columns, or row counts.

use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use recordfusion_core::{
    BatchStream, BlockStream, Error, OnCorruption, RecordFile, Result, ScanCounters, ScanRequest,
};
use recordfusion_protobuf::{ScanPlan, scan_batches};

use crate::fault::Limits;
use crate::options::ContainerOptions;
use crate::read::{
    ChunkSource, HeaderWalk, ReadError, ReadResult, RecoveringReader, Seam, Start, StrictReader,
};

/// The records of a range as bytes, a block a chunk.
pub(crate) fn records(
    file: RecordFile,
    range: Range<u64>,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
) -> BlockStream {
    match options.on_corruption {
        OnCorruption::Error => strict_records(file, range, options.limits, counters),
        OnCorruption::Skip => recovered_records(file, range, options.limits, counters),
    }
}

fn strict_records(
    file: RecordFile,
    range: Range<u64>,
    limits: Limits,
    counters: Arc<ScanCounters>,
) -> BlockStream {
    let open = async move {
        let chunks = StrictReader::open(file.clone(), range, limits, Arc::clone(&counters)).await;
        let chunks = chunks.map_err(ReadError::of(&file))?;
        let state = (chunks, file, counters);
        Ok::<_, Error>(stream::try_unfold(state, move |(mut chunks, file, counters)| async move {
            let Some(mut chunk) = chunks.next().await.map_err(ReadError::of(&file))? else { return Ok(None) };
            let block = chunk.decode(&limits, &counters).map_err(ReadError::at(chunk.begin));
            let block = block.map_err(ReadError::of(&file))?;
            Ok(Some((block, (chunks, file, counters))))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

fn recovered_records(
    file: RecordFile,
    range: Range<u64>,
    limits: Limits,
    counters: Arc<ScanCounters>,
) -> BlockStream {
    let open = async move {
        let reader = RecoveringReader::open(file, range, limits, counters).await?;
        Ok::<_, Error>(stream::try_unfold(reader, |mut reader| async move {
            Ok(reader.next().await?.map(|block| (block, reader)))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// The records of a range as columns.
pub(crate) fn batches(request: ScanRequest, options: ContainerOptions, plan: ScanPlan) -> BatchStream {
    scan_batches(blocks(&request, options), plan, request)
}

fn blocks(request: &ScanRequest, options: ContainerOptions) -> BlockStream {
    records(request.file.clone(), request.range.clone(), options, Arc::clone(&request.counters))
}

/// Batches without columns, with as many rows as the range has records. They are counted by the chunk headers if
/// those may be trusted and damage is an error, so that it makes no difference; otherwise by reading.
pub(crate) fn row_counts(
    request: &ScanRequest,
    options: ContainerOptions,
    trust_headers: bool,
) -> BatchStream {
    let by_headers = trust_headers && options.on_corruption == OnCorruption::Error;
    let counts = match by_headers {
        true => header_counts(request.clone(), options),
        false => read_counts(request, options),
    };
    recordfusion_core::row_counts(counts, request.limit, request.batch_size)
}

/// The number of records of each chunk, by reading it.
fn read_counts(request: &ScanRequest, options: ContainerOptions) -> BoxStream<'static, Result<u64>> {
    blocks(request, options).map_ok(|block| block.len() as u64).boxed()
}

/// The number of records of each chunk by its header; by reading where the chunks before are too many to hop over.
fn header_counts(request: ScanRequest, options: ContainerOptions) -> BoxStream<'static, Result<u64>> {
    let open = async move {
        let file = request.file.clone();
        let mut walk = HeaderWalk::new(file.clone(), options.limits, Arc::clone(&request.counters));
        let start = match request.range.start < request.range.end {
            true => walk.seek(request.range.start).await.map_err(ReadError::of(&file))?,
            false => return Ok(stream::empty().boxed()),
        };
        if start == Start::Far {
            return Ok(read_counts(&request, options));
        }
        let count = HeaderCount {
            walk,
            end: request.range.end.min(file.size),
            last: None,
            limits: options.limits,
            request,
        };
        let counts = stream::try_unfold(count, |mut count| async move {
            let file = count.request.file.clone();
            let next = count.next().await.map_err(ReadError::of(&file))?;
            Ok(next.map(|rows| (rows, count)))
        });
        Ok::<_, Error>(counts.boxed())
    };
    stream::once(open).try_flatten().boxed()
}

struct HeaderCount {
    walk: HeaderWalk,
    end: u64,
    /// Begin of the last chunk.
    last: Option<u64>,
    limits: Limits,
    request: ScanRequest,
}

impl HeaderCount {
    async fn next(&mut self) -> ReadResult<Option<u64>> {
        if let Some((begin, header)) = self.walk.next(self.end).await? {
            self.last = Some(begin);
            self.request.counters.chunks_counted.add(1);
            return Ok(Some(header.count.into()));
        }
        if let Some(last) = self.last.take().filter(|_| self.walk.index().is_none()) {
            let seam = Seam { range_end: self.end, last, position: self.walk.position() };
            let (file, counters) = (self.request.file.clone(), Arc::clone(&self.request.counters));
            let mut chunks = ChunkSource::new(file, self.end, self.end, self.limits, counters);
            seam.check(&mut chunks).await?;
        }
        Ok(None)
    }
}
