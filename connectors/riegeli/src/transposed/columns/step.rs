//! What the walk does at a node, in one word: it is loaded at every step.

/// What the walk does at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Goes on with the path `target`.
    Pass,
    /// As [`Self::Pass`], behind the begin of `form` records.
    Records,
    /// Notes a value of the leaf `target`.
    Value,
    /// Enters the message at the path `target`.
    Open,
    /// Leaves a message, for the path `target`.
    Close,
    /// Notes a value of the leaf `target`, which is a member of a oneof.
    Member,
    /// Counts a field with another wire type, and goes on with the path `target`.
    Mismatch,
    /// Notes the message at the path `target`, which is stored as a string.
    Message,
    /// Puts together the bytes of a value of the leaf `target`.
    Capture,
}

impl Kind {
    const ALL: [Self; 9] = [
        Self::Pass,
        Self::Records,
        Self::Value,
        Self::Open,
        Self::Close,
        Self::Member,
        Self::Mismatch,
        Self::Message,
        Self::Capture,
    ];

    /// Whether only records begin, if at all, and the path changes.
    fn is_pass(self) -> bool {
        matches!(self, Self::Pass | Self::Records)
    }

    /// Whether `target` is a leaf, and the path stays.
    fn is_value(self) -> bool {
        matches!(self, Self::Value | Self::Member)
    }
}

/// A node as it is to the walk, or a run of nodes from it on: from the lowest bits on base, target and path of 16
/// bits each, form, four bits of the kind and whether no transition follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step(u64);

const IMPLICIT: u64 = 1 << 63;

/// Of the steps that are not rare.
const PLAIN: u64 = 1 << 62;

/// Of steps that note a value.
const VALUE: u64 = 1 << 61;

/// Of steps that enter or leave a message.
const MESSAGE: u64 = 1 << 60;

impl Step {
    /// That of a node that the walk has not come to.
    pub const UNRESOLVED: Self = Self(0xffff << 32);

    /// The step of a kind, at a node of `path`; `target` is a path or a leaf, `form` that of a value or a number
    /// of records.
    pub fn new(path: u16, kind: Kind, target: u16, form: u8) -> Self {
        let flags = match kind {
            Kind::Value => PLAIN | VALUE,
            Kind::Open | Kind::Close => PLAIN | MESSAGE,
            Kind::Pass | Kind::Records => PLAIN,
            _ => 0,
        };
        Self(
            flags
                | (kind as u64) << 56
                | u64::from(form) << 48
                | u64::from(path) << 32
                | u64::from(target) << 16,
        )
    }

    /// The same step, after which the next transition counts from `base`, or `base` is the next node.
    pub fn to(self, base: u16, implicit: bool) -> Self {
        Self(self.0 & !(IMPLICIT | 0xffff) | u64::from(base) | if implicit { IMPLICIT } else { 0 })
    }

    /// This step and the one at its base in one, if that is passed.
    pub fn followed_by(self, next: Self) -> Option<Self> {
        let (kind, then) = (self.kind(), next.kind());
        let both = match kind {
            _ if kind.is_pass() && then.is_pass() => {
                let records = self.records().checked_add(next.records())?;
                let kind = if records > 0 { Kind::Records } else { Kind::Pass };
                Self::new(self.path(), kind, next.target(), records)
            }
            _ if kind.is_value() && then == Kind::Pass && next.target() == self.path() => self,
            _ => return None,
        };
        Some(both.to(next.0 as u16, next.implicit()))
    }

    /// The path behind a step that may be one with what follows.
    pub fn path_behind(self) -> Option<u16> {
        match self.kind() {
            Kind::Pass | Kind::Records => Some(self.target()),
            Kind::Value | Kind::Member => Some(self.path()),
            _ => None,
        }
    }

    fn records(self) -> u8 {
        if self.kind() == Kind::Records { self.form() } else { 0 }
    }

    /// The path that the node belongs to.
    #[inline(always)]
    pub fn path(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// A path or a leaf.
    #[inline(always)]
    pub fn target(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// The node that the next transition counts from.
    #[inline(always)]
    pub fn base(self) -> usize {
        usize::from(self.0 as u16)
    }

    /// The form of a value, or a number of records.
    #[inline(always)]
    pub fn form(self) -> u8 {
        (self.0 >> 48) as u8
    }

    /// Whether the base is the next node, without a transition.
    #[inline(always)]
    pub fn implicit(self) -> bool {
        self.0 & IMPLICIT != 0
    }

    /// Whether this is at a node of `path`, and of one of the kinds up to [`Kind::Close`].
    #[inline(always)]
    pub fn is_plain(self, path: u16) -> bool {
        self.0 & PLAIN != 0 && self.path() == path
    }

    /// Whether the kind is [`Kind::Value`].
    #[inline(always)]
    pub fn notes_value(self) -> bool {
        self.0 & VALUE != 0
    }

    /// Whether the kind is [`Kind::Open`] or [`Kind::Close`].
    #[inline(always)]
    pub fn bounds_message(self) -> bool {
        self.0 & MESSAGE != 0
    }

    /// What the walk does.
    #[inline(always)]
    pub fn kind(self) -> Kind {
        let kind = (self.0 >> 56) as usize & 0xf;
        Kind::ALL.get(kind).copied().unwrap_or(Kind::Pass)
    }
}
