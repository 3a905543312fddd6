//! A file described for people, and checked from end to end.

use std::sync::Arc;

use recordfusion_core::{
    ChunkSummary, Inspection, LostRegion, RecordFile, Result, ScanCounters, Verification,
};
use recordfusion_records::ContainerOptions;

use crate::array_record::Footer;
use crate::compression::Codec;
use crate::decoder::ChunkDecoder;
use crate::fault::ChunkFault;
use crate::header::{Chunk, ChunkKind};
use crate::metadata::RecordsMetadata;
use crate::read::index::{data_part, data_part_of_damaged};
use crate::read::{
    ChunkData, ChunkReader, ChunkScan, Damage, HeaderWalk, ReadError, ReadResult, SIGNATURE_LEN,
    check_signature, read_metadata,
};

/// Describes the file from its headers, its metadata, and the first byte of the data of each chunk.
pub(crate) async fn inspect(file: &RecordFile) -> Result<Inspection> {
    let counters = Arc::new(ScanCounters::default());
    let index = data_part(file, &counters).await?.size;
    let array_record = index < file.size;
    let kind = if array_record { "ArrayRecord" } else { "Riegeli/records" };
    let mut inspection = Inspection { kind: kind.to_string(), size: file.size, ..Inspection::default() };
    list_chunks(file, index, &counters, &mut inspection).await.map_err(ReadError::of(file))?;

    let metadata = read_metadata(file.clone(), Arc::clone(&counters)).await.map_err(ReadError::of(file))?;
    inspection.metadata = match metadata {
        Ok(metadata) => describe(&metadata),
        Err(fault) => vec![("metadata".to_string(), format!("damaged: {fault}"))],
    };
    if array_record {
        let text = match read_footer(file, index, &counters).await {
            Ok(footer) => footer.writer_options,
            Err(ReadError::Damage(damage)) => Some(format!("damaged footer: {}", damage.fault)),
            Err(other) => return Err(ReadError::of(file)(other)),
        };
        let pair = |text| ("ArrayRecord options".to_string(), text);
        inspection.metadata.extend(text.map(pair));
    }
    Ok(inspection)
}

async fn list_chunks(
    file: &RecordFile,
    index: u64,
    counters: &Arc<ScanCounters>,
    inspection: &mut Inspection,
) -> ReadResult<()> {
    let mut walk = HeaderWalk::start(file.clone(), 0..file.size, Arc::clone(counters)).await?;
    while let Some(chunk) = walk.next().await? {
        let kind = chunk.header.kind().map_err(Damage::at(chunk.begin))?;
        let has_codec = matches!(kind, ChunkKind::Simple | ChunkKind::Transposed | ChunkKind::Metadata);
        let byte = if has_codec { walk.first_data_byte(&chunk).await? } else { None };
        let codec = byte.map_or("-", |byte| Codec::from_byte(byte).map_or("unknown", Codec::name));
        let in_index = chunk.begin >= index && kind == ChunkKind::Simple;
        let is_records = matches!(kind, ChunkKind::Simple | ChunkKind::Transposed) && !in_index;
        if is_records {
            inspection.records = inspection.records.saturating_add(chunk.header.num_records);
            inspection.decoded_size = inspection.decoded_size.saturating_add(chunk.header.decoded_data_size);
        }
        let kind = if in_index { index_kind(&chunk, index) } else { kind_name(kind) };
        inspection.chunks.push(ChunkSummary {
            begin: chunk.begin,
            end: chunk.end,
            kind: kind.to_string(),
            codec: codec.to_string(),
            records: if in_index { 0 } else { chunk.header.num_records },
            data_size: chunk.header.data_size,
            decoded_size: chunk.header.decoded_data_size,
        });
    }
    Ok(())
}

fn index_kind(chunk: &Chunk, index: u64) -> &'static str {
    if chunk.begin == index { "footer" } else { "postscript" }
}

fn kind_name(kind: ChunkKind) -> &'static str {
    match kind {
        ChunkKind::Signature => "signature",
        ChunkKind::Metadata => "metadata",
        ChunkKind::Padding => "padding",
        ChunkKind::Simple => "simple",
        ChunkKind::Transposed => "transposed",
        ChunkKind::Unknown => "unknown",
    }
}

/// Names and values of what is there.
fn describe(metadata: &RecordsMetadata) -> Vec<(String, String)> {
    let descriptors = metadata.file_descriptors.len();
    let pairs = [
        ("message type", metadata.record_type_name.clone()),
        ("comment", metadata.file_comment.clone()),
        ("writer options", metadata.record_writer_options.clone()),
        ("descriptor files", (descriptors > 0).then(|| descriptors.to_string())),
        ("claimed records", metadata.num_records.map(|records| records.to_string())),
    ];
    pairs.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

pub(crate) async fn read_footer(
    file: &RecordFile,
    index: u64,
    counters: &Arc<ScanCounters>,
) -> ReadResult<Footer> {
    let mut chunks =
        ChunkReader::open(file.clone(), index..index.saturating_add(1), Arc::clone(counters)).await?;
    let missing = || Damage::at(index)(ChunkFault::Footer("its place"));
    let chunk = chunks.next_chunk().await?.filter(|chunk| chunk.begin == index).ok_or_else(missing)?;
    let kind = chunk.header.kind().map_err(Damage::at(index))?;
    if kind != ChunkKind::Simple {
        return Err(missing());
    }
    let data = chunks.read_data(&chunk).await?;
    let records = ChunkDecoder::default().decode(&chunk.header, index, &data).map_err(Damage::at(index))?;
    Footer::parse(&records.ok_or_else(missing)?, index).map_err(Damage::at(index))
}

/// Checks every hash, decodes every chunk, and checks the index of an ArrayRecord file; goes on behind faults. A fault is
/// what a scan finds; bytes of a transposed chunk that belong to no field, which readers ignore, are told besides.
pub(crate) async fn verify(file: &RecordFile, options: ContainerOptions) -> ReadResult<Verification> {
    let counters = Arc::new(ScanCounters::default());
    let index = data_part_of_damaged(file, &counters).await?.size;
    let chunks = ChunkScan::new(file.clone(), 0..file.size, options.skipping(), Arc::clone(&counters));
    let mut chunks = chunks.with_all_data();
    let mut decoder = ChunkDecoder::with_limits(options.limits);
    let mut verification = Verification::default();
    while let Some(chunk) = chunks.next().await? {
        match check(&chunk, index, &mut decoder) {
            Ok(is_records) => {
                verification.chunks = verification.chunks.saturating_add(1);
                if has_leftovers(&chunk, &decoder) {
                    let Chunk { begin, end, .. } = chunk.chunk;
                    let reason = "the chunk has bytes that belong to no field".to_string();
                    verification.leftovers.push(LostRegion { begin, end, reason });
                }
                if is_records {
                    let header = &chunk.chunk.header;
                    verification.records = verification.records.saturating_add(header.num_records);
                    verification.decoded_size =
                        verification.decoded_size.saturating_add(header.decoded_data_size);
                }
            }
            Err(fault) => chunk.lose(&fault, file, &counters),
        }
    }
    if verification.chunks == 0 && file.size > 0 {
        check_signature(file, &file.read(0..SIGNATURE_LEN).await?)?;
    }
    verification.faults = counters.lost_regions.all().into_iter().map(|(_, region)| region).collect();
    Ok(verification)
}

/// Whether a chunk that was decoded has bytes that belong to nothing in it.
pub(crate) fn has_leftovers(chunk: &ChunkData, decoder: &ChunkDecoder) -> bool {
    matches!(chunk.kind, ChunkKind::Transposed | ChunkKind::Metadata) && decoder.has_leftovers()
}

/// Decodes a chunk; says whether it has records that do not belong to the index.
fn check(chunk: &ChunkData, index: u64, decoder: &mut ChunkDecoder) -> std::result::Result<bool, ChunkFault> {
    let Chunk { begin, header, .. } = chunk.chunk;
    match chunk.kind {
        ChunkKind::Simple | ChunkKind::Transposed => match decoder.decode(&header, begin, &chunk.data)? {
            Some(records) if begin == index => Footer::parse(&records, index).map(|_| false),
            _ => Ok(begin < index),
        },
        ChunkKind::Metadata => {
            let message = decoder.decode_metadata(&header, &chunk.data)?;
            RecordsMetadata::parse(&message).map(|_| false)
        }
        ChunkKind::Signature | ChunkKind::Padding | ChunkKind::Unknown => Ok(false),
    }
}
