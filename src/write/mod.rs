//! Record files being written: batches to chunks, chunks to a file, the file to its store.

mod file;
mod output;
mod upload;

pub(crate) use file::{Mode, Written, write_file};
pub(crate) use output::{UnfinishedFile, begin_upload, output_url, publish};
pub(crate) use upload::Upload;
pub use upload::writes_ended;
