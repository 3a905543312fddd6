//! The traits that a format implements.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use futures::future::{self, BoxFuture, FutureExt};
use futures::stream::BoxStream;

use crate::{
    CounterInfo, Error, Inspection, MessageType, OptionInfo, Options, Projection, RecordBlock, RecordFile,
    Result, RowFilter, ScanCounters, Verification, Writer,
};

/// The batches of a scan.
pub type BatchStream = BoxStream<'static, Result<RecordBatch>>;

/// The records of a file as bytes.
pub type BlockStream = BoxStream<'static, Result<RecordBlock>>;

/// The bytes of a file, piece by piece.
pub type ByteStream = BoxStream<'static, Result<Bytes>>;

/// A record file format.
///
/// What some formats cannot have is a capability: a method that gives `None` where the format lacks it.
pub trait Connector: Debug + Send + Sync {
    /// The format's name in lower case: `STORED AS` takes it, and messages show it.
    fn name(&self) -> &'static str;

    /// The usual file name extensions, without the dot.
    fn extensions(&self) -> &'static [&'static str];

    /// How many of a file's first bytes [`Self::recognises`] wants to see.
    fn signature_len(&self) -> u64;

    /// Whether a file that begins with these bytes is of this format. `prefix` is shorter than
    /// [`Self::signature_len`] only if the file is. An empty file is nobody's: callers ask first.
    fn recognises(&self, prefix: &[u8]) -> bool;

    /// How many of a file's first bytes hold what it says of itself, as far as `head`, the first of them, shows: what
    /// [`Self::open`] reads of every file. `size` is the length of the file.
    fn metadata_len(&self, head: &[u8], size: u64) -> u64 {
        let _ = (head, size);
        0
    }

    /// Whether a file with other first bytes, which may be damaged, is of this format by what comes behind them: by
    /// something that no other file has by chance. Formats without such a thing find nothing.
    fn recognises_inside<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<bool>> {
        let _ = file;
        async { Ok(false) }.boxed()
    }

    /// Byte ranges are cut at multiples of this many bytes: finer cuts read as right, but cost more.
    fn range_alignment(&self) -> u64;

    /// What its scans count besides what [every scan](ScanCounters::COMMON) does.
    fn counters(&self) -> &[CounterInfo] {
        &[]
    }

    /// All options.
    fn options(&self) -> &[OptionInfo];

    /// Checks names and values as far as they can be without a file.
    ///
    /// # Errors
    /// Unknown or contradictory options; a value that its option cannot have.
    fn check_options(&self, options: &Options) -> Result<()>;

    /// Reads what `files` say of themselves and makes one table of them. Without files the options
    /// alone have to say what the columns are.
    ///
    /// # Errors
    /// Unknown or contradictory options; files of another format; descriptors that are missing,
    /// broken, or contradict those of another file.
    fn open<'a>(
        &'a self,
        files: &'a [RecordFile],
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>>;

    /// The table that [`Table::encode`] made bytes of, in this process or in another. Nothing is read.
    ///
    /// # Errors
    /// Bytes of another kind or version; [`crate::Error::Unsupported`] for formats whose tables do not travel.
    fn decode_table(&self, bytes: &[u8]) -> Result<Arc<dyn Table>> {
        let _ = bytes;
        Err(Error::Unsupported(format!("tables of {} files cannot be sent to other processes", self.name())))
    }

    /// Describes the file, from its headers and metadata.
    ///
    /// # Errors
    /// The first fault met.
    fn inspect<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<Inspection>>;

    /// How files are written.
    fn writing(&self) -> Option<&dyn Writing> {
        None
    }

    /// The rows of a file as byte records.
    fn byte_records(&self) -> Option<&dyn ByteRecords> {
        None
    }

    /// The check of a whole file.
    fn verifying(&self) -> Option<&dyn Verifying> {
        None
    }

    /// The copy of what is intact in a damaged file.
    fn repairing(&self) -> Option<&dyn Repairing> {
        None
    }
}

/// A format whose files can be written.
pub trait Writing: Send + Sync {
    /// The options of writing.
    fn write_options(&self) -> &[OptionInfo];

    /// Checks names and values of options of writing as far as they can be without columns.
    ///
    /// # Errors
    /// Unknown or contradictory options; a value that its option cannot have.
    fn check_write_options(&self, options: &Options) -> Result<()> {
        options.reject_unknown(self.write_options())
    }

    /// Plans the writing of rows of `schema` with options of writing, to files of one of the format's
    /// extensions. Rows that are whole records are messages of the type `records`, unless the options name another.
    ///
    /// # Errors
    /// Wrong options; columns that the format cannot hold.
    fn writer(
        &self,
        schema: &SchemaRef,
        extension: &str,
        options: &Options,
        records: Option<&MessageType>,
    ) -> Result<Arc<dyn Writer>>;
}

/// A format whose files hold byte records.
pub trait ByteRecords: Send + Sync {
    /// Like [`Connector::open`], but the records are not looked into, and may be anything: the one column `_record` has
    /// the bytes of each. The table takes rows of that column, and keeps what the files say of their records, be it no
    /// more than the name of a type. Of `options`, those count that say how records are found in the file, and what
    /// their message type is.
    ///
    /// # Errors
    /// Unknown or contradictory options; files of another format, or of different message types.
    fn open_records<'a>(
        &'a self,
        files: &'a [RecordFile],
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Arc<dyn Table>>>;

    /// The records of the chunks that begin in `range`, as bytes, in file order. Of `options`, only those count that
    /// say how records are found in the file.
    ///
    /// # Errors
    /// The stream ends with the first fault of the options or the file.
    fn records(
        &self,
        file: &RecordFile,
        range: Range<u64>,
        options: &Options,
        counters: Arc<ScanCounters>,
    ) -> BlockStream;
}

/// A format whose files can be checked from end to end.
pub trait Verifying: Send + Sync {
    /// Checks every hash and decodes every chunk, and goes on behind faults. Of `options`, those count that say how
    /// records are found in the file, but it is never an error to be damaged.
    ///
    /// # Errors
    /// Those of the options; [`crate::Error::WrongFormat`] if nothing of the file is of this format;
    /// [`crate::Error::Store`] if the store fails.
    fn verify<'a>(
        &'a self,
        file: &'a RecordFile,
        options: &'a Options,
    ) -> BoxFuture<'a, Result<Verification>>;
}

/// A format whose intact chunks can be copied to a file of their own.
pub trait Repairing: Send + Sync {
    /// The bytes of an intact file of the chunks that a scan would read that skips damage, in file order. They are
    /// copied as they are stored, after it was checked that they can be decoded, or encoded anew where readers skip
    /// some of their bytes; of `options`, only those count that say how records are found in the file. Chunks,
    /// records and lost regions are counted.
    ///
    /// # Errors
    /// The stream ends with [`crate::Error::WrongFormat`] or [`crate::Error::Store`] as [`Verifying::verify`], with
    /// those of the options, or with [`crate::Error::Unsupported`] for a chunk that a limit forbids to read.
    fn repair(&self, file: &RecordFile, options: &Options, counters: Arc<ScanCounters>) -> ByteStream;
}

/// The columns of one or more files, and how they are read.
pub trait Table: Debug + Send + Sync {
    /// All columns. Every field is nullable, at every depth, except map keys and entries.
    fn schema(&self) -> &SchemaRef;

    /// Reads the chunks that begin in a byte range.
    ///
    /// The batches have the columns of the projection in its order, and the rows that the filter keeps. Without
    /// columns they have rows only, and are counted from chunk headers where the format allows it and no filter asks.
    ///
    /// # Errors
    /// The stream ends with the first fault of the file or of a record.
    fn scan(&self, request: ScanRequest) -> BatchStream;

    /// What is known of a file without reading its rows: only what it guarantees, not what its writer claims.
    ///
    /// # Errors
    /// Those of the file.
    fn statistics<'a>(&'a self, file: &'a RecordFile) -> BoxFuture<'a, Result<FileStatistics>> {
        let _ = file;
        future::ready(Ok(FileStatistics::default())).boxed()
    }

    /// All that a scan needs, as bytes for [`Connector::decode_table`]: what the files said, and the options. Paths
    /// that only this process can read are not in them.
    ///
    /// # Errors
    /// [`crate::Error::Unsupported`] for formats whose tables do not travel.
    fn encode(&self) -> Result<Vec<u8>> {
        Err(Error::Unsupported("tables of this format cannot be sent to other processes".to_string()))
    }

    /// The message type of the records, if they are messages.
    fn messages(&self) -> Option<&dyn Messages> {
        None
    }

    /// How further files of the table are written.
    fn writing(&self) -> Option<&dyn TableWriting> {
        None
    }
}

/// Records that are messages.
pub trait Messages: Send + Sync {
    /// Their type. Of records that are not looked into, no more than its name may be known.
    fn message_type(&self) -> MessageType;

    /// Their type and all that it needs as .proto text, if that is known.
    fn proto_text(&self) -> Option<String>;
}

/// A table whose format can be written.
pub trait TableWriting: Send + Sync {
    /// Plans the writing of further files of this table, of rows of `schema`; otherwise as [`Writing::writer`].
    ///
    /// # Errors
    /// Those of [`Writing::writer`].
    fn writer(&self, schema: &SchemaRef, extension: &str, options: &Options) -> Result<Arc<dyn Writer>>;
}

/// What is known of a file without reading its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileStatistics {
    /// Its number of rows, if the format guarantees it.
    pub rows: Option<u64>,
    /// Bytes of its rows in memory, about.
    pub bytes: Option<u64>,
}

/// What to read.
#[derive(Debug, Clone)]
pub struct ScanRequest {
    /// The file.
    pub file: RecordFile,
    /// Byte range of the file: it owns the chunks that begin in it.
    pub range: Range<u64>,
    /// The wanted columns.
    pub projection: Projection,
    /// Which rows to give out; all if it is `None`.
    pub filter: Option<Arc<dyn RowFilter>>,
    /// Stop after this many rows that were given out.
    pub limit: Option<usize>,
    /// Most rows of a batch, at least 1.
    pub batch_size: usize,
    /// Where to count.
    pub counters: Arc<ScanCounters>,
}
