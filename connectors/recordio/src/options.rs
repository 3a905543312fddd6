//! The options of reading.

use std::sync::LazyLock;

use recordfusion_core::{Error, OnCorruption, OptionInfo, Options, Result};
use recordfusion_protobuf::ProtobufOptions;

use crate::fault::Limits;

/// The options of the container.
const CONTAINER: &[OptionInfo] = &[
    OnCorruption::OPTION,
    OptionInfo::new(
        "trust_headers",
        "true | false",
        "Count rows by the numbers in chunk headers, which no checksum guards, or by reading",
    ),
    OptionInfo::new(Limits::PAYLOAD, "SIZE", "Largest payload of a chunk, by default 256M"),
    OptionInfo::new(
        Limits::DECOMPRESSED,
        "SIZE",
        "Largest payload of a chunk after decompression, by default 256M",
    ),
];

/// The options of reading: those of the records, then those of the container.
pub(crate) static OPTIONS: LazyLock<Vec<OptionInfo>> =
    LazyLock::new(|| [ProtobufOptions::OPTIONS, CONTAINER].concat());

/// How a table is read.
#[derive(Debug, Clone)]
pub(crate) struct ReadOptions {
    /// What the records are.
    pub records: ProtobufOptions,
    /// How they are found in the file.
    pub container: ContainerOptions,
    /// Whether rows are counted by headers.
    pub trust_headers: bool,
}

/// How records are found in a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ContainerOptions {
    /// What becomes of damage.
    pub on_corruption: OnCorruption,
    /// The largest payloads.
    pub limits: Limits,
}

impl ReadOptions {
    /// Reads the options.
    ///
    /// # Errors
    /// Unknown or contradictory options; a value that its option cannot have.
    pub fn from_options(options: &Options) -> Result<Self> {
        options.reject_unknown(&OPTIONS)?;
        let default = Limits::default();
        let limit = |name, default: u32| {
            let size = options.size(name, 4..=u32::MAX.into())?;
            Ok::<u32, Error>(size.and_then(|size| u32::try_from(size).ok()).unwrap_or(default))
        };
        let limits = Limits {
            payload: limit(Limits::PAYLOAD, default.payload)?,
            decompressed: limit(Limits::DECOMPRESSED, default.decompressed)?,
        };
        Ok(Self {
            records: ProtobufOptions::from_options(options)?,
            container: ContainerOptions { on_corruption: OnCorruption::from_options(options)?, limits },
            trust_headers: options
                .choose("trust_headers", &[("true", true), ("false", false)])?
                .unwrap_or(true),
        })
    }
}
