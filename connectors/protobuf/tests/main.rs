//! Tests of the crate through its public interface.

mod acceptance;
mod conformance;
mod properties;
mod support;
mod values;
