//! Columns about the records: option `metadata_columns`.

use recordfusion_core::{Error, Options, Result};

/// A column about the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetadataColumn {
    /// `_file`: the file that the record comes from.
    File,
    /// `_position`: the numeric record position.
    Position,
    /// `_record`: the serialized record.
    Record,
    /// `_unknown`: the fields of the record that its message type does not have.
    Unknown,
}

impl MetadataColumn {
    /// All of them, in the order of the columns, with what the option calls them.
    const NAMES: [(&'static str, Self); 4] = [
        ("file", Self::File),
        ("position", Self::Position),
        ("record", Self::Record),
        ("unknown", Self::Unknown),
    ];

    /// The option's value: names separated by commas.
    pub(super) fn from_options(options: &Options) -> Result<Vec<Self>> {
        let Some(text) = options.get("metadata_columns") else { return Ok(Vec::new()) };
        let named: Vec<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let known = |name: &&str| Self::NAMES.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if let Some(name) = named.iter().find(|name| !known(name)) {
            let reason = format!("'{name}' is not one of file, position, record, unknown");
            return Err(Error::Option { name: "metadata_columns".to_string(), reason });
        }
        let wanted = |name: &str| named.iter().any(|given| given.eq_ignore_ascii_case(name));
        Ok(Self::NAMES.iter().filter(|(name, _)| wanted(name)).map(|&(_, column)| column).collect())
    }
}
