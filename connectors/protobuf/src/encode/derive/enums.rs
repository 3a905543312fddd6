//! Enum types that columns came from.

use std::collections::HashSet;

use arrow::datatypes::DataType;

use super::message::{Builder, Declared};
use super::names::{is_identifier, take};
use crate::descriptor::wire::{
    DescriptorProto, EnumDescriptorProto, EnumOptions, EnumValueDescriptorProto, field_type,
};
use crate::encode::origin::{Origin, is_text};

impl Builder<'_> {
    /// The enum type that a column of names or numbers came from, declared in the record's message.
    pub(super) fn enumeration(&mut self, data_type: &DataType, origin: Origin<'_>) -> Option<Declared> {
        let (full_name, values) = origin.enumeration.filter(|_| origin.kind == Some("enum"))?;
        if !is_text(data_type) && *data_type != DataType::Int32 {
            return None;
        }
        let known = (full_name.to_string(), values.to_string());
        let type_name = match self.enums.get(&known) {
            Some(type_name) => type_name.clone(),
            None => {
                let type_name = self.place(full_name.rsplit('.').next()?, parse(values)?)?;
                self.enums.insert(known, type_name.clone());
                type_name
            }
        };
        Some(Declared { repeated: false, number: field_type::ENUM, type_name: Some(format!(".{type_name}")) })
    }

    /// Declares an enum; gives its full name. Values are named in the scope of their enum: if one is taken
    /// there, the enum gets a message of its own around it.
    fn place(&mut self, name: &str, values: Vec<(String, i32)>) -> Option<String> {
        let root = self.scopes.first_mut()?;
        let name = take(&mut root.taken, if is_identifier(name) { name } else { "Enum" });
        let declared = declaration(&name, values);
        let clashes = |value: &EnumValueDescriptorProto| root.taken.contains(value.name());
        if !declared.value.iter().any(clashes) {
            root.taken.extend(declared.value.iter().map(|value| value.name().to_string()));
            root.enums.push(declared);
            return Some(format!("{}.{name}", root.full_name));
        }
        let holder = take(&mut root.taken, &format!("{name}Scope"));
        let full_name = format!("{}.{holder}.{name}", root.full_name);
        root.nested.push(DescriptorProto {
            name: Some(holder),
            enum_type: vec![declared],
            ..DescriptorProto::default()
        });
        Some(full_name)
    }
}

/// The values of `NAME=number,...`, if they can be those of an enum.
fn parse(text: &str) -> Option<Vec<(String, i32)>> {
    let mut names = HashSet::new();
    let value = |value| {
        let (name, number) = str::split_once(value, '=')?;
        let good = is_identifier(name) && names.insert(name);
        Some((name.to_string(), number.parse().ok().filter(|_| good)?))
    };
    text.split(',').map(value).collect()
}

/// An enum of proto3: its first value has the number 0.
fn declaration(name: &str, mut values: Vec<(String, i32)>) -> EnumDescriptorProto {
    match values.iter().position(|(_, number)| *number == 0) {
        Some(zero) => values[..=zero].rotate_right(1),
        None => {
            let mut taken = values.iter().map(|(name, _)| name.clone()).collect();
            values.insert(0, (take(&mut taken, &format!("{}_UNSPECIFIED", name.to_uppercase())), 0));
        }
    }
    let mut numbers = HashSet::new();
    let aliases = !values.iter().all(|(_, number)| numbers.insert(*number));
    let value =
        |(name, number)| EnumValueDescriptorProto { name: Some(name), number: Some(number), options: None };
    EnumDescriptorProto {
        name: Some(name.to_string()),
        value: values.into_iter().map(value).collect(),
        options: aliases.then(|| EnumOptions { allow_alias: Some(true), ..EnumOptions::default() }),
        ..EnumDescriptorProto::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_or_refused_as_a_whole() {
        assert_eq!(parse("A=0,B=-1"), Some(vec![("A".to_string(), 0), ("B".to_string(), -1)]));
        for bad in ["", "A", "A=x", "A=0,A=1", "1=1", "A=0,", "A=4294967296"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_first_value_is_zero() {
        let cases = [
            ("A=1,B=0,C=2", vec![("B", 0), ("A", 1), ("C", 2)], false),
            ("A=1,B=1", vec![("COLOR_UNSPECIFIED", 0), ("A", 1), ("B", 1)], true),
            ("COLOR_UNSPECIFIED=1", vec![("COLOR_UNSPECIFIED_2", 0), ("COLOR_UNSPECIFIED", 1)], false),
        ];
        for (text, expected, aliases) in cases {
            let declared = declaration("Color", parse(text).expect("values"));
            let values: Vec<_> = declared.value.iter().map(|value| (value.name(), value.number())).collect();
            assert_eq!(values, expected);
            assert_eq!(declared.options.is_some(), aliases);
        }
    }
}
