//! One set of files that says what two sets say, for message types that do not contradict each other.
//!
//! The first set stays as it is, names and order included; what only the second one has is added behind.
//! An element that moves below other edition features gets its own ones set. A field is required only if
//! both versions require it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::features::Features;
use super::files::FileSet;
use super::limits::MAX_ELEMENTS;
use super::symbols::join;
use super::wire::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FeatureSet, FieldDescriptorProto,
    FileDescriptorProto, OneofDescriptorProto, label,
};
use super::{DescriptorError, Descriptors, Presence};

/// Joins `second` to `first`. Types that both have are joined if they are among `needed`, the resolved
/// types of the second set; else the first set's stay.
///
/// # Errors
/// A file of unknown syntax.
pub(crate) fn union(
    first: &FileSet,
    second: &FileSet,
    needed: &Descriptors,
) -> Result<FileSet, DescriptorError> {
    let mut union = Union::new(first.given(), needed);
    for file in second.given() {
        union.add_file(file)?;
    }
    FileSet::new(union.files)
}

struct Union<'d> {
    files: Vec<FileDescriptorProto>,
    /// Index of each file by name.
    homes: HashMap<String, usize>,
    /// File and index of each top-level message and enum type.
    messages: HashMap<String, (usize, usize)>,
    enums: HashMap<String, (usize, usize)>,
    members: Members<'d>,
    /// How many imports may still be looked at.
    imports_left: usize,
}

/// What the joining of single types needs to know.
struct Members<'d> {
    needed: HashSet<&'d str>,
    /// Extendee and number of the extensions that are there.
    extensions: HashSet<(String, i32)>,
}

/// The features around an element in the set it comes from and in the set it goes to.
#[derive(Clone, Copy)]
struct Move {
    from: Features,
    to: Features,
}

impl<'d> Union<'d> {
    fn new(files: &[FileDescriptorProto], needed: &'d Descriptors) -> Self {
        let mut extensions = HashSet::new();
        let (mut homes, mut messages, mut enums) = (HashMap::new(), HashMap::new(), HashMap::new());
        for (at, file) in files.iter().enumerate() {
            homes.insert(file.name().to_string(), at);
            let name = |name: &str| join(file.package(), name);
            let placed = file.message_type.iter().enumerate();
            messages.extend(placed.map(|(index, message)| (name(message.name()), (at, index))));
            let placed = file.enum_type.iter().enumerate();
            enums.extend(placed.map(|(index, enumeration)| (name(enumeration.name()), (at, index))));
            collect_extensions(&file.extension, &file.message_type, &mut extensions);
        }
        let names = needed.messages.iter().map(|message| message.full_name.as_str());
        let needed =
            names.chain(needed.enums.iter().map(|enumeration| enumeration.full_name.as_str())).collect();
        let members = Members { needed, extensions };
        Self { files: files.to_vec(), homes, messages, enums, members, imports_left: MAX_ELEMENTS }
    }

    fn add_file(&mut self, file: &FileDescriptorProto) -> Result<(), DescriptorError> {
        let from = Features::of_file(file)?;
        let home = self.home(file);
        let mut changed = BTreeSet::new();
        for message in &file.message_type {
            let name = join(file.package(), message.name());
            let place = self.messages.get(&name).copied();
            let at = place.map_or(home, |(at, _)| at);
            let Some(target) = self.files.get_mut(at) else { continue };
            let moved = Move { from, to: Features::of_file(target)? };
            let grown = match place.and_then(|(_, index)| target.message_type.get_mut(index)) {
                Some(known) => self.members.message(known, message, &name, moved),
                None => self.members.add_message(&mut target.message_type, message, moved),
            };
            changed.extend(grown.then_some(at));
        }
        for enumeration in &file.enum_type {
            let name = join(file.package(), enumeration.name());
            let place = self.enums.get(&name).copied();
            let Some(target) = self.files.get_mut(place.map_or(home, |(at, _)| at)) else { continue };
            let moved = Move { from, to: Features::of_file(target)? };
            match place.and_then(|(_, index)| target.enum_type.get_mut(index)) {
                Some(known) if self.members.needed.contains(name.as_str()) => add_values(known, enumeration),
                Some(_) => {}
                None => add_enum(&mut target.enum_type, enumeration, moved),
            }
        }
        if let Some(target) = self.files.get_mut(home) {
            let moved = Move { from, to: Features::of_file(target)? };
            let grown = self.members.add_extensions(&mut target.extension, &file.extension, moved);
            changed.extend(grown.then_some(home));
        }
        changed.into_iter().try_for_each(|at| self.add_imports(at, file))
    }

    /// Lets a file that got elements of `source` import what `source` imports, and `source` itself.
    fn add_imports(&mut self, at: usize, source: &FileDescriptorProto) -> Result<(), DescriptorError> {
        let Some(target) = self.files.get_mut(at) else { return Ok(()) };
        let looked_at = source.dependency.len().saturating_add(target.dependency.len()).saturating_add(1);
        let left = self.imports_left.checked_sub(looked_at);
        self.imports_left = left.ok_or(DescriptorError::TooLarge { limit: MAX_ELEMENTS })?;
        let own = target.name().to_string();
        let mut known: HashSet<String> = target.dependency.iter().cloned().chain([own]).collect();
        let imports = source.dependency.iter().map(String::as_str).chain([source.name()]);
        target.dependency.extend(imports.filter(|name| known.insert(name.to_string())).map(str::to_string));
        Ok(())
    }

    /// The file of the same name, an empty one if there is none yet.
    fn home(&mut self, file: &FileDescriptorProto) -> usize {
        let next = self.files.len();
        let home = *self.homes.entry(file.name().to_string()).or_insert(next);
        if home == next {
            let mut empty = file.clone();
            empty.message_type.clear();
            empty.enum_type.clear();
            empty.extension.clear();
            self.files.push(empty);
        }
        home
    }
}

impl Members<'_> {
    /// Joins two versions of a message; says whether the first one changed.
    fn message(
        &mut self,
        known: &mut DescriptorProto,
        other: &DescriptorProto,
        name: &str,
        around: Move,
    ) -> bool {
        let features =
            |message: &DescriptorProto| message.options.as_ref().and_then(|set| set.features.clone());
        let inside = Move {
            from: around.from.with(features(other).as_ref()),
            to: around.to.with(features(known).as_ref()),
        };
        let mut changed = self.needed.contains(name) && join_fields(known, other, inside);
        let nested = index(&known.nested_type, DescriptorProto::name);
        for message in &other.nested_type {
            let place = nested.get(message.name()).and_then(|at| known.nested_type.get_mut(*at));
            changed |= match place {
                Some(known) => self.message(known, message, &join(name, message.name()), inside),
                None => self.add_message(&mut known.nested_type, message, inside),
            };
        }
        let nested = index(&known.enum_type, EnumDescriptorProto::name);
        for enumeration in &other.enum_type {
            let needed = self.needed.contains(join(name, enumeration.name()).as_str());
            match nested.get(enumeration.name()).and_then(|at| known.enum_type.get_mut(*at)) {
                Some(known) if needed => add_values(known, enumeration),
                Some(_) => {}
                None => add_enum(&mut known.enum_type, enumeration, inside),
            }
        }
        changed | self.add_extensions(&mut known.extension, &other.extension, inside)
    }

    fn add_message(&mut self, to: &mut Vec<DescriptorProto>, message: &DescriptorProto, moved: Move) -> bool {
        let mut message = message.clone();
        let own = message.options.as_ref().and_then(|options| options.features.as_ref());
        if let Some(features) = moved.pinned(own) {
            message.options.get_or_insert_default().features = Some(features);
        }
        collect_extensions(&message.extension, &message.nested_type, &mut self.extensions);
        to.push(message);
        true
    }

    fn add_extensions(
        &mut self,
        to: &mut Vec<FieldDescriptorProto>,
        extensions: &[FieldDescriptorProto],
        moved: Move,
    ) -> bool {
        let before = to.len();
        for field in extensions {
            if self.extensions.insert((field.extendee().to_string(), field.number())) {
                to.push(pinned_field(field, moved));
            }
        }
        to.len() > before
    }
}

impl Move {
    /// The features to set on an element that sets `own` where it comes from, if they have to change.
    fn pinned(self, own: Option<&FeatureSet>) -> Option<FeatureSet> {
        (self.from != self.to).then(|| self.from.with(own).pinned(self.to))
    }
}

fn index<T>(elements: &[T], name: impl Fn(&T) -> &str) -> HashMap<String, usize> {
    elements.iter().enumerate().map(|(at, element)| (name(element).to_string(), at)).collect()
}

fn collect_extensions(
    extensions: &[FieldDescriptorProto],
    messages: &[DescriptorProto],
    to: &mut HashSet<(String, i32)>,
) {
    to.extend(extensions.iter().map(|field| (field.extendee().to_string(), field.number())));
    for message in messages {
        collect_extensions(&message.extension, &message.nested_type, to);
    }
}

fn join_fields(known: &mut DescriptorProto, other: &DescriptorProto, inside: Move) -> bool {
    let others: HashMap<i32, &FieldDescriptorProto> =
        other.field.iter().map(|field| (field.number(), field)).collect();
    for field in &mut known.field {
        let stays = others.get(&field.number()).is_some_and(|other| is_required(other, inside.from));
        if !stays && is_required(field, inside.to) {
            make_optional(field);
        }
    }
    let numbers: HashMap<i32, Option<i32>> =
        known.field.iter().map(|field| (field.number(), field.oneof_index)).collect();
    let mut oneofs = OneofPlaces::new(known, other, &numbers);
    let mut added_numbers = BTreeSet::new();
    let mut added_names = HashSet::new();
    for field in other.field.iter().filter(|field| !numbers.contains_key(&field.number())) {
        let mut moved = inside;
        let oneof = field.oneof_index.map(|theirs| {
            let ours = oneofs.place(known, other, theirs);
            moved.from = moved.from.with(oneof_features(other, theirs));
            moved.to = moved.to.with(oneof_features(known, ours));
            ours
        });
        let mut added = pinned_field(field, moved);
        if is_required(&added, moved.to) {
            make_optional(&mut added);
        }
        added.oneof_index = oneof;
        added_numbers.insert(added.number());
        added_names.insert(added.name().to_string());
        known.field.push(added);
    }
    known.reserved_range.retain(|range| !holds_any(range.start(), range.end(), &added_numbers));
    known.reserved_name.retain(|name| !added_names.contains(name));
    !added_numbers.is_empty()
}

/// Whether one of `numbers` lies from `start` up to, but not at, `end`.
fn holds_any(start: i32, end: i32, numbers: &BTreeSet<i32>) -> bool {
    start < end && numbers.range(start..end).next().is_some()
}

/// Which oneof of the one version is which of the other: the one that holds a common field, else the one of
/// the same name, else a new one.
struct OneofPlaces {
    places: HashMap<i32, i32>,
    by_name: HashMap<String, usize>,
}

impl OneofPlaces {
    fn new(known: &DescriptorProto, other: &DescriptorProto, numbers: &HashMap<i32, Option<i32>>) -> Self {
        let common = other.field.iter().filter_map(|field| {
            let ours = numbers.get(&field.number()).copied().flatten();
            Some((field.oneof_index?, ours?))
        });
        Self { places: common.collect(), by_name: index(&known.oneof_decl, OneofDescriptorProto::name) }
    }

    fn place(&mut self, known: &mut DescriptorProto, other: &DescriptorProto, theirs: i32) -> i32 {
        let by_name = &mut self.by_name;
        *self.places.entry(theirs).or_insert_with(|| {
            let oneof = usize::try_from(theirs).ok().and_then(|theirs| other.oneof_decl.get(theirs));
            let oneof = oneof.cloned().unwrap_or_default();
            let next = known.oneof_decl.len();
            let place = *by_name.entry(oneof.name().to_string()).or_insert(next);
            if place == next {
                known.oneof_decl.push(oneof);
            }
            i32::try_from(place).unwrap_or(i32::MAX)
        })
    }
}

fn oneof_features(message: &DescriptorProto, index: i32) -> Option<&FeatureSet> {
    let oneof: &OneofDescriptorProto = message.oneof_decl.get(usize::try_from(index).ok()?)?;
    oneof.options.as_ref()?.features.as_ref()
}

fn pinned_field(field: &FieldDescriptorProto, moved: Move) -> FieldDescriptorProto {
    let mut field = field.clone();
    if let Some(features) = moved.pinned(field.features()) {
        field.options.get_or_insert_default().features = Some(features);
    }
    field
}

fn is_required(field: &FieldDescriptorProto, around: Features) -> bool {
    let features = around.with(field.features());
    field.label == Some(label::REQUIRED) || features.presence == Presence::Required
}

fn make_optional(field: &mut FieldDescriptorProto) {
    if field.label == Some(label::REQUIRED) {
        field.label = Some(label::OPTIONAL);
    } else {
        let options = field.options.get_or_insert_default();
        options.features.get_or_insert_default().field_presence = Some(Features::EXPLICIT_PRESENCE);
    }
}

fn add_values(known: &mut EnumDescriptorProto, other: &EnumDescriptorProto) {
    let numbers: HashSet<i32> = known.value.iter().map(|value| value.number()).collect();
    let added = || other.value.iter().filter(|value| !numbers.contains(&value.number()));
    let added_numbers: BTreeSet<i32> = added().map(EnumValueDescriptorProto::number).collect();
    let added_names: HashSet<&str> = added().map(EnumValueDescriptorProto::name).collect();
    known.value.extend(added().cloned());
    known
        .reserved_range
        .retain(|range| !holds_any(range.start(), range.end().saturating_add(1), &added_numbers));
    known.reserved_name.retain(|name| !added_names.contains(name.as_str()));
}

fn add_enum(to: &mut Vec<EnumDescriptorProto>, enumeration: &EnumDescriptorProto, moved: Move) {
    let mut enumeration = enumeration.clone();
    let own = enumeration.options.as_ref().and_then(|options| options.features.as_ref());
    if let Some(features) = moved.pinned(own) {
        enumeration.options.get_or_insert_default().features = Some(features);
    }
    to.push(enumeration);
}
