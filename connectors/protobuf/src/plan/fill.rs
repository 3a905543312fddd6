//! Values that rows without one show (section 4 of the mapping, option `absent`).

use arrow::array::{Array, ArrayRef, BinaryArray, BooleanArray, StringArray};
use arrow::compute::cast;

use crate::column_tree::{Form, Node};
use crate::descriptor::Value;

/// What fills the rows of a column that no value came for.
pub(super) enum Fill {
    /// Nothing: they are NULL, or hold the default of the type.
    None,
    /// These bits, in the column of numbers itself.
    Number(u64),
    /// This value, as an array of one row, put in when the array is made.
    Array(ArrayRef),
}

impl Fill {
    /// For the rows of `node` that hold `value`.
    pub(super) fn new(value: &Value, node: &Node) -> Self {
        let bits = match value {
            Value::Int(number) => *number as u64,
            Value::Uint(number) => *number,
            Value::Double(number) => number.to_bits(),
            Value::Float(number) => u64::from(number.to_bits()),
            Value::Enum(number) => *number as u64,
            Value::Bool(flag) => return Self::array(&BooleanArray::from(vec![*flag]), node),
            Value::String(text) => return Self::array(&StringArray::from(vec![text.as_str()]), node),
            Value::Bytes(bytes) => return Self::array(&BinaryArray::from_vec(vec![bytes]), node),
        };
        match &node.form {
            Form::Number(_) | Form::Enum { .. } => Self::Number(bits),
            _ => Self::None,
        }
    }

    /// The array in the column's type; none if the value is not of the column's kind.
    fn array(array: &dyn Array, node: &Node) -> Self {
        cast(array, node.field.data_type()).map_or(Self::None, Self::Array)
    }
}
