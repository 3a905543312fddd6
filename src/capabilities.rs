//! What a format can do, or a plain word that it cannot.

use recordfusion_core::{
    ByteRecords, Connector, Error, Repairing, Result, Table, TableWriting, Verifying, Writing,
};

/// How files of the format are written.
///
/// # Errors
/// They cannot be.
pub fn writing(connector: &dyn Connector) -> Result<&dyn Writing> {
    let name = connector.name();
    connector.writing().ok_or_else(|| lacks(format!("{name} files can be read, but not written")))
}

/// How further files of a table are written.
///
/// # Errors
/// Files of the format cannot be.
pub fn writing_of_table<'a>(connector: &dyn Connector, table: &'a dyn Table) -> Result<&'a dyn TableWriting> {
    writing(connector)?;
    let name = connector.name();
    table.writing().ok_or_else(|| lacks(format!("nothing can be added to these {name} files")))
}

/// The rows of files of the format as byte records.
///
/// # Errors
/// They are none.
pub fn byte_records(connector: &dyn Connector) -> Result<&dyn ByteRecords> {
    let name = connector.name();
    connector.byte_records().ok_or_else(|| lacks(format!("{name} files hold columns, not byte records")))
}

/// The check of files of the format.
///
/// # Errors
/// There is none.
pub fn verifying(connector: &dyn Connector) -> Result<&dyn Verifying> {
    let name = connector.name();
    connector.verifying().ok_or_else(|| lacks(format!("{name} files cannot be verified")))
}

/// The repair of files of the format.
///
/// # Errors
/// There is none.
pub fn repairing(connector: &dyn Connector) -> Result<&dyn Repairing> {
    let name = connector.name();
    connector.repairing().ok_or_else(|| lacks(format!("{name} files cannot be repaired")))
}

fn lacks(reason: String) -> Error {
    Error::Unsupported(reason)
}
