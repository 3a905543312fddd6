//! Names of enum values in conditions: a column shows one name of each number, and a condition may ask for another.

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;
use recordfusion_core::nearest_names;
use recordfusion_protobuf::{EnumText, EnumValues};

/// Makes comparisons of enum columns with an alias find the values, and warns of texts that no value shows as.
///
/// `status = 'OLD_NAME'` becomes `status = 'OLD_NAME' OR status = 'NAME'`, so that a column keeps what it finds if it
/// has become another's, and no longer has only the names that its records show.
#[derive(Debug)]
pub(super) struct EnumConditions;

impl EnumConditions {
    pub(super) const NAME: &str = "enum_conditions";
}

impl AnalyzerRule for EnumConditions {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let inputs = plan.inputs();
            let schema = match inputs.is_empty() {
                true => plan.schema().as_ref().clone(),
                false => merge_schema(&inputs),
            };
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let changed = expr.transform_up(|expr| Ok(with_all_names(expr, &schema)))?;
                Ok(changed.update_data(|expr| name.restore(expr)))
            })
        })
        .map(|changed| changed.data)
    }
}

/// A comparison that finds the values under all of their names.
fn with_all_names(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(comparison) => match other_comparison(&comparison, schema) {
            Some(other) => {
                let both = match comparison.op {
                    Operator::Eq | Operator::IsNotDistinctFrom => Operator::Or,
                    _ => Operator::And,
                };
                let comparison = Box::new(Expr::BinaryExpr(comparison));
                Transformed::yes(Expr::BinaryExpr(BinaryExpr::new(comparison, both, Box::new(other))))
            }
            None => Transformed::no(Expr::BinaryExpr(comparison)),
        },
        Expr::InList(InList { expr, mut list, negated }) => {
            let others: Vec<Expr> = list.iter().filter_map(|item| shown(&expr, item, schema)).collect();
            let is_changed = !others.is_empty();
            list.extend(others);
            Transformed::new_transformed(Expr::InList(InList { expr, list, negated }), is_changed)
        }
        other => Transformed::no(other),
    }
}

/// The comparison with the name that shows, if one compares an enum with an alias.
fn other_comparison(comparison: &BinaryExpr, schema: &DFSchema) -> Option<Expr> {
    use Operator::{Eq, IsDistinctFrom, IsNotDistinctFrom, NotEq};
    let BinaryExpr { left, op, right } = comparison;
    if !matches!(op, Eq | NotEq | IsDistinctFrom | IsNotDistinctFrom) {
        return None;
    }
    let (left, right) = match shown(left, right, schema) {
        Some(shown) => (left.clone(), Box::new(shown)),
        None => (Box::new(shown(right, left, schema)?), right.clone()),
    };
    Some(Expr::BinaryExpr(BinaryExpr::new(left, *op, right)))
}

/// The literal with the name that shows, if `literal` is an alias of a value of the enum `column`. A literal that is no
/// value is told of.
fn shown(column: &Expr, literal: &Expr, schema: &DFSchema) -> Option<Expr> {
    let text = literal_text(literal)?;
    let field = enum_field(column, schema)?;
    let values = EnumValues::of(&field)?;
    match values.meaning(&text) {
        EnumText::Shown => None,
        EnumText::Alias(name) => Some(with_text(literal, name)),
        EnumText::Number(name) => {
            log::warn!("'{text}' is no value of {column}: the number shows as '{name}'");
            None
        }
        EnumText::Unknown => {
            let nearest = nearest_names(&text, values.names());
            let hint = match nearest.is_empty() {
                true => String::new(),
                false => format!("; did you mean {}?", nearest.join(" or ")),
            };
            log::warn!("'{text}' is no value of {column}, of the enum {}{hint}", values.type_name);
            None
        }
    }
}

/// The field of a column of enum values as text, or of a part of a column.
fn enum_field(expr: &Expr, schema: &DFSchema) -> Option<FieldRef> {
    match expr {
        Expr::Cast(cast) => enum_field(&cast.expr, schema),
        Expr::TryCast(cast) => enum_field(&cast.expr, schema),
        Expr::Alias(alias) => enum_field(&alias.expr, schema),
        Expr::Column(_) => expr.to_field(schema).ok().map(|(_, field)| field),
        Expr::ScalarFunction(call) => match (call.name(), call.args.first()) {
            ("get_field", _) => expr.to_field(schema).ok().map(|(_, field)| field),
            // The list has what its items are.
            ("array_element", Some(list)) => enum_field(list, schema),
            _ => None,
        },
        _ => None,
    }
}

fn literal_text(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Cast(cast) => literal_text(&cast.expr),
        Expr::TryCast(cast) => literal_text(&cast.expr),
        Expr::Literal(value, _) => scalar_text(value).map(str::to_string),
        _ => None,
    }
}

fn scalar_text(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Dictionary(_, value) => scalar_text(value),
        value => value.try_as_str().flatten(),
    }
}

/// The same literal with another text.
fn with_text(expr: &Expr, text: &str) -> Expr {
    let mut changed = expr.clone();
    match &mut changed {
        Expr::Cast(cast) => *cast.expr = with_text(&cast.expr, text),
        Expr::TryCast(cast) => *cast.expr = with_text(&cast.expr, text),
        Expr::Literal(value, _) => *value = scalar_with_text(value, text),
        _ => {}
    }
    changed
}

fn scalar_with_text(value: &ScalarValue, text: &str) -> ScalarValue {
    let text = text.to_string();
    match value {
        ScalarValue::Dictionary(key, value) => {
            ScalarValue::Dictionary(key.clone(), Box::new(scalar_with_text(value, &text)))
        }
        ScalarValue::LargeUtf8(_) => ScalarValue::LargeUtf8(Some(text)),
        ScalarValue::Utf8View(_) => ScalarValue::Utf8View(Some(text)),
        _ => ScalarValue::Utf8(Some(text)),
    }
}
