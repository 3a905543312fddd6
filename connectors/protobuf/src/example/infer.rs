//! Which columns the features of some records make.

use std::collections::BTreeMap;

use recordfusion_core::{Error, RecordBlock, Result};

use super::message::{self, Entry, Member};
use super::{FeatureColumn, FeatureKind, MESSAGE};
use crate::fault::{FaultKind, Result as Decoded};

/// Most records that are looked at.
pub(crate) const SAMPLE_RECORDS: usize = 1000;
/// Most columns that are made.
const MAX_COLUMNS: usize = 10_000;

/// What one record holds of a feature.
struct Held {
    member: Member,
    count: usize,
    texts: Texts,
}

/// Whether byte strings look like text.
#[derive(Clone, Copy)]
struct Texts {
    all_utf8: bool,
    any_non_empty: bool,
}

/// What all records so far hold of a feature.
struct Seen {
    member: Member,
    /// Position of the first record that has the feature.
    position: u64,
    /// Most values that a record has of it.
    most: usize,
    texts: Texts,
}

/// The columns of the features in at most the first 1000 records of `sample`, by name.
///
/// A feature that has a kind in none of them makes no column. Records that are no `tf.train.Example` are passed over:
/// the scan that meets them knows what to do with them.
///
/// # Errors
/// [`Error::Schema`] if no record has a feature, if a feature is of one kind here and of another there, or if
/// there are more than 10 000 features.
#[expect(clippy::arithmetic_side_effects, reason = "no more than SAMPLE_RECORDS are looked at")]
pub(crate) fn infer(sample: &[RecordBlock]) -> Result<Vec<FeatureColumn>> {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    let mut first_fault = None;
    let mut looked_at = 0;
    let records = sample.iter().flat_map(|block| (0..block.len()).map(move |row| (block, row)));
    for (block, row) in records.take(SAMPLE_RECORDS) {
        looked_at += 1;
        match features(block.record(row).unwrap_or_default()) {
            Ok(features) => add(&mut seen, features, block.position(row))?,
            Err(fault) => {
                first_fault.get_or_insert_with(|| (block.position(row), fault.describe(MESSAGE)));
            }
        }
    }
    if seen.is_empty() {
        return Err(nothing_seen(looked_at, first_fault));
    }
    Ok(seen.into_iter().map(|(name, seen)| seen.column(name)).collect())
}

/// The features of a record that have a kind, by name.
fn features(record: &[u8]) -> Decoded<BTreeMap<&str, Held>> {
    let mut features = BTreeMap::new();
    message::entries(record, 0, |entry| {
        let name = simdutf8::basic::from_utf8(entry.name).map_err(|_| FaultKind::InvalidUtf8)?;
        match Held::read(&entry).map_err(|fault| fault.within(name))? {
            Some(held) => features.insert(name, held),
            None => features.remove(name),
        };
        Ok(())
    })?;
    Ok(features)
}

fn add(seen: &mut BTreeMap<String, Seen>, features: BTreeMap<&str, Held>, position: u64) -> Result<()> {
    for (name, held) in features {
        match seen.get_mut(name) {
            Some(seen) => seen.add(name, &held, position)?,
            None => {
                seen.insert(name.to_string(), Seen::new(&held, position));
            }
        }
    }
    if seen.len() > MAX_COLUMNS {
        return Err(Error::Schema(format!(
            "the records have more than {MAX_COLUMNS} features; name the ones to show in option features, as \
             in features = 'label:int64, image:bytes'"
        )));
    }
    Ok(())
}

fn nothing_seen(looked_at: usize, first_fault: Option<(u64, String)>) -> Error {
    let why = match first_fault {
        Some((position, fault)) => format!(" (record at position {position}: {fault})"),
        None => String::new(),
    };
    Error::Schema(format!(
        "no features to infer columns from: none of the {looked_at} records looked at has one{why}; name them \
         in option features, as in features = 'label:int64, image:bytes'"
    ))
}

impl Held {
    /// What the entry holds; nothing if the feature has no kind.
    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "each value lies in the list and takes a byte of it at least"
    )]
    fn read(entry: &Entry<'_>) -> Decoded<Option<Self>> {
        let mut held: Option<Self> = None;
        entry.lists(|member, list, at| {
            let texts = Texts { all_utf8: true, any_non_empty: false };
            let held = match &mut held {
                Some(held) if held.member == member => held,
                other => other.insert(Self { member, count: 0, texts }),
            };
            held.count += member.count(list, at)?;
            if member == Member::Bytes {
                message::byte_strings(list, at, |begin, end| held.texts.add(&list[begin..end]))?;
            }
            Ok(())
        })?;
        Ok(held)
    }
}

impl Texts {
    fn add(&mut self, bytes: &[u8]) {
        self.all_utf8 = self.all_utf8 && simdutf8::basic::from_utf8(bytes).is_ok();
        self.any_non_empty |= !bytes.is_empty();
    }
}

impl Seen {
    fn new(held: &Held, position: u64) -> Self {
        let &Held { member, count, texts } = held;
        Self { member, position, most: count, texts }
    }

    fn add(&mut self, name: &str, held: &Held, position: u64) -> Result<()> {
        if self.member != held.member {
            let [first, second] = [self.member, held.member].map(FeatureKind::of);
            return Err(Error::Schema(format!(
                "feature '{name}' has {first} values in the record at position {} and {second} values in the \
                 one at {position}; name the columns in option features, as in features = '{name}:{first}[]'",
                self.position
            )));
        }
        self.most = self.most.max(held.count);
        self.texts.all_utf8 &= held.texts.all_utf8;
        self.texts.any_non_empty |= held.texts.any_non_empty;
        Ok(())
    }

    fn column(self, name: String) -> FeatureColumn {
        let is_text = self.texts.all_utf8 && self.texts.any_non_empty;
        let kind = match FeatureKind::of(self.member) {
            FeatureKind::Bytes if is_text => FeatureKind::String,
            kind => kind,
        };
        FeatureColumn { name, kind, list: self.most != 1 }
    }
}
