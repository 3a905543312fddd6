//! What the walk does between two transitions besides passing nodes.

use recordfusion_protobuf::shredded::Note;

use crate::transposed::header::Action;

/// What an op does that is not a note, with its target and its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpKind {
    /// Notes a value of the leaf `target`, whose row is chosen.
    Value,
    /// Enters the message `target`, whose row is chosen.
    Open,
    /// Counts a field with another wire type.
    Mismatch,
    /// Notes the message at the path `target`, which is stored as a string.
    Message,
    /// Counts `form` bytes.
    Bytes,
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
    /// Gives the bytes that were counted to the message `target`.
    Give,
}

impl OpKind {
    const ALL: [Self; 11] = [
        Self::Value,
        Self::Open,
        Self::Mismatch,
        Self::Message,
        Self::Bytes,
        Self::String,
        Self::Varint,
        Self::Fixed,
        Self::End,
        Self::Begin,
        Self::Give,
    ];

    /// An op of this kind.
    #[expect(clippy::arithmetic_side_effects, reason = "there are eleven kinds")]
    pub fn op(self, target: u16, form: u8) -> Note {
        Note::other(self as u8 + 1, target, form)
    }

    /// The kind of an op, if it is not a note.
    pub fn of(op: Note) -> Option<Self> {
        Self::ALL.get(usize::from(op.kind()).checked_sub(1)?).copied()
    }
}

/// The buffer that an op takes a string from.
pub(super) fn string_buffer(op: Note) -> Option<u32> {
    (OpKind::of(op) == Some(OpKind::String)).then(|| op.target().into())
}

/// All ops between two transitions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Program {
    pub first: u32,
    pub len: u16,
    /// What the last node is that is not passed without effect.
    pub last: Last,
    /// Repeats that are left behind the base, if the hop stops: no transition comes before the base then.
    pub left: u8,
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
    #[expect(clippy::arithmetic_side_effects, reason = "the ops are in memory")]
    pub fn range(self) -> std::ops::Range<usize> {
        let first = self.first as usize;
        first..first + usize::from(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_have_the_kind_that_they_are_made_of() {
        for kind in OpKind::ALL {
            assert_eq!(OpKind::of(kind.op(u16::MAX, u8::MAX)), Some(kind));
        }
        assert_eq!(OpKind::of(Note::default()), None);
    }
}
