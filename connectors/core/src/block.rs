//! Records between container and payload decoder.

use std::ops::Range;

use arrow::buffer::Buffer;
use bytes::Bytes;

/// A run of records in one shared buffer, in file order.
///
/// The buffer is never larger than 4 GiB, so that places in it fit the views of Arrow's view arrays.
#[derive(Debug, Clone)]
pub struct RecordBlock {
    data: Buffer,
    places: Vec<(u32, u32)>,
    segments: Vec<Segment>,
}

/// Rows from `first_row` on have the positions `position`, `position + 1`, ...
#[derive(Debug, Clone, Copy)]
struct Segment {
    first_row: usize,
    position: u64,
}

impl RecordBlock {
    /// A block of one chunk: `places` are the begin and end of each record in `data`; the record of
    /// index `i` has the position `position + i`.
    ///
    /// Returns `None` if a place lies outside `data` or `data` is longer than `u32::MAX` bytes.
    pub fn new(data: Buffer, places: Vec<(u32, u32)>, position: u64) -> Option<Self> {
        let len = u32::try_from(data.len()).ok()?;
        if places.iter().any(|&(begin, end)| begin > end || end > len) {
            return None;
        }
        Some(Self { data, places, segments: vec![Segment { first_row: 0, position }] })
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the block holds no record.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The buffer that all records lie in.
    pub fn data(&self) -> &Buffer {
        &self.data
    }

    /// Begin and end of each record in [`Self::data`].
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// The bytes of record `row`, or `None` beyond the end.
    pub fn record(&self, row: usize) -> Option<&[u8]> {
        let &(begin, end) = self.places.get(row)?;
        self.data.get(begin as usize..end as usize)
    }

    /// The bytes of all records, in order.
    pub fn records(&self) -> impl Iterator<Item = &[u8]> {
        let record =
            |&(begin, end): &(u32, u32)| self.data.get(begin as usize..end as usize).unwrap_or_default();
        self.places.iter().map(record)
    }

    /// The records of the rows from `first_row` on that `keep` says. They share the buffer.
    pub fn select(&self, first_row: usize, keep: impl IntoIterator<Item = bool>) -> Self {
        let (mut places, mut segments) = (Vec::new(), Vec::<Segment>::new());
        let mut next = None;
        for (at, _) in keep.into_iter().enumerate().filter(|(_, keep)| *keep) {
            let row = first_row.saturating_add(at);
            let Some(&place) = self.places.get(row) else { break };
            let position = self.position(row);
            if next != Some(position) {
                segments.push(Segment { first_row: places.len(), position });
            }
            next = position.checked_add(1);
            places.push(place);
        }
        Self { data: self.data.clone(), places, segments }
    }

    /// The records of `rows`. Its buffer shares the memory of this one, and counts as no more than the bytes from the
    /// first of the records to the last: several parts together count once.
    pub fn part(&self, rows: Range<usize>) -> Self {
        let places = self.places.get(rows.clone()).unwrap_or_default();
        let begin = places.iter().map(|place| place.0).min().unwrap_or_default();
        let end = places.iter().map(|place| place.1).max().unwrap_or_default();
        let moved = |&(from, to): &(u32, u32)| (from.saturating_sub(begin), to.saturating_sub(begin));
        let first = Segment { first_row: 0, position: self.position(rows.start) };
        let others = self.segments.iter().filter(|segment| rows.start < segment.first_row);
        let others = others
            .take_while(|segment| segment.first_row < rows.end)
            .map(|segment| Segment { first_row: segment.first_row.saturating_sub(rows.start), ..*segment });
        Self {
            data: counted(&self.data, begin as usize..end as usize),
            places: places.iter().map(moved).collect(),
            segments: std::iter::once(first).chain(others).collect(),
        }
    }

    /// The numeric record position of `row`.
    pub fn position(&self, row: usize) -> u64 {
        let at = self.segments.partition_point(|segment| segment.first_row <= row);
        match at.checked_sub(1).and_then(|at| self.segments.get(at)) {
            Some(segment) => segment.position.saturating_add(row.saturating_sub(segment.first_row) as u64),
            None => 0,
        }
    }
}

/// A part of a buffer that says of itself to have the part's bytes, where a slice has the memory of all.
fn counted(buffer: &Buffer, range: Range<usize>) -> Buffer {
    struct Shared(Buffer);
    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    if range.len() == buffer.capacity() {
        return buffer.clone();
    }
    Buffer::from(Bytes::from_owner(Shared(buffer.clone())).slice(range))
}

/// Gathers small blocks into one, so that a batch of rows does not refer to a buffer per chunk.
#[derive(Debug, Default)]
pub struct RecordBlockBuilder {
    data: Vec<u8>,
    places: Vec<(u32, u32)>,
    segments: Vec<Segment>,
}

impl RecordBlockBuilder {
    /// Number of records gathered.
    pub fn rows(&self) -> usize {
        self.places.len()
    }

    /// Number of bytes gathered.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// Whether `block` still fits in the 4 GiB of one buffer.
    pub fn fits(&self, block: &RecordBlock) -> bool {
        self.data.len().saturating_add(block.data.len()) <= u32::MAX as usize
    }

    /// Copies the records of `block` behind those gathered. The caller has asked [`Self::fits`].
    #[expect(clippy::arithmetic_side_effects, reason = "the data fit in 4 GiB, and the rows in memory")]
    pub fn append(&mut self, block: &RecordBlock) {
        let (rows, shift) = (self.places.len(), self.data.len() as u32);
        self.data.extend_from_slice(&block.data);
        self.places.extend(block.places.iter().map(|&(begin, end)| (begin + shift, end + shift)));
        let moved = |segment: &Segment| Segment { first_row: segment.first_row + rows, ..*segment };
        self.segments.extend(block.segments.iter().map(moved));
    }

    /// The gathered records; the builder is empty afterwards.
    pub fn finish(&mut self) -> RecordBlock {
        self.data.shrink_to_fit();
        RecordBlock {
            data: Buffer::from_vec(std::mem::take(&mut self.data)),
            places: std::mem::take(&mut self.places),
            segments: std::mem::take(&mut self.segments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str, places: &[(u32, u32)], position: u64) -> RecordBlock {
        RecordBlock::new(Buffer::from(text.as_bytes()), places.to_vec(), position).expect("places lie inside")
    }

    #[test]
    fn places_outside_the_buffer_are_refused() {
        assert!(RecordBlock::new(Buffer::from(b"abc"), vec![(0, 4)], 0).is_none());
        assert!(RecordBlock::new(Buffer::from(b"abc"), vec![(2, 1)], 0).is_none());
    }

    #[test]
    fn selected_records_keep_their_positions() {
        let mut builder = RecordBlockBuilder::default();
        builder.append(&block("abcd", &[(0, 1), (1, 2), (2, 3), (3, 4)], 64));
        builder.append(&block("xy", &[(0, 1), (1, 2)], 68));
        let selected = builder.finish().select(1, [false, true, true, true, false, true]);
        assert_eq!(selected.records().collect::<Vec<_>>(), [b"c", b"d", b"x"]);
        assert_eq!([0, 1, 2].map(|row| selected.position(row)), [66, 67, 68]);
    }

    #[test]
    fn parts_keep_records_and_positions_and_count_their_own_bytes() {
        let mut builder = RecordBlockBuilder::default();
        builder.append(&block("abcd", &[(0, 1), (1, 2), (2, 3), (3, 4)], 64));
        builder.append(&block("xyz", &[(0, 0), (0, 3)], 100));
        let all = builder.finish();
        for (begin, end) in (0..=6).flat_map(|begin| (begin..=6).map(move |end| (begin, end))) {
            let part = all.part(begin..end);
            assert_eq!(part.len(), end - begin);
            for row in begin..end {
                assert_eq!(part.record(row - begin), all.record(row));
                assert_eq!(part.position(row - begin), all.position(row));
            }
            let bytes: usize = part.records().map(<[u8]>::len).sum();
            assert_eq!((part.data().len(), part.data().capacity()), (bytes, bytes), "{begin}..{end}");
            assert!(bytes == 0 || part.data().as_ptr() == all.record(begin).expect("there").as_ptr());
        }
    }

    #[test]
    fn gathered_blocks_keep_records_and_positions() {
        let mut builder = RecordBlockBuilder::default();
        builder.append(&block("abc", &[(0, 1), (1, 3)], 64));
        builder.append(&block("", &[(0, 0)], 1000));
        builder.append(&block("xyz", &[(1, 2)], 2000));
        let all = builder.finish();
        assert_eq!(all.records().collect::<Vec<_>>(), [b"a" as &[u8], b"bc", b"", b"y"]);
        assert_eq!([0, 1, 2, 3].map(|row| all.position(row)), [64, 65, 1000, 2000]);
        assert_eq!(builder.rows(), 0);
    }
}
