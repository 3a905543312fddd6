//! Record files being written: batches to chunks, chunks to a file, the file to its store.
//!
//! | file | what |
//! |---|---|
//! | `place.rs` | [`Place`]: what a path or URL stands for that is written |
//! | `statement.rs` | [`Statement`]: what one execution writes, from its begin until all is visible |
//! | `upload.rs` | [`Upload`]: the bytes of one file, staged |
//! | `publish.rs` | how staged files become visible: all, or none |
//! | `staged.rs`, `rename.rs` | the same on this machine's disk: files that nobody sees yet, and renames |
//! | `local.rs`, `lock.rs` | where paths of the disk lead to; locks that other processes see |
//! | `file.rs` | [`write_file`]: the rows of one file, cut into chunks that are encoded several at a time |

mod file;
mod local;
mod lock;
mod place;
mod publish;
mod rename;
mod staged;
mod statement;
mod upload;

pub(crate) use file::{UnfinishedFile, Written, write_file};
pub(crate) use place::Place;
pub use publish::{stop_publishing, writes_ended};
use statement::new_id;
pub(crate) use statement::{Mode, OVERWRITE, Statement, overwrite_option};
pub(crate) use upload::Upload;
