//! End-to-end tests, through SQL, the library and the tool.

mod cases_options;
mod cases_properties;
mod cases_scanning;
mod cases_values;
mod conformance;
mod convert;
mod odd_inputs;
mod pushdown;
mod reference_files;
mod scan;
mod settings;
mod sql;
mod support;
mod surfaces;
mod tables;
mod tool;
mod write;
