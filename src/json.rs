//! Rows as JSON text, one object a line.
//!
//! Follows Arrow's JSON writer, except that no value is lost: NULLs are written, numbers that JSON cannot
//! say are the texts `"NaN"`, `"Infinity"` and `"-Infinity"` as in protobuf's JSON, and maps may have keys
//! of any scalar type.

use std::io::Write;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, LargeStringArray, LargeStringBuilder, MapArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::writer::{
    Encoder, EncoderFactory, EncoderOptions, JsonArray, LineDelimited, NullableEncoder, Writer,
    WriterBuilder, make_encoder,
};

/// A writer of one JSON object a line.
pub fn lines<W: Write>(out: W) -> Writer<W, LineDelimited> {
    builder().build(out)
}

/// A writer of one JSON array of objects.
pub fn array<W: Write>(out: W) -> Writer<W, JsonArray> {
    builder().build(out)
}

/// Each value of a column as JSON text; NULL stays NULL.
///
/// # Errors
/// A type that has no JSON form, such as a union.
pub fn texts(field: &FieldRef, column: &dyn Array) -> Result<LargeStringArray, ArrowError> {
    let options =
        EncoderOptions::default().with_explicit_nulls(true).with_encoder_factory(Arc::new(Lossless));
    let mut encoder = make_encoder(field, column, &options)?;
    let mut texts = LargeStringBuilder::with_capacity(column.len(), 0);
    let mut text = vec![];
    for row in 0..column.len() {
        if encoder.is_null(row) {
            texts.append_null();
            continue;
        }
        text.clear();
        encoder.encode(row, &mut text);
        texts.append_value(String::from_utf8_lossy(&text));
    }
    Ok(texts.finish())
}

/// `batch` with its nested columns as JSON text, for formats that have none.
///
/// # Errors
/// A type that has no JSON form, such as a union.
pub fn flatten(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns()).map(|(field, column)| {
        let column =
            if field.data_type().is_nested() { Arc::new(texts(field, column)?) } else { Arc::clone(column) };
        Ok((field.name(), column, true))
    });
    RecordBatch::try_from_iter_with_nullable(columns.collect::<Result<Vec<_>, ArrowError>>()?)
}

fn builder() -> WriterBuilder {
    WriterBuilder::new().with_explicit_nulls(true).with_encoder_factory(Arc::new(Lossless))
}

#[derive(Debug)]
struct Lossless;

impl EncoderFactory for Lossless {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Float64 => {
                let values = array.as_primitive::<Float64Type>();
                Box::new(FloatEncoder(move |row| {
                    (values.value(row), serde_json::to_string(&values.value(row)))
                }))
            }
            DataType::Float32 => {
                let values = array.as_primitive::<Float32Type>();
                Box::new(FloatEncoder(move |row| {
                    (f64::from(values.value(row)), serde_json::to_string(&values.value(row)))
                }))
            }
            DataType::Map(_, _) => Box::new(MapEncoder::try_new(field, array.as_map(), options)?),
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

/// Encodes the value and JSON number of a row.
struct FloatEncoder<F>(F);

impl<F: Fn(usize) -> (f64, serde_json::Result<String>)> Encoder for FloatEncoder<F> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let (value, text) = (self.0)(row);
        match text {
            Ok(text) if value.is_finite() => out.extend_from_slice(text.as_bytes()),
            _ if value.is_nan() => out.extend_from_slice(b"\"NaN\""),
            _ if value > 0.0 => out.extend_from_slice(b"\"Infinity\""),
            _ => out.extend_from_slice(b"\"-Infinity\""),
        }
    }
}

/// A map as an object; keys that are no text are written as text.
struct MapEncoder<'a> {
    map: &'a MapArray,
    keys: NullableEncoder<'a>,
    values: NullableEncoder<'a>,
}

impl<'a> MapEncoder<'a> {
    fn try_new(
        field: &'a FieldRef,
        map: &'a MapArray,
        options: &'a EncoderOptions,
    ) -> Result<Self, ArrowError> {
        let keys = make_encoder(field, map.keys(), options)?;
        let values = make_encoder(field, map.values(), options)?;
        Ok(Self { map, keys, values })
    }
}

impl Encoder for MapEncoder<'_> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let offsets = self.map.value_offsets();
        out.push(b'{');
        for entry in offsets[row] as usize..offsets[row + 1] as usize {
            if entry > offsets[row] as usize {
                out.push(b',');
            }
            let begin = out.len();
            self.keys.encode(entry, out);
            if out.get(begin) != Some(&b'"') {
                out.insert(begin, b'"');
                out.push(b'"');
            }
            out.push(b':');
            match self.values.is_null(entry) {
                true => out.extend_from_slice(b"null"),
                false => self.values.encode(entry, out),
            }
        }
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Builder, MapBuilder, StringBuilder};

    use super::*;

    #[test]
    fn nothing_is_lost() {
        let mut map = MapBuilder::new(None, Int64Builder::new(), StringBuilder::new());
        map.keys().append_value(-7);
        map.values().append_value("a\"b");
        map.keys().append_value(8);
        map.values().append_null();
        map.append(true).expect("equal lengths");
        map.append(true).expect("equal lengths");
        map.append(false).expect("equal lengths");
        let map: ArrayRef = Arc::new(map.finish());
        let floats: ArrayRef =
            Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(-0.0), Some(f64::NEG_INFINITY)]));
        let batch = RecordBatch::try_from_iter([("m", map), ("f", floats)]).expect("equal lengths");
        let mut out = vec![];
        let mut writer = lines(&mut out);
        writer.write(&batch).expect("has a JSON form");
        writer.finish().expect("memory");
        let expected = "{\"m\":{\"-7\":\"a\\\"b\",\"8\":null},\"f\":\"NaN\"}\n{\"m\":{},\"f\":-0.0}\n{\"m\":null,\"f\":\"-Infinity\"}\n";
        assert_eq!(String::from_utf8(out).expect("UTF-8"), expected);
        let flat = flatten(&batch).expect("has a JSON form");
        assert_eq!(flat.column(0).as_string::<i64>().value(0), "{\"-7\":\"a\\\"b\",\"8\":null}");
    }
}
