//! The reader and the writer against files of other writers, against each other, and against damage.

mod connector;
mod damage;
mod fixtures;
mod nested;
mod ranges;
mod repair;
mod support;
mod sweeps;
mod text_and_messages;
mod truncation;
mod write_fixtures;
mod writing;
