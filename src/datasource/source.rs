//! The `FileSource`: what DataFusion's optimizer may push into a scan of record files.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{
    FileGroup, FileGroupPartitioner, FileOpener, FileScanConfig, FileSource,
};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, conjunction};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, apply_expression_roots};
use object_store::ObjectStore;
use object_store::path::Path;
use recordfusion_core::{LostRegions, Selection};

use super::RecordFormat;
use super::filter::{self, is_applicable};
use super::limit::Executions;
use super::metrics::ScanMetrics;
use super::opener::{FileColumns, RecordOpener};
use super::projection::selections;

/// Reads the files of a [`RecordFormat`].
///
/// Takes every projection: of a column that is only used by field, only those fields are decoded. Takes every
/// filter that looks at columns of the files only.
#[derive(Debug, Clone)]
pub struct RecordSource {
    format: RecordFormat,
    table_schema: TableSchema,
    projection: SplitProjection,
    filter: Option<Arc<dyn PhysicalExpr>>,
    batch_size: usize,
    metrics: ExecutionPlanMetricsSet,
    lost_regions: Arc<LostRegions>,
    executions: Executions,
}

impl RecordSource {
    /// A source of all columns of `table_schema`.
    pub fn new(format: RecordFormat, table_schema: TableSchema) -> Self {
        Self {
            format,
            projection: SplitProjection::unprojected(&table_schema),
            table_schema,
            filter: None,
            batch_size: 8192,
            metrics: ExecutionPlanMetricsSet::new(),
            lost_regions: Arc::default(),
            executions: Executions::default(),
        }
    }

    /// The format that is read.
    pub fn format(&self) -> &RecordFormat {
        &self.format
    }

    /// The damaged regions that were passed over so far.
    pub fn lost_regions(&self) -> &LostRegions {
        &self.lost_regions
    }

    fn selections(&self) -> Vec<Selection> {
        let exprs = self.projection.source.iter().map(|projected| &projected.expr);
        selections(exprs, self.table_schema.file_schema(), &self.projection.file_indices)
    }

    /// The columns that the filter looks at, and what it needs of them.
    fn filter_columns(&self, filter: &Arc<dyn PhysicalExpr>) -> Result<FileColumns> {
        let (schema, indices) = (self.table_schema.file_schema(), filter::columns(filter));
        let selections = selections([filter], schema, &indices);
        Ok(FileColumns { schema: Arc::new(schema.project(&indices)?), selections })
    }
}

impl FileSource for RecordSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let file_schema = self.table_schema.file_schema();
        let opener = RecordOpener {
            format: self.format.clone(),
            store,
            store_url: config.object_store_url.clone(),
            columns: FileColumns {
                schema: Arc::new(file_schema.project(&self.projection.file_indices)?),
                selections: self.selections(),
            },
            filter: match &self.filter {
                Some(filter) => Some((Arc::clone(filter), self.filter_columns(filter)?)),
                None => None,
            },
            limit: config.limit.map(|limit| (limit, self.executions.join(partition, limit))),
            batch_size: self.batch_size,
            metrics: ScanMetrics::new(
                self.format.connector().as_ref(),
                &self.metrics,
                partition,
                Arc::clone(&self.lost_regions),
            ),
        };
        ProjectionOpener::try_new(self.projection.clone(), Arc::new(opener), file_schema)
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { batch_size, ..self.clone() })
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.table_schema.file_schema(), &merged);
        Ok(Some(Arc::new(Self { projection, ..self.clone() })))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.filter.clone()
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let file_schema = self.table_schema.file_schema();
        let taken: Vec<bool> = filters.iter().map(|filter| is_applicable(filter, file_schema)).collect();
        let answers =
            taken.iter().map(|taken| if *taken { PushedDown::Yes } else { PushedDown::No }).collect();
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(answers);
        if !taken.contains(&true) {
            return Ok(answer);
        }
        let new = filters.into_iter().zip(taken).filter(|(_, taken)| *taken).map(|(filter, _)| filter);
        let filter = Some(conjunction(self.filter.iter().cloned().chain(new)));
        Ok(answer.with_updated_node(Arc::new(Self { filter, ..self.clone() })))
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        repartition_file_min_size: usize,
        output_ordering: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        if self.filter.is_none() && config.limit.is_some_and(|limit| limit <= self.batch_size) {
            // The first file has the rows most likely: other partitions would read for nothing.
            return Ok(None);
        }
        let groups = FileGroupPartitioner::new()
            .with_target_partitions(target_partitions)
            .with_repartition_file_min_size(repartition_file_min_size)
            .with_preserve_order_within_groups(output_ordering.is_some())
            .repartition_file_groups(&config.file_groups);
        let alignment = self.format.connector().range_alignment();
        Ok(groups.map(|groups| {
            let mut whole = Whole::new();
            for file in config.file_groups.iter().flat_map(FileGroup::iter) {
                whole.entry(&file.object_meta.location).or_default().push(bounds(file));
            }
            let groups = groups.into_iter().map(|group| aligned(group, &whole, alignment));
            let mut cut = config.clone();
            cut.file_groups = groups.filter(|group| !group.is_empty()).collect();
            cut
        }))
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        self.format.connector().name()
    }

    fn fmt_extra(&self, kind: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let parts: Vec<String> = self
            .projection
            .file_indices
            .iter()
            .zip(self.selections())
            .filter(|(_, selection)| *selection != Selection::All)
            .flat_map(|(index, selection)| {
                paths(self.table_schema.file_schema().field(*index).name(), &selection)
            })
            .collect();
        let tree = matches!(kind, DisplayFormatType::TreeRender);
        if !parts.is_empty() {
            let parts = parts.join(", ");
            if tree { writeln!(f, "fields={parts}")? } else { write!(f, ", fields=[{parts}]")? }
        }
        match &self.filter {
            Some(filter) if tree => writeln!(f, "filter={filter}"),
            Some(filter) => write!(f, ", filter={filter}"),
            None => Ok(()),
        }
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let projected = self.projection.source.iter().map(|projected| &projected.expr);
        apply_expression_roots(projected.chain(&self.filter), visit)
    }
}

/// The ranges of the files before they were cut.
type Whole<'a> = HashMap<&'a Path, Vec<FileRange>>;

/// The ranges of a group, cut at multiples of `alignment`. Cuts move down, so that ranges stay
/// contiguous and disjoint; a range that becomes empty is dropped. The bounds of `whole`, which was cut, stay.
fn aligned(group: FileGroup, whole: &Whole<'_>, alignment: u64) -> FileGroup {
    let alignment = i64::try_from(alignment).unwrap_or(1).max(1);
    let files = group.into_inner().into_iter().filter_map(|mut file| {
        let Some(part) = file.range.clone() else { return Some(file) };
        let of_file = whole.get(&file.object_meta.location).map_or(&[][..], Vec::as_slice);
        let bounds = of_file.iter().find(|bounds| bounds.start <= part.start && part.end <= bounds.end);
        let part = aligned_range(&part, alignment, bounds.unwrap_or(&part));
        file.range = Some(part.clone());
        (part.start < part.end).then_some(file)
    });
    FileGroup::new(files.collect::<Vec<PartitionedFile>>())
}

/// The bytes of a file that are to be read.
fn bounds(file: &PartitionedFile) -> FileRange {
    let size = i64::try_from(file.object_meta.size).unwrap_or(i64::MAX);
    file.range.clone().unwrap_or(FileRange { start: 0, end: size })
}

fn aligned_range(part: &FileRange, alignment: i64, bounds: &FileRange) -> FileRange {
    let down = |cut: i64| match cut < bounds.end {
        true => (cut / alignment * alignment).max(bounds.start),
        false => cut,
    };
    FileRange { start: down(part.start), end: down(part.end) }
}

/// The dotted paths of the leaves of a selection.
fn paths(name: &str, selection: &Selection) -> Vec<String> {
    match selection {
        Selection::All => vec![name.to_string()],
        Selection::Fields(fields) if fields.is_empty() => vec![format!("{name} (presence)")],
        Selection::Fields(fields) => {
            fields.iter().flat_map(|(field, below)| paths(&format!("{name}.{field}"), below)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_ranges_stay_a_partition_of_the_whole() {
        for cuts in [
            vec![0, 1, 99, 100, 101, 555, 1000],
            vec![0, 10, 64],
            vec![0, 100],
            vec![150, 170, 190, 430],
            vec![199, 201, 299],
        ] {
            let bounds = FileRange { start: cuts[0], end: cuts[cuts.len() - 1] };
            let ranges: Vec<_> = cuts
                .windows(2)
                .map(|cut| aligned_range(&FileRange { start: cut[0], end: cut[1] }, 100, &bounds))
                .filter(|range| range.start < range.end)
                .collect();
            assert_eq!(ranges.first().map(|range| range.start), Some(bounds.start));
            assert_eq!(ranges.last().map(|range| range.end), Some(bounds.end));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(ranges.iter().skip(1).all(|range| range.start % 100 == 0));
        }
    }
}
