//! A sound file of what is whole in a damaged one: chunks are copied as they are stored (section 8.6), but for what
//! readers pass over in them.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use recordfusion_core::{ByteStream, Error, RecordBlock, RecordFile, Result, ScanCounters};
use recordfusion_records::ContainerOptions;

use crate::array_record::Footer;
use crate::compression::Codec;
use crate::decoder::ChunkDecoder;
use crate::fault::{ChunkFault, Fault};
use crate::header::ChunkKind;
use crate::inspect::{has_leftovers, read_footer};
use crate::metadata::RecordsMetadata;
use crate::read::index::data_part_of_damaged;
use crate::read::{ChunkData, ChunkScan, Damage, ReadError, SIGNATURE_LEN, check_signature, metadata_chunk};
use crate::write::{
    ArrayRecordOptions, ArrayRecordWriter, ChunkEncoder, ChunkRecords, Compression, EncodedChunk, FileWriter,
    Layout, WriteError, WriterOptions,
};

/// The bytes of the repaired file: signature, metadata if they can be read, all chunks with records that can be
/// decoded, chunks of unknown types without records, and a new index if the file has one. Of transposed chunks with bytes
/// that belong to no field, the records are stored in a simple chunk. Padding is left out, and so are metadata of other
/// files that were appended, which no reader looks at.
pub(crate) fn repair(file: RecordFile, options: ContainerOptions, counters: Arc<ScanCounters>) -> ByteStream {
    let open = async move {
        let (repair, begin) = Repair::open(file, options, counters).await?;
        let rest = stream::try_unfold(repair, |mut repair| async move {
            Ok::<_, Error>(repair.next().await?.map(|piece| (piece, repair)))
        });
        Ok::<_, Error>(stream::once(async move { Ok(begin) }).chain(rest))
    };
    stream::once(open).try_flatten().boxed()
}

struct Repair {
    file: RecordFile,
    counters: Arc<ScanCounters>,
    chunks: ChunkScan,
    decoder: ChunkDecoder,
    /// The file that is being made, until it is finished.
    output: Option<Output>,
    /// Whether anything of the file is whole.
    any_chunk: bool,
}

/// What the new file has of a chunk.
enum Kept {
    Nothing,
    AsStored,
    /// Its records, or the message of a metadata chunk: it has bytes that belong to none.
    Records(RecordBlock),
}

enum Output {
    Riegeli(FileWriter),
    ArrayRecord(ArrayRecordWriter),
}

impl Repair {
    /// The repair, and what the new file begins with.
    async fn open(
        file: RecordFile,
        options: ContainerOptions,
        counters: Arc<ScanCounters>,
    ) -> Result<(Self, Bytes)> {
        let part = data_part_of_damaged(&file, &counters).await?;
        let mut begin = Vec::new();
        let output = if part.size < file.size {
            Output::ArrayRecord(match read_footer(&file, part.size, &counters).await {
                Ok(Footer { writer_options: text, .. }) => {
                    let known = text.as_ref().and_then(|text| text.parse().ok()).unwrap_or_default();
                    ArrayRecordWriter::create(known, &mut begin).with_stored_options(text)
                }
                Err(_) => ArrayRecordWriter::create(ArrayRecordOptions::default(), &mut begin),
            })
        } else {
            Output::Riegeli(FileWriter::create(&WriterOptions::default(), &mut begin))
        };
        let container = options.skipping();
        let chunks = ChunkScan::new(part.clone(), 0..part.size, container, Arc::clone(&counters));
        let chunks = chunks.with_all_data().with_firm_limits();
        let decoder = ChunkDecoder::with_limits(container.limits);
        Ok((Self { file, counters, chunks, decoder, output: Some(output), any_chunk: false }, begin.into()))
    }

    /// The next piece of the new file.
    async fn next(&mut self) -> Result<Option<Bytes>> {
        while self.output.is_some() {
            let piece = match self.chunks.next().await.map_err(ReadError::of(&self.file))? {
                Some(chunk) => {
                    let mut piece = self.metadata_before(&chunk).await?;
                    piece.extend(self.copy(chunk)?);
                    piece
                }
                None => self.finish().await?,
            };
            if !piece.is_empty() {
                return Ok(Some(piece.into()));
            }
        }
        Ok(None)
    }

    /// The metadata, if they are whole, although the search for chunks behind a damaged signature passed over them:
    /// `chunk` is the one that it found.
    async fn metadata_before(&mut self, chunk: &ChunkData) -> Result<Vec<u8>> {
        if self.any_chunk || chunk.chunk.begin <= SIGNATURE_LEN {
            return Ok(Vec::new());
        }
        let found = metadata_chunk(self.file.clone(), Arc::clone(&self.counters)).await;
        let Ok(Some((chunk, data))) = found else { return Ok(Vec::new()) };
        let metadata = ChunkData { chunk, kind: ChunkKind::Metadata, data };
        match self.kept(&metadata) {
            Ok(_) => self.copy(metadata),
            Err(_) => Ok(Vec::new()),
        }
    }

    /// The bytes of a chunk in the new file; none if it is left out.
    fn copy(&mut self, chunk: ChunkData) -> Result<Vec<u8>> {
        self.any_chunk = true;
        let mut out = Vec::new();
        let encoded = match self.kept(&chunk) {
            Ok(Kept::Nothing) => return Ok(out),
            Ok(Kept::AsStored) => EncodedChunk { header: chunk.chunk.header, data: chunk.data.into() },
            Ok(Kept::Records(records)) => {
                encode_anew(&chunk, &records).map_err(|error| encode_error(&error))?
            }
            Err(fault @ ChunkFault::Limit { .. }) => {
                return Err(ReadError::of(&self.file)(Damage::at(chunk.chunk.begin)(Fault::from(fault))));
            }
            Err(fault) => {
                chunk.lose(&fault, &self.file, &self.counters);
                return Ok(out);
            }
        };
        if let Some(output) = &mut self.output {
            output.write(&encoded, &mut out).map_err(|error| encode_error(&error))?;
        }
        Ok(out)
    }

    /// What of a chunk belongs into the new file.
    fn kept(&mut self, chunk: &ChunkData) -> std::result::Result<Kept, ChunkFault> {
        let records = match chunk.kind {
            ChunkKind::Simple | ChunkKind::Transposed => {
                let records = chunk.decode(&mut self.decoder, &self.counters)?;
                self.counters.chunks_read.add(1);
                self.counters.records_decoded.add(records.as_ref().map_or(0, |records| records.len() as u64));
                records
            }
            ChunkKind::Metadata if chunk.chunk.begin == SIGNATURE_LEN => {
                let message = self.decoder.decode_metadata(&chunk.chunk.header, &chunk.data)?;
                RecordsMetadata::parse(&message)?;
                let places = vec![(0, message.len() as u32)];
                RecordBlock::new(message.into(), places, chunk.chunk.begin)
            }
            ChunkKind::Unknown => None,
            ChunkKind::Metadata | ChunkKind::Signature | ChunkKind::Padding => return Ok(Kept::Nothing),
        };
        let is_clean = !has_leftovers(chunk, &self.decoder);
        Ok(records.filter(|_| !is_clean).map_or(Kept::AsStored, Kept::Records))
    }

    /// What comes behind the last chunk.
    async fn finish(&mut self) -> Result<Vec<u8>> {
        let file = &self.file;
        if !self.any_chunk && file.size > 0 {
            check_signature(file, &file.read(0..SIGNATURE_LEN).await?).map_err(ReadError::of(file))?;
        }
        let mut out = Vec::new();
        if let Some(Output::ArrayRecord(writer)) = self.output.take() {
            writer.finish(&mut out).map_err(|error| encode_error(&error))?;
        }
        Ok(out)
    }
}

impl Output {
    fn write(&mut self, chunk: &EncodedChunk, out: &mut Vec<u8>) -> std::result::Result<u64, WriteError> {
        match self {
            Self::Riegeli(writer) => writer.write(chunk, out),
            Self::ArrayRecord(writer) => writer.write(chunk, out),
        }
    }
}

/// The records of a transposed chunk, or the message of a metadata chunk, in a chunk of the same codec. They are kept
/// whole: to cut them may take memory that is in no proportion to them.
fn encode_anew(chunk: &ChunkData, records: &RecordBlock) -> std::result::Result<EncodedChunk, WriteError> {
    let codec = Codec::from_byte(chunk.data.first().copied().unwrap_or_default())?;
    let mut encoder = ChunkEncoder::with_layout(Layout::Simple, Compression::of(codec))?;
    if chunk.kind == ChunkKind::Metadata {
        return encoder.encode_metadata_whole(records.data());
    }
    let mut gathered = ChunkRecords::default();
    records.records().try_for_each(|record| gathered.push(record))?;
    encoder.encode(&gathered)
}

fn encode_error(error: &WriteError) -> Error {
    Error::Encode { format: "riegeli", reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use object_store::ObjectStoreExt;
    use object_store::memory::InMemory;
    use object_store::path::Path;

    use super::*;

    #[test]
    fn stored_options_are_kept_whatever_they_say() {
        for text in [None, Some(""), Some("group_size:3,foo:1"), Some("group_size:3,transpose")] {
            let mut bytes = Vec::new();
            let writer = ArrayRecordWriter::create(ArrayRecordOptions::default(), &mut bytes);
            let mut writer = writer.with_stored_options(text.map(str::to_string));
            let mut records = ChunkRecords::default();
            records.push(b"a record").expect("is short");
            let chunk =
                ArrayRecordOptions::default().encoder().expect("good").encode(&records).expect("encodes");
            writer.write(&chunk, &mut bytes).expect("is short");
            writer.finish(&mut bytes).expect("is short");

            let store = Arc::new(InMemory::new());
            let (location, size) = (Path::from("file"), bytes.len() as u64);
            block_on(store.put(&location, bytes.clone().into())).expect("memory takes it");
            let file = RecordFile::new(store, location, size, "file");
            let options = crate::options::container_options(&Default::default()).expect("no options");
            let pieces = repair(file, options, Arc::default());
            let repaired = block_on(pieces.try_collect::<Vec<_>>()).expect("sound").concat();
            assert!(repaired == bytes, "{text:?}");
        }
    }
}
