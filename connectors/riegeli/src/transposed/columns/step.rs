//! What the walk does at a node.

/// What the walk does at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Goes on.
    Pass,
    /// Goes on behind the begin of a record.
    Record,
    /// Notes a value of the leaf `target`.
    Value,
    /// Enters the message at the path behind.
    Open,
    /// Counts a field with another wire type.
    Mismatch,
    /// Notes the message at the path `target`, which is stored as a string.
    Message,
    /// Puts together the bytes of a value of the leaf `target`.
    Capture,
}

/// A node as it is to the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// The path that the node belongs to.
    pub path: u16,
    /// The path behind it.
    pub behind: u16,
    pub kind: Kind,
    /// A leaf, or the path of a message that is stored as a string.
    pub target: u16,
    /// The form of a value.
    pub form: u8,
}

impl Step {
    /// No path.
    pub const NOWHERE: u16 = u16::MAX;

    /// That of a node that the walk has not come to.
    pub const UNRESOLVED: Self =
        Self { path: Self::NOWHERE, behind: 0, kind: Kind::Pass, target: 0, form: 0 };

    /// One that only leads from path to path.
    pub fn pass(path: u16, behind: u16) -> Self {
        Self { path, behind, kind: Kind::Pass, target: 0, form: 0 }
    }

    /// The same of another kind.
    pub fn of(self, kind: Kind) -> Self {
        Self { kind, ..self }
    }
}
