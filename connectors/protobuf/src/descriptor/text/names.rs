//! The shortest way to write a type's name that still means that type.

use std::collections::HashSet;

use crate::descriptor::symbols::join;
use crate::descriptor::wire::{DescriptorProto, EnumDescriptorProto, FileDescriptorProto};

/// The full names of all packages and types of some files.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// Collects the names of `files`.
    pub fn new(files: &[FileDescriptorProto]) -> Self {
        let mut names = Self::default();
        for file in files {
            let package = file.package();
            let ends = package.match_indices('.').map(|(at, _)| at).chain([package.len()]);
            names.0.extend(ends.filter_map(|end| package.get(..end)).map(str::to_string));
            names.members(package, &file.message_type, &file.enum_type);
        }
        names
    }

    fn members(&mut self, scope: &str, messages: &[DescriptorProto], enums: &[EnumDescriptorProto]) {
        self.0.extend(enums.iter().map(|enumeration| join(scope, enumeration.name())));
        for message in messages {
            let name = join(scope, message.name());
            self.members(&name, &message.nested_type, &message.enum_type);
            self.0.insert(name);
        }
    }

    /// How `type_name`, absolute with its leading dot, can be written inside `scope`.
    pub fn shortest(&self, scope: &str, type_name: &str) -> String {
        let Some(full_name) = type_name.strip_prefix('.') else { return type_name.to_string() };
        if !self.0.contains(full_name) {
            return type_name.to_string();
        }
        let mut outer = scope;
        loop {
            let short = match outer {
                "" => Some(full_name),
                _ => full_name.strip_prefix(outer).and_then(|rest| rest.strip_prefix('.')),
            };
            if let Some(short) = short
                && self.leads_to(scope, short) == Some(outer)
            {
                return short.to_string();
            }
            match outer.rsplit_once('.') {
                Some((parent, _)) => outer = parent,
                None if outer.is_empty() => return type_name.to_string(),
                None => outer = "",
            }
        }
    }

    /// The innermost scope around `scope` that knows the first part of `name`: compilers look no further.
    fn leads_to<'s>(&self, scope: &'s str, name: &str) -> Option<&'s str> {
        let first = name.split('.').next().unwrap_or(name);
        let mut scope = scope;
        loop {
            if self.0.contains(&join(scope, first)) {
                return Some(scope);
            }
            match scope.rsplit_once('.') {
                Some((parent, _)) => scope = parent,
                None if scope.is_empty() => return None,
                None => scope = "",
            }
        }
    }
}
