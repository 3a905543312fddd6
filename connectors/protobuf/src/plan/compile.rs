//! From column tree and projection to plan.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use recordfusion_core::{Error, Projection, Result, Selection};

use super::check::Messages;
use super::{Compiled, Encoding, Mark, MessagePlan, Op, Output, Place, Plan, Slot, Source, push};
use crate::column_tree::{Absence, Form, Node, Shape, Storage};
use crate::columns::{Bitmap, ByteStrings, Columns, Fixed, Items, LastMember};
use crate::descriptor::{Descriptors, Kind};
use crate::enum_names::EnumNames;
use crate::wire::{tag_of, wire_type};

/// The plan for these columns of the table.
///
/// # Errors
/// [`Error::Schema`] if the projection names a column that the table does not have.
pub(crate) fn compile(descriptors: &Descriptors, tree: &[Node], projection: &Projection) -> Result<Compiled> {
    let mut wanted: BTreeMap<usize, Selection> = BTreeMap::new();
    for column in &projection.columns {
        if column.index >= tree.len() {
            let reason = format!("column {} is wanted of a table of {}", column.index, tree.len());
            return Err(Error::Schema(reason));
        }
        let selection = wanted.entry(column.index).or_insert_with(|| column.selection.clone());
        if *selection != column.selection {
            *selection = Selection::All;
        }
    }
    let mut compiler = Compiler::new(descriptors);
    let nodes: Vec<(&Node, Option<&Selection>)> =
        tree.iter().enumerate().map(|(index, node)| (node, wanted.get(&index))).collect();
    let (_, outputs) = compiler.message(&nodes);
    let columns: Vec<u32> = wanted.keys().map(|&index| outputs[index]).collect();
    let place = |index: usize| wanted.range(..index).count();
    let order = projection.columns.iter().map(|column| place(column.index)).collect();
    let Compiler { messages, marks, outputs, closed_enums, leaves, columns: buffers } = compiler;
    let plan = Plan { messages: messages.finish(), marks, outputs, columns, order, closed_enums, leaves };
    Ok(Compiled { plan, columns: buffers })
}

struct Compiler<'a> {
    messages: Messages<'a>,
    marks: Vec<Mark>,
    outputs: Vec<Output>,
    closed_enums: Vec<Arc<EnumNames>>,
    leaves: u64,
    columns: Columns,
}

impl<'a> Compiler<'a> {
    fn new(descriptors: &'a Descriptors) -> Self {
        Self {
            messages: Messages::new(descriptors),
            marks: Vec::new(),
            outputs: Vec::new(),
            closed_enums: Vec::new(),
            leaves: 0,
            columns: Columns::default(),
        }
    }

    /// The plan of a message, and the outputs of its fields: all NULL for those that are not wanted.
    fn message(&mut self, fields: &[(&Node, Option<&Selection>)]) -> (u32, Vec<u32>) {
        let index = self.messages.reserve();
        let mut message = MessagePlan::new(fields.iter().map(|(node, _)| (node.number, node.name.as_str())));
        let mut oneofs = HashMap::new();
        for oneof in fields.iter().filter(|(_, wanted)| wanted.is_some()).filter_map(|(node, _)| node.oneof) {
            oneofs.entry(oneof).or_insert_with(|| push(&mut self.columns.oneofs, LastMember::default()));
        }
        let mut outputs = Vec::new();
        for &(node, wanted) in fields {
            let oneof = node.oneof.and_then(|oneof| oneofs.get(&oneof)).copied();
            outputs.push(match wanted {
                Some(selection) => self.field(&mut message, node, selection, oneof),
                None => {
                    if oneof.is_some() {
                        // It takes back its siblings all the same.
                        let leaves = self.leaves;
                        self.field(&mut message, node, &Selection::none(), oneof);
                        self.leaves = leaves;
                    } else {
                        tags(node).into_iter().for_each(|tag| message.set_unwanted(tag));
                    }
                    self.output(node, None)
                }
            });
        }
        *self.messages.plan(index) = message;
        (index, outputs)
    }

    /// A new output that has no source yet.
    fn output(&mut self, node: &Node, validity: Option<u32>) -> u32 {
        let required = node.absence == Absence::Incomplete && validity.is_some();
        let field = Arc::clone(&node.field);
        push(&mut self.outputs, Output { field, validity, required, source: Source::Absent })
    }

    fn field(
        &mut self,
        message: &mut MessagePlan,
        node: &Node,
        wanted: &Selection,
        oneof: Option<u32>,
    ) -> u32 {
        let nullable = node.absence != Absence::Default;
        let validity = nullable.then(|| push(&mut self.columns.validity, Bitmap::default()));
        let output = self.output(node, validity);
        let place = validity.map_or(Place::Row, |validity| {
            let member = oneof.map(|oneof| (oneof, output));
            Place::Marked(push(&mut self.marks, Mark { validity, member }))
        });
        let source = self.value(message, node, wanted, place);
        self.outputs[output as usize].source = source;
        output
    }

    /// Makes the slots and the buffers of a value.
    fn value(&mut self, message: &mut MessagePlan, node: &Node, wanted: &Selection, place: Place) -> Source {
        match &node.form {
            Form::List(item) => {
                let items = push(&mut self.columns.items, Items::default());
                let output = self.output(item, None);
                let source = self.value(message, item, wanted, Place::Item(items));
                self.outputs[output as usize].source = source;
                return Source::List { items, item: output };
            }
            Form::Map { key, value, known_values } => {
                let items = push(&mut self.columns.items, Items::default());
                let (detail, source) = self.map(items, [key.as_ref(), value.as_ref()], *known_values, wanted);
                slots(message, node, Slot { op: Op::MapEntry, place: Place::Item(items), column: 0, detail });
                return source;
            }
            Form::Message { shape, fields, .. } => {
                let (detail, source) = self.submessage(*shape, fields, wanted);
                slots(message, node, Slot { op: Op::Message, place, column: 0, detail });
                return source;
            }
            _ => self.leaves += 1,
        }
        let (op, column, detail, source) = self.leaf(&node.form, matches!(place, Place::Item(_)));
        slots(message, node, Slot { op, place, column, detail });
        source
    }

    /// The op, the buffer, the op's detail and the source of a leaf.
    fn leaf(&mut self, form: &Form, repeated: bool) -> (Op, u32, u32, Source) {
        let columns = &mut self.columns;
        match form {
            Form::Number(kind) => {
                let encoding = encoding(*kind);
                let (column, source) = number(columns, *kind, encoding);
                (encoding.into(), column, 0, source)
            }
            Form::Enum { names, closed } => {
                let column = push(&mut columns.words, Fixed::new(names.first() as u32));
                let source = Source::Enum { column, names: Arc::clone(names) };
                if !closed {
                    return (Op::Varint32, column, 0, source);
                }
                let detail = push(&mut self.closed_enums, Arc::clone(names));
                (Op::ClosedEnum, column, detail, source)
            }
            Form::Text { strict, storage: Storage::Shared } => {
                let column = push(&mut columns.views, Fixed::new(0));
                // Items are never replaced.
                let op = if *strict && !repeated { Op::StrictText } else { Op::View };
                (op, column, 0, Source::Texts { column, strict: *strict })
            }
            Form::Bytes(Storage::Shared) => {
                let column = push(&mut columns.views, Fixed::new(0));
                (Op::View, column, 0, Source::Views(column))
            }
            Form::Text { strict, .. } => {
                let (column, strict) = (push(&mut columns.bytes, ByteStrings::default()), *strict);
                (Op::Owned { strict }, column, 0, Source::Bytes { column, strict })
            }
            Form::Serialized { id, json, .. } => {
                let column = push(&mut columns.bytes, ByteStrings::default());
                let source = json.map(|kind| Source::Json { column, kind });
                let detail = self.messages.checked(*id);
                (Op::Serialized, column, detail, source.unwrap_or(Source::Bytes { column, strict: false }))
            }
            _ => {
                let column = push(&mut columns.bytes, ByteStrings::default());
                (Op::Owned { strict: false }, column, 0, Source::Bytes { column, strict: false })
            }
        }
    }

    fn submessage(&mut self, shape: Shape, fields: &[Node], wanted: &Selection) -> (u32, Source) {
        let leaves = self.leaves;
        let part = |node: &'_ Node| match shape {
            Shape::Struct => wanted.field(&node.name),
            _ => Some(&Selection::All),
        };
        let nodes: Vec<_> = fields.iter().map(|node| (node, part(node))).collect();
        let (index, fields) = self.message(&nodes);
        if !matches!(shape, Shape::Struct | Shape::Only) {
            self.leaves = leaves + 1;
        }
        (index, Source::Message { shape, fields })
    }

    fn map(
        &mut self,
        items: u32,
        parts: [&Node; 2],
        known_values: bool,
        wanted: &Selection,
    ) -> (u32, Source) {
        let (entry, outputs) = self.message(&parts.map(|part| (part, Some(wanted))));
        let [key, value] = outputs[..] else { return (entry, Source::Absent) };
        if let (true, Source::Enum { column, names }) = (known_values, &self.outputs[value as usize].source) {
            let closed = push(&mut self.closed_enums, Arc::clone(names));
            self.messages.plan(entry).closed_value = Some((*column, closed));
        }
        (entry, Source::Map { items, key, value })
    }
}

fn number(columns: &mut Columns, kind: Kind, encoding: Encoding) -> (u32, Source) {
    match encoding {
        Encoding::Bool => {
            let column = push(&mut columns.bits, Bitmap::default());
            (column, Source::Bits(column))
        }
        Encoding::Varint64 | Encoding::Zigzag64 | Encoding::Fixed64 => {
            let column = push(&mut columns.longs, Fixed::new(0));
            (column, Source::Longs(column))
        }
        _ => {
            let column = push(&mut columns.words, Fixed::new(0));
            let signed = !matches!(kind, Kind::Uint32 | Kind::Fixed32);
            (column, Source::Words { column, signed })
        }
    }
}

/// The encoding of a number's kind; of no meaning for others.
pub(super) fn encoding(kind: Kind) -> Encoding {
    match kind {
        Kind::Sint32 => Encoding::Zigzag32,
        Kind::Float | Kind::Fixed32 | Kind::Sfixed32 => Encoding::Fixed32,
        Kind::Int64 | Kind::Uint64 => Encoding::Varint64,
        Kind::Sint64 => Encoding::Zigzag64,
        Kind::Double | Kind::Fixed64 | Kind::Sfixed64 => Encoding::Fixed64,
        Kind::Bool => Encoding::Bool,
        _ => Encoding::Varint32,
    }
}

/// The wire type of a single number.
pub(super) fn number_type(encoding: Encoding) -> u32 {
    match encoding {
        Encoding::Fixed32 => wire_type::FIXED32,
        Encoding::Fixed64 => wire_type::FIXED64,
        _ => wire_type::VARINT,
    }
}

/// The tags that values of a node may have.
fn tags(node: &Node) -> Vec<u32> {
    let form = if let Form::List(item) = &node.form { &item.form } else { &node.form };
    let types = match form {
        Form::Number(kind) => vec![number_type(encoding(*kind))],
        Form::Enum { .. } => vec![wire_type::VARINT],
        Form::Message { group: true, .. } | Form::Serialized { group: true, .. } => {
            vec![wire_type::START_GROUP]
        }
        _ => vec![wire_type::LENGTH_DELIMITED],
    };
    let packable = matches!(form, Form::Number(_) | Form::Enum { .. }) && matches!(node.form, Form::List(_));
    let packed = packable.then_some(wire_type::LENGTH_DELIMITED);
    types.into_iter().chain(packed).map(|wire_type| tag_of(node.number, wire_type)).collect()
}

fn slots(message: &mut MessagePlan, node: &Node, slot: Slot) {
    for tag in tags(node) {
        message.set(tag, slot);
    }
    if let (Some(encoding), Place::Item(_)) = (slot.op.encoding(), slot.place) {
        let packed = tag_of(node.number, wire_type::LENGTH_DELIMITED);
        message.set(packed, Slot { op: Op::Packed(encoding), ..slot });
    }
}
