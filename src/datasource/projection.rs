//! Which leaves of which columns the expressions of a projection need.

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::functions_nested::extract::ArrayElement;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use recordfusion_core::Selection;
use std::sync::Arc;

/// What `projection` needs of each of the file columns `indices`, in their order.
///
/// Chains such as `get_field(get_field(geo, 'place'), 'city')` and `get_field(spans[1], 'name')` need
/// one leaf; any other use of a column needs all of it.
pub(super) fn selections(projection: &ProjectionExprs, schema: &Schema, indices: &[usize]) -> Vec<Selection> {
    let mut wanted = vec![Selection::none(); indices.len()];
    for projected in projection {
        visit(&projected.expr, schema, indices, &mut wanted);
    }
    wanted
}

fn visit(expr: &Arc<dyn PhysicalExpr>, schema: &Schema, indices: &[usize], wanted: &mut [Selection]) {
    if let Some(leaf) = leaf(expr, schema) {
        if let Some(at) = indices.iter().position(|index| *index == leaf.column) {
            wanted[at].add(&leaf.path.iter().map(String::as_str).collect::<Vec<_>>());
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
