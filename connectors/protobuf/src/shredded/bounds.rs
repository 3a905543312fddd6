//! Bounds of columns, from what a chunk says of its fields before any value is read (section 5.2 of the format).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::{concat, sort};
use arrow::datatypes::DataType;
use recordfusion_core::{ColumnBounds, Nulls};

use crate::batch::BatchDecoder;
use crate::messages::MessageDecoder;
use crate::options::EnumForm;
use crate::plan::{Encoding, Output, Source};
use crate::wire::{tag_of, wire_type, zigzag32, zigzag64};

/// What a chunk says of all occurrences of a field number in its records, at any depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FieldFacts {
    /// Whether there may be some, of any wire type.
    pub occurs: bool,
    /// The varints up to 127 that there may be: bit `n` is set for `n`.
    pub small: u128,
    /// The most bytes of any other varint, 0 if there is none.
    pub longest: u32,
}

impl BatchDecoder {
    /// The bounds of a column, by its index in the schema of the batches, in records of which `facts` tells what is
    /// known of a field number. `None` if nothing is known.
    pub fn bounds(&self, column: usize, facts: impl FnOnce(u32) -> FieldFacts) -> Option<ColumnBounds> {
        self.shreddable()?.bounds(self.payload(column)?, facts)
    }
}

impl MessageDecoder {
    /// The bounds of the column of this index among the wanted ones.
    #[expect(clippy::arithmetic_side_effects, reason = "there is a value at least")]
    fn bounds(&self, column: usize, facts: impl FnOnce(u32) -> FieldFacts) -> Option<ColumnBounds> {
        let plan = self.plan();
        let planned = plan.columns.get(*plan.order.get(column)?)?;
        let absent = self.absent().get(column)?;
        if planned.number == 0 {
            return None;
        }
        let facts = facts(planned.number);
        if !facts.occurs {
            return Some(all_absent(absent));
        }
        let op = plan.messages.first()?.slot(tag_of(planned.number, wire_type::VARINT)).op;
        let output = plan.outputs.get(planned.output as usize)?;
        let values = values(output, op.encoding()?, facts)?;
        if values.is_empty() {
            return Some(all_absent(absent));
        }
        // Any record may lack the field.
        let values = sort(&concat(&[&values, absent]).ok()?, None).ok()?;
        let nulls = values.null_count();
        Some(ColumnBounds {
            low: Some(values.slice(nulls, 1)),
            high: Some(values.slice(values.len() - 1, 1)),
            nulls: if nulls > 0 { Nulls::Some } else { Nulls::None },
        })
    }
}

/// The bounds of a column that no record has a value for.
fn all_absent(absent: &ArrayRef) -> ColumnBounds {
    let is_null = absent.null_count() > 0;
    let bound = (!is_null && !absent.data_type().is_nested()).then(|| Arc::clone(absent));
    let nulls = if is_null { Nulls::All } else { Nulls::None };
    ColumnBounds { low: bound.clone(), high: bound, nulls }
}

/// Values of the output, the least and the greatest that there may be among them; `None` if the output is not a single
/// integer.
fn values(output: &Output, encoding: Encoding, facts: FieldFacts) -> Option<ArrayRef> {
    let data_type = output.field.data_type();
    let varints = varints(encoding, facts)?;
    let words = || varints.iter().map(|&bits| bits as u32).collect();
    match &output.source {
        Source::Words { signed, .. } => crate::numbers::words(data_type, *signed, words(), None).ok(),
        Source::Longs(_) => crate::numbers::longs(data_type, varints, None).ok(),
        Source::Bits(_) => {
            Some(Arc::new(varints.iter().map(|&bits| Some(bits != 0)).collect::<BooleanArray>()))
        }
        Source::Enum { names, shown: EnumForm::Number, .. } if *data_type == DataType::Int32 => {
            names.column(EnumForm::Number, data_type, words(), None).ok()
        }
        _ => None,
    }
}

/// The bits of the numbers that varints of an encoding stand for: all small ones, and of the others those that may be
/// the least or the greatest.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "a number has at most 64 bits, and half of the greatest is not the greatest"
)]
fn varints(encoding: Encoding, FieldFacts { small, longest, .. }: FieldFacts) -> Option<Vec<u64>> {
    let width = match encoding {
        Encoding::Varint32 | Encoding::Zigzag32 | Encoding::ClosedEnum => 32,
        Encoding::Varint64 | Encoding::Zigzag64 | Encoding::Bool => 64,
        Encoding::Fixed32 | Encoding::Fixed64 => return None,
    };
    let number = |bits: u64| match encoding {
        Encoding::Zigzag32 => u64::from(zigzag32(bits as u32)),
        Encoding::Zigzag64 => zigzag64(bits),
        _ => bits,
    };
    let small = (0..128u64).filter(|bits| small >> bits & 1 != 0);
    // With a sign the greatest lies below the middle, and with zigzag the last two are the outermost.
    let most = u64::MAX.checked_shr(64 - longest.saturating_mul(7).min(width)).unwrap_or(0);
    let long = [0, most, most.wrapping_sub(1), most >> 1, (most >> 1) + 1];
    let long = long.into_iter().filter(|_| longest > 0);
    Some(small.chain(long).map(number).collect())
}
