//! Record files being written: batches to chunks, chunks to a file, the file to its store.

mod file;
mod upload;

pub(crate) use file::{UnfinishedFile, Written, write_file};
pub(crate) use upload::{Upload, output_url};
