//! Which bytes of the records are counted on the way (see [`Size`](super::size::Size)).

use recordfusion_protobuf::shredded::{Leaf, Message, Note, Unfit};

use super::paths::{Paths, wire_type};
use super::program::OpKind;
use super::step::{Kind, Step};
use crate::transposed::header::{Action, Node};

/// Adds the ops that count the bytes of a node and take what is not wanted.
pub(super) fn measure(node: &Node, step: Step, paths: &Paths<'_>, ops: &mut Vec<Note>) -> Result<(), Unfit> {
    let (before, behind) = (paths.measured(step.path)?, paths.measured(step.behind)?);
    let begin = ops.len();
    match node.action {
        Action::NoOp | Action::NonProto | Action::MessageStart => {}
        Action::SubmessageEnd if behind.is_some() => {}
        Action::SubmessageEnd => ops.push(OpKind::End.op(0, node.literal.len)),
        Action::SubmessageStart if before.is_some() => {}
        Action::SubmessageStart => ops.push(OpKind::Begin.op(0, 0)),
        Action::Literal if step.path != step.behind => {
            let is_end = node.tagged().is_some_and(|tagged| tagged.tag & 7 == wire_type::END_GROUP);
            let group = if is_end { behind } else { before };
            ops.extend(group.is_none().then(|| OpKind::Bytes.op(0, node.literal.len)));
        }
        _ => scalar(node, step, paths, ops)?,
    }
    match behind {
        Some(message) if ops.len() > begin => {
            ops.push(OpKind::Give.op(index_of(message)?, 0));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Adds the ops of a node that stays at its path.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "a literal is a tag and one byte at most, a number ten bytes"
)]
fn scalar(node: &Node, step: Step, paths: &Paths<'_>, ops: &mut Vec<Note>) -> Result<(), Unfit> {
    let (is_wanted, is_known) = match step.kind {
        Kind::Value => (true, !paths.layout().needs_counting(Leaf::at(step.target))),
        Kind::Message => (true, paths.measured(step.target)?.is_some()),
        _ => (false, false),
    };
    if is_known {
        return Ok(());
    }
    let buffer = u16::try_from(node.buffer).map_err(|_| Unfit);
    let (literal, width) = (node.literal.len, node.width);
    match node.action {
        // That it is empty is checked later.
        Action::String if step.kind == Kind::Message => ops.push(OpKind::Bytes.op(0, literal + 1)),
        Action::String => ops.extend([OpKind::String.op(buffer?, 0), OpKind::Bytes.op(0, literal)]),
        Action::Varint if !is_wanted => {
            ops.extend([OpKind::Varint.op(buffer?, width), OpKind::Bytes.op(0, literal)]);
        }
        Action::Fixed if !is_wanted => {
            ops.extend([OpKind::Fixed.op(buffer?, width), OpKind::Bytes.op(0, literal)]);
        }
        _ => ops.push(OpKind::Bytes.op(0, literal + width)),
    }
    Ok(())
}

/// The index of a message, as ops have it.
pub(super) fn index_of(message: Message) -> Result<u16, Unfit> {
    u16::try_from(message.index()).map_err(|_| Unfit)
}
