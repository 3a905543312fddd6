//! .proto source, compiled in process.

use std::path::{Path, PathBuf};

use prost::Message;
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, IncludeFileResolver};

use super::DescriptorError;
use super::builtin::BuiltinFiles;
use super::files::FileSet;
use crate::side_file;

/// Compiles `file` with all that it imports. Imports are looked for in the folders `include`; a file that
/// lies in none of them has its own folder added.
///
/// # Errors
/// [`DescriptorError::Compile`] with file, line and reason, as the compiler gives them.
pub(crate) fn compile(file: &Path, include: &[PathBuf]) -> Result<FileSet, DescriptorError> {
    let mut resolver = ChainFileResolver::new();
    include.iter().for_each(|folder| resolver.add(Folder::new(folder.clone())));
    if resolver.resolve_path(file).is_none() && file.exists() {
        let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        resolver.add(Folder::new(folder));
    }
    resolver.add(BuiltinFiles);
    compile_from(resolver, file)
}

/// Compiles .proto text that imports only well-known files; `name` is the file's.
///
/// # Errors
/// As [`compile`].
pub(crate) fn compile_text(name: &str, text: &'static str) -> Result<FileSet, DescriptorError> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(OneFile { name: name.to_string(), text });
    resolver.add(BuiltinFiles);
    compile_from(resolver, Path::new(name))
}

fn compile_from(resolver: ChainFileResolver, file: &Path) -> Result<FileSet, DescriptorError> {
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.include_imports(true);
    compiler.open_file(file).map_err(|error| DescriptorError::Compile(sentence(file, &error)))?;
    let set = compiler.file_descriptor_set().encode_to_vec();
    FileSet::decode_set(&set)
}

/// Resolves names in a folder, to files that are not too large.
struct Folder {
    path: PathBuf,
    resolver: IncludeFileResolver,
}

impl Folder {
    fn new(path: PathBuf) -> Self {
        Self { resolver: IncludeFileResolver::new(path.clone()), path }
    }
}

impl FileResolver for Folder {
    fn resolve_path(&self, path: &Path) -> Option<String> {
        self.resolver.resolve_path(path)
    }

    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        let path = self.path.join(name);
        let bad = |error: std::io::Error| protox::Error::new(format!("{}: {error}", path.display()));
        match path.metadata() {
            Ok(metadata) if metadata.is_file() && metadata.len() > side_file::MOST => {
                Err(bad(side_file::too_large()))
            }
            // What has no size is read as far as it may be.
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                let text = String::from_utf8(side_file::read(&path).map_err(bad)?);
                File::from_source(name, &text.map_err(|error| bad(std::io::Error::other(error)))?)
            }
            _ => self.resolver.open_file(name),
        }
    }
}

/// Resolves the name of one file.
struct OneFile {
    name: String,
    text: &'static str,
}

impl FileResolver for OneFile {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name != self.name {
            return Err(protox::Error::file_not_found(name));
        }
        File::from_source(name, self.text)
    }
}

/// The compiler's own report begins with file, line and column where it knows them.
fn sentence(file: &Path, error: &protox::Error) -> String {
    let report = format!("{error:?}");
    let hint = if report.contains("found 'edition'") {
        "; sources with an edition are not compiled here: use a descriptor set made by protoc"
    } else if error.is_file_not_found() {
        "; is its folder among the include folders?"
    } else {
        ""
    };
    format!("cannot compile {}: {report}{hint}", file.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROTOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/riegeli/protos");

    fn failure(file: &str, include: &[&str]) -> String {
        let include: Vec<_> = include.iter().map(PathBuf::from).collect();
        compile(&Path::new(PROTOS).join(file), &include).unwrap_err().to_string().replace(PROTOS, "")
    }

    #[test]
    fn sources_compile_with_their_imports() {
        for (file, include, files) in [
            ("fx/kitchen.proto", vec![PROTOS], 8),
            ("fx/legacy.proto", vec![], 1),
            ("fx/weblog.proto", vec!["elsewhere"], 2),
        ] {
            let include: Vec<_> = include.into_iter().map(PathBuf::from).collect();
            let set = compile(&Path::new(PROTOS).join(file), &include).expect(file);
            assert_eq!(set.files().len(), files, "{file}");
        }
        let set = compile(Path::new("fx/weblog.proto"), &[PROTOS.into()]).expect("a name below the folder");
        assert_eq!(set.files().len(), 2);
    }

    #[test]
    fn failures_are_one_sentence() {
        for (file, expected) in [
            (
                "fx/kitchen.proto",
                "cannot compile /fx/kitchen.proto: kitchen.proto:11:1: import 'fx/shared_types.proto' not found\
                 ; is its folder among the include folders?",
            ),
            (
                "fx/edition.proto",
                "cannot compile /fx/edition.proto: edition.proto:1:1: expected 'enum', 'extend', 'import', \
                 'message', 'option', 'service', 'package' or ';', but found 'edition'; sources with \
                 an edition are not compiled here: use a descriptor set made by protoc",
            ),
            (
                "none.proto",
                "cannot compile /none.proto: file '/none.proto' is not in any include path\
                 ; is its folder among the include folders?",
            ),
        ] {
            assert_eq!(failure(file, &[]), expected);
        }
    }
}
