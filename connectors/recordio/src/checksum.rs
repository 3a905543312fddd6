//! Checksums of payloads (section 1), and those of any part of a run of bytes at little cost.

use std::collections::VecDeque;

/// The kind of checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// CRC-32 of IEEE 802.3.
    Crc32,
    /// CRC-32C (Castagnoli).
    Crc32c,
}

impl Checksum {
    /// The checksum of `bytes`.
    pub fn of(self, bytes: &[u8]) -> u32 {
        self.append(0, bytes)
    }

    /// The checksum of bytes whose checksum is `sum`, and `bytes` behind them.
    pub fn append(self, sum: u32, bytes: &[u8]) -> u32 {
        match self {
            Self::Crc32 => {
                let mut hasher = crc32fast::Hasher::new_with_initial(sum);
                hasher.update(bytes);
                hasher.finalize()
            }
            Self::Crc32c => crc32c::crc32c_append(sum, bytes),
        }
    }

    /// The checksum of `len` bytes, if `whole` is that of them behind bytes whose checksum is `before`.
    fn remove(self, before: u32, whole: u32, len: usize) -> u32 {
        let shifted = match self {
            Self::Crc32 => {
                let mut hasher = crc32fast::Hasher::new_with_initial(before);
                hasher.combine(&crc32fast::Hasher::new_with_initial_len(0, len as u64));
                hasher.finalize()
            }
            Self::Crc32c => crc32c::crc32c_combine(before, 0, len),
        };
        shifted ^ whole
    }
}

/// The mask that framings of Snappy put on the checksums of their blocks (section 3).
pub fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Bytes between the checksums that are kept.
const STEP: usize = 4 << 10;

/// The checksums of a run of bytes at every 4 KiB: the checksum of any part of it takes at most 8 KiB of work
/// besides, so that many forged headers with large sizes cost no more than the bytes of the file (section 5).
#[derive(Debug)]
pub struct RunningChecksum {
    kind: Checksum,
    /// Offset of the first kept checksum.
    begin: u64,
    /// The checksums from the begin of the run to `begin`, `begin` + 4 KiB, ...
    sums: VecDeque<u32>,
}

impl RunningChecksum {
    /// The checksums of a run that begins at the offset `begin`.
    pub fn new(kind: Checksum, begin: u64) -> Self {
        Self { kind, begin, sums: VecDeque::from([0]) }
    }

    /// Says that no part is asked for any more that begins before `position`. Gives the offset of the first byte
    /// that is still needed; `None` if nothing that is kept is of use.
    pub fn forget(&mut self, position: u64) -> Option<u64> {
        while self.sums.len() > 1 && self.next_begin() <= position {
            self.sums.pop_front();
            self.begin = self.next_begin();
        }
        (self.next_begin() > position).then_some(self.begin)
    }

    /// The checksum of the bytes from offset `from` to `to`, out of `bytes`, which begin at the offset `begin`;
    /// `None` if they are not all among them, or were forgotten.
    pub fn part(&mut self, begin: u64, bytes: &[u8], from: u64, to: u64) -> Option<u32> {
        let len = usize::try_from(to.checked_sub(from)?).ok()?;
        let before = self.up_to(begin, bytes, from)?;
        let whole = self.up_to(begin, bytes, to)?;
        Some(self.kind.remove(before, whole, len))
    }

    /// Offset of the second kept checksum.
    fn next_begin(&self) -> u64 {
        self.place(1)
    }

    /// Offset of a kept checksum.
    fn place(&self, index: usize) -> u64 {
        self.begin.saturating_add(index.saturating_mul(STEP) as u64)
    }

    /// The checksum from the begin of the run to `position`.
    fn up_to(&mut self, begin: u64, bytes: &[u8], position: u64) -> Option<u32> {
        let slice = |from: u64, to: u64| {
            let index = |at: u64| usize::try_from(at.checked_sub(begin)?).ok();
            bytes.get(index(from)?..index(to)?)
        };
        let step = usize::try_from(position.checked_sub(self.begin)?).ok()? / STEP;
        while self.sums.len() <= step {
            let from = self.place(self.sums.len().saturating_sub(1));
            let sum = self.kind.append(*self.sums.back()?, slice(from, from.saturating_add(STEP as u64))?);
            self.sums.push_back(sum);
        }
        let from = self.place(step);
        Some(self.kind.append(*self.sums.get(step)?, slice(from, position)?))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_checksums_are_the_standard_ones() {
        assert_eq!(Checksum::Crc32.of(b"123456789"), 0xcbf4_3926);
        assert_eq!(Checksum::Crc32c.of(b"123456789"), 0xe306_9283);
        assert_eq!(masked(0), 0xa282_ead8);
        assert_eq!(masked(1), 0xa284_ead8);
    }

    proptest! {
        #[test]
        fn a_part_has_the_checksum_of_its_bytes(
            parts in prop::collection::vec((0u64..40_000, 0u64..40_000), 1..20),
            begin in 0u64..1_000_000,
        ) {
            let bytes: Vec<u8> = (0..40_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            for kind in [Checksum::Crc32, Checksum::Crc32c] {
                let mut running = RunningChecksum::new(kind, begin);
                let mut first = 0;
                for &(a, b) in &parts {
                    let (from, to) = (a.min(b).max(first), a.max(b).max(first));
                    let expected = kind.of(&bytes[from as usize..to as usize]);
                    prop_assert_eq!(running.part(begin, &bytes, begin + from, begin + to), Some(expected));
                    if from % 3 == 0 {
                        first = from;
                        let needed = running.forget(begin + from).expect("the part was known") - begin;
                        prop_assert!(needed <= from && from - needed < STEP as u64);
                        let rest = &bytes[needed as usize..];
                        let part = running.part(begin + needed, rest, begin + from, begin + to);
                        prop_assert_eq!(part, Some(expected));
                    }
                }
                prop_assert_eq!(running.part(begin, &bytes, begin + 30_000, begin + 40_001), None);
                prop_assert_eq!(running.forget(begin + 50_000), None);
            }
        }
    }
}
