//! The text of option `features`.

use std::collections::HashSet;
use std::str::FromStr;

use thiserror::Error;

use super::FeatureColumn;

/// What option `features` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Features {
    /// `infer`: the columns that a sample of the records suggests, by name.
    Infer,
    /// `NAME:KIND, ...`: these columns, in this order. There is at least one, and no name comes twice.
    Given(Vec<FeatureColumn>),
}

/// What is wrong with the text of option `features`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FeaturesError {
    /// No column is named.
    #[error("no columns are given; write NAME:KIND for each, as in 'label:int64, image:bytes', or 'infer'")]
    Empty,
    /// A part has no colon.
    #[error("'{part}' has no kind; write {part}:KIND, where KIND is {KINDS}")]
    NoKind {
        /// The part as given.
        part: String,
    },
    /// A part begins with its colon.
    #[error("'{part}' has no name; write NAME{part}")]
    NoName {
        /// The part as given.
        part: String,
    },
    /// A kind does not exist.
    #[error("the kind of '{part}' does not exist; a kind is {KINDS}")]
    UnknownKind {
        /// The part as given.
        part: String,
    },
    /// Two parts have the same name.
    #[error("feature '{name}' is given twice; a feature makes one column")]
    Twice {
        /// The name.
        name: String,
    },
}

const KINDS: &str = "int64, float, bytes or string, with [] behind it for a list";

impl FromStr for Features {
    type Err = FeaturesError;

    /// Reads `infer`, or `NAME:KIND` or `NAME:KIND[]` for each column with commas between them. A name may
    /// contain colons but no commas; spaces around names and kinds do not count.
    fn from_str(text: &str) -> Result<Self, FeaturesError> {
        if text.trim() == "infer" {
            return Ok(Self::Infer);
        }
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let columns = parts.map(column).collect::<Result<Vec<_>, _>>()?;
        let mut names = HashSet::new();
        match columns.iter().find(|column| !names.insert(&column.name)) {
            Some(column) => Err(FeaturesError::Twice { name: column.name.clone() }),
            None if columns.is_empty() => Err(FeaturesError::Empty),
            None => Ok(Self::Given(columns)),
        }
    }
}

fn column(part: &str) -> Result<FeatureColumn, FeaturesError> {
    let whole = || part.to_string();
    let (name, kind) = part.rsplit_once(':').ok_or_else(|| FeaturesError::NoKind { part: whole() })?;
    let (name, kind) = (name.trim(), kind.trim());
    if name.is_empty() {
        return Err(FeaturesError::NoName { part: whole() });
    }
    let item = kind.strip_suffix("[]");
    let word = item.unwrap_or(kind).trim();
    let kind = word.parse().map_err(|_| FeaturesError::UnknownKind { part: whole() })?;
    Ok(FeatureColumn { name: name.to_string(), kind, list: item.is_some() })
}

#[cfg(test)]
mod tests {
    use super::super::FeatureKind;
    use super::*;

    fn given(text: &str) -> Vec<(String, FeatureKind, bool)> {
        match text.parse() {
            Ok(Features::Given(columns)) => {
                columns.into_iter().map(|column| (column.name, column.kind, column.list)).collect()
            }
            other => panic!("'{text}' gives {other:?}"),
        }
    }

    #[test]
    fn columns_come_in_the_order_given() {
        let expected = [
            ("label".to_string(), FeatureKind::Int64, false),
            ("image/encoded".to_string(), FeatureKind::Bytes, false),
            ("name:de".to_string(), FeatureKind::String, true),
            ("box".to_string(), FeatureKind::Float, true),
        ];
        for text in [
            "label:int64,image/encoded:bytes,name:de:string[],box:float[]",
            " label : int64 ,image/encoded: BYTES,\n name:de:string [], box:float[],",
        ] {
            assert_eq!(given(text), expected, "{text}");
        }
    }

    #[test]
    fn infer_stands_alone() {
        assert_eq!(" infer ".parse(), Ok(Features::Infer));
        assert_eq!(given("infer:int64"), [("infer".to_string(), FeatureKind::Int64, false)]);
    }

    #[test]
    fn a_column_reads_back_from_its_text() {
        let text = "a:int64[], b:string, c::float, d:bytes[]";
        let Ok(Features::Given(columns)) = text.parse() else { panic!("{text} is right") };
        assert_eq!(columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), text);
    }

    #[test]
    fn faults_say_what_would_be_right() {
        const KINDS: &str = "int64, float, bytes or string, with [] behind it for a list";
        let empty =
            "no columns are given; write NAME:KIND for each, as in 'label:int64, image:bytes', or 'infer'";
        for (text, expected) in [
            ("", empty.to_string()),
            (" , ", empty.to_string()),
            ("a:int64, label", format!("'label' has no kind; write label:KIND, where KIND is {KINDS}")),
            ("infer, a:int64", format!("'infer' has no kind; write infer:KIND, where KIND is {KINDS}")),
            (":int64", "':int64' has no name; write NAME:int64".to_string()),
            ("a:int32[]", format!("the kind of 'a:int32[]' does not exist; a kind is {KINDS}")),
            ("a:", format!("the kind of 'a:' does not exist; a kind is {KINDS}")),
            ("a:float[][]", format!("the kind of 'a:float[][]' does not exist; a kind is {KINDS}")),
            (
                "a:int64, b:float, a:float",
                "feature 'a' is given twice; a feature makes one column".to_string(),
            ),
        ] {
            assert_eq!(text.parse::<Features>().unwrap_err().to_string(), expected, "{text}");
        }
    }
}
