//! Arrays of numbers, from the bits that were decoded.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, UInt32Array, UInt64Array,
};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};

use crate::fault::Result;

/// An array of 32-bit numbers; `signed` tells how they are widened to 64 bits.
///
/// # Errors
/// Those of Arrow.
pub(crate) fn words(
    data_type: &DataType,
    signed: bool,
    values: Vec<u32>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::UInt32 => Arc::new(UInt32Array::try_new(values.into(), nulls)?),
        DataType::Float32 => Arc::new(Float32Array::try_new(reinterpret(values), nulls)?),
        DataType::Int64 => {
            let widen = |word: u32| if signed { i64::from(word as i32) } else { i64::from(word) };
            Arc::new(Int64Array::try_new(values.into_iter().map(widen).collect(), nulls)?)
        }
        _ => Arc::new(Int32Array::try_new(reinterpret(values), nulls)?),
    })
}

/// An array of 64-bit numbers.
///
/// # Errors
/// Those of Arrow.
pub(crate) fn longs(data_type: &DataType, values: Vec<u64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::UInt64 => Arc::new(UInt64Array::try_new(values.into(), nulls)?),
        DataType::Float64 => Arc::new(Float64Array::try_new(reinterpret(values), nulls)?),
        DataType::Decimal128(..) => {
            let values = values.into_iter().map(i128::from).collect();
            Arc::new(Decimal128Array::try_new(values, nulls)?.with_data_type(data_type.clone()))
        }
        _ => Arc::new(Int64Array::try_new(reinterpret(values), nulls)?),
    })
}

/// The values as numbers of another type of the same width.
fn reinterpret<T: ArrowNativeType>(values: Vec<impl ArrowNativeType>) -> ScalarBuffer<T> {
    ScalarBuffer::from(Buffer::from_vec(values))
}
