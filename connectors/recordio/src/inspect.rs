//! A file described for people, and checked from end to end.

use std::sync::Arc;

use recordfusion_core::{ChunkSummary, Error, Inspection, RecordFile, Result, ScanCounters, Verification};
use recordfusion_records::ContainerOptions;

use crate::fault::{Fault, LIMITS};
use crate::header::{ChunkHeader, Codec, LENGTH_LEN, Layout};
use crate::read::{ChunkSource, FORMAT, HeaderWalk, ReadError, ReadResult, RecoveringReader};

/// Describes the file. Headers are enough for chunks that are not compressed; of others the sizes of the records,
/// and the layout, are known only by reading them.
pub(crate) async fn inspect(file: &RecordFile) -> Result<Inspection> {
    let mut inspection =
        Inspection { kind: "RecordIO".to_string(), size: file.size, ..Inspection::default() };
    list_chunks(file, &mut inspection).await.map_err(ReadError::of(file))?;
    Ok(inspection)
}

async fn list_chunks(file: &RecordFile, inspection: &mut Inspection) -> ReadResult<()> {
    let counters = Arc::new(ScanCounters::default());
    let limits = LIMITS;
    let mut walk = HeaderWalk::new(file.clone(), file.size, limits, u64::MAX, Arc::clone(&counters));
    let mut chunks = ChunkSource::new(file.clone(), 0, 0, limits, counters);
    while let Some((begin, header)) = walk.next(file.size).await? {
        let (reading, decoded_size) = match header.certain_reading() {
            Some(reading @ (_, Codec::None)) => (reading, record_bytes(&header, header.size.into())),
            _ => read_chunk(&mut chunks, begin).await?,
        };
        let (layout, codec) = reading;
        inspection.records = inspection.records.saturating_add(header.count.into());
        inspection.decoded_size = inspection.decoded_size.saturating_add(decoded_size);
        inspection.chunks.push(ChunkSummary {
            begin,
            end: begin.saturating_add(header.chunk_len()),
            kind: layout.name().to_string(),
            codec: codec.name().to_string(),
            records: header.count.into(),
            data_size: header.size.into(),
            decoded_size,
        });
    }
    Ok(())
}

/// Bytes of the records of a payload, without their lengths.
fn record_bytes(header: &ChunkHeader, decompressed: u64) -> u64 {
    decompressed.saturating_sub(u64::from(header.count) * LENGTH_LEN)
}

async fn read_chunk(chunks: &mut ChunkSource, begin: u64) -> ReadResult<((Layout, Codec), u64)> {
    let mut chunk = chunks.chunk_at(begin).await?.map_err(ReadError::at(begin))?;
    let block = chunk.decode(&LIMITS, &ScanCounters::default()).map_err(ReadError::at(begin))?;
    Ok((chunk.reading, record_bytes(&chunk.header, block.data().len() as u64)))
}

/// Checks every checksum and decodes every chunk; goes on behind faults.
pub(crate) async fn verify(file: &RecordFile, options: ContainerOptions) -> Result<Verification> {
    let counters = Arc::new(ScanCounters::default());
    let mut chunks =
        RecoveringReader::open(file.clone(), 0..file.size, options, 0, Arc::clone(&counters)).await?;
    let mut verification = Verification::default();
    while let Some((chunk, block)) = chunks.next().await? {
        let decoded_size = record_bytes(&chunk.header, block.data().len() as u64);
        verification.chunks = verification.chunks.saturating_add(1);
        verification.records = verification.records.saturating_add(block.len() as u64);
        verification.decoded_size = verification.decoded_size.saturating_add(decoded_size);
    }
    if verification.chunks == 0 && file.size > 0 {
        check_begin(file, Arc::clone(&counters)).await?;
    }
    verification.faults = counters.lost_regions.all().into_iter().map(|(_, region)| region).collect();
    Ok(verification)
}

/// Checks that a file in which no chunk is intact begins at least like one of this format.
pub(crate) async fn check_begin(file: &RecordFile, counters: Arc<ScanCounters>) -> Result<()> {
    match ChunkSource::new(file.clone(), 0, 0, LIMITS, counters).chunk_at(0).await? {
        Err(fault @ Fault::Magic(_)) => Err(Error::WrongFormat {
            file: file.name.clone(),
            format: FORMAT,
            reason: format!("it has no intact chunk, and at byte 0 {fault}"),
        }),
        _ => Ok(()),
    }
}
