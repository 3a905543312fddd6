//! A closed set of .proto files: decoded within limits, each file once, the well-known ones supplied.

use std::collections::{HashMap, HashSet};

use prost::Message;

use super::symbols::join;
use super::wire::{FileDescriptorProto, FileDescriptorSet};
use super::{DescriptorError, builtin, limits, text};

/// Files by name, in the order given; well-known files that are imported but missing come last.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FileSet {
    files: Vec<FileDescriptorProto>,
    /// How many of the files were given; those behind are supplied.
    given: usize,
}

impl FileSet {
    /// Decodes serialized `FileDescriptorProto`s.
    ///
    /// # Errors
    /// Bytes that are none, more elements than [`limits`] allow, one file with two contents.
    pub fn decode(files: &[impl AsRef<[u8]>]) -> Result<Self, DescriptorError> {
        let mut budget = limits::Budget::default();
        let mut decoded = Vec::with_capacity(files.len());
        for bytes in files {
            budget.file(bytes.as_ref())?;
            decoded.push(
                FileDescriptorProto::decode(bytes.as_ref())
                    .map_err(|error| DescriptorError::bytes(&error))?,
            );
        }
        Self::new(decoded)
    }

    /// Decodes a serialized `FileDescriptorSet`.
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_set(set: &[u8]) -> Result<Self, DescriptorError> {
        limits::Budget::default().set(set)?;
        Self::new(FileDescriptorSet::decode(set).map_err(|error| DescriptorError::bytes(&error))?.file)
    }

    /// Drops repetitions, and adds the well-known files that are missing.
    ///
    /// # Errors
    /// [`DescriptorError::FileTwice`].
    pub fn new(given: Vec<FileDescriptorProto>) -> Result<Self, DescriptorError> {
        let mut files: Vec<FileDescriptorProto> = Vec::with_capacity(given.len());
        let mut places: HashMap<String, usize> = HashMap::new();
        for file in given {
            match places.get(file.name()).and_then(|&at| files.get(at)) {
                Some(known) if *known != file => same_text(known, &file)?,
                Some(_) => {}
                None => {
                    places.insert(file.name().to_string(), files.len());
                    files.push(file);
                }
            }
        }
        let given = files.len();
        add_well_known(&mut files);
        Ok(Self { files, given })
    }

    /// The files that were given, without those supplied.
    pub fn given(&self) -> &[FileDescriptorProto] {
        self.files.get(..self.given).unwrap_or_default()
    }

    /// The well-known files that were missing.
    pub fn supplied(&self) -> &[FileDescriptorProto] {
        self.files.get(self.given..).unwrap_or_default()
    }

    /// The full names of the top-level message types of the given files, without those that every compiler
    /// brings along. First the types of files that no other file imports; the number says how many those
    /// are.
    pub fn top_level_messages(&self) -> (Vec<String>, usize) {
        let imported: HashSet<&String> = self.given().iter().flat_map(|file| &file.dependency).collect();
        let (mut roots, mut others) = (Vec::new(), Vec::new());
        for file in self.given().iter().filter(|file| !builtin::comes_with_compilers(file.name())) {
            let names = if file.name.as_ref().is_some_and(|name| imported.contains(name)) {
                &mut others
            } else {
                &mut roots
            };
            names.extend(file.message_type.iter().map(|message| join(file.package(), message.name())));
        }
        let count = roots.len();
        roots.append(&mut others);
        (roots, count)
    }

    /// All files.
    pub fn files(&self) -> &[FileDescriptorProto] {
        &self.files
    }
}

/// Files whose texts are equal mean the same, even if their bytes differ.
fn same_text(first: &FileDescriptorProto, second: &FileDescriptorProto) -> Result<(), DescriptorError> {
    match text::first_difference(first, second) {
        None => Ok(()),
        Some((first_line, second_line)) => Err(DescriptorError::FileTwice {
            file: first.name().to_string(),
            first: first_line,
            second: second_line,
        }),
    }
}

fn add_well_known(files: &mut Vec<FileDescriptorProto>) {
    let mut known: HashSet<String> = files.iter().map(|file| file.name().to_string()).collect();
    let mut at = 0;
    while let Some(file) = files.get(at) {
        let missing: Vec<_> = file.dependency.iter().filter(|name| !known.contains(*name)).cloned().collect();
        for name in missing {
            if let Some(file) = builtin::file(&name)
                && known.insert(name)
            {
                files.push(file);
            }
        }
        at = at.saturating_add(1);
    }
}
