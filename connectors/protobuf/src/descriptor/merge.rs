//! One reader schema from the descriptors of several files.

use super::compare::first_conflict;
use super::files::FileSet;
use super::resolve::resolve;
use super::symbols::Symbols;
use super::union::union;
use super::{DescriptorError, Descriptors, MessageId};

/// One version of the message type: what one record file, or an option, says of it.
#[derive(Debug, Clone)]
pub(crate) struct Version {
    /// Who says it, as the user knows it.
    pub origin: String,
    /// The .proto files.
    pub files: FileSet,
    /// The message type with all that it needs.
    pub descriptors: Descriptors,
    /// The message type.
    pub message: MessageId,
    /// The name of the .proto file that defines the message type.
    pub proto_file: String,
}

impl Version {
    /// Resolves the message type `name` among `files`.
    ///
    /// # Errors
    /// [`DescriptorError::UnknownMessage`] with the nearest names; whatever is wrong with `files`.
    pub fn new(origin: &str, files: FileSet, name: &str) -> Result<Self, DescriptorError> {
        let symbols = Symbols::new(&files)?;
        let descriptors = resolve(&symbols, [name])?;
        let Some(message) = descriptors.find(name) else { return Err(unknown_message(&symbols, name)) };
        let proto_file =
            symbols.get(name).map(|symbol| symbol.scope.file.name().to_string()).unwrap_or_default();
        Ok(Self { origin: origin.to_string(), descriptors, message, proto_file, files })
    }
}

/// The union of all versions: fields are matched by number, the first version's names win, and what only
/// later ones have is appended.
///
/// # Errors
/// [`DescriptorError::Conflict`] with the first two files whose versions exclude each other.
pub(crate) fn merge(first: &Version, others: &[Version]) -> Result<Version, DescriptorError> {
    let mut merged = first.clone();
    for (at, other) in others.iter().enumerate() {
        if merged.descriptors == other.descriptors {
            continue;
        }
        if let Some(difference) = conflict(&merged, other) {
            let earlier = [first].into_iter().chain(others.iter().take(at));
            let found = earlier.filter_map(|earlier| Some((earlier, conflict(earlier, other)?))).next();
            let (earlier, difference) = found.unwrap_or((first, difference));
            return Err(DescriptorError::Conflict {
                first: earlier.origin.clone(),
                second: other.origin.clone(),
                difference,
            });
        }
        let files = union(&merged.files, &other.files, &other.descriptors)?;
        let name = &other.descriptors.message(other.message).full_name;
        merged = Version::new(&first.origin, files, name)?;
    }
    Ok(merged)
}

fn conflict(first: &Version, second: &Version) -> Option<String> {
    first_conflict((&first.descriptors, first.message), (&second.descriptors, second.message))
}

/// Names shown and compared with at most.
const MAX_NAMES: usize = 10_000;

fn unknown_message(symbols: &Symbols<'_>, name: &str) -> DescriptorError {
    let known = symbols.messages().iter().take(MAX_NAMES).map(AsRef::as_ref);
    let nearest = recordfusion_core::nearest_names(name, known);
    let hint = if nearest.is_empty() {
        listed(&symbols.files.top_level_messages().0)
    } else {
        format!("did you mean {}?", nearest.join(" or "))
    };
    DescriptorError::UnknownMessage { name: name.to_string(), hint }
}

/// "the message types are a, b and 3 more".
pub(crate) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<_> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len().checked_sub(SHOWN) {
        _ if names.is_empty() => "there are no message types".to_string(),
        Some(more) if more > 0 => format!("the message types are {} and {more} more", shown.join(", ")),
        _ => format!("the message types are {}", shown.join(", ")),
    }
}
