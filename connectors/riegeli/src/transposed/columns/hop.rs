//! What lies between two transitions, in one word: it is loaded for each of them.

use super::step::Step;

/// The nodes between two transitions, in one word: from the lowest bits on four times the base behind them (18
/// bits), whether there is a program, whether the hop stops, the path before (16 bits), a zero, the path behind (16
/// bits), records that begin (5 bits) and nodes (6 bits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop(u64);

/// The path before a hop or behind one, as the hop has it; what is above 17 bits is of no meaning.
#[derive(Debug, Clone, Copy)]
pub(super) struct HopPath(u32);

const BASE_BITS: u64 = 0x3ffff;
const PROGRAM: u64 = 1 << 18;
const STOP: u64 = 1 << BEFORE;
const BEFORE: u32 = 19;
const PATH_BITS: u32 = 0x1ffff;
const BEHIND: u32 = 36;
const RECORDS: u32 = 53;
const RECORD_BITS: u32 = 0x1f;
const STEPS: u32 = 58;

/// Most nodes of a hop.
pub(super) const MOST_STEPS: u64 = 63;

impl HopPath {
    pub fn new(path: u16) -> Self {
        Self(u32::from(path) << 1)
    }

    pub fn path(self) -> u16 {
        (self.0 >> 1) as u16
    }
}

impl Hop {
    /// One that was not met.
    pub const UNKNOWN: Self = Self((Step::NOWHERE as u64) << (BEFORE + 1) | STOP);

    /// One whose first node has to be met alone.
    pub const ALONE: Self = Self(Self::UNKNOWN.0 | 1);

    /// Whether the hop is one from `path` on, and does not stop.
    #[inline(always)]
    pub fn goes_on_from(self, path: HopPath) -> bool {
        ((self.0 >> BEFORE) as u32 ^ path.0) & PATH_BITS == 0
    }

    /// Whether the hop is one from `path` on.
    pub fn is_of(self, path: HopPath) -> bool {
        (self.0 >> (BEFORE + 1)) as u16 == path.path()
    }

    /// Whether there is a program.
    #[inline(always)]
    pub fn has_program(self) -> bool {
        self.0 & PROGRAM != 0
    }

    /// Four times the node that the next transition counts from.
    #[inline(always)]
    pub fn base(self) -> usize {
        (self.0 & BASE_BITS) as usize
    }

    #[inline(always)]
    pub fn path_behind(self) -> HopPath {
        HopPath((self.0 >> BEHIND) as u32)
    }

    /// Records that begin.
    #[inline(always)]
    pub fn records(self) -> u32 {
        (self.0 >> RECORDS) as u32 & RECORD_BITS
    }

    /// Nodes that are met.
    #[inline(always)]
    pub fn steps(self) -> u64 {
        self.0 >> STEPS
    }

    /// That of one node, behind which transitions count from `base`.
    #[expect(clippy::arithmetic_side_effects, reason = "a base has 16 bits")]
    pub fn of_node(path: HopPath, behind: HopPath, base: u32, begins_record: bool) -> Self {
        Self(
            u64::from(4 * base)
                | u64::from(path.0) << BEFORE
                | u64::from(behind.0) << BEHIND
                | u64::from(begins_record) << RECORDS
                | 1 << STEPS,
        )
    }

    /// The same with a program, if there is one.
    pub fn with_program(self, has_program: bool) -> Self {
        Self(self.0 | if has_program { PROGRAM } else { 0 })
    }

    /// The same, but its base follows without a transition.
    pub fn stopped(self) -> Self {
        Self(self.0 | STOP)
    }

    /// Whether the base follows without a transition.
    pub fn stops(self) -> bool {
        self.0 & STOP != 0
    }

    /// This hop and then another as one; `None` if that is too long.
    #[expect(clippy::arithmetic_side_effects, reason = "both are the few bits of a word")]
    pub fn and_then(self, next: Self) -> Option<Self> {
        let (steps, records) = (self.steps() + next.steps(), self.records() + next.records());
        if steps > MOST_STEPS || records > RECORD_BITS {
            return None;
        }
        let before = self.0 & u64::from(PATH_BITS & !1) << BEFORE;
        let behind = next.0 & (u64::from(PATH_BITS) << BEHIND | BASE_BITS | STOP);
        let counts = u64::from(records) << RECORDS | steps << STEPS;
        Some(Self(before | behind | counts | (self.0 | next.0) & PROGRAM))
    }
}
