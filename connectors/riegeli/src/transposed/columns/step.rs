//! What the walk does at a node.

/// What the walk does at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Goes on with the path `target`.
    Pass,
    /// Goes on behind the begin of a record.
    Record,
    /// Notes a value of the leaf `target`.
    Value,
    /// The same of a leaf that is a member of a oneof.
    Member,
    /// Enters the message at the path `target`.
    Open,
    /// Leaves a message, for the path `target`.
    Close,
    /// Counts a field with another wire type, and goes on with the path `target`.
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
    pub kind: Kind,
    /// A path or a leaf.
    pub target: u16,
    /// The form of a value.
    pub form: u8,
}

impl Step {
    /// No path.
    pub const NOWHERE: u16 = u16::MAX;

    /// That of a node that the walk has not come to.
    pub const UNRESOLVED: Self = Self { path: Self::NOWHERE, kind: Kind::Pass, target: 0, form: 0 };

    /// The path behind the node.
    pub fn path_behind(self) -> u16 {
        match self.kind {
            Kind::Value | Kind::Member | Kind::Message | Kind::Capture => self.path,
            Kind::Pass | Kind::Record | Kind::Open | Kind::Close | Kind::Mismatch => self.target,
        }
    }
}
