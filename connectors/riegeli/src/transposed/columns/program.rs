//! What the walk does between two transitions besides passing nodes.

use crate::transposed::header::Action;

/// What one op does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpKind {
    /// Notes a value of the leaf `target`.
    Value,
    /// The same of a member of a oneof.
    Member,
    /// Enters the message `target`.
    Open,
    /// Leaves the message `target`.
    Close,
    /// Counts a field with another wire type.
    Mismatch,
    /// Notes the message at the path `target`, which is stored as a string.
    Message,
    /// Takes a string from the buffer `target`.
    String,
    /// Takes a varint of `form` bytes, which is not wanted, from the buffer `target`.
    Varint,
    /// Takes `form` bytes, which are not wanted, from the buffer `target`.
    Fixed,
    /// The end of a submessage whose tag has `form` bytes.
    End,
    /// The begin of a submessage.
    Begin,
    /// [`Self::Value`] of a string, which is taken from the buffer `size`.
    Text,
    /// [`Self::End`] and [`Self::Open`].
    OpenEnd,
    /// [`Self::Close`] and [`Self::Begin`].
    CloseBegin,
}

/// Something that is done between two transitions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Op {
    pub kind: OpKind,
    /// The form of a value, or a number of bytes.
    pub form: u8,
    /// Records that begin before it, and behind the op before.
    pub records: u8,
    pub target: u16,
    /// Bytes of the records before it, back to the last op that has some.
    pub size: u16,
}

impl Op {
    /// One that is right behind what is before it.
    pub fn new(kind: OpKind, form: u8, target: u16) -> Self {
        Self { kind, form, records: 0, target, size: 0 }
    }

    /// Whether it has the bytes before it.
    pub fn has_size(&self) -> bool {
        matches!(self.kind, OpKind::End | OpKind::Begin | OpKind::OpenEnd | OpKind::CloseBegin)
    }

    /// The buffer that it takes a string from.
    pub fn string_buffer(&self) -> Option<u32> {
        match self.kind {
            OpKind::String => Some(self.target.into()),
            OpKind::Text => Some(self.size.into()),
            _ => None,
        }
    }
}

/// All ops between two transitions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Program {
    pub first: u32,
    pub len: u16,
    /// Bytes of the records behind the last op that has some.
    pub size: u16,
    /// What the last node is that is not passed without effect.
    pub last: Last,
    /// Repeats that are left behind the base, if the hop stops: no transition comes before the base then.
    pub left: u8,
    /// Records that begin behind the last op.
    pub records: u8,
}

/// What was met last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Last {
    /// Nothing that has an effect.
    #[default]
    Nothing,
    /// The begin of a record.
    Record,
    /// Something inside a record.
    Inside,
}

impl Last {
    pub fn of(action: Action) -> Self {
        match action {
            Action::NoOp => Self::Nothing,
            Action::MessageStart => Self::Record,
            _ => Self::Inside,
        }
    }

    /// What was met last behind something else.
    pub fn or(self, before: Self) -> Self {
        if self == Self::Nothing { before } else { self }
    }
}

impl Program {
    pub fn range(self) -> std::ops::Range<usize> {
        let first = self.first as usize;
        first..first + usize::from(self.len)
    }
}
