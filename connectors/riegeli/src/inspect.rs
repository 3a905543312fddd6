//! A file described for people, and checked from end to end.

use std::sync::Arc;

use recordfusion_core::{
    ChunkSummary, Inspection, RecordBlock, RecordFile, Result, ScanCounters, Verification,
};

use crate::array_record::Footer;
use crate::compression::Codec;
use crate::decoder::ChunkDecoder;
use crate::fault::ChunkFault;
use crate::header::{Chunk, ChunkKind};
use crate::metadata::RecordsMetadata;
use crate::read::index::data_part;
use crate::read::{ChunkReader, Damage, HeaderWalk, ReadError, ReadResult, read_metadata};

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
            inspection.records += chunk.header.num_records;
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

async fn read_footer(file: &RecordFile, index: u64, counters: &Arc<ScanCounters>) -> ReadResult<Footer> {
    let mut chunks = ChunkReader::open(file.clone(), index..index + 1, Arc::clone(counters)).await?;
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

/// Checks every hash, decodes every chunk, and checks the index of an ArrayRecord file.
pub(crate) async fn verify(file: &RecordFile) -> ReadResult<Verification> {
    let counters = Arc::new(ScanCounters::default());
    let index = data_part(file, &counters).await?.size;
    let mut chunks = ChunkReader::open(file.clone(), 0..file.size, counters).await?;
    let mut decoder = ChunkDecoder::strict();
    let mut verification = Verification::default();
    while let Some(chunk) = chunks.next_chunk().await? {
        let at_chunk = Damage::at(chunk.begin);
        let kind = chunk.header.kind().map_err(&at_chunk)?;
        verification.chunks += 1;
        match kind {
            ChunkKind::Simple | ChunkKind::Transposed => {
                let data = chunks.read_data(&chunk).await?;
                let records = decoder.decode(&chunk.header, chunk.begin, &data).map_err(&at_chunk)?;
                match records {
                    Some(records) if chunk.begin >= index => {
                        check_footer(&chunk, index, &records).map_err(at_chunk)?
                    }
                    _ => {
                        verification.records += chunk.header.num_records;
                        verification.decoded_size += chunk.header.decoded_data_size;
                    }
                }
            }
            ChunkKind::Metadata => {
                let data = chunks.read_data(&chunk).await?;
                let message = decoder.decode_metadata(&chunk.header, &data);
                message.and_then(|message| RecordsMetadata::parse(&message)).map_err(at_chunk)?;
            }
            ChunkKind::Signature | ChunkKind::Padding | ChunkKind::Unknown => {
                chunks.check_data(&chunk).await?
            }
        }
    }
    Ok(verification)
}

fn check_footer(chunk: &Chunk, index: u64, records: &RecordBlock) -> std::result::Result<(), ChunkFault> {
    if chunk.begin == index { Footer::parse(records, index).map(|_| ()) } else { Ok(()) }
}
