//! What is wrong with one record, and where in it.

use thiserror::Error;

use crate::wire::WireFault;

/// Result with [`Fault`]; boxed so that the path of success stays narrow.
pub(crate) type Result<T> = std::result::Result<T, Box<Fault>>;

/// A fault of a record with the names of the fields that lead to it, innermost first.
#[derive(Debug)]
pub(crate) struct Fault {
    kind: FaultKind,
    path: Vec<String>,
}

/// What is wrong (section 6 of the mapping).
#[derive(Debug, Error)]
pub(crate) enum FaultKind {
    #[error(transparent)]
    Wire(#[from] WireFault),
    #[error("the text is not valid UTF-8")]
    InvalidUtf8,
    #[error("the value has no form in a column: {0}")]
    BadValue(String),
    #[error("the field is required, but not there")]
    RequiredMissing,
    #[error("the values of one batch exceed 2 GiB")]
    TooLarge,
    #[error("the column cannot be built: {0}")]
    Arrow(#[from] arrow::error::ArrowError),
}

impl Fault {
    /// What is wrong.
    pub(crate) fn kind(&self) -> &FaultKind {
        &self.kind
    }

    /// The fault, seen from the message that holds the field `name`.
    #[cold]
    pub(crate) fn within(mut self: Box<Self>, name: &str) -> Box<Self> {
        self.path.push(name.to_string());
        self
    }

    /// As [`Self::within`] for a field that is known.
    #[cold]
    pub(crate) fn within_field(self: Box<Self>, name: Option<&str>) -> Box<Self> {
        match name {
            Some(name) => self.within(name),
            None => self,
        }
    }

    /// The fault as one of a value: what is wrong inside of bytes that the record only carries. `what` they should be.
    pub(crate) fn of_carried(mut self: Box<Self>, what: &str) -> Box<Self> {
        if matches!(self.kind, FaultKind::Wire(_) | FaultKind::InvalidUtf8 | FaultKind::RequiredMissing) {
            self.kind = FaultKind::BadValue(format!("it is no {what}: {}", self.kind));
        }
        self
    }

    /// The fault in words, as one of a record of type `message`.
    pub(crate) fn describe(&self, message: &str) -> String {
        let kind = &self.kind;
        if self.path.is_empty() {
            return format!("message {message}: {kind}");
        }
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        format!("message {message}, field {}: {kind}", path.join("."))
    }
}

impl From<FaultKind> for Box<Fault> {
    #[cold]
    fn from(kind: FaultKind) -> Self {
        Self::new(Fault { kind, path: Vec::new() })
    }
}

impl From<WireFault> for Box<Fault> {
    #[cold]
    fn from(fault: WireFault) -> Self {
        FaultKind::Wire(fault).into()
    }
}

impl From<arrow::error::ArrowError> for Box<Fault> {
    #[cold]
    fn from(error: arrow::error::ArrowError) -> Self {
        FaultKind::Arrow(error).into()
    }
}
