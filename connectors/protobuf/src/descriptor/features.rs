//! Edition features: the defaults of each syntax and edition, and what single elements set.
//!
//! A feature is inherited from the file over the message types down to the field, oneof or enum, and the
//! nearest element that sets it decides. The features that exist only for generated code or for JSON
//! (`json_format`, `enforce_naming_style`, `default_symbol_visibility`) decide nothing here.

use super::wire::{FeatureSet, FileDescriptorProto, edition};
use super::{DescriptorError, Presence};

/// The features in force for one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Features {
    /// `field_presence`.
    pub presence: Presence,
    /// `enum_type` is CLOSED.
    pub closed: bool,
    /// `repeated_field_encoding` is PACKED.
    pub packed: bool,
    /// `utf8_validation` is VERIFY.
    pub validate_utf8: bool,
    /// `message_encoding` is DELIMITED.
    pub delimited: bool,
}

const PROTO2: Features = Features {
    presence: Presence::Explicit,
    closed: true,
    packed: false,
    validate_utf8: false,
    delimited: false,
};
const PROTO3: Features = Features {
    presence: Presence::Implicit,
    closed: false,
    packed: true,
    validate_utf8: true,
    delimited: false,
};
/// Edition 2024 and all later ones known have these defaults too.
const EDITION_2023: Features = Features {
    presence: Presence::Explicit,
    closed: false,
    packed: true,
    validate_utf8: true,
    delimited: false,
};

impl Features {
    /// The value of `field_presence` for explicit presence.
    pub const EXPLICIT_PRESENCE: i32 = 1;

    /// What holds at the top of a file: the defaults of its syntax or edition, then its own options.
    ///
    /// # Errors
    /// [`DescriptorError::Syntax`] for a syntax that does not exist, or editions without an edition.
    /// Editions later than those known are taken as the newest known one.
    pub fn of_file(file: &FileDescriptorProto) -> Result<Self, DescriptorError> {
        let defaults = match (file.syntax(), file.edition) {
            ("" | "proto2", None) => PROTO2,
            ("proto3", None) => PROTO3,
            ("editions" | "", Some(edition::LEGACY | edition::PROTO2)) | ("proto2", Some(_)) => PROTO2,
            ("editions" | "", Some(edition::PROTO3)) | ("proto3", Some(_)) => PROTO3,
            ("editions" | "", Some(edition::E2023..)) => EDITION_2023,
            (syntax, edition) => {
                return Err(DescriptorError::Syntax {
                    file: file.name().to_string(),
                    syntax: syntax.to_string(),
                    edition: edition.map_or_else(|| "none".to_string(), |edition| edition.to_string()),
                });
            }
        };
        Ok(defaults.with(file.options.as_ref().and_then(|options| options.features.as_ref())))
    }

    /// These features, with those that an element sets itself. Values of later editions change nothing.
    #[must_use]
    pub fn with(mut self, set: Option<&FeatureSet>) -> Self {
        let Some(set) = set else { return self };
        self.presence = match set.field_presence {
            Some(1) => Presence::Explicit,
            Some(2) => Presence::Implicit,
            Some(3) => Presence::Required,
            _ => self.presence,
        };
        self.closed = chosen(set.enum_type, 2, 1, self.closed);
        self.packed = chosen(set.repeated_field_encoding, 1, 2, self.packed);
        self.validate_utf8 = chosen(set.utf8_validation, 2, 3, self.validate_utf8);
        self.delimited = chosen(set.message_encoding, 2, 1, self.delimited);
        self
    }

    /// What an element has to set so that these features hold for it where `inherited` hold around it.
    pub fn pinned(self, inherited: Self) -> FeatureSet {
        let presence = match self.presence {
            Presence::Explicit => 1,
            Presence::Implicit => 2,
            Presence::Required => 3,
        };
        let pin = |same: bool, value: i32| (!same).then_some(value);
        FeatureSet {
            field_presence: pin(self.presence == inherited.presence, presence),
            enum_type: pin(self.closed == inherited.closed, if self.closed { 2 } else { 1 }),
            repeated_field_encoding: pin(self.packed == inherited.packed, if self.packed { 1 } else { 2 }),
            utf8_validation: pin(
                self.validate_utf8 == inherited.validate_utf8,
                if self.validate_utf8 { 2 } else { 3 },
            ),
            message_encoding: pin(self.delimited == inherited.delimited, if self.delimited { 2 } else { 1 }),
            ..FeatureSet::default()
        }
    }
}

fn chosen(value: Option<i32>, yes: i32, no: i32, inherited: bool) -> bool {
    match value {
        Some(value) if value == yes => true,
        Some(value) if value == no => false,
        _ => inherited,
    }
}
