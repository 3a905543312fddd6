//! Prints one file.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::names::Names;
use super::options::{self, Setting};
use crate::descriptor::literal::{json_name, quoted, unescape};
use crate::descriptor::symbols::join;
use crate::descriptor::wire::{
    DescriptorProto, EnumDescriptorProto, FeatureSet, FieldDescriptorProto, FileDescriptorProto,
    OneofDescriptorProto, Range, edition, field_type, label,
};

/// The text of `file`, type names shortened as `names` allow.
pub(crate) fn file_text(file: &FileDescriptorProto, names: &Names) -> String {
    let syntax = Syntax::of(file);
    let mut printer = Printer { text: String::new(), depth: 0, names, syntax };
    printer.file(file);
    printer.text
}

#[derive(Clone, Copy, PartialEq)]
enum Syntax {
    Proto2,
    Proto3,
    Editions,
}

impl Syntax {
    fn of(file: &FileDescriptorProto) -> Self {
        match file.syntax() {
            "proto3" => Self::Proto3,
            "editions" => Self::Editions,
            _ => Self::Proto2,
        }
    }
}

/// The name of an edition; later ones read as the newest known.
fn edition_name(number: i32) -> &'static str {
    match number {
        ..=edition::E2023 => "2023",
        1001 => "2024",
        9999 => "UNSTABLE",
        _ => "2026",
    }
}

/// What a file or a message holds.
struct Members<'a> {
    scope: &'a str,
    fields: &'a [FieldDescriptorProto],
    oneofs: &'a [OneofDescriptorProto],
    extensions: &'a [FieldDescriptorProto],
    messages: &'a [DescriptorProto],
    enums: &'a [EnumDescriptorProto],
    /// The message types that are written at the field that uses them, by their full name.
    inline: HashMap<&'a str, &'a DescriptorProto>,
}

struct Printer<'n> {
    text: String,
    depth: usize,
    names: &'n Names,
    syntax: Syntax,
}

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        if !line.is_empty() {
            (0..self.depth).for_each(|_| self.text.push_str("  "));
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn block(&mut self, heading: &str, inside: impl FnOnce(&mut Self)) {
        self.line(&format!("{heading} {{"));
        self.depth = self.depth.saturating_add(1);
        inside(self);
        self.depth = self.depth.saturating_sub(1);
        self.line("}");
    }

    fn file(&mut self, file: &FileDescriptorProto) {
        match self.syntax {
            Syntax::Proto2 => self.line("syntax = \"proto2\";"),
            Syntax::Proto3 => self.line("syntax = \"proto3\";"),
            Syntax::Editions => self.line(&format!("edition = \"{}\";", edition_name(file.edition()))),
        }
        if !file.package().is_empty() {
            self.line("");
            self.line(&format!("package {};", file.package()));
        }
        self.imports(file);
        let set = file.options.as_ref();
        let features = set.and_then(|set| set.features.as_ref());
        self.settings(set.map(options::file).unwrap_or_default(), features);
        self.members(&Members::new(
            file.package(),
            (&[], &[], &file.extension),
            &file.message_type,
            &file.enum_type,
            self.syntax,
        ));
    }

    fn imports(&mut self, file: &FileDescriptorProto) {
        if !file.dependency.is_empty() || !file.option_dependency.is_empty() {
            self.line("");
        }
        let indexes = |list: &[i32]| -> HashSet<i32> { list.iter().copied().collect() };
        let (public, weak) = (indexes(&file.public_dependency), indexes(&file.weak_dependency));
        for (index, name) in (0..).zip(&file.dependency) {
            let kind = match index {
                index if public.contains(&index) => "public ",
                index if weak.contains(&index) => "weak ",
                _ => "",
            };
            self.line(&format!("import {kind}{};", quoted(name.as_bytes())));
        }
        for name in &file.option_dependency {
            self.line(&format!("import option {};", quoted(name.as_bytes())));
        }
    }

    /// Options of a file, message, oneof or enum, each on a line of its own.
    fn settings(&mut self, mut settings: Vec<Setting>, features: Option<&FeatureSet>) {
        settings.extend(self.features(features));
        if self.depth == 0 && !settings.is_empty() {
            self.line("");
        }
        for (name, value) in settings {
            self.line(&format!("option {name} = {value};"));
        }
    }

    /// Only editions can write features.
    fn features(&self, features: Option<&FeatureSet>) -> Vec<Setting> {
        match features {
            Some(features) if self.syntax == Syntax::Editions => options::features(features),
            _ => Vec::new(),
        }
    }

    /// Types, fields and extensions, so that a compiler finds the types in the order they have here:
    /// groups and map entries come into being with the fields that use them.
    fn members(&mut self, members: &Members<'_>) {
        for enumeration in members.enums {
            self.gap();
            self.enumeration(enumeration);
        }
        let mut fields = Queue::new(members.fields);
        let mut extensions = Queue::new(members.extensions);
        for message in members.messages {
            let name = join(members.scope, message.name());
            if !members.inline.contains_key(name.as_str()) {
                self.gap();
                self.message(members.scope, message);
            } else if let Some(through) = fields.position(&name) {
                self.fields(members, fields.take(through));
            } else if let Some(through) = extensions.position(&name) {
                self.extensions(members, extensions.take(through));
            }
        }
        self.fields(members, fields.rest());
        self.extensions(members, extensions.rest());
    }

    fn gap(&mut self) {
        if self.depth == 0 {
            self.line("");
        }
    }

    fn message(&mut self, scope: &str, message: &DescriptorProto) {
        let heading = format!("{}message {}", visibility(message.visibility), message.name());
        self.block(&heading, |printer| printer.message_body(&join(scope, message.name()), message));
    }

    fn message_body(&mut self, name: &str, message: &DescriptorProto) {
        let set = message.options.as_ref();
        let features = set.and_then(|set| set.features.as_ref());
        self.settings(set.map(options::message).unwrap_or_default(), features);
        self.members(&Members::new(
            name,
            (&message.field, &message.oneof_decl, &message.extension),
            &message.nested_type,
            &message.enum_type,
            self.syntax,
        ));
        for range in &message.extension_range {
            self.line(&format!("extensions {};", range_text(range, true)));
        }
        self.reserved(&message.reserved_range, &message.reserved_name, true);
    }

    fn enumeration(&mut self, enumeration: &EnumDescriptorProto) {
        let heading = format!("{}enum {}", visibility(enumeration.visibility), enumeration.name());
        self.block(&heading, |printer| {
            let set = enumeration.options.as_ref();
            let features = set.and_then(|set| set.features.as_ref());
            printer.settings(set.map(options::enumeration).unwrap_or_default(), features);
            for value in &enumeration.value {
                let mut settings = value.options.as_ref().map(options::value).unwrap_or_default();
                let features = value.options.as_ref().and_then(|options| options.features.as_ref());
                settings.extend(printer.features(features));
                printer.line(&format!("{} = {}{};", value.name(), value.number(), bracketed(&settings)));
            }
            printer.reserved(&enumeration.reserved_range, &enumeration.reserved_name, false);
        });
    }

    fn reserved(&mut self, ranges: &[Range], names: &[String], exclusive: bool) {
        if !ranges.is_empty() {
            let ranges: Vec<_> = ranges.iter().map(|range| range_text(range, exclusive)).collect();
            self.line(&format!("reserved {};", ranges.join(", ")));
        }
        if !names.is_empty() {
            let names: Vec<_> = match self.syntax {
                Syntax::Editions => names.to_vec(),
                _ => names.iter().map(|name| quoted(name.as_bytes())).collect(),
            };
            self.line(&format!("reserved {};", names.join(", ")));
        }
    }

    /// Fields in their order; a oneof is written whole where its first member stands.
    fn fields(&mut self, members: &Members<'_>, fields: &[FieldDescriptorProto]) {
        let mut oneofs: BTreeMap<usize, Vec<&FieldDescriptorProto>> = BTreeMap::new();
        for field in fields {
            if let Some(oneof) = real_oneof(field) {
                oneofs.entry(oneof).or_default().push(field);
            }
        }
        for field in fields {
            match real_oneof(field) {
                None => self.field(members, field, self.label(field)),
                Some(index) => {
                    if let Some(fields) = oneofs.remove(&index) {
                        self.oneof(members, index, &fields);
                    }
                }
            }
        }
    }

    fn oneof(&mut self, members: &Members<'_>, index: usize, fields: &[&FieldDescriptorProto]) {
        let oneof = members.oneofs.get(index);
        let name = oneof.map(OneofDescriptorProto::name).unwrap_or_default();
        self.block(&format!("oneof {name}"), |printer| {
            let features = oneof.and_then(|oneof| oneof.options.as_ref()?.features.as_ref());
            printer.settings(Vec::new(), features);
            for field in fields {
                printer.field(members, field, "");
            }
        });
    }

    fn extensions(&mut self, members: &Members<'_>, extensions: &[FieldDescriptorProto]) {
        for run in extensions.chunk_by(|a, b| a.extendee == b.extendee) {
            let extendee = run.first().map(FieldDescriptorProto::extendee).unwrap_or_default();
            let extendee = self.names.shortest(members.scope, extendee);
            self.gap();
            self.block(&format!("extend {extendee}"), |printer| {
                for field in run {
                    printer.field(members, field, printer.label(field));
                }
            });
        }
    }

    fn label(&self, field: &FieldDescriptorProto) -> &'static str {
        match field.label {
            Some(label::REPEATED) => "repeated ",
            _ if field.proto3_optional() => "optional ",
            Some(label::REQUIRED) if self.syntax == Syntax::Proto2 => "required ",
            _ if self.syntax == Syntax::Proto2 => "optional ",
            _ => "",
        }
    }

    fn field(&mut self, members: &Members<'_>, field: &FieldDescriptorProto, label: &str) {
        let settings = bracketed(&self.field_settings(field));
        let tail = format!("= {}{settings}", field.number());
        let inline = field.type_name().strip_prefix('.').and_then(|name| members.inline.get(name));
        match inline {
            Some(entry) if entry.is_map_entry() => {
                let part = |number| entry.field.iter().find(|field| field.number() == number);
                let [key, value] = [1, 2].map(|number| match part(number) {
                    Some(field) => self.type_text(members.scope, field),
                    None => String::new(),
                });
                self.line(&format!("map<{key}, {value}> {} {tail};", field.name()));
            }
            Some(group) => {
                let name = join(members.scope, group.name());
                self.block(&format!("{label}group {} {tail}", group.name()), |printer| {
                    printer.message_body(&name, group);
                });
            }
            None => {
                let type_text = self.type_text(members.scope, field);
                self.line(&format!("{label}{type_text} {} {tail};", field.name()));
            }
        }
    }

    fn field_settings(&self, field: &FieldDescriptorProto) -> Vec<Setting> {
        let default = field.default_value.as_ref().map(|default| match field.r#type() {
            field_type::STRING => quoted(default.as_bytes()),
            field_type::BYTES => quoted(&unescape(default).unwrap_or_default()),
            _ => default.escape_default().to_string(),
        });
        let own_json_name = field
            .json_name
            .as_ref()
            .filter(|name| field.extendee.is_none() && **name != json_name(field.name()));
        let mut settings = Vec::new();
        settings.extend(default.map(|default| ("default", default)));
        settings.extend(own_json_name.map(|name| ("json_name", quoted(name.as_bytes()))));
        settings.extend(field.options.as_ref().map(options::field).unwrap_or_default());
        settings.extend(self.features(field.features()));
        settings
    }

    fn type_text(&self, scope: &str, field: &FieldDescriptorProto) -> String {
        match scalar_name(field.r#type()) {
            Some(name) => name.to_string(),
            None => self.names.shortest(scope, field.type_name()),
        }
    }
}

impl<'a> Members<'a> {
    fn new(
        scope: &'a str,
        (fields, oneofs, extensions): (
            &'a [FieldDescriptorProto],
            &'a [OneofDescriptorProto],
            &'a [FieldDescriptorProto],
        ),
        messages: &'a [DescriptorProto],
        enums: &'a [EnumDescriptorProto],
        syntax: Syntax,
    ) -> Self {
        let types: HashMap<String, &DescriptorProto> =
            messages.iter().map(|message| (join(scope, message.name()), message)).collect();
        let mut inline = HashMap::new();
        for field in fields.iter().chain(extensions) {
            let Some(name) = field.type_name().strip_prefix('.') else { continue };
            let Some(message) = types.get(name) else { continue };
            let is_group = field.r#type() == field_type::GROUP && syntax != Syntax::Editions;
            if message.is_map_entry() || is_group {
                inline.insert(name, *message);
            }
        }
        Self { scope, fields, oneofs, extensions, messages, enums, inline }
    }
}

/// Fields that are printed from first to last, and where each inline type is used.
struct Queue<'a> {
    fields: &'a [FieldDescriptorProto],
    users: HashMap<&'a str, usize>,
    /// For each field, the furthest member of a oneof that has begun by then.
    reach: Vec<usize>,
    next: usize,
}

impl<'a> Queue<'a> {
    fn new(fields: &'a [FieldDescriptorProto]) -> Self {
        let types = fields.iter().map(|field| field.type_name().trim_start_matches('.'));
        let users = types.enumerate().map(|(at, name)| (name, at)).collect();
        let placed = || fields.iter().enumerate();
        let last: HashMap<usize, usize> =
            placed().filter_map(|(at, field)| Some((real_oneof(field)?, at))).collect();
        let ends = placed()
            .map(|(at, field)| real_oneof(field).and_then(|oneof| last.get(&oneof)).copied().unwrap_or(at));
        let reach = ends
            .scan(0, |furthest, end| {
                *furthest = end.max(*furthest);
                Some(*furthest)
            })
            .collect();
        Self { fields, users, reach, next: 0 }
    }

    fn position(&self, type_name: &str) -> Option<usize> {
        self.users.get(type_name).copied()
    }

    /// The fields that are left up to the one of this index, and those that complete their oneofs.
    fn take(&mut self, through: usize) -> &'a [FieldDescriptorProto] {
        let (from, mut through) = (self.next, through);
        while let Some(&reach) = self.reach.get(through)
            && reach > through
        {
            through = reach;
        }
        self.next = self.next.max(through.saturating_add(1));
        self.fields.get(from..self.next).unwrap_or_default()
    }

    fn rest(&mut self) -> &'a [FieldDescriptorProto] {
        let from = self.next;
        self.next = self.fields.len();
        self.fields.get(from..).unwrap_or_default()
    }
}

fn real_oneof(field: &FieldDescriptorProto) -> Option<usize> {
    let index = field.oneof_index.filter(|_| !field.proto3_optional());
    index.and_then(|index| usize::try_from(index).ok())
}

fn bracketed(settings: &[Setting]) -> String {
    if settings.is_empty() {
        return String::new();
    }
    let settings: Vec<_> = settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!(" [{}]", settings.join(", "))
}

fn visibility(number: Option<i32>) -> &'static str {
    match number {
        Some(1) => "local ",
        Some(2) => "export ",
        _ => "",
    }
}

fn range_text(range: &Range, exclusive: bool) -> String {
    let start = range.start();
    let end = if exclusive { range.end().saturating_sub(1) } else { range.end() };
    match end {
        end if end == start => start.to_string(),
        536_870_911 | 2_147_483_646 if exclusive => format!("{start} to max"),
        i32::MAX => format!("{start} to max"),
        end => format!("{start} to {end}"),
    }
}

fn scalar_name(number: i32) -> Option<&'static str> {
    Some(match number {
        field_type::DOUBLE => "double",
        field_type::FLOAT => "float",
        field_type::INT64 => "int64",
        field_type::UINT64 => "uint64",
        field_type::INT32 => "int32",
        field_type::FIXED64 => "fixed64",
        field_type::FIXED32 => "fixed32",
        field_type::BOOL => "bool",
        field_type::STRING => "string",
        field_type::BYTES => "bytes",
        field_type::UINT32 => "uint32",
        field_type::SFIXED32 => "sfixed32",
        field_type::SFIXED64 => "sfixed64",
        field_type::SINT32 => "sint32",
        field_type::SINT64 => "sint64",
        _ => return None,
    })
}
