//! The files that a conversion writes, none of which may be another, or one that it reads.

use datafusion::common::plan_err;
use datafusion::error::Result;
use recordfusion_core::RecordFile;

use crate::write::Place;

/// Where the files of a conversion go.
#[derive(Debug)]
pub(super) struct Outputs {
    /// The file or folder.
    pub(super) target: Place,
    /// The message type of its records.
    pub(super) descriptor_set: Option<Place>,
    /// What was converted and what was lost.
    pub(super) report: Option<Place>,
}

impl Outputs {
    /// Checks that they are different files.
    ///
    /// # Errors
    /// Two that are one.
    pub(super) fn check(&self) -> Result<()> {
        let Some(report) = &self.report else { return Ok(()) };
        if report.is_folder() {
            return plan_err!("cannot write {}: it is a folder", report.name());
        }
        if self.target.is_same(report) || self.descriptor_set.as_ref().is_some_and(|set| set.is_same(report))
        {
            return plan_err!("{} is both the report and an output", report.name());
        }
        if self.target.is_folder() && self.target.contains(report) {
            return plan_err!("the report {} lies in the folder that is written", report.name());
        }
        Ok(())
    }

    /// Checks that no output takes the place of an input.
    ///
    /// # Errors
    /// One that does.
    pub(super) fn check_input(&self, file: &RecordFile) -> Result<()> {
        if self.target.is_file(file) || self.target.holds(file) {
            return plan_err!("{} is both an input and the output", file.name);
        }
        for side_file in [&self.descriptor_set, &self.report].into_iter().flatten() {
            if side_file.is_file(file) {
                return plan_err!("{} is an input: {} cannot take its place", file.name, side_file.name());
            }
        }
        Ok(())
    }

    /// Checks that no output takes the place of a file that an option names.
    ///
    /// # Errors
    /// One that does.
    pub(super) fn check_side_input(&self, input: &Place) -> Result<()> {
        let outputs = [Some(&self.target), self.descriptor_set.as_ref(), self.report.as_ref()];
        match outputs.into_iter().flatten().find(|output| !output.is_stream() && output.is_same(input)) {
            Some(output) => plan_err!("{} is read too, and cannot be written", output.name()),
            None => Ok(()),
        }
    }
}
