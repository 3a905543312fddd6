//! From column tree and projection to plan.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use recordfusion_core::{Error, Projection, Result, Selection};

use super::check::Messages;
use super::encoding::{encoding, number_type};
use super::fill::Fill;
use super::{
    Compiled, Encoding, Mark, Member, MessagePlan, NO_MEMBER, Op, Output, Place, Plan, PlannedColumn, Slot,
    Source, push,
};
use crate::column_tree::{Absence, Form, Node, Shape, Storage};
use crate::columns::{Bitmap, ByteStrings, Columns, Fixed, Items, LastMember};
use crate::descriptor::{Descriptors, Kind};
use crate::enum_names::EnumNames;
use crate::options::{Mapping, Required};
use crate::text::Utf8;
use crate::wire::{tag_of, wire_type};

/// What a scan wants of its records.
pub(crate) struct Wanted<'a> {
    /// Columns of the message.
    pub projection: &'a Projection,
    /// The unknown fields.
    pub unknown: bool,
}

/// The plan for these columns of the table.
///
/// # Errors
/// [`Error::Schema`] if the projection names a column that the table does not have.
#[expect(
    clippy::indexing_slicing,
    reason = "what is decoded are columns of the tree, and each of these has an output"
)]
pub(crate) fn compile(
    descriptors: &Descriptors,
    mapping: &Mapping,
    tree: &[Node],
    wanted: &Wanted<'_>,
) -> Result<Compiled> {
    let shown = tree.iter().filter(|node| node.shown).count();
    let selections = selections(wanted.projection, shown)?;
    let judged = mapping.judges_whole_records();
    let selection = |index: usize| if judged { Some(&Selection::All) } else { selections.get(&index) };
    let decoded: Vec<usize> = (0..tree.len()).filter(|&index| selection(index).is_some()).collect();
    let mut compiler = Compiler::new(descriptors, mapping);
    let unknown = wanted.unknown.then(|| push(&mut compiler.columns.bytes, ByteStrings::default()));
    let nodes: Vec<(&Node, Option<&Selection>)> = tree
        .iter()
        .enumerate()
        .map(|(index, node)| match selection(index) {
            // Numbers that a closed enum does not have are unknown fields.
            None if wanted.unknown && is_closed(&node.form) => (node, Some(&NOTHING)),
            selection => (node, selection),
        })
        .collect();
    let (_, outputs) = compiler.message(&nodes);
    let column = |&index: &usize| PlannedColumn {
        output: outputs[index],
        number: tree[index].number,
        wanted: selections.contains_key(&index),
    };
    let place = |index: usize| decoded.partition_point(|&decoded| decoded < index);
    let Compiler { messages, marks, outputs: all, closed_enums, leaves, columns: buffers, .. } = compiler;
    let plan = Plan {
        messages: messages.finish(),
        marks,
        columns: decoded.iter().map(column).collect(),
        order: wanted.projection.columns.iter().map(|column| place(column.index)).collect(),
        outputs: all,
        unknown,
        strict_required: mapping.required == Required::Strict,
        closed_enums,
        leaves,
    };
    Ok(Compiled { plan, columns: buffers })
}

/// A selection of presence alone.
static NOTHING: Selection = Selection::Fields(BTreeMap::new());

/// What is wanted of each column, by its index.
fn selections(projection: &Projection, columns: usize) -> Result<BTreeMap<usize, Selection>> {
    let mut wanted: BTreeMap<usize, Selection> = BTreeMap::new();
    for column in &projection.columns {
        if column.index >= columns {
            let reason = format!("column {} is wanted of a table of {columns}", column.index);
            return Err(Error::Schema(reason));
        }
        let selection = wanted.entry(column.index).or_insert_with(|| column.selection.clone());
        if *selection != column.selection {
            *selection = Selection::All;
        }
    }
    Ok(wanted)
}

fn is_closed(form: &Form) -> bool {
    match form {
        Form::Enum { closed, .. } => *closed,
        Form::List(item) => is_closed(&item.form),
        Form::Map { known_values, .. } => *known_values,
        _ => false,
    }
}

struct Compiler<'a> {
    messages: Messages<'a>,
    marks: Vec<Mark>,
    outputs: Vec<Output>,
    closed_enums: Vec<Arc<EnumNames>>,
    leaves: u64,
    columns: Columns,
    /// Whether records are judged as a whole.
    judged: bool,
}

/// The oneofs of a message that a scan keeps track of, by their index in the message.
type Oneofs = HashMap<usize, Oneof>;

/// A oneof, and the column that tells its member.
#[derive(Clone, Copy)]
struct Oneof {
    index: u32,
    case: Option<u32>,
}

impl<'a> Compiler<'a> {
    fn new(descriptors: &'a Descriptors, mapping: &'a Mapping) -> Self {
        Self {
            messages: Messages::new(descriptors, mapping),
            marks: Vec::new(),
            outputs: Vec::new(),
            closed_enums: Vec::new(),
            leaves: 0,
            columns: Columns::default(),
            judged: mapping.judges_whole_records(),
        }
    }

    /// The plan of a message, and the outputs of its fields: all NULL for those that are not wanted.
    fn message(&mut self, fields: &[(&Node, Option<&Selection>)]) -> (u32, Vec<u32>) {
        let index = self.messages.reserve();
        let named = fields.iter().filter(|(node, _)| !matches!(node.form, Form::Case { .. }));
        let mut message = MessagePlan::new(named.map(|(node, _)| (node.number, node.name.as_str())));
        let oneofs = self.oneofs(fields);
        let mut outputs = Vec::new();
        for &(node, wanted) in fields {
            let oneof = node.oneof.and_then(|oneof| oneofs.get(&oneof));
            outputs.push(match (&node.form, wanted) {
                (Form::Case { names, .. }, Some(_)) => self.case(node, names, oneof),
                (Form::Case { .. }, None) => self.output(node, None),
                (_, Some(selection)) => {
                    let member = oneof.map(|oneof| (*oneof, index_in_case(fields, node)));
                    self.field(&mut message, node, selection, member)
                }
                (_, None) => {
                    if let Some(oneof) = oneof {
                        // It takes back its siblings all the same.
                        let leaves = self.leaves;
                        let member = Some((*oneof, index_in_case(fields, node)));
                        self.field(&mut message, node, &NOTHING, member);
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

    /// The oneofs of which something is wanted.
    fn oneofs(&mut self, fields: &[(&Node, Option<&Selection>)]) -> Oneofs {
        let mut oneofs = Oneofs::new();
        for (node, _) in fields.iter().filter(|(_, wanted)| wanted.is_some()) {
            let Some(number) = node.oneof else { continue };
            let columns = &mut self.columns;
            let oneof = oneofs.entry(number).or_insert_with(|| Oneof {
                index: push(&mut columns.oneofs, LastMember::default()),
                case: None,
            });
            if let Form::Case { .. } = node.form {
                oneof.case = Some(push(&mut columns.words, Fixed::new(NO_MEMBER)));
            }
        }
        oneofs
    }

    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "the output has just been made, and each leaf is a node in memory"
    )]
    fn case(&mut self, node: &Node, names: &ArrayRef, oneof: Option<&Oneof>) -> u32 {
        let output = self.output(node, None);
        if let Some(column) = oneof.and_then(|oneof| oneof.case) {
            self.leaves += 1;
            self.outputs[output as usize].source = Source::Case { column, names: Arc::clone(names) };
        }
        output
    }

    /// A new output that has no source yet.
    fn output(&mut self, node: &Node, validity: Option<u32>) -> u32 {
        let output = Output {
            field: Arc::clone(&node.field),
            validity,
            required: node.absence == Absence::Incomplete && validity.is_some(),
            hidden: node.absence == Absence::Hidden,
            fill: None,
            source: Source::Absent,
        };
        push(&mut self.outputs, output)
    }

    #[expect(clippy::indexing_slicing, reason = "the output has just been made")]
    fn field(
        &mut self,
        message: &mut MessagePlan,
        node: &Node,
        wanted: &Selection,
        member: Option<(Oneof, u32)>,
    ) -> u32 {
        let fill = match &node.absence {
            Absence::Filled(value) => Fill::new(value, node),
            _ => Fill::None,
        };
        let nullable = !matches!(node.absence, Absence::Default | Absence::Hidden);
        let marked = if matches!(fill, Fill::Number(_)) { member.is_some() } else { nullable };
        let validity = marked.then(|| push(&mut self.columns.validity, Bitmap::default()));
        let output = self.output(node, validity.filter(|_| !matches!(fill, Fill::Number(_))));
        let place = validity.map_or(Place::Row, |validity| {
            let member = member.map(|(oneof, ordinal)| Member {
                oneof: oneof.index,
                output,
                case: oneof.case.map(|column| (column, ordinal)),
            });
            Place::Marked(push(&mut self.marks, Mark { validity, member }))
        });
        let number = if let Fill::Number(bits) = fill { Some(bits) } else { None };
        let source = self.value(message, node, wanted, place, number);
        let made = &mut self.outputs[output as usize];
        made.source = source;
        if let Fill::Array(array) = fill {
            made.fill = Some(array);
        }
        output
    }

    /// Makes the slots and the buffers of a value.
    #[expect(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        reason = "the output has just been made, and each leaf is a node in memory"
    )]
    fn value(
        &mut self,
        message: &mut MessagePlan,
        node: &Node,
        wanted: &Selection,
        place: Place,
        fill: Option<u64>,
    ) -> Source {
        match &node.form {
            Form::List(item) => {
                let items = push(&mut self.columns.items, Items::default());
                let output = self.output(item, None);
                let source = self.value(message, item, wanted, Place::Item(items), None);
                if !is_skipped(item, wanted, true) {
                    self.outputs[output as usize].source = source;
                }
                return Source::List { items, item: output };
            }
            Form::Map { key, value, known_values } => {
                let items = push(&mut self.columns.items, Items::default());
                // As a list of structs it is looked into by the names of the parts.
                let wanted = match node.field.data_type() {
                    DataType::List(_) => wanted.field(value.field.name()).unwrap_or(&NOTHING),
                    _ => wanted,
                };
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
        let (mut op, column, detail, source) = self.leaf(&node.form, matches!(place, Place::Item(_)), fill);
        if is_skipped(node, wanted, matches!(place, Place::Item(_))) {
            op = Op::Present;
        }
        slots(message, node, Slot { op, place, column, detail });
        source
    }

    /// The op, the buffer, the op's detail and the source of a leaf. `fill`: the bits of rows without a value.
    fn leaf(&mut self, form: &Form, repeated: bool, fill: Option<u64>) -> (Op, u32, u32, Source) {
        let columns = &mut self.columns;
        match form {
            Form::Number(kind) => {
                let encoding = encoding(*kind);
                let (column, source) = number(columns, *kind, encoding, fill.unwrap_or(0));
                (encoding.into(), column, 0, source)
            }
            Form::Enum { names, closed, shown } => {
                let first = fill.map_or(names.first() as u32, |bits| bits as u32);
                let column = push(&mut columns.words, Fixed::new(first));
                let source = Source::Enum { column, names: Arc::clone(names), shown: *shown };
                if !closed {
                    return (Op::Varint32, column, 0, source);
                }
                let detail = push(&mut self.closed_enums, Arc::clone(names));
                (Op::ClosedEnum, column, detail, source)
            }
            Form::Text { utf8, storage: Storage::Shared } => {
                let column = push(&mut columns.views, Fixed::new(0));
                // Items are never replaced.
                let op = if *utf8 == Utf8::Strict && !repeated { Op::StrictText } else { Op::View };
                (op, column, 0, Source::Texts { column, utf8: *utf8 })
            }
            Form::Bytes(Storage::Shared) => {
                let column = push(&mut columns.views, Fixed::new(0));
                (Op::View, column, 0, Source::Views(column))
            }
            Form::Text { utf8, .. } => {
                let (column, utf8) = (push(&mut columns.bytes, ByteStrings::default()), *utf8);
                (Op::Owned { strict: utf8 == Utf8::Strict }, column, 0, Source::Bytes { column, utf8 })
            }
            Form::Serialized { id, json, .. } => {
                let column = push(&mut columns.bytes, ByteStrings::default());
                let source = match json {
                    true => Source::Json { column, message: *id },
                    false => Source::Bytes { column, utf8: Utf8::Replace },
                };
                (Op::Serialized, column, self.messages.checked(*id), source)
            }
            _ => {
                let column = push(&mut columns.bytes, ByteStrings::default());
                (Op::Owned { strict: false }, column, 0, Source::Bytes { column, utf8: Utf8::Replace })
            }
        }
    }

    #[expect(clippy::arithmetic_side_effects, reason = "each leaf is a node in memory")]
    fn submessage(&mut self, shape: Shape, fields: &[Node], wanted: &Selection) -> (u32, Source) {
        let leaves = self.leaves;
        let part = |node: &'_ Node| match shape {
            _ if !node.shown => self.judged.then_some(&Selection::All),
            Shape::Struct => wanted.field(node.field.name()),
            _ => Some(&Selection::All),
        };
        let nodes: Vec<_> = fields.iter().map(|node| (node, part(node))).collect();
        let (index, mut outputs) = self.message(&nodes);
        outputs.truncate(fields.iter().filter(|node| node.shown).count());
        if !matches!(shape, Shape::Struct | Shape::Only) {
            self.leaves = leaves + 1;
        }
        (index, Source::Message { shape, fields: outputs })
    }

    #[expect(clippy::indexing_slicing, reason = "the outputs of the entry have just been made")]
    fn map(
        &mut self,
        items: u32,
        parts: [&Node; 2],
        known_values: bool,
        wanted: &Selection,
    ) -> (u32, Source) {
        // Keys tell how many entries there are.
        let [key, value] = parts;
        let (entry, outputs) = self.message(&[(key, Some(&Selection::All)), (value, Some(wanted))]);
        let [key, value] = outputs[..] else { return (entry, Source::Absent) };
        if let (true, Source::Enum { column, names, .. }) =
            (known_values, &self.outputs[value as usize].source)
        {
            let closed = push(&mut self.closed_enums, Arc::clone(names));
            self.messages.plan(entry).closed_value = Some((*column, closed));
        }
        (entry, Source::Map { items, key, value })
    }
}

/// Whether only the presence of a value is wanted, or only that there is an item, and is told without looking at it.
fn is_skipped(node: &Node, wanted: &Selection, is_item: bool) -> bool {
    let is_plain = match &node.form {
        Form::Text { utf8, .. } => is_item || *utf8 != Utf8::Null,
        Form::Bytes(_) => true,
        // How many items a run of numbers has is told by all of them.
        Form::Number(_) => !is_item,
        _ => false,
    };
    is_plain && node.absence != Absence::Hidden && *wanted == NOTHING
}

/// The index of a oneof's member in the column that tells it.
fn index_in_case(fields: &[(&Node, Option<&Selection>)], member: &Node) -> u32 {
    let index = fields.iter().find_map(|(node, _)| match &node.form {
        Form::Case { members, .. } if node.oneof == member.oneof => {
            members.iter().position(|&number| number == member.number)
        }
        _ => None,
    });
    index.map_or(NO_MEMBER, |index| index as u32)
}

/// The buffer of a number and its source. `fill`: the bits of rows without a value.
fn number(columns: &mut Columns, kind: Kind, encoding: Encoding, fill: u64) -> (u32, Source) {
    match encoding {
        Encoding::Bool => {
            let column = push(&mut columns.bits, Bitmap::default());
            (column, Source::Bits(column))
        }
        Encoding::Varint64 | Encoding::Zigzag64 | Encoding::Fixed64 => {
            let column = push(&mut columns.longs, Fixed::new(fill));
            (column, Source::Longs(column))
        }
        _ => {
            let column = push(&mut columns.words, Fixed::new(fill as u32));
            let signed = !matches!(kind, Kind::Uint32 | Kind::Fixed32);
            (column, Source::Words { column, signed })
        }
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
