//! Options as the names and values that .proto text gives them.

use crate::descriptor::literal::quoted;
use crate::descriptor::wire::{
    EnumOptions, EnumValueOptions, FeatureSet, FieldOptions, FileOptions, MessageOptions,
};

/// An option's name and its value, ready to print.
pub(crate) type Setting = (&'static str, String);

fn set(name: &'static str, value: Option<impl ToString>) -> Option<Setting> {
    value.map(|value| (name, value.to_string()))
}

fn text(name: &'static str, value: Option<&String>) -> Option<Setting> {
    value.map(|value| (name, quoted(value.as_bytes())))
}

/// A value of an enum, numbered in the order of `names` from `first` on.
fn choice(name: &'static str, value: Option<i32>, first: i32, names: &[&str]) -> Option<Setting> {
    let index = usize::try_from(value?.checked_sub(first)?).ok()?;
    names.get(index).map(|value| (name, value.to_string()))
}

/// The options of a file.
pub(crate) fn file(options: &FileOptions) -> Vec<Setting> {
    let settings = [
        text("java_package", options.java_package.as_ref()),
        text("java_outer_classname", options.java_outer_classname.as_ref()),
        set("java_multiple_files", options.java_multiple_files),
        set("java_string_check_utf8", options.java_string_check_utf8),
        choice("optimize_for", options.optimize_for, 1, &["SPEED", "CODE_SIZE", "LITE_RUNTIME"]),
        text("go_package", options.go_package.as_ref()),
        set("cc_generic_services", options.cc_generic_services),
        set("java_generic_services", options.java_generic_services),
        set("py_generic_services", options.py_generic_services),
        set("deprecated", options.deprecated),
        set("cc_enable_arenas", options.cc_enable_arenas),
        text("objc_class_prefix", options.objc_class_prefix.as_ref()),
        text("csharp_namespace", options.csharp_namespace.as_ref()),
        text("swift_prefix", options.swift_prefix.as_ref()),
        text("php_class_prefix", options.php_class_prefix.as_ref()),
        text("php_namespace", options.php_namespace.as_ref()),
        text("php_metadata_namespace", options.php_metadata_namespace.as_ref()),
        text("ruby_package", options.ruby_package.as_ref()),
    ];
    settings.into_iter().flatten().collect()
}

/// The options of a message type, without `map_entry`, which has its own syntax.
pub(crate) fn message(options: &MessageOptions) -> Vec<Setting> {
    let settings = [
        set("message_set_wire_format", options.message_set_wire_format),
        set("no_standard_descriptor_accessor", options.no_standard_descriptor_accessor),
        set("deprecated", options.deprecated),
        set("deprecated_legacy_json_field_conflicts", options.deprecated_legacy_json_field_conflicts),
    ];
    settings.into_iter().flatten().collect()
}

/// The options of a field.
pub(crate) fn field(options: &FieldOptions) -> Vec<Setting> {
    let settings = [
        choice("ctype", options.ctype, 0, &["STRING", "CORD", "STRING_PIECE"]),
        set("packed", options.packed),
        set("deprecated", options.deprecated),
        set("lazy", options.lazy),
        choice("jstype", options.jstype, 0, &["JS_NORMAL", "JS_STRING", "JS_NUMBER"]),
        set("weak", options.weak),
        set("unverified_lazy", options.unverified_lazy),
        set("debug_redact", options.debug_redact),
    ];
    settings.into_iter().flatten().collect()
}

/// The options of an enum type.
pub(crate) fn enumeration(options: &EnumOptions) -> Vec<Setting> {
    let settings = [
        set("allow_alias", options.allow_alias),
        set("deprecated", options.deprecated),
        set("deprecated_legacy_json_field_conflicts", options.deprecated_legacy_json_field_conflicts),
    ];
    settings.into_iter().flatten().collect()
}

/// The options of an enum's value.
pub(crate) fn value(options: &EnumValueOptions) -> Vec<Setting> {
    let settings = [set("deprecated", options.deprecated), set("debug_redact", options.debug_redact)];
    settings.into_iter().flatten().collect()
}

/// The features that an element sets.
pub(crate) fn features(features: &FeatureSet) -> Vec<Setting> {
    let presence = ["EXPLICIT", "IMPLICIT", "LEGACY_REQUIRED"];
    let visibility = ["EXPORT_ALL", "EXPORT_TOP_LEVEL", "LOCAL_ALL", "STRICT"];
    let settings = [
        choice("features.field_presence", features.field_presence, 1, &presence),
        choice("features.enum_type", features.enum_type, 1, &["OPEN", "CLOSED"]),
        choice(
            "features.repeated_field_encoding",
            features.repeated_field_encoding,
            1,
            &["PACKED", "EXPANDED"],
        ),
        choice("features.utf8_validation", features.utf8_validation, 2, &["VERIFY", "NONE"]),
        choice("features.message_encoding", features.message_encoding, 1, &["LENGTH_PREFIXED", "DELIMITED"]),
        choice("features.json_format", features.json_format, 1, &["ALLOW", "LEGACY_BEST_EFFORT"]),
        choice(
            "features.enforce_naming_style",
            features.enforce_naming_style,
            1,
            &["STYLE2024", "STYLE_LEGACY"],
        ),
        choice("features.default_symbol_visibility", features.default_symbol_visibility, 1, &visibility),
    ];
    settings.into_iter().flatten().collect()
}
