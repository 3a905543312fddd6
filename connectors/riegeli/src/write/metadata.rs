//! What a writer says of the records: the message `RecordsMetadata` and the descriptors in it (sections 6.1
//! and 6.2).

use std::collections::HashMap;

use bytes::Bytes;

use crate::fault::ChunkFault;
use crate::metadata::{ARROW_SCHEMA, RecordsMetadata};
use crate::wire::{Fields, Malformed, Value};
use crate::write::varint::{put_bytes_field, put_varint_field};

impl RecordsMetadata {
    /// The serialized message.
    pub fn encode(&self) -> Bytes {
        let mut message = Vec::new();
        let mut text = |number, text: &Option<String>| {
            if let Some(text) = text {
                put_bytes_field(&mut message, number, text.as_bytes());
            }
        };
        text(1, &self.file_comment);
        text(2, &self.record_type_name);
        for file in &self.file_descriptors {
            put_bytes_field(&mut message, 3, file);
        }
        if let Some(options) = &self.record_writer_options {
            put_bytes_field(&mut message, 4, options.as_bytes());
        }
        if let Some(count) = self.num_records {
            put_varint_field(&mut message, 5, count as u64);
        }
        if let Some(schema) = &self.arrow_schema {
            put_bytes_field(&mut message, ARROW_SCHEMA, schema);
        }
        message.extend_from_slice(&self.extensions);
        message.into()
    }
}

/// What is needed of a `FileDescriptorProto`.
#[derive(Default)]
struct File<'a> {
    name: &'a [u8],
    dependencies: Vec<&'a [u8]>,
    /// Full names of the message types, without a leading dot.
    types: Vec<Vec<u8>>,
}

impl<'a> File<'a> {
    fn parse(file: &'a [u8]) -> Result<Self, Malformed> {
        let mut parsed = Self::default();
        let (mut package, mut messages): (&[u8], Vec<&[u8]>) = (b"", Vec::new());
        for field in Fields::new(file) {
            match field? {
                (1, Value::Bytes(name)) => parsed.name = name,
                (2, Value::Bytes(name)) => package = name,
                (3, Value::Bytes(name)) => parsed.dependencies.push(name),
                (4, Value::Bytes(message)) => messages.push(message),
                _ => {}
            }
        }
        let mut open: Vec<_> = messages.into_iter().map(|message| (package.to_vec(), message)).collect();
        while let Some((mut scope, message)) = open.pop() {
            let (name, nested) = names(message)?;
            if !scope.is_empty() {
                scope.push(b'.');
            }
            scope.extend_from_slice(name);
            open.extend(nested.into_iter().map(|message| (scope.clone(), message)));
            parsed.types.push(scope);
        }
        Ok(parsed)
    }
}

/// Name and nested messages of a `DescriptorProto`.
fn names(message: &[u8]) -> Result<(&[u8], Vec<&[u8]>), Malformed> {
    let (mut name, mut nested): (&[u8], Vec<&[u8]>) = (b"", Vec::new());
    for field in Fields::new(message) {
        match field? {
            (1, Value::Bytes(bytes)) => name = bytes,
            (3, Value::Bytes(bytes)) => nested.push(bytes),
            _ => {}
        }
    }
    Ok((name, nested))
}

/// Out of `files`, serialized `FileDescriptorProto`s in any order, those that the message type `type_name`
/// needs: each behind its dependencies, the file of the type last (section 6.2). Dependencies that are not
/// there are left out; the result is empty if the type is not there.
///
/// # Errors
/// [`ChunkFault::Message`] if a descriptor is malformed.
pub fn descriptor_files(files: &[Bytes], type_name: &str) -> Result<Vec<Bytes>, ChunkFault> {
    let parse = |file| File::parse(file).map_err(|Malformed| ChunkFault::Message("a file descriptor"));
    let parsed = files.iter().map(|file| parse(file)).collect::<Result<Vec<_>, _>>()?;
    let by_name: HashMap<_, _> = parsed.iter().enumerate().map(|(index, file)| (file.name, index)).collect();
    let has_type = |file: &File<'_>| file.types.iter().any(|known| known == type_name.as_bytes());
    let Some(root) = parsed.iter().position(has_type) else { return Ok(Vec::new()) };

    let mut ordered = Vec::new();
    let mut visited = vec![false; files.len()];
    visited[root] = true;
    // Each open file, and which of its dependencies is next.
    let mut open = vec![(root, 0)];
    while let Some((file, next)) = open.last_mut() {
        let Some(dependency) = parsed[*file].dependencies.get(*next) else {
            ordered.push(files[*file].clone());
            open.pop();
            continue;
        };
        *next += 1;
        if let Some(&index) = by_name.get(dependency)
            && !std::mem::replace(&mut visited[index], true)
        {
            open.push((index, 0));
        }
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_are_read_again() {
        let metadata = RecordsMetadata {
            file_comment: Some("a comment".into()),
            record_type_name: Some("a.B".into()),
            file_descriptors: vec![Bytes::from_static(b"xy"), Bytes::new()],
            record_writer_options: Some("zstd:3".into()),
            num_records: Some(-1),
            arrow_schema: Some(Bytes::from_static(b"schema")),
            extensions: Bytes::from_static(b"\xc2\x3e\x01z"),
        };
        let message = metadata.encode();
        assert!(message.ends_with(&metadata.extensions));
        assert_eq!(RecordsMetadata::parse(&message), Ok(metadata));
        assert_eq!(RecordsMetadata::default().encode(), "");
    }

    /// A file that imports others and defines an outer message with a nested one.
    fn file(name: &str, package: &str, dependencies: &[&str], message: &str) -> Bytes {
        let mut file = Vec::new();
        put_bytes_field(&mut file, 1, name.as_bytes());
        for dependency in dependencies {
            put_bytes_field(&mut file, 3, dependency.as_bytes());
        }
        let (mut nested, mut outer) = (Vec::new(), Vec::new());
        put_bytes_field(&mut nested, 1, b"Nested");
        put_bytes_field(&mut outer, 3, &nested);
        put_bytes_field(&mut outer, 1, message.as_bytes());
        put_bytes_field(&mut file, 4, &outer);
        put_bytes_field(&mut file, 2, package.as_bytes());
        file.into()
    }

    #[test]
    fn descriptors_come_behind_their_dependencies() {
        let root = file("root", "p", &["b", "missing", "a"], "Root");
        let a = file("a", "p.q", &["c", "root"], "A");
        let b = file("b", "", &["c"], "B");
        let c = file("c", "p", &[], "C");
        let unused = file("unused", "p", &["root"], "Unused");
        let files = [&unused, &root, &a, &b, &c].map(Bytes::clone);
        let cases: [(&str, Vec<&Bytes>); 8] = [
            ("p.Root", vec![&c, &b, &a, &root]),
            ("p.Root.Nested", vec![&c, &b, &a, &root]),
            ("p.q.A", vec![&c, &b, &root, &a]),
            ("B", vec![&c, &b]),
            ("B.Nested", vec![&c, &b]),
            ("p.C", vec![&c]),
            ("Root", vec![]),
            ("p.Nested", vec![]),
        ];
        for (name, expected) in cases {
            assert_eq!(descriptor_files(&files, name), Ok(expected.into_iter().cloned().collect()), "{name}");
        }
        let broken = [Bytes::from_static(b"\x0a\x05")];
        assert_eq!(descriptor_files(&broken, "x"), Err(ChunkFault::Message("a file descriptor")));
    }
}
