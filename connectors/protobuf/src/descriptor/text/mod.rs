//! .proto text of descriptors: what a compiler turns into the same descriptors again.
//!
//! Left out is what [`wire`](super::wire) passes over: services, comments and custom options.

mod names;
mod options;
mod printer;

use std::collections::{HashMap, HashSet};

use super::builtin;
use super::files::FileSet;
use super::wire::FileDescriptorProto;
use names::Names;

/// The text of the file `name` and all files that it imports, those first. Files that every compiler
/// brings along are left out. If there are several, a comment line before each gives its name.
pub(crate) fn files_text(files: &FileSet, name: &str) -> String {
    let names = Names::new(files.files());
    let wanted = dependencies_first(files, name);
    let alone = wanted.len() == 1;
    let texts = wanted.iter().map(|file| {
        let heading = if alone { String::new() } else { format!("// file: {}\n", file.name()) };
        heading + &printer::file_text(file, &names)
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn dependencies_first<'a>(files: &'a FileSet, name: &str) -> Vec<&'a FileDescriptorProto> {
    let by_name: HashMap<&str, &FileDescriptorProto> =
        files.files().iter().map(|file| (file.name(), file)).collect();
    let mut ordered = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<(&FileDescriptorProto, usize)> = Vec::new();
    let mut enter = |open: &mut Vec<_>, name: &str| {
        if let Some((known, file)) = by_name.get_key_value(name)
            && !builtin::comes_with_compilers(name)
            && seen.insert(*known)
        {
            open.push((*file, 0));
        }
    };
    enter(&mut open, name);
    while let Some((file, next)) = open.last_mut() {
        let file = *file;
        match file.dependency.get(*next) {
            Some(import) => {
                *next = next.saturating_add(1);
                enter(&mut open, import);
            }
            None => {
                ordered.push(file);
                open.pop();
            }
        }
    }
    ordered
}

/// The first lines in which the texts of two files differ, shortened for a message.
pub(crate) fn first_difference(
    first: &FileDescriptorProto,
    second: &FileDescriptorProto,
) -> Option<(String, String)> {
    let names = Names::default();
    let (first, second) = (printer::file_text(first, &names), printer::file_text(second, &names));
    let filled = |line: &&str| !line.is_empty();
    let (mut first, mut second) = (first.lines().filter(filled), second.lines().filter(filled));
    loop {
        match (first.next(), second.next()) {
            (None, None) => return None,
            (a, b) if a == b => {}
            (a, b) => return Some((shown(a), shown(b))),
        }
    }
}

fn shown(line: Option<&str>) -> String {
    let Some(line) = line else { return "nothing".to_string() };
    let line: String = line.trim().chars().filter(|character| !character.is_control()).take(100).collect();
    format!("'{line}'")
}

#[cfg(test)]
mod tests;
