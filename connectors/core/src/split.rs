//! Files that are read in parts, although their bytes do not tell where a record or chunk of the file begins.
//!
//! Formats without marks at places of their own (RecordIO, TFRecord) may hold whole files of their kind in records. A
//! part of such a file that begins by searching for its first chunk finds one inside of a record then, and no rule that
//! looks only at bytes from the part on can tell it from a chunk of the file: two sound files may be equal from there
//! on and have other chunks. What can be had is each record once, or an error:
//!
//! The part from byte 0 on begins right. Each part, at its end, knows where the next chunk begins, as it came there from
//! chunk to chunk, and looks for what the next part will find first. If both are the same, the next part begins right
//! too; otherwise it is an error. So either all parts begin right, or one of them fails. [`RangeEnd`] says where to
//! look, [`SearchBudget`] bounds what a search costs, and [`Split`] is the way out.

use std::ops::Range;

use crate::{Error, OptionInfo, Options, RecordFile, Result};

/// How a file is read in parts whose chunks have no marks: the option `split`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Split {
    /// Parts that are a bounded number of chunks from the begin of the file go there from header to header; others
    /// search.
    #[default]
    Auto,
    /// All parts go from header to header.
    Walk,
    /// The part from byte 0 on is the whole file.
    Never,
}

impl Split {
    /// The option.
    pub const OPTION: OptionInfo = OptionInfo::new(
        "split",
        "auto | walk | never",
        "Parts of a file: search for their begin where it is far, find it by all headers, or read files in one piece",
    );

    /// Reads the option; other names are not looked at. An empty value is none.
    ///
    /// # Errors
    /// [`Error::Option`] for another value.
    pub fn from_options(options: &Options) -> Result<Self> {
        const WORDS: [(&str, Split); 3] =
            [("auto", Split::Auto), ("walk", Split::Walk), ("never", Split::Never)];
        Ok(options.choose(Self::OPTION.name, &WORDS)?.unwrap_or_default())
    }

    /// The bytes whose chunks the part `range` of a file of `size` bytes reads.
    pub fn part(self, range: Range<u64>, size: u64) -> Range<u64> {
        match self {
            Self::Never if range.start == 0 && range.end > 0 => 0..size,
            Self::Never => size..size,
            Self::Auto | Self::Walk => range.start.min(size)..range.end.min(size),
        }
    }
}

/// The end of a part that began right and has read its last chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangeEnd {
    /// Where the next part begins to search.
    pub search: u64,
    /// Where this part would search for the next chunk: behind all chunks that it knows of.
    pub next: u64,
}

impl RangeEnd {
    /// Where no chunk may be found, as only one of both would find it; none if they agree.
    pub fn disputed(self) -> Option<Range<u64>> {
        let (begin, end) = (self.search.min(self.next), self.search.max(self.next));
        (begin < end).then_some(begin..end)
    }
}

/// What the failed attempts of one search may cost: some bytes, and four times those that were searched.
#[derive(Debug, Clone, Copy)]
pub struct SearchBudget {
    begin: u64,
    bytes: u64,
    spent: u64,
}

impl SearchBudget {
    /// For a search from the offset `begin` on.
    pub fn new(begin: u64, bytes: u64) -> Self {
        Self { begin, bytes, spent: 0 }
    }

    /// Counts the bytes that an attempt at the offset `at` took; whether there is some budget left.
    pub fn spend(&mut self, at: u64, bytes: u64) -> bool {
        self.spent = self.spent.saturating_add(bytes);
        let searched = at.saturating_sub(self.begin);
        self.spent <= self.bytes.saturating_add(searched.saturating_mul(4))
    }
}

impl RecordFile {
    /// The error of a part behind which the next one would find a chunk at `inner` that is none of the file.
    pub fn inner_chunk(&self, inner: u64) -> Error {
        self.not_splittable(
            inner,
            "what looks like a chunk there lies inside of another chunk, whose records may hold such bytes",
        )
    }

    /// The error of a search that costs more than its budget.
    pub fn search_too_long(&self, at: u64) -> Error {
        self.not_splittable(at, "too many bytes behind look like the begin of a chunk")
    }

    fn not_splittable(&self, offset: u64, reason: &'static str) -> Error {
        Error::NotSplittable { file: self.name.clone(), offset, reason }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_option_is_read() {
        let read = |text: &str| Split::from_options(&Options::new().with("split", text));
        assert_eq!(read("").expect("none"), Split::Auto);
        assert_eq!(read("Walk").expect("a word"), Split::Walk);
        assert_eq!(read("never").expect("a word"), Split::Never);
        let message = read("always").unwrap_err().to_string();
        assert_eq!(message, "option 'split': 'always' is not one of auto, walk, never");
    }

    #[test]
    fn one_part_has_the_whole_file_if_it_is_not_split() {
        for (range, expected) in
            [(0..10, 0..100), (0..0, 100..100), (10..100, 100..100), (0..u64::MAX, 0..100)]
        {
            assert_eq!(Split::Never.part(range.clone(), 100), expected, "{range:?}");
        }
        assert_eq!(Split::Auto.part(10..u64::MAX, 100), 10..100);
    }

    #[test]
    fn attempts_have_a_budget() {
        let mut budget = SearchBudget::new(1000, 100);
        assert!(budget.spend(1000, 100));
        assert!(!budget.spend(1000, 1));
        assert!(budget.spend(1001, 3));
        assert!(!budget.spend(1001, 1));
    }

    /// Begin and end of what looks like a chunk.
    type Place = (u64, u64);

    fn first(places: &[Place], range: Range<u64>) -> Option<Place> {
        places.iter().copied().find(|(begin, _)| range.contains(begin))
    }

    /// What a part reads, and whether it finds fault with its end.
    fn read_part(places: &[Place], range: Range<u64>) -> (Vec<Place>, bool) {
        let mut read = Vec::new();
        let mut position = range.start;
        while let Some(chunk) = first(places, position..range.end) {
            read.push(chunk);
            position = chunk.1;
        }
        let end = RangeEnd { search: range.end, next: position.max(range.end) };
        let fails = end.disputed().is_some_and(|disputed| first(places, disputed).is_some());
        (read, fails)
    }

    proptest! {
        /// Chunks, and places inside of them that look like chunks, cut anywhere.
        #[test]
        fn parts_read_each_chunk_once_or_one_fails(
            lens in prop::collection::vec(1u64..20, 1..12),
            inner in prop::collection::vec((0u64..200, 1u64..40), 0..6),
            cuts in prop::collection::btree_set(1u64..200, 0..6),
        ) {
            let mut size = 0;
            let chunks: Vec<Place> = lens.iter().map(|len| {
                size += len;
                (size - len, size)
            }).collect();
            let is_inner = |at: u64| at < size && chunks.iter().all(|(begin, _)| *begin != at);
            let inner = inner.iter().filter(|(at, _)| is_inner(*at)).map(|(at, len)| (*at, at + len));
            let mut places: Vec<Place> = chunks.iter().copied().chain(inner).collect();
            places.sort_unstable();
            let cuts = cuts.into_iter().filter(|cut| *cut < size);
            let cuts: Vec<u64> = [0].into_iter().chain(cuts).chain([size]).collect();
            let parts: Vec<_> = cuts.windows(2).map(|pair| read_part(&places, pair[0]..pair[1])).collect();
            let read: Vec<Place> = parts.iter().flat_map(|(read, _)| read.clone()).collect();
            let failed = parts.iter().any(|(_, fails)| *fails);
            prop_assert!(failed || read == chunks, "{:?} of {:?}", read, chunks);
            prop_assert!(!failed || places.len() > chunks.len());
        }
    }
}
