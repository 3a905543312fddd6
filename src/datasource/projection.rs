//! Which leaves of which columns the expressions of a projection need.

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::functions_nested::cardinality::Cardinality;
use datafusion::functions_nested::empty::ArrayEmpty;
use datafusion::functions_nested::extract::ArrayElement;
use datafusion::functions_nested::length::ArrayLength;
use datafusion::physical_expr::expressions::{Column, IsNotNullExpr, IsNullExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use recordfusion_core::Selection;
use std::sync::Arc;

/// What expressions need of each of the file columns `indices`, in their order.
///
/// Chains such as `get_field(get_field(geo, 'place'), 'city')` and `get_field(spans[1], 'name')` need
/// one leaf; `geo IS NULL` and `array_length(spans)` need no leaf; any other use of a column needs all of it.
pub(super) fn selections<'a>(
    exprs: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>,
    schema: &Schema,
    indices: &[usize],
) -> Vec<Selection> {
    let mut wanted = vec![Selection::none(); indices.len()];
    for expr in exprs {
        visit(expr, schema, indices, &mut wanted);
    }
    wanted
}

fn visit(expr: &Arc<dyn PhysicalExpr>, schema: &Schema, indices: &[usize], wanted: &mut [Selection]) {
    let (part, shape_only) = match of_shape(expr, schema) {
        Some(leaf) => (Some(leaf), true),
        None => (leaf(expr, schema), false),
    };
    if let Some(leaf) = part {
        if let Some(at) = indices.iter().position(|index| *index == leaf.column) {
            let path: Vec<&str> = leaf.path.iter().map(String::as_str).collect();
            if shape_only { wanted[at].add_shape(&path) } else { wanted[at].add(&path) }
        }
        for index in leaf.subscripts {
            visit(&index, schema, indices, wanted);
        }
        return;
    }
    for child in expr.children() {
        visit(child, schema, indices, wanted);
    }
}

/// What `expr` looks at only to see whether it is there, or how long it is. Items of lists and maps that are no structs
/// are not told apart from NULL without their values.
fn of_shape(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Leaf> {
    let tested = expr.downcast_ref::<IsNullExpr>().map(IsNullExpr::arg);
    let tested = tested.or_else(|| expr.downcast_ref::<IsNotNullExpr>().map(IsNotNullExpr::arg));
    let is_told = |leaf: &Leaf| leaf.data_type.is_nested() || leaf.subscripts.is_empty();
    if let Some(tested) = tested {
        return leaf(tested, schema).filter(is_told);
    }
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let inner = call.fun().inner();
    let [argument] = call.args() else { return None };
    if !inner.is::<ArrayLength>() && !inner.is::<Cardinality>() && !inner.is::<ArrayEmpty>() {
        return None;
    }
    leaf(argument, schema).filter(|leaf| leaf.data_type.is_nested())
}

/// A column, or a field somewhere inside it.
struct Leaf {
    column: usize,
    path: Vec<String>,
    data_type: DataType,
    /// The list subscripts and map keys passed on the way, which may use columns of their own.
    subscripts: Vec<Arc<dyn PhysicalExpr>>,
}

fn leaf(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Leaf> {
    if let Some(column) = expr.downcast_ref::<Column>() {
        let data_type = schema.fields().get(column.index())?.data_type().clone();
        return Some(Leaf { column: column.index(), path: vec![], data_type, subscripts: vec![] });
    }
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let (base, keys) = call.args().split_first()?;
    let mut leaf = leaf(base, schema)?;
    let inner = call.fun().inner();
    if inner.is::<ArrayElement>() {
        leaf.data_type = item_type(&leaf.data_type)?;
        leaf.subscripts.extend(keys.iter().cloned());
        return Some(leaf);
    }
    if !inner.is::<GetFieldFunc>() {
        return None;
    }
    for key in keys {
        leaf.step(key)?;
    }
    Some(leaf)
}

impl Leaf {
    /// Goes down by one argument of `get_field`: a field of a struct, or a key of a map.
    fn step(&mut self, key: &Arc<dyn PhysicalExpr>) -> Option<()> {
        self.data_type = match &self.data_type {
            DataType::Struct(fields) => {
                let name = text(key)?;
                let (_, field) = fields.find(&name)?;
                self.path.push(name);
                field.data_type().clone()
            }
            DataType::Map(entries, _) => {
                self.subscripts.push(Arc::clone(key));
                let DataType::Struct(fields) = entries.data_type() else { return None };
                fields.get(1)?.data_type().clone()
            }
            _ => return None,
        };
        Some(())
    }
}

fn text(expr: &Arc<dyn PhysicalExpr>) -> Option<String> {
    match expr.downcast_ref::<Literal>()?.value() {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => text.clone(),
        _ => None,
    }
}

fn item_type(list: &DataType) -> Option<DataType> {
    match list {
        DataType::List(item) | DataType::LargeList(item) => Some(item.data_type().clone()),
        _ => None,
    }
}
