//! Descriptors for tests, from .proto text or from the fixtures.

use prost::Message;
use protox::file::{ChainFileResolver, File, FileResolver};

use super::Descriptors;
use super::builtin::BuiltinFiles;
use super::wire::{FileDescriptorProto, FileDescriptorSet};

struct Sources(Vec<(String, String)>);

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.0.iter().find(|(known, _)| known == name) {
            Some((_, source)) => File::from_source(name, source),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The descriptors of .proto sources, given as name and text, with all that they import.
pub(crate) fn compiled(sources: &[(&str, &str)]) -> Vec<FileDescriptorProto> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(Sources(sources.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect()));
    resolver.add(BuiltinFiles);
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true);
    compiler.open_files(sources.iter().map(|(name, _)| name)).expect("the source compiles");
    let set = compiler.file_descriptor_set().encode_to_vec();
    FileDescriptorSet::decode(set.as_slice()).expect("a set").file
}

/// All message types of one .proto text (proto2 or proto3).
pub(crate) fn proto(source: &str) -> Descriptors {
    let set = FileDescriptorSet { file: compiled(&[("test.proto", source)]) };
    Descriptors::from_set(&set.encode_to_vec()).expect("the source resolves")
}

/// The bytes of a file of tests/data.
pub(crate) fn fixture(path: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/");
    std::fs::read(format!("{folder}{path}")).expect(path)
}
