//! Positions in a file that is cut into blocks, each with a header (section 1.5).

/// Bytes of a block.
pub const BLOCK: u64 = 1 << 16;
/// Bytes of the header that every block begins with.
pub const BLOCK_HEADER: u64 = 24;
/// Bytes of a block behind its header.
pub const USABLE: u64 = BLOCK - BLOCK_HEADER;
/// Bytes of a chunk header.
pub const CHUNK_HEADER: u64 = 40;

/// Bytes from `position` to the next block boundary; 0 on a boundary.
pub fn remaining(position: u64) -> u64 {
    position.wrapping_neg() % BLOCK
}

/// Whether a chunk can begin at `position`: on a block boundary or behind a block header.
pub fn is_chunk_boundary(position: u64) -> bool {
    remaining(position) < USABLE
}

/// The first position at or behind `position` where a chunk can begin; `None` on overflow.
pub fn round_up_boundary(position: u64) -> Option<u64> {
    position.checked_add(remaining(position).saturating_sub(USABLE - 1))
}

/// The position behind `len` bytes of a chunk that begin at `position`, a chunk boundary, with the block
/// headers in between; `None` on overflow.
pub fn add(position: u64, len: u64) -> Option<u64> {
    let before = position.wrapping_add(USABLE - 1) % BLOCK;
    let headers = len.checked_add(before)? / USABLE;
    position.checked_add(len)?.checked_add(headers.checked_mul(BLOCK_HEADER)?)
}

/// Bytes from `begin` to `end` without block headers, the inverse of [`add`]; 0 if `end` is before `begin`.
pub fn distance(begin: u64, end: u64) -> u64 {
    let stream = |position: u64| {
        (position / BLOCK)
            .saturating_mul(USABLE)
            .saturating_add((position % BLOCK).saturating_sub(BLOCK_HEADER))
    };
    stream(end).saturating_sub(stream(begin))
}

/// The end of a chunk that begins at `begin`, padding included: each record owns a position of its own.
/// `None` on overflow.
pub fn chunk_end(begin: u64, data_size: u64, num_records: u64) -> Option<u64> {
    let data_end = add(begin, CHUNK_HEADER.checked_add(data_size)?)?;
    let last_record = round_up_boundary(begin.checked_add(num_records)?)?;
    Some(data_end.max(last_record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunk_ends_are_those_of_the_specification() {
        let cases = [
            (0, 0, 0, 64),
            (64, 100, 3, 204),
            (65_000, 1000, 1, 66_064),
            (64, 65_432, 1, 65_536),
            (64, 65_433, 1, 65_561),
            (64, 1, 1000, 1064),
            (64, 1, 65_476, 65_561),
            (64, 20, 60_000, 60_064),
        ];
        for (begin, data_size, num_records, end) in cases {
            assert_eq!(
                chunk_end(begin, data_size, num_records),
                Some(end),
                "{begin} {data_size} {num_records}"
            );
        }
    }

    #[test]
    fn claims_beyond_any_file_have_no_end() {
        for (begin, data_size, num_records) in [
            (64, u64::MAX, 0),
            (64, u64::MAX - 40, 0),
            (64, u64::MAX - 104, 0),
            (u64::MAX - 10, 0, 0),
            (u64::MAX - 100, 0, 1000),
        ] {
            assert_eq!(chunk_end(begin, data_size, num_records), None, "{begin} {data_size} {num_records}");
        }
    }

    /// Steps over `len` bytes one by one, and over each block header met before a byte.
    fn simulate(mut position: u64, len: u64) -> u64 {
        for _ in 0..len {
            if position.is_multiple_of(BLOCK) {
                position += BLOCK_HEADER;
            }
            position += 1;
        }
        position
    }

    #[test]
    fn add_and_distance_agree_with_single_steps() {
        let begins =
            (0..3 * BLOCK).step_by(997).chain([0, 25, 26, BLOCK - 1, BLOCK, BLOCK + 25, 2 * BLOCK - 40]);
        for begin in begins.filter(|&begin| is_chunk_boundary(begin)) {
            let to_boundary = remaining(begin);
            for len in [0, 1, 23, 24, 40, to_boundary, to_boundary + 1, USABLE, USABLE + 1, 2 * USABLE + 7] {
                let end = add(begin, len).expect("small");
                assert_eq!(end, simulate(begin, len), "{begin} + {len}");
                assert_eq!(distance(begin, end), len, "{begin} + {len}");
            }
        }
    }

    #[test]
    fn only_positions_inside_a_block_header_are_no_boundaries() {
        for position in 0..2 * BLOCK {
            let inside = (1..=BLOCK_HEADER).contains(&(position % BLOCK));
            assert_eq!(is_chunk_boundary(position), !inside, "{position}");
            let up = round_up_boundary(position).expect("small");
            assert_eq!(up, if inside { position / BLOCK * BLOCK + 25 } else { position });
        }
    }
}
