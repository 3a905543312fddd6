//! Keys of maps in queries: `m[1]` asks for a key of the map's own type, whatever type the literal has.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, TryCast};
use datafusion::optimizer::AnalyzerRule;

/// Gives the keys that maps are asked for the type of the maps' keys.
///
/// DataFusion plans `m[1]` as `get_field(m, Int64(1))`, and compares keys of equal types only: maps with keys of any
/// other integer type would have to be asked with `m[arrow_cast(1, 'UInt64')]`.
#[derive(Debug)]
pub(super) struct MapKeys;

impl MapKeys {
    pub(super) const NAME: &str = "map_keys";
}

impl AnalyzerRule for MapKeys {
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
                let changed = expr.transform_up(|expr| with_own_keys(expr, &schema))?;
                Ok(changed.update_data(|expr| name.restore(expr)))
            })
        })
        .map(|changed| changed.data)
    }
}

/// `get_field` with keys of the types that the maps have.
fn with_own_keys(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::ScalarFunction(ScalarFunction { func, mut args }) = expr else {
        return Ok(Transformed::no(expr));
    };
    let mut changed = false;
    if let ("get_field", [container, path @ ..]) = (func.name(), &mut args[..]) {
        let name = container.schema_name().to_string();
        let mut inside = container.get_type(schema).ok();
        for step in path {
            if let Some(key) = inside.as_ref().and_then(key_type)
                && let Some(own) = own_key(&name, step, key, schema)?
            {
                *step = own;
                changed = true;
            }
            inside = inside.and_then(|data_type| part_type(&data_type, step));
        }
    }
    Ok(Transformed::new_transformed(Expr::ScalarFunction(ScalarFunction { func, args }), changed))
}

/// The type of a map's keys.
fn key_type(data_type: &DataType) -> Option<&DataType> {
    match data_type {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(parts) => parts.first().map(|key| key.data_type()),
            _ => None,
        },
        _ => None,
    }
}

/// The type of what `step` leads to: a field of a struct, or a value of a map.
fn part_type(data_type: &DataType, step: &Expr) -> Option<DataType> {
    match (data_type, step) {
        (DataType::Map(entries, _), _) => match entries.data_type() {
            DataType::Struct(parts) => parts.get(1).map(|value| value.data_type().clone()),
            _ => None,
        },
        (DataType::Struct(fields), Expr::Literal(name, _)) => {
            let (_, field) = fields.find(name.try_as_str()??)?;
            Some(field.data_type().clone())
        }
        _ => None,
    }
}

/// `asked` as a key of type `key`; `None` if it can stay as it is. A number that the type does not have is NULL, which
/// no map has as its key.
///
/// # Errors
/// Text for a map of numbers, a number for one of text.
fn own_key(map: &str, asked: &Expr, key: &DataType, schema: &DFSchema) -> Result<Option<Expr>> {
    let data_type = asked.get_type(schema)?;
    if data_type == *key {
        return Ok(None);
    }
    let kinds = (Kind::of(&data_type), Kind::of(key));
    match (asked, kinds) {
        (_, (Some(asked_kind), Some(key_kind))) if asked_kind != key_kind => plan_err!(
            "the keys of the map '{map}' are {} (of type {key}), and it is asked for {}: {asked}",
            key_kind.words(),
            asked_kind.words()
        ),
        (Expr::Literal(value, metadata), (Some(_), Some(_))) => {
            Ok(Some(Expr::Literal(own_value(value, key)?, metadata.clone())))
        }
        (Expr::Literal(value, metadata), (_, Some(_))) if value.is_null() => {
            Ok(Some(Expr::Literal(ScalarValue::try_from(key)?, metadata.clone())))
        }
        // What is computed of literals becomes one later.
        (_, (Some(_), Some(_))) => {
            Ok(Some(Expr::TryCast(TryCast::new(Box::new(asked.clone()), key.clone()))))
        }
        _ => Ok(None),
    }
}

/// A value of the type `key` that is equal to `value`, else NULL.
fn own_value(value: &ScalarValue, key: &DataType) -> Result<ScalarValue> {
    let equal = |own: &ScalarValue| own.cast_to(&value.data_type()).is_ok_and(|back| back == *value);
    match value.cast_to(key).ok().filter(equal) {
        Some(own) => Ok(own),
        None => ScalarValue::try_from(key),
    }
}

/// What can be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Truth,
}

impl Kind {
    fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            number if number.is_numeric() => Some(Self::Number),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Self::Text),
            DataType::Boolean => Some(Self::Truth),
            _ => None,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Number => "numbers",
            Self::Text => "text",
            Self::Truth => "true and false",
        }
    }
}
