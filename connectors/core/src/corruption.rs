//! What becomes of damaged places of a file, and what was lost in them.

use std::sync::{Mutex, PoisonError};

use crate::{OptionInfo, Options, Result};

/// Most regions that are kept one by one.
const KEPT: usize = 10_000;

/// What becomes of damage: the option `on_corruption`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnCorruption {
    /// The query fails, with the file, the place and the reason.
    #[default]
    Error,
    /// Reading goes on behind the damage; what is lost is counted, and kept as [`LostRegion`]s.
    Skip,
}

impl OnCorruption {
    /// The option.
    pub const OPTION: OptionInfo = OptionInfo::new(
        "on_corruption",
        "error | skip",
        "Damaged places of a file: fail, or go on behind them and count what is lost",
    );

    /// Reads the option; other names are not looked at. An empty value is none.
    ///
    /// # Errors
    /// [`crate::Error::Option`] for another value.
    pub fn from_options(options: &Options) -> Result<Self> {
        const WORDS: [(&str, OnCorruption); 2] =
            [("error", OnCorruption::Error), ("skip", OnCorruption::Skip)];
        Ok(options.choose(Self::OPTION.name, &WORDS)?.unwrap_or_default())
    }
}

/// What becomes of a last chunk that the file ends in the middle of: the option `on_truncated`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnTruncated {
    /// It is damage, like any other: see [`OnCorruption`].
    #[default]
    Error,
    /// The file is still being written: what is whole is read.
    End,
}

impl OnTruncated {
    /// The option.
    pub const OPTION: OptionInfo = OptionInfo::new(
        "on_truncated",
        "error | end",
        "A last chunk that is cut off: damage, or the end of a file that is still being written",
    );

    /// Reads the option; other names are not looked at. An empty value is none.
    ///
    /// # Errors
    /// [`crate::Error::Option`] for another value.
    pub fn from_options(options: &Options) -> Result<Self> {
        const WORDS: [(&str, OnTruncated); 2] = [("error", OnTruncated::Error), ("end", OnTruncated::End)];
        Ok(options.choose(Self::OPTION.name, &WORDS)?.unwrap_or_default())
    }
}

/// Bytes of a file that are lost, or in which a fault was found. How many records they held is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRegion {
    /// Offset in the file of the first byte that is lost.
    pub begin: u64,
    /// Offset of the first byte behind it: where reading went on, or the end of the file.
    pub end: u64,
    /// What is wrong at its first byte.
    pub reason: String,
}

impl LostRegion {
    /// Number of bytes.
    pub fn bytes(&self) -> u64 {
        self.end.saturating_sub(self.begin)
    }
}

/// The regions that a scan passed over, with the names of their files. The ranges of a file report each once.
#[derive(Debug, Default)]
pub struct LostRegions(Mutex<Vec<(String, LostRegion)>>);

impl LostRegions {
    /// Keeps a region of the file `file`; only the first 10 000 of a scan.
    pub fn add(&self, file: &str, region: LostRegion) {
        let mut regions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if regions.len() < KEPT {
            regions.push((file.to_string(), region));
        }
    }

    /// The regions so far, by file and place.
    pub fn all(&self) -> Vec<(String, LostRegion)> {
        let mut regions = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        regions.sort_by(|(a, one), (b, other)| (a, one.begin).cmp(&(b, other.begin)));
        regions
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;

    use super::*;
    use crate::{RecordFile, ScanCounters};

    #[test]
    fn the_policy_is_read() {
        let policy = |text: &str| OnCorruption::from_options(&Options::new().with("on_corruption", text));
        assert_eq!(policy("").expect("none"), OnCorruption::Error);
        assert_eq!(policy("error").expect("a word"), OnCorruption::Error);
        assert_eq!(policy("Skip").expect("a word"), OnCorruption::Skip);
        let message = policy("ignore").unwrap_err().to_string();
        assert_eq!(message, "option 'on_corruption': 'ignore' is not one of error, skip");
    }

    #[test]
    fn a_cut_chunk_is_damage_unless_said_otherwise() {
        let policy = |text: &str| OnTruncated::from_options(&Options::new().with("on_truncated", text));
        assert_eq!(policy("").expect("none"), OnTruncated::Error);
        assert_eq!(policy("END").expect("a word"), OnTruncated::End);
        let message = policy("skip").unwrap_err().to_string();
        assert_eq!(message, "option 'on_truncated': 'skip' is not one of error, end");
    }

    #[test]
    fn regions_are_counted_and_kept_in_order() {
        let file = RecordFile::new(Arc::new(InMemory::new()), "x".into(), 100, "a/x");
        let region = |begin, end| LostRegion { begin, end, reason: "wrong checksum".to_string() };
        let counters = ScanCounters::default();
        counters.lose(&file, region(40, 50));
        counters.lose(&file, region(0, 7));
        assert_eq!((counters.regions_lost.value(), counters.bytes_lost.value()), (2, 17));
        let expected = [("a/x".to_string(), region(0, 7)), ("a/x".to_string(), region(40, 50))];
        assert_eq!(counters.lost_regions.all(), expected);
    }

    #[test]
    fn the_regions_of_a_scan_are_bounded() {
        let regions = LostRegions::default();
        for begin in 0..2 * KEPT as u64 {
            regions.add("x", LostRegion { begin, end: begin + 1, reason: String::new() });
        }
        assert_eq!(regions.all().len(), KEPT);
    }
}
