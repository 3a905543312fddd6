//! From the buffers of a chunk to the rows of a scan, leaf by leaf.

use arrow::buffer::Buffer;
use recordfusion_protobuf::shredded::{
    Assembly, ByteValues, CAPTURED, Leaf, Occurrences, RecordSizes, STORED, Unfit, ValueSizes,
};

use super::buckets::Buckets;
use super::nodes::Nodes;
use super::parts::Parts;
use super::paths::{LeafSource, NumberKind};
use super::size::Size;
use super::values::{FIRST_INLINE, Fixed, Varints, string_place, string_places};
use crate::compression::Decompressor;
use crate::transposed::header::Literal;

/// The values of a chunk after its walk.
pub(super) struct Values<'a> {
    pub nodes: Nodes<'a>,
    pub buckets: Buckets<'a>,
    pub decompressor: &'a mut Decompressor,
    /// The values that were put together.
    pub captured: Buffer,
    /// The buffers that were read on the way.
    pub parts: &'a Parts,
    /// Where the strings of a leaf lie.
    pub places: &'a mut Vec<(u32, u32)>,
    /// By leaf, the bytes of the longest string.
    pub longest: Vec<u32>,
}

impl Values<'_> {
    /// Checks that messages that are stored as strings are empty.
    pub fn check_messages(&mut self) -> Result<(), Unfit> {
        for (buffer, count) in self.nodes.paths.stored_messages() {
            let bytes = self.buckets.buffer(buffer, self.decompressor)?;
            if bytes.len() != count || bytes.iter().any(|len| *len != 0) {
                return Err(Unfit);
            }
        }
        Ok(())
    }

    /// Puts the values of a leaf, which have these forms, to their rows.
    #[expect(clippy::arithmetic_side_effects, reason = "a string does not end before it begins")]
    pub fn put(
        &mut self,
        leaf: Leaf,
        mut forms: impl ExactSizeIterator<Item = u8>,
        assembly: &mut Assembly<'_>,
    ) -> Result<(), Unfit> {
        let LeafSource { numbers, strings, captured, .. } = self.nodes.paths.leaf(leaf).ok_or(Unfit)?;
        let stored = match (numbers, strings) {
            (_, None) => 0,
            (None, Some(_)) => forms.len().checked_sub(captured.len()).ok_or(Unfit)?,
            _ => forms.by_ref().filter(|form| *form == STORED).count(),
        };
        let mut bytes = ByteValues { captured, captured_buffer: self.captured.clone(), ..Default::default() };
        if let Some(buffer) = strings {
            bytes.buffer = self.buckets.buffer(*buffer, self.decompressor)?;
            bytes.stored = match self.parts.places(*buffer) {
                Some(places) if places.len() == stored => places,
                Some(_) => return Err(Unfit),
                None => {
                    string_places(&bytes.buffer, stored, self.places)?;
                    self.places
                }
            };
        }
        if let Some(longest) = self.longest.get_mut(leaf.index()) {
            *longest = bytes.stored.iter().map(|(begin, end)| end - begin).max().unwrap_or_default();
        }
        let Some((kind, buffer)) = numbers else {
            return assembly.bytes(leaf, bytes);
        };
        let buffer = match buffer {
            Some(buffer) => self.buckets.buffer(*buffer, self.decompressor)?,
            None => Buffer::default(),
        };
        match kind {
            NumberKind::Varint => assembly.numbers(leaf, Varints::new(&buffer), &bytes),
            NumberKind::Fixed32 => assembly.numbers(leaf, Fixed::<4>::new(&buffer), &bytes),
            NumberKind::Fixed64 => assembly.numbers(leaf, Fixed::<8>::new(&buffer), &bytes),
        }
    }

    /// Checks the bytes of all records, of which `size` was counted on the way.
    pub fn check_size(&mut self, occurrences: &Occurrences, size: Size, expected: u64) -> Result<(), Unfit> {
        let (layout, others) = (self.nodes.paths.layout(), size.given()?);
        let total = RecordSizes::new(layout, occurrences, self, &others).total()?;
        if total == expected { Ok(()) } else { Err(Unfit) }
    }
}

/// The most bytes of a number, and of a length.
const MOST: (u64, u64) = (10, 5);

impl ValueSizes for Values<'_> {
    #[expect(clippy::arithmetic_side_effects, reason = "sums of sizes of what is in memory")]
    fn all(&self, leaf: Leaf, forms: impl Iterator<Item = u8>) -> u64 {
        let Some(source) = self.nodes.paths.leaf(leaf) else { return 0 };
        let numbers = source.numbers.and_then(|(_, buffer)| buffer);
        let buffers = [numbers, source.strings].into_iter().flatten();
        let stored = buffers.map(|buffer| self.buckets.len(buffer) as u64).sum::<u64>();
        let captured = source.captured.iter().map(captured_size).sum::<u64>();
        let in_nodes = match source.numbers {
            Some((NumberKind::Varint, _)) => {
                forms.filter(|form| (FIRST_INLINE..STORED).contains(form)).count() as u64
            }
            _ => 0,
        };
        stored + captured + in_nodes
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "a string does not end before it begins, and is below 4 GiB"
    )]
    fn most(&self, leaf: Leaf) -> u64 {
        let captured = self.nodes.paths.leaf(leaf).into_iter().flat_map(|source| &source.captured);
        let captured = captured.map(|(begin, end)| u64::from(end - begin)).max().unwrap_or_default();
        let stored = self.longest.get(leaf.index()).copied().map_or(0, u64::from);
        MOST.0.max(MOST.1 + captured.max(stored))
    }

    #[expect(clippy::arithmetic_side_effects, reason = "strings follow one another, and a form is a byte")]
    fn each(&mut self, leaf: Leaf, forms: impl ExactSizeIterator<Item = u8>) -> Result<Vec<u64>, Unfit> {
        let source = self.nodes.paths.leaf(leaf).ok_or(Unfit)?;
        let strings = match source.strings {
            Some(buffer) => self.buckets.buffer(buffer, self.decompressor)?,
            None => Buffer::default(),
        };
        let fixed = match source.numbers {
            Some((NumberKind::Fixed32, _)) => Some(4),
            Some((NumberKind::Fixed64, _)) => Some(8),
            _ => None,
        };
        let (mut at, mut captured) = (0, source.captured.iter());
        let size = |form| match (form, fixed) {
            (CAPTURED, _) => Ok(captured.next().map_or(0, captured_size)),
            (STORED, _) => {
                let (_, end) = string_place(&strings, at)?;
                Ok((end - std::mem::replace(&mut at, end)) as u64)
            }
            (_, Some(width)) => Ok(width),
            (FIRST_INLINE.., None) => Ok(1),
            (form, None) => Ok(u64::from(form) + 1),
        };
        forms.map(size).collect()
    }
}

/// Bytes of a captured value and its length.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "a value does not end before it begins, and is below 4 GiB"
)]
fn captured_size(&(begin, end): &(u32, u32)) -> u64 {
    let len = end - begin;
    u64::from(len) + u64::from(Literal::varint(len).len)
}
