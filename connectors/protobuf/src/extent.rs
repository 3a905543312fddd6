//! How much memory the columns of a batch may take, known before they are made.
//!
//! A column has a place for each row, and one in the items of a list a place for each item, whether or not there is a
//! value. So a few bytes of empty messages may make very many places, and what bounds the bytes of records does not
//! bound their columns.

use std::ops::Range;

use arrow::datatypes::DataType;
use recordfusion_core::RecordBlock;

use crate::plan::{Plan, Source};

/// Most bytes of a place: those of a view.
const PLACE: u64 = 16;

/// Bytes of a batch's columns for a byte of its records, so that there is room for values of one byte that are packed.
const COLUMNS_OF_BYTE: u64 = 16;

/// Bytes of a batch's columns besides.
const COLUMNS: u64 = 512 << 20;

/// Least bytes of an item that is a message.
const ITEM: u64 = 2;

/// The places of a scan's columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Those of a row.
    pub row: u64,
    /// Most of an item of a list.
    pub item: u64,
}

impl Extent {
    /// Whether the columns of so many rows and items, which have so many bytes in the records, are small enough.
    pub fn holds(self, rows: u64, items: u64, bytes: u64) -> bool {
        let places = rows.saturating_mul(self.row).saturating_add(items.saturating_mul(self.item));
        places.saturating_mul(PLACE) <= bytes.saturating_mul(COLUMNS_OF_BYTE).saturating_add(COLUMNS)
    }

    /// How many of the records `rows` make a batch that is small enough whatever is in them; one always does.
    pub fn rows_of_batch(self, block: &RecordBlock, rows: &Range<usize>) -> usize {
        let places = block.places().get(rows.clone()).unwrap_or_default();
        let (mut count, mut bytes) = (0u64, 0u64);
        for (begin, end) in places {
            bytes = bytes.saturating_add(u64::from(end.saturating_sub(*begin)));
            let with_it = count.saturating_add(1);
            if count > 0 && !self.holds(with_it, bytes / ITEM, bytes) {
                break;
            }
            count = with_it;
        }
        count as usize
    }
}

impl Plan {
    /// The places of its columns.
    pub(crate) fn extent(&self) -> Extent {
        let mut extent = Extent::default();
        for column in &self.columns {
            let places = self.places(column.output, &mut extent);
            extent.row = extent.row.saturating_add(places);
        }
        extent
    }

    /// The places that an output has for a row. What its items have goes to `extent`.
    fn places(&self, output: u32, extent: &mut Extent) -> u64 {
        let Some(output) = self.outputs.get(output as usize) else { return 0 };
        let items: &[u32] = match &output.source {
            Source::Message { fields, .. } => {
                let inside = fields.iter().map(|field| self.places(*field, extent));
                return inside.fold(1, u64::saturating_add);
            }
            Source::Absent => return places_of(output.field.data_type()),
            Source::List { item, .. } => &[*item],
            Source::Map { key, value, .. } => &[*key, *value],
            _ => return 1,
        };
        let places = items.iter().map(|item| self.places(*item, extent)).fold(0, u64::saturating_add);
        extent.item = extent.item.max(places);
        1
    }
}

/// The places of a NULL.
fn places_of(data_type: &DataType) -> u64 {
    match data_type {
        DataType::Struct(fields) => {
            fields.iter().map(|field| places_of(field.data_type())).fold(1, u64::saturating_add)
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use arrow::buffer::Buffer;

    use super::*;

    fn block(records: usize, len: u32) -> RecordBlock {
        let data = Buffer::from(vec![0u8; records * len as usize]);
        let places = (0..records as u32).map(|at| (at * len, (at + 1) * len)).collect();
        RecordBlock::new(data, places, 0).expect("places lie inside")
    }

    #[test]
    fn batches_of_many_places_are_short() {
        let most = COLUMNS / PLACE;
        let cases = [
            // Rows as many as are asked for, of a schema that is not wide.
            (Extent { row: 20, item: 0 }, block(8192, 100), 8192),
            (Extent { row: 2000, item: 0 }, block(8192, 0), 8192),
            (Extent { row: most / 100, item: 0 }, block(8192, 0), 100),
            // One, however wide.
            (Extent { row: 2 * most, item: 0 }, block(3, 0), 1),
            // As many items of two bytes as there may be.
            (Extent { row: 0, item: 50 }, block(100, 10_000), 100),
            (Extent { row: 0, item: 2002 }, block(100, 10_000), 3),
            (Extent { row: 0, item: 2002 }, block(2, 100_000), 1),
        ];
        for (extent, block, expected) in cases {
            assert_eq!(extent.rows_of_batch(&block, &(0..block.len())), expected, "{extent:?}");
        }
        assert_eq!(Extent { row: most, item: 0 }.rows_of_batch(&block(9, 0), &(4..6)), 1);
        assert_eq!(Extent::default().rows_of_batch(&block(9, 0), &(4..6)), 2);
    }
}
