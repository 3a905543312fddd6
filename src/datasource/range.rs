//! Byte ranges of a file: the option `range`, and how a range is cut into pieces.

use std::ops::Range;

use datafusion::datasource::listing::{FileRange, PartitionedFile};
use recordfusion_core::{Error, OptionInfo, Options, Result};

/// The option of every format that reads a part of a file.
pub(crate) const RANGE: OptionInfo = OptionInfo::new(
    "range",
    "BEGIN:END",
    "Read only the chunks of the file that begin in these bytes; either bound may be left out",
);

/// The range that `options` ask for; none if they do not, or if it is empty text. It may end behind the file.
///
/// # Errors
/// [`Error::Option`] if it is no range.
pub fn range_option(options: &Options) -> Result<Option<Range<u64>>> {
    let text = options.get(RANGE.name).unwrap_or_default().trim();
    if text.is_empty() {
        return Ok(None);
    }
    let bound = |text: &str, default| match text.trim() {
        "" => Some(default),
        number => number.parse().ok(),
    };
    let range = text.split_once(':').and_then(|(begin, end)| Some(bound(begin, 0)?..bound(end, u64::MAX)?));
    range.filter(|range| range.start <= range.end).map(Some).ok_or_else(|| Error::Option {
        name: RANGE.name.to_string(),
        reason: format!(
            "'{text}' is not BEGIN:END, two offsets in bytes of which the first is not the larger"
        ),
    })
}

/// Cuts `range` into at most `count` pieces of about the same length, at multiples of `alignment`.
///
/// No piece is empty, unless `range` is: then it is the only one.
pub(super) fn pieces(range: Range<u64>, count: u64, alignment: u64) -> Vec<Range<u64>> {
    let length = (range.end - range.start).div_ceil(count.max(1)).max(1);
    let (mut pieces, mut begin) = (Vec::new(), range.start);
    while begin < range.end {
        let cut = begin.saturating_add(length).checked_next_multiple_of(alignment.max(1));
        let end = cut.map_or(range.end, |cut| cut.min(range.end));
        pieces.push(begin..end);
        begin = end;
    }
    if pieces.is_empty() { vec![range] } else { pieces }
}

/// The part of `range` that lies in a file of `size` bytes.
pub(crate) fn clipped(range: &Range<u64>, size: u64) -> Range<u64> {
    range.start.min(size)..range.end.min(size)
}

/// Reads only this part of a file.
pub(super) fn set_range(file: &mut PartitionedFile, range: &Range<u64>) {
    let range = clipped(range, file.object_meta.size);
    let bound = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
    file.range = Some(FileRange { start: bound(range.start), end: bound(range.end) });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn option(text: &str) -> Result<Option<Range<u64>>> {
        range_option(&Options::new().with("range", text))
    }

    #[test]
    fn ranges_are_read() {
        for (text, expected) in [
            ("", None),
            ("0:10", Some(0..10)),
            (" 7 : 7 ", Some(7..7)),
            (":5", Some(0..5)),
            ("5:", Some(5..u64::MAX)),
            (":", Some(0..u64::MAX)),
        ] {
            assert_eq!(option(text).expect("good"), expected, "{text}");
        }
        for text in ["5", "10:5", "a:b", "-1:5", "1:2:3", "18446744073709551616:"] {
            let message = option(text).unwrap_err().to_string();
            assert!(message.starts_with(&format!("option 'range': '{text}' is not BEGIN:END")), "{message}");
        }
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole_and_none_is_empty(
            begin in 0u64..10_000, len in 1u64..100_000, count in 1u64..40, alignment in 1u64..9_000,
        ) {
            let range = begin..begin + len;
            let all = pieces(range.clone(), count, alignment);
            prop_assert!(all.len() as u64 <= count);
            prop_assert_eq!((all[0].start, all[all.len() - 1].end), (range.start, range.end));
            prop_assert!(all.iter().all(|piece| piece.start < piece.end));
            prop_assert!(all.windows(2).all(|two| two[0].end == two[1].start));
            prop_assert!(all[1..].iter().all(|piece| piece.start % alignment == 0));
            let longest = len.div_ceil(count) + alignment;
            prop_assert!(all.iter().all(|piece| piece.end - piece.start <= longest));
        }
    }

    #[test]
    fn an_empty_range_is_one_piece() {
        assert_eq!(pieces(5..5, 3, 64), vec![5..5]);
        assert_eq!(pieces(0..u64::MAX, 1, 64), vec![0..u64::MAX]);
    }
}
