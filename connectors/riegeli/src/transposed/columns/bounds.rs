//! Bounds of columns from the state machine's header alone (section 5.2).

use recordfusion_core::ColumnBounds;
use recordfusion_protobuf::BatchDecoder;
use recordfusion_protobuf::shredded::FieldFacts;

use super::Header;

/// The bounds of a column of the decoder, by its index in the schema of the batches, in a chunk with this header.
///
/// The nodes are all that can occur, and the number of a field at the top is found only in nodes: its record is in no
/// buffer as long as all records are messages.
pub(crate) fn column_bounds(header: &Header, decoder: &BatchDecoder, column: usize) -> Option<ColumnBounds> {
    if header.has_non_proto {
        return None;
    }
    decoder.bounds(column, |number| facts(header, number))
}

/// What the nodes say of a field number.
fn facts(header: &Header, number: u32) -> FieldFacts {
    let mut facts = FieldFacts::default();
    for node in &header.nodes {
        let Some(tagged) = node.tagged().filter(|tagged| tagged.tag >> 3 == number) else { continue };
        facts.occurs = true;
        match (tagged.tag & 7, tagged.value) {
            (0, Some(value)) => facts.small |= 1u128.checked_shl(value.into()).unwrap_or(0),
            (0, None) => facts.longest = facts.longest.max(node.width.into()),
            _ => {}
        }
    }
    facts
}

#[cfg(test)]
mod tests;
