//! The buffers that decoding writes to, by the row.
//!
//! A column is as long as its last value: rows that no value came for are padded when a later row receives
//! one, or at the end of the batch. What is written twice keeps the later value. Which rows are NULL is kept
//! apart, in bitmaps; a column itself does not know.

mod bitmap;
mod byte_strings;
pub(crate) mod compact;
mod fixed;
mod items;

pub(crate) use bitmap::Bitmap;
pub(crate) use byte_strings::ByteStrings;
pub(crate) use fixed::Fixed;
pub(crate) use items::Items;

/// All buffers of one scan, by kind; a plan refers to them by index.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// Numbers of 32 bits, and the numbers of enum values.
    pub words: Vec<Fixed<u32>>,
    /// Numbers of 64 bits.
    pub longs: Vec<Fixed<u64>>,
    /// Views of strings and bytes.
    pub views: Vec<Fixed<u128>>,
    /// Booleans.
    pub bits: Vec<Bitmap>,
    /// Strings and bytes with a buffer of their own.
    pub bytes: Vec<ByteStrings>,
    /// Items of lists and entries of maps.
    pub items: Vec<Items>,
    /// Which rows of a nullable field are there.
    pub validity: Vec<Bitmap>,
    /// The member of each oneof that was set last.
    pub oneofs: Vec<LastMember>,
}

/// The column that the plan means by this index.
#[inline(always)]
#[expect(clippy::indexing_slicing, reason = "a plan's indices are those of the columns it is compiled with")]
pub(crate) fn of_plan<T>(columns: &mut [T], index: u32) -> &mut T {
    &mut columns[index as usize]
}

/// The member of a oneof that is set in the row that was decoded last.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LastMember {
    /// The row.
    pub row: usize,
    /// The member's output, if one is set.
    pub member: Option<u32>,
}

impl Columns {
    /// Forgets all rows, after a batch that was given up.
    pub(crate) fn clear(&mut self) {
        self.words.iter_mut().for_each(Fixed::clear);
        self.longs.iter_mut().for_each(Fixed::clear);
        self.views.iter_mut().for_each(Fixed::clear);
        self.bits.iter_mut().for_each(Bitmap::clear);
        self.bytes.iter_mut().for_each(ByteStrings::clear);
        self.items.iter_mut().for_each(Items::clear);
        self.validity.iter_mut().for_each(Bitmap::clear);
        self.oneofs.fill(LastMember::default());
    }
}
