//! Scans of a byte range: records, or counts.

use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use recordfusion_core::{
    BlockStream, Error, OnCorruption, OnTruncated, RangeEnd, RecordBlock, RecordFile, Result, ScanCounters,
    ScanRequest, Split,
};
use recordfusion_records::ContainerOptions;

use crate::read::{
    ChunkSource, HeaderWalk, Hops, ReadError, ReadResult, RecoveringReader, Start, StrictReader,
    check_strictly, is_unfinished, most_hops,
};

/// The chunks to read, and how they are found.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub file: RecordFile,
    pub range: Range<u64>,
    pub options: ContainerOptions,
    /// Most headers that are read to find the first chunk.
    most_hops: u64,
    pub counters: Arc<ScanCounters>,
}

impl Part {
    /// The part of a file that belongs to `range`. With a `limit`, reading may end before the end of the range.
    pub fn new(
        file: &RecordFile,
        range: Range<u64>,
        (options, split): (ContainerOptions, Split),
        limit: Option<usize>,
        counters: &Arc<ScanCounters>,
    ) -> Self {
        Self {
            range: split.part(range, file.size),
            most_hops: most_hops(split, limit),
            file: file.clone(),
            options,
            counters: Arc::clone(counters),
        }
    }

    /// The part that a scan reads.
    pub fn of(request: &ScanRequest, options: (ContainerOptions, Split)) -> Self {
        Self::new(&request.file, request.range.clone(), options, request.limit, &request.counters)
    }

    fn walk(&self) -> HeaderWalk {
        let Self { file, range, options, most_hops, counters } = self;
        HeaderWalk::new(file.clone(), range.end, options.limits, *most_hops, Arc::clone(counters))
    }
}

/// The records of a part as bytes, a block a chunk.
pub(crate) fn records(part: Part) -> BlockStream {
    match part.options.on_corruption {
        OnCorruption::Error => strict_records(part),
        OnCorruption::Skip => recovered_records(part),
    }
}

fn strict_records(part: Part) -> BlockStream {
    let state = StrictBlocks { part, chunks: None };
    stream::try_unfold(state, |mut blocks| async move {
        match blocks.next().await {
            Ok(block) => Ok(block.map(|block| (block, blocks))),
            Err(error) => Err(blocks.describe(error)),
        }
    })
    .boxed()
}

struct StrictBlocks {
    part: Part,
    chunks: Option<StrictReader>,
}

impl StrictBlocks {
    async fn next(&mut self) -> ReadResult<Option<RecordBlock>> {
        let next = self.read().await;
        end_if_unfinished(next, &self.part).await
    }

    fn describe(&self, error: ReadError) -> Error {
        match &self.chunks {
            Some(chunks) if chunks.is_searched() => ReadError::of_searched(&self.part.file)(error),
            _ => ReadError::of(&self.part.file)(error),
        }
    }

    async fn read(&mut self) -> ReadResult<Option<RecordBlock>> {
        let limits = self.part.options.limits;
        let chunks = match &mut self.chunks {
            Some(chunks) => chunks,
            none => {
                let Part { file, range, most_hops, counters, .. } = self.part.clone();
                none.insert(StrictReader::open(file, range, limits, most_hops, counters).await?)
            }
        };
        let Some(mut chunk) = chunks.next().await? else { return Ok(None) };
        chunk.decode(&limits, &self.part.counters).map(Some).map_err(ReadError::at(chunk.begin))
    }
}

/// What was read next; nothing if that is a chunk that is still being written, and may be.
async fn end_if_unfinished<T>(
    next: ReadResult<Option<T>>,
    Part { file, options, counters, .. }: &Part,
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

fn recovered_records(part: Part) -> BlockStream {
    let open = async move {
        let Part { file, range, options, most_hops, counters } = part;
        let reader = RecoveringReader::open(file, range, options, most_hops, counters).await?;
        Ok::<_, Error>(stream::try_unfold(reader, |mut reader| async move {
            Ok(reader.next().await?.map(|(_, block)| (block, reader)))
        }))
    };
    stream::once(open).try_flatten().boxed()
}

/// How many records a part has: by the chunk headers if those may be trusted and damage is an error, so that it makes
/// no difference; otherwise by reading.
pub(crate) fn counts(part: Part, trust_headers: bool) -> BoxStream<'static, Result<u64>> {
    let by_headers = trust_headers && part.options.on_corruption == OnCorruption::Error;
    if by_headers { header_counts(part) } else { read_counts(part) }
}

/// The number of records of each chunk, by reading it.
fn read_counts(part: Part) -> BoxStream<'static, Result<u64>> {
    records(part).map_ok(|block| block.len() as u64).boxed()
}

/// The number of records of each chunk by its header; by reading where the chunks before are too many to hop over.
fn header_counts(part: Part) -> BoxStream<'static, Result<u64>> {
    let open = async move {
        let file = part.file.clone();
        let mut count = HeaderCount { walk: part.walk(), hops: part.walk().hops(), any: false, part };
        match count.seek().await.map_err(ReadError::of(&file))? {
            None => return Ok(stream::empty().boxed()),
            Some(Start::Far) => return Ok(read_counts(count.part)),
            Some(Start::At { .. }) => {}
        }
        let counts = stream::try_unfold(count, |mut count| async move {
            let file = count.part.file.clone();
            let next = count.next().await.map_err(ReadError::of(&file))?;
            Ok(next.map(|rows| (rows, count)))
        });
        Ok::<_, Error>(counts.boxed())
    };
    stream::once(open).try_flatten().boxed()
}

struct HeaderCount {
    walk: HeaderWalk,
    /// How far those come who hop to the ranges behind.
    hops: Hops,
    /// Whether there was a chunk, so that the end of the range has to be checked.
    any: bool,
    part: Part,
}

impl HeaderCount {
    /// Goes to the first chunk of the range, if there may be one.
    async fn seek(&mut self) -> ReadResult<Option<Start>> {
        let Range { start, end } = self.part.range;
        if start >= end {
            return Ok(None);
        }
        let found = self.walk.seek(start).await.map(Some);
        self.hops = self.walk.hops();
        end_if_unfinished(found, &self.part).await
    }

    async fn next(&mut self) -> ReadResult<Option<u64>> {
        let next = self.count_chunk().await;
        end_if_unfinished(next, &self.part).await
    }

    async fn count_chunk(&mut self) -> ReadResult<Option<u64>> {
        let end = self.part.range.end;
        if let Some((begin, header)) = self.walk.next(end).await? {
            self.any = true;
            self.hops.follow(begin, header.chunk_len());
            self.part.counters.chunks_counted.add(1);
            return Ok(Some(header.count.into()));
        }
        if std::mem::take(&mut self.any) && !self.hops.reach(end) {
            let (file, counters) = (self.part.file.clone(), Arc::clone(&self.part.counters));
            let mut chunks = ChunkSource::new(file, end, end, self.part.options.limits, counters).bounded();
            let end = RangeEnd { search: end, next: self.walk.position() };
            check_strictly(end, &mut chunks).await?;
        }
        Ok(None)
    }
}
