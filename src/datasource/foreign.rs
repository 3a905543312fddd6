//! Files of DataFusion's own formats: found by the same rules as record files, read by DataFusion's tables.
//!
//! A table of DataFusion's would list the files by itself, by other rules of patterns, and give up at a name that it
//! cannot follow. So it is given each file by name; as it sees no folders then, files of one partition are one table,
//! with the values of the partition columns beside it.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, ScalarValue, plan_err};
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableConfigExt, ListingTableUrl,
};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Union};
use object_store::ObjectMeta;

use super::files::{describe_location, partition_columns, partition_values};
use super::listing::list_objects;
use super::location::file_at;

/// The files at `path` as one table; `None` if there are none, or if the first is of no format that the session knows.
/// Their format is that of `options`, or else by the extension of the first.
///
/// # Errors
/// A file of a pattern that has another extension, or lies outside the partitions; whatever the format finds wrong.
pub(crate) async fn open_foreign(
    state: &SessionState,
    path: &ListingTableUrl,
    options: Option<ListingOptions>,
) -> Result<Option<Arc<dyn TableProvider>>> {
    let mut files = list_objects(state, path).await?;
    let Some(first) = files.first() else { return Ok(None) };
    let options = match options {
        Some(options) => options,
        None => {
            let first = ListingTableConfig::new(file_at(path, &first.location)?);
            match first.infer_options(state).await.ok().and_then(|config| config.options) {
                Some(options) => options,
                None => return Ok(None),
            }
        }
    };
    let is_ours = |file: &ObjectMeta| file.location.as_ref().ends_with(&options.file_extension);
    if let (Some(other), true) = (files.iter().find(|file| !is_ours(file)), path.get_glob().is_some()) {
        let name = describe_location(&path.object_store(), &other.location);
        return plan_err!("{name} is no .{} file, but others of the pattern are", options.file_extension);
    }
    // Of a folder, DataFusion reads the files of one extension.
    files.retain(is_ours);
    let store = state.runtime_env().object_store(path)?;
    let with_data: Vec<ObjectMeta> = files.iter().filter(|file| file.size > 0).cloned().collect();
    let schema = options.format.infer_schema(state, &store, &with_data).await?;
    let columns = partition_columns(path, files.iter().map(|file| &file.location), None)?;
    let mut parts: Vec<(Vec<ScalarValue>, Vec<ListingTableUrl>)> = Vec::new();
    for file in &files {
        let values = partition_values(path, &file.location, &columns)?;
        let url = file_at(path, &file.location)?;
        match parts.last_mut() {
            Some((last, urls)) if *last == values => urls.push(url),
            _ => parts.push((values, vec![url])),
        }
    }
    let table = |urls: Vec<ListingTableUrl>| {
        let config = ListingTableConfig::new_with_multi_paths(urls).with_listing_options(options.clone());
        ListingTable::try_new(config.with_schema(Arc::clone(&schema)))
    };
    if columns.is_empty() {
        let urls = parts.into_iter().flat_map(|(_, urls)| urls).collect();
        return Ok(Some(Arc::new(table(urls)?)));
    }
    let parts = parts.into_iter().map(|(values, urls)| Ok((values, Arc::new(table(urls)?))));
    let plan = partitioned(parts.collect::<Result<_>>()?, &schema, &columns)?;
    Ok(Some(Arc::new(ViewTable::new(plan, None))))
}

/// The rows of all tables, each with the values of its partition.
fn partitioned(
    tables: Vec<(Vec<ScalarValue>, Arc<ListingTable>)>,
    schema: &SchemaRef,
    columns: &[(String, DataType)],
) -> Result<LogicalPlan> {
    let part = |(values, table): (Vec<ScalarValue>, Arc<ListingTable>)| {
        let of_files =
            schema.fields().iter().map(|field| Expr::Column(Column::new_unqualified(field.name())));
        let of_folders = columns.iter().zip(values);
        let of_folders = of_folders.map(|((name, _), value)| Expr::Literal(value, None).alias(name));
        let scan = LogicalPlanBuilder::scan("files", provider_as_source(table), None)?;
        Ok(Arc::new(scan.project(of_files.chain(of_folders))?.build()?))
    };
    let parts = tables.into_iter().map(part).collect::<Result<Vec<_>>>()?;
    match parts.as_slice() {
        [only] => Ok(only.as_ref().clone()),
        _ => Ok(LogicalPlan::Union(Union::try_new(parts)?)),
    }
}
