//! The reader against files of the reference implementation, against another reader, and against damage.

mod columns;
mod connector;
mod damage;
mod differential;
mod fixtures;
mod nested;
mod ranges;
mod recovery;
mod repair;
mod skip_sweeps;
mod support;
mod sweeps;
mod write_append;
mod write_fixtures;
mod write_options;
mod writing;
