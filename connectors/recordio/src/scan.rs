//! Scans of a byte range: records, or counts.

use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use recordfusion_core::{
    BlockStream, Error, OnCorruption, OnTruncated, RecordBlock, RecordFile, Result, ScanCounters, ScanRequest,
};
use recordfusion_records::ContainerOptions;

use crate::options::ReadOptions;
use crate::read::{
    ChunkSource, HeaderWalk, ReadError, ReadResult, RecoveringReader, Seam, Start, StrictReader,
    is_unfinished,
};

/// The records of a range as bytes, a block a chunk.
pub(crate) fn records(
    file: RecordFile,
    range: Range<u64>,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
) -> BlockStream {
    match options.on_corruption {
        OnCorruption::Error => strict_records(file, range, options, counters),
        OnCorruption::Skip => recovered_records(file, range, options, counters),
    }
}

fn strict_records(
    file: RecordFile,
    range: Range<u64>,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
) -> BlockStream {
    let state = StrictBlocks { file, range, options, counters, chunks: None };
    stream::try_unfold(state, |mut blocks| async move {
        let file = blocks.file.clone();
        let block = blocks.next().await.map_err(ReadError::of(&file))?;
        Ok(block.map(|block| (block, blocks)))
    })
    .boxed()
}

struct StrictBlocks {
    file: RecordFile,
    range: Range<u64>,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
    chunks: Option<StrictReader>,
}

impl StrictBlocks {
    async fn next(&mut self) -> ReadResult<Option<RecordBlock>> {
        let next = self.read().await;
        end_if_unfinished(next, &self.file, self.options, &self.counters).await
    }

    async fn read(&mut self) -> ReadResult<Option<RecordBlock>> {
        let limits = self.options.limits;
        let chunks = match &mut self.chunks {
            Some(chunks) => chunks,
            none => {
                let (file, counters) = (self.file.clone(), Arc::clone(&self.counters));
                none.insert(StrictReader::open(file, self.range.clone(), limits, counters).await?)
            }
        };
        let Some(mut chunk) = chunks.next().await? else { return Ok(None) };
        chunk.decode(&limits, &self.counters).map(Some).map_err(ReadError::at(chunk.begin))
    }
}

/// What was read next; nothing if that is a chunk that is still being written, and may be.
async fn end_if_unfinished<T>(
    next: ReadResult<Option<T>>,
    file: &RecordFile,
    options: ContainerOptions,
    counters: &Arc<ScanCounters>,
) -> ReadResult<Option<T>> {
    match next {
        Err(ReadError::Damage { begin, fault })
            if options.on_truncated == OnTruncated::End
                && is_unfinished(file, begin, &fault, options.limits, counters).await? =>
        {
            Ok(None)
        }
        next => next,
    }
}

fn recovered_records(
    file: RecordFile,
    range: Range<u64>,
    options: ContainerOptions,
    counters: Arc<ScanCounters>,
) -> BlockStream {
    let open = async move {
        let reader = RecoveringReader::open(file, range, options, counters).await?;
        Ok::<_, Error>(stream::try_unfold(reader, |mut reader| async move {
            Ok(reader.next().await?.map(|(_, block)| (block, reader)))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// How many records the range of the request has: by the chunk headers if those may be trusted and damage is an error,
/// so that it makes no difference; otherwise by reading.
pub(crate) fn counts(request: &ScanRequest, options: ReadOptions) -> BoxStream<'static, Result<u64>> {
    let by_headers = options.trust_headers && options.container.on_corruption == OnCorruption::Error;
    match by_headers {
        true => header_counts(request.clone(), options.container),
        false => read_counts(request, options.container),
    }
}

/// The number of records of each chunk, by reading it.
fn read_counts(request: &ScanRequest, options: ContainerOptions) -> BoxStream<'static, Result<u64>> {
    let counters = Arc::clone(&request.counters);
    let blocks = records(request.file.clone(), request.range.clone(), options, counters);
    blocks.map_ok(|block| block.len() as u64).boxed()
}

/// The number of records of each chunk by its header; by reading where the chunks before are too many to hop over.
fn header_counts(request: ScanRequest, options: ContainerOptions) -> BoxStream<'static, Result<u64>> {
    let open = async move {
        let file = request.file.clone();
        let walk = HeaderWalk::new(file.clone(), options.limits, Arc::clone(&request.counters));
        let end = request.range.end.min(file.size);
        let mut count = HeaderCount { walk, end, last: None, options, request };
        match count.seek().await.map_err(ReadError::of(&file))? {
            None => return Ok(stream::empty().boxed()),
            Some(Start::Far) => return Ok(read_counts(&count.request, options)),
            Some(Start::At { .. }) => {}
        }
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
    options: ContainerOptions,
    request: ScanRequest,
}

impl HeaderCount {
    /// Goes to the first chunk of the range, if there may be one.
    async fn seek(&mut self) -> ReadResult<Option<Start>> {
        if self.request.range.start >= self.request.range.end {
            return Ok(None);
        }
        let start = self.walk.seek(self.request.range.start).await.map(Some);
        end_if_unfinished(start, &self.request.file, self.options, &self.request.counters).await
    }

    async fn next(&mut self) -> ReadResult<Option<u64>> {
        let next = self.count_chunk().await;
        end_if_unfinished(next, &self.request.file, self.options, &self.request.counters).await
    }

    async fn count_chunk(&mut self) -> ReadResult<Option<u64>> {
        if let Some((begin, header)) = self.walk.next(self.end).await? {
            self.last = Some(begin);
            self.request.counters.chunks_counted.add(1);
            return Ok(Some(header.count.into()));
        }
        if let Some(last) = self.last.take().filter(|_| self.walk.index().is_none()) {
            let seam = Seam { range_end: self.end, last, position: self.walk.position() };
            let (file, counters) = (self.request.file.clone(), Arc::clone(&self.request.counters));
            let mut chunks = ChunkSource::new(file, self.end, self.end, self.options.limits, counters);
            seam.check(&mut chunks).await?;
        }
        Ok(None)
    }
}
