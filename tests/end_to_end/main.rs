//! End-to-end tests, through SQL, the library and the tool.

mod append;
mod cases_options;
mod cases_properties;
mod cases_scanning;
mod cases_values;
mod conformance;
mod convert;
mod damage;
mod filters;
mod finding;
#[path = "../../connectors/protobuf/tests/encode/generate.rs"]
mod generate;
mod odd_inputs;
mod opening;
mod outputs;
mod partitions;
mod pushdown;
mod read_faults;
mod record_copies;
mod recordio;
mod reference_files;
mod round_trips;
mod scan;
mod settings;
mod signals;
mod splits;
mod sql;
mod statements;
mod statements_odd_places;
mod support;
mod surfaces;
mod tables;
mod terminal;
mod tool;
mod write;
mod write_faults;
