//! End-to-end tests, through SQL, the library and the tool.

mod conformance;
mod convert;
mod pushdown;
mod reference_files;
mod scan;
mod settings;
mod sql;
mod support;
mod tables;
mod tool;
