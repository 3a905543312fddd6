//! Tests of the crate through its public interface.

mod acceptance;
mod conformance;
mod encode;
mod option_faults;
mod option_properties;
mod options;
mod properties;
mod shredded;
mod support;
mod values;
