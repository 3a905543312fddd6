//! Columns of numbers as what stands on the wire. Numbers that a kind does not hold exactly are NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float32Array, PrimitiveArray, make_array};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::compute::kernels::cmp;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Float32Type, Float64Type, Int32Type, Int64Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;

use crate::descriptor::Kind;

/// Numbers as they are written.
#[derive(Debug)]
pub(super) enum Words {
    Varint(ScalarBuffer<u64>),
    Fixed32(ScalarBuffer<u32>),
    Fixed64(ScalarBuffer<u64>),
}

/// The numbers of `array` as values of `kind`, and which of them there are.
///
/// # Errors
/// Those of Arrow, for types that have no numbers.
pub(super) fn words(kind: Kind, array: &ArrayRef) -> Result<(Words, Option<NullBuffer>), ArrowError> {
    let numbers = exact(array, &arrow_type(kind))?;
    let words = match kind {
        Kind::Bool => Words::Varint(numbers.as_boolean().values().iter().map(u64::from).collect()),
        Kind::Float => Words::Fixed32(bits::<Float32Type, _>(&numbers)),
        Kind::Double => Words::Fixed64(bits::<Float64Type, _>(&numbers)),
        Kind::Fixed32 => Words::Fixed32(bits::<UInt32Type, _>(&numbers)),
        Kind::Sfixed32 => Words::Fixed32(bits::<Int32Type, _>(&numbers)),
        Kind::Fixed64 => Words::Fixed64(bits::<UInt64Type, _>(&numbers)),
        Kind::Sfixed64 => Words::Fixed64(bits::<Int64Type, _>(&numbers)),
        Kind::Int64 => Words::Varint(bits::<Int64Type, _>(&numbers)),
        Kind::Uint64 => Words::Varint(bits::<UInt64Type, _>(&numbers)),
        Kind::Uint32 => Words::Varint(varints::<UInt32Type>(&numbers, u64::from)),
        Kind::Sint32 => Words::Varint(varints::<Int32Type>(&numbers, zigzag32)),
        Kind::Sint64 => {
            Words::Varint(varints::<Int64Type>(&numbers, |value| (value << 1 ^ value >> 63) as u64))
        }
        _ => Words::Varint(varints::<Int32Type>(&numbers, sign_extended)),
    };
    Ok((words, numbers.nulls().cloned()))
}

/// An int32 or enum as a varint.
pub(super) fn sign_extended(value: i32) -> u64 {
    i64::from(value) as u64
}

fn zigzag32(value: i32) -> u64 {
    u64::from((value << 1 ^ value >> 31) as u32)
}

fn bits<T: ArrowPrimitiveType, W: arrow::datatypes::ArrowNativeType>(array: &ArrayRef) -> ScalarBuffer<W> {
    ScalarBuffer::from(array.as_primitive::<T>().values().inner().clone())
}

fn varints<T: ArrowPrimitiveType>(array: &ArrayRef, varint: impl Fn(T::Native) -> u64) -> ScalarBuffer<u64> {
    array.as_primitive::<T>().values().iter().map(|&value| varint(value)).collect()
}

fn arrow_type(kind: Kind) -> DataType {
    match kind {
        Kind::Bool => DataType::Boolean,
        Kind::Float => DataType::Float32,
        Kind::Double => DataType::Float64,
        Kind::Uint32 | Kind::Fixed32 => DataType::UInt32,
        Kind::Uint64 | Kind::Fixed64 => DataType::UInt64,
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => DataType::Int64,
        _ => DataType::Int32,
    }
}

/// `array` as another type of numbers: NULL where that has not the very number.
///
/// # Errors
/// Those of Arrow, for types that cannot be cast.
pub(super) fn exact(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    if let (DataType::Float64, DataType::Float32) = (array.data_type(), to) {
        return Ok(Arc::new(narrow(array.as_primitive())));
    }
    let numbers = cast(array, to)?;
    if !to.is_floating() || array.data_type().is_floating() {
        return Ok(numbers);
    }
    let same = cmp::eq(array, &cast(&numbers, array.data_type())?)?;
    let nulls = NullBuffer::union(same.nulls(), Some(&NullBuffer::new(same.values().clone())));
    Ok(make_array(numbers.to_data().into_builder().nulls(nulls).build()?))
}

fn narrow(array: &PrimitiveArray<Float64Type>) -> Float32Array {
    array.unary_opt(|value| {
        let narrowed = value as f32;
        (value.is_nan() || f64::from(narrowed) == value).then_some(narrowed)
    })
}
