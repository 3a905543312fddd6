//! The output formats and their names.

use std::str::FromStr;
use std::sync::Arc;

use datafusion::arrow::csv;
use datafusion::common::plan_err;
use datafusion::error::Result;
use datafusion::parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};

use crate::encode::{Encoding, ParquetEncoding};
use crate::registry;

/// The format of a converted file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header line; nested columns are JSON text.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// Arrow IPC file; dictionary columns are written as their values.
    Arrow,
    /// Record files with this extension, one of a connector's.
    Records(&'static str),
}

impl OutputFormat {
    /// All names, for messages.
    pub fn names() -> String {
        let records = registry::connectors().iter().flat_map(|connector| registry::names(connector.as_ref()));
        ["parquet", "csv", "ndjson", "arrow"].into_iter().chain(records).collect::<Vec<_>>().join(", ")
    }

    /// The format that the extension of `path` names.
    pub fn by_extension(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "json" | "jsonl" => Some(Self::Ndjson),
            "feather" | "ipc" => Some(Self::Arrow),
            "pq" => Some(Self::Parquet),
            extension => extension.parse().ok(),
        }
    }

    /// The usual extension, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Arrow => "arrow",
            Self::Records(extension) => extension,
        }
    }

    /// How its files are encoded.
    pub(super) fn encoding(self, compression: ParquetCompression) -> Result<Arc<Encoding>> {
        Ok(Arc::new(match self {
            Self::Parquet => Encoding::Parquet(Arc::new(ParquetEncoding::new(compression.0))),
            Self::Csv => Encoding::Csv(csv::WriterBuilder::new()),
            Self::Ndjson => Encoding::Ndjson,
            Self::Arrow => Encoding::Arrow(None),
            Self::Records(name) => return plan_err!("{name} files are not written in units"),
        }))
    }
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let all = [Self::Parquet, Self::Csv, Self::Ndjson, Self::Arrow];
        let found = all.into_iter().find(|format| format.extension() == name);
        let records = registry::connectors().iter().flat_map(|connector| registry::names(connector.as_ref()));
        let records = || records.into_iter().find(|known| *known == name).map(Self::Records);
        found.or_else(records).ok_or_else(|| format!("'{name}' is none of {}", Self::names()))
    }
}

/// The codec of a Parquet file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParquetCompression(Compression);

impl Default for ParquetCompression {
    fn default() -> Self {
        Self(Compression::ZSTD(ZstdLevel::default()))
    }
}

impl FromStr for ParquetCompression {
    type Err = String;

    /// A codec's name, and for zstd, gzip and brotli a level: `zstd`, `zstd:9`, `snappy`, `none`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => {
                let level: i32 = level.parse().map_err(|_| format!("'{level}' is no compression level"))?;
                (name, Some(level))
            }
            None => (text, None),
        };
        let unsigned = |level: i32| u32::try_from(level).unwrap_or(u32::MAX);
        let wrong = |error: datafusion::parquet::errors::ParquetError| error.to_string();
        let codec = match (name.to_ascii_lowercase().as_str(), level) {
            ("none" | "uncompressed", None) => Compression::UNCOMPRESSED,
            ("snappy", None) => Compression::SNAPPY,
            ("lz4" | "lz4_raw", None) => Compression::LZ4_RAW,
            ("zstd", level) => {
                Compression::ZSTD(level.map_or(Ok(ZstdLevel::default()), ZstdLevel::try_new).map_err(wrong)?)
            }
            ("gzip", level) => Compression::GZIP(
                level
                    .map_or(Ok(GzipLevel::default()), |level| GzipLevel::try_new(unsigned(level)))
                    .map_err(wrong)?,
            ),
            ("brotli", level) => Compression::BROTLI(
                level
                    .map_or(Ok(BrotliLevel::default()), |level| BrotliLevel::try_new(unsigned(level)))
                    .map_err(wrong)?,
            ),
            _ => {
                return Err(format!(
                    "'{text}' is none of zstd, snappy, lz4, gzip, brotli, none (zstd:9 sets a level)"
                ));
            }
        };
        Ok(Self(codec))
    }
}
