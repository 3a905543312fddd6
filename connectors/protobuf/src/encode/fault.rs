//! What is wrong with a value that is to be written.

use recordfusion_core::Error;

/// Result with [`Fault`]; boxed so that the path of success stays narrow.
pub(super) type Result<T> = std::result::Result<T, Box<Fault>>;

/// A value that cannot be written, with the names that lead to it, innermost first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    path: Vec<String>,
    reason: String,
}

impl Fault {
    #[cold]
    pub(super) fn new(reason: impl Into<String>) -> Box<Self> {
        Box::new(Self { path: Vec::new(), reason: reason.into() })
    }

    /// The fault, seen from the row or struct that holds `name`.
    #[cold]
    pub(super) fn within(mut self: Box<Self>, name: &str) -> Box<Self> {
        if !name.is_empty() {
            self.path.push(name.to_string());
        }
        self
    }

    /// The fault as one of a row.
    pub(super) fn at(self, row: u64) -> Error {
        let mut column = String::new();
        for name in self.path.iter().rev() {
            if !column.is_empty() && !name.starts_with('[') {
                column.push('.');
            }
            column.push_str(name);
        }
        Error::BadValue { column, row, reason: self.reason }
    }
}
