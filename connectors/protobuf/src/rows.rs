//! Records to rows, and what becomes of bad records (section 6 of the mapping).

use std::ops::Range;

use crate::counters::{
    FIELDS_PROJECTED, INVALID_UTF8_REPLACED, RECORDS_INCOMPLETE, RECORDS_NULLED, RECORDS_SKIPPED,
    TIMESTAMPS_TRUNCATED, VALUES_NULLED, WIRE_TYPE_MISMATCHES,
};
use arrow::array::{ArrayRef, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::take;
use recordfusion_core::{Error, RecordBlock, Result, ScanCounters, compact_column};

use crate::decoded::Arrays;
use crate::example::ExampleDecoder;
use crate::extent::Extent;
use crate::fault::{Fault, FaultKind, Result as Decoded};
use crate::messages::MessageDecoder;
use crate::options::OnBadRecord;
use crate::plain_text::TextDecoder;

/// The rows that records became.
pub(crate) struct Rows {
    /// The wanted columns.
    pub arrays: Vec<ArrayRef>,
    /// The unknown fields of each row, if they are wanted.
    pub unknown: Option<ArrayRef>,
    /// The record of each row, by its index in the block.
    pub records: Vec<usize>,
    /// The records that were decoded.
    pub consumed: usize,
}

/// Decodes records of one kind.
#[derive(Debug)]
pub(crate) enum Decoder {
    /// Messages, field by field.
    Messages(Box<MessageDecoder>),
    /// `tf.train.Example` messages, feature by feature.
    Examples(ExampleDecoder),
    /// Plain text.
    Text(TextDecoder),
}

impl Decoder {
    /// Decodes the records `rows`. A fault may be found only when arrays are made, and then says nothing of
    /// the record. The decoder goes on afterwards as if nothing had been.
    fn attempt(&mut self, block: &RecordBlock, rows: impl Iterator<Item = usize> + Clone) -> Decoded<Arrays> {
        match self {
            Self::Messages(messages) => messages.decode(block, rows),
            Self::Examples(examples) => examples.decode(block, rows),
            Self::Text(text) => text.decode(block, rows),
        }
    }

    /// The places of the columns.
    fn extent(&self) -> Extent {
        match self {
            Self::Messages(messages) => messages.plan().extent(),
            Self::Examples(_) | Self::Text(_) => Extent { row: self.leaves(), item: 0 },
        }
    }

    /// How many leaf columns are decoded.
    fn leaves(&self) -> u64 {
        match self {
            Self::Messages(messages) => messages.leaves(),
            Self::Examples(examples) => examples.leaves(),
            Self::Text(text) => text.leaves(),
        }
    }
}

/// Decodes the records of one scan, and does with bad ones what the options say.
#[derive(Debug)]
pub(crate) struct RowDecoder {
    decoder: Decoder,
    /// The records' message type, if they are messages.
    name: Option<String>,
    on_bad_record: OnBadRecord,
    batches: u64,
}

/// A fault of one of some rows.
type Failed = (Range<usize>, Box<Fault>);

impl RowDecoder {
    /// A decoder of records of the message type `name`.
    pub(crate) fn new(decoder: Decoder, name: Option<String>, on_bad_record: OnBadRecord) -> Self {
        Self { decoder, name, on_bad_record, batches: 0 }
    }

    /// The places of the columns.
    pub(crate) fn extent(&self) -> Extent {
        self.decoder.extent()
    }

    /// The decoder of messages, if it may take them without their bytes: no record is judged as a whole.
    pub(crate) fn shreddable(&self) -> Option<&MessageDecoder> {
        match &self.decoder {
            Decoder::Messages(messages)
                if self.on_bad_record == OnBadRecord::Error && !messages.plan().strict_required =>
            {
                Some(messages)
            }
            _ => None,
        }
    }

    /// As [`Self::shreddable`].
    pub(crate) fn shreddable_mut(&mut self) -> Option<&mut MessageDecoder> {
        self.shreddable()?;
        match &mut self.decoder {
            Decoder::Messages(messages) => Some(messages),
            Decoder::Examples(_) | Decoder::Text(_) => None,
        }
    }

    /// Decodes the records `rows` of `block`; only the first half of them, or of that, if a column would
    /// exceed 2 GiB.
    ///
    /// # Errors
    /// [`Error::BadRecord`], as far as the options do not say otherwise.
    #[expect(clippy::arithmetic_side_effects, reason = "the middle of some rows is one of them")]
    pub(crate) fn decode(
        &mut self,
        file: &str,
        block: &RecordBlock,
        rows: Range<usize>,
        counters: &ScanCounters,
    ) -> Result<Rows> {
        let outcome = match self.decoder.attempt(block, rows.clone()) {
            Err(fault) if is_bad_record(&fault) && self.on_bad_record != OnBadRecord::Error => {
                self.without_bad_records(block, rows.clone(), counters)
            }
            Err(fault) => Err((rows.clone(), fault)),
            Ok(arrays) => Ok((rows.clone().collect(), arrays)),
        };
        match outcome {
            Ok((records, arrays)) => {
                self.count(&arrays, counters);
                let Arrays { columns: mut arrays, unknown, .. } = arrays;
                if !matches!(self.decoder, Decoder::Messages(_)) {
                    arrays = arrays.iter().map(compact_column).collect::<Result<_>>()?;
                }
                Ok(Rows { arrays, unknown, records, consumed: rows.len() })
            }
            Err((_, fault)) if matches!(fault.kind(), FaultKind::TooLarge) && rows.len() > 1 => {
                self.decode(file, block, rows.start..rows.start + rows.len() / 2, counters)
            }
            Err((rows, fault)) => {
                let (row, fault) = self.first_fault(block, rows, fault);
                let fault = match &self.name {
                    Some(name) => fault.describe(name),
                    None => fault.kind().to_string(),
                };
                Err(Error::BadRecord { file: file.to_string(), position: block.position(row), fault })
            }
        }
    }

    /// The records that are no bad ones, with rows of NULLs for the bad ones where these are wanted, and the
    /// record of each row.
    fn without_bad_records(
        &mut self,
        block: &RecordBlock,
        rows: Range<usize>,
        counters: &ScanCounters,
    ) -> std::result::Result<(Vec<usize>, Arrays), Failed> {
        let mut bad = Vec::new();
        self.find_bad_records(block, rows.clone(), &mut bad)?;
        let good: Vec<usize> = rows.clone().filter(|row| bad.binary_search(row).is_err()).collect();
        let failed = |fault| (rows.clone(), fault);
        let arrays = self.decoder.attempt(block, good.iter().copied()).map_err(failed)?;
        if self.on_bad_record == OnBadRecord::Skip {
            counters.add(&RECORDS_SKIPPED, bad.len() as u64);
            return Ok((good, arrays));
        }
        let places = rows.clone().map(|row| good.binary_search(&row).ok().map(|at| at as u32)).collect();
        let arrays = spread(arrays, &places).map_err(failed)?;
        counters.add(&RECORDS_NULLED, bad.len() as u64);
        Ok((rows.collect(), arrays))
    }

    /// Adds the bad records among `rows` to `bad`, found by halving.
    #[expect(clippy::arithmetic_side_effects, reason = "the middle of some rows is one of them")]
    fn find_bad_records(
        &mut self,
        block: &RecordBlock,
        rows: Range<usize>,
        bad: &mut Vec<usize>,
    ) -> std::result::Result<(), Failed> {
        match self.decoder.attempt(block, rows.clone()) {
            Ok(_) => Ok(()),
            Err(_) if rows.len() > 1 => {
                let middle = rows.start + rows.len() / 2;
                self.find_bad_records(block, rows.start..middle, bad)?;
                self.find_bad_records(block, middle..rows.end, bad)
            }
            Err(fault) if is_bad_record(&fault) => {
                bad.push(rows.start);
                Ok(())
            }
            Err(fault) => Err((rows, fault)),
        }
    }

    /// Counts what was noticed in a batch.
    pub(crate) fn count(&mut self, arrays: &Arrays, counters: &ScanCounters) {
        if self.batches == 0 {
            counters.add(&FIELDS_PROJECTED, self.decoder.leaves());
        }
        self.batches = self.batches.saturating_add(1);
        counters.add(&WIRE_TYPE_MISMATCHES, arrays.mismatches);
        counters.add(&TIMESTAMPS_TRUNCATED, arrays.tally.truncated);
        counters.add(&INVALID_UTF8_REPLACED, arrays.tally.mended);
        counters.add(&VALUES_NULLED, arrays.tally.nulled);
        let incomplete = arrays.incomplete.as_ref().map_or(0, BooleanBuffer::count_set_bits);
        counters.add(&RECORDS_INCOMPLETE, incomplete as u64);
    }

    /// The first record of `rows` with a fault, found by halving; `fault` is one of them.
    #[expect(clippy::arithmetic_side_effects, reason = "the middle of some rows is one of them")]
    fn first_fault(
        &mut self,
        block: &RecordBlock,
        rows: Range<usize>,
        fault: Box<Fault>,
    ) -> (usize, Box<Fault>) {
        let (mut rows, mut fault) = (rows, fault);
        while rows.len() > 1 {
            let middle = rows.start + rows.len() / 2;
            match self.decoder.attempt(block, rows.start..middle) {
                Err(earlier) => (rows.end, fault) = (middle, earlier),
                Ok(_) => match self.decoder.attempt(block, middle..rows.end) {
                    Err(later) => (rows.start, fault) = (middle, later),
                    Ok(_) => break,
                },
            }
        }
        (rows.start, fault)
    }
}

/// The arrays with their rows at the places that `places` has, and NULL elsewhere.
fn spread(arrays: Arrays, places: &UInt32Array) -> Decoded<Arrays> {
    let spread = |array: &ArrayRef| take(array, places, None);
    let columns = arrays.columns.iter().map(spread).collect::<std::result::Result<_, _>>()?;
    let unknown = arrays.unknown.as_ref().map(spread).transpose()?;
    Ok(Arrays { columns, unknown, ..arrays })
}

/// Whether a fault makes the record as a whole a bad one.
fn is_bad_record(fault: &Fault) -> bool {
    matches!(fault.kind(), FaultKind::Wire(_) | FaultKind::InvalidUtf8 | FaultKind::RequiredMissing)
}
