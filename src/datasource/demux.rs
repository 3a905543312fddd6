//! Deals the rows of a statement to the files of a folder.
//!
//! ```text
//! rows ──▶ one file
//!      ──▶ several files, a batch to each in turn
//!      ──▶ by partition ──▶ an open file
//!                       ──▶ waiting in memory, while as many files are open as may be ──▶ a further file
//! ```
//!
//! Memory is bounded whatever the number of partitions is: at most [`MAX_OPEN`] files are open, and at most
//! [`MAX_WAITING`] bytes wait. When that is too much, the partitions with the most bytes are written. A partition
//! takes the place of an open file that has got no row for longer; otherwise it becomes a file that ends at once,
//! and its later rows go to a further file of the same folder. The rows of a file are in the order in which they came.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use datafusion::arrow::compute::{concat_batches, take_record_batch};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::row::{OwnedRow, Row, RowConverter, SortField};
use datafusion::common::internal_err;
use datafusion::common::runtime::JoinSet;
use datafusion::datasource::physical_plan::FileSinkConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use futures::TryStreamExt;
use futures::future::BoxFuture;
use object_store::path::Path;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::partitions::folder_name;
use crate::encode::compact;

/// Partitions whose files are open at the same time.
const MAX_OPEN: usize = 64;
/// Bytes of rows of partitions without an open file.
const MAX_WAITING: usize = 128 << 20;
/// Files that have got all their rows, and are being ended.
const MAX_ENDING: usize = 4;
/// Batches that wait for a file to take them.
const BATCHES_AHEAD: usize = 2;
/// Bytes of a batch besides its columns, about.
const BATCH_OVERHEAD: usize = 512;
/// Batches of a waiting partition that are put together.
const SMALL_BATCHES: usize = 64;

/// A file to begin, one of several.
#[derive(Debug)]
pub(crate) struct Part {
    /// The names of the partition folders that it lies in.
    folders: Vec<String>,
    number: usize,
}

impl Part {
    /// Where it lies, if all files are in `folder` and their names begin with `id`.
    pub(crate) fn location(&self, folder: &Path, id: &str, extension: &str) -> Path {
        let folder = self.folders.iter().fold(folder.clone(), |path, name| path.join(name.as_str()));
        folder.join(format!("{id}_{}.{extension}", self.number))
    }
}

/// Writes rows to one file, to several, or to those of partitions, as `config` says. `write` begins a file and gives
/// what ends when the file has all its bytes.
///
/// Gives what came of the files that are complete, and the first error: of the rows, or of a file.
pub(crate) async fn write_parts<T: Send + 'static>(
    config: &FileSinkConfig,
    context: &TaskContext,
    rows: SendableRecordBatchStream,
    write: impl FnMut(Part, Receiver<RecordBatch>) -> Result<BoxFuture<'static, Result<T>>> + Send,
) -> (Vec<T>, Option<DataFusionError>) {
    let mut files = Files { write, running: JoinSet::new(), complete: vec![], begun: 0 };
    let is_single = |path| config.file_output_mode.single_file_output(path);
    let outcome = if !config.table_partition_cols.is_empty() {
        Partitions::new(&mut files, MAX_OPEN, MAX_WAITING).write(config, rows).await
    } else if config.table_paths.first().is_some_and(is_single) {
        files.write_one(rows).await
    } else {
        let options = &context.session_config().options().execution;
        let most_files = options.minimum_parallel_output_files.get();
        files.write_in_turn(rows, most_files, options.soft_max_rows_per_output_file.get()).await
    };
    let ended = files.end().await;
    (files.complete, outcome.and(ended).err())
}

/// The files of a statement.
struct Files<T, W> {
    write: W,
    running: JoinSet<Result<T>>,
    complete: Vec<T>,
    begun: usize,
}

impl<T, W> Files<T, W>
where
    T: Send + 'static,
    W: FnMut(Part, Receiver<RecordBatch>) -> Result<BoxFuture<'static, Result<T>>> + Send,
{
    /// Begins a file; it ends when what it gives is dropped.
    fn begin(&mut self, folders: Vec<String>) -> Result<Sender<RecordBatch>> {
        let (batches, waiting) = mpsc::channel(BATCHES_AHEAD);
        let part = Part { folders, number: self.begun };
        self.running.spawn((self.write)(part, waiting)?);
        self.begun += 1;
        Ok(batches)
    }

    /// # Errors
    /// What the file has failed with, if it has.
    async fn send(&mut self, file: &Sender<RecordBatch>, batch: RecordBatch) -> Result<()> {
        if file.send(batch).await.is_ok() {
            return Ok(());
        }
        // It takes no more because it has failed: its own error says why.
        while self.next_complete().await? {}
        internal_err!("a file ended before its rows")
    }

    /// Waits until at most `most` files are not complete.
    async fn wait(&mut self, most: usize) -> Result<()> {
        while self.running.len() > most && self.next_complete().await? {}
        Ok(())
    }

    /// Waits for a file to end; `false` if there is none.
    async fn next_complete(&mut self) -> Result<bool> {
        let Some(ended) = self.running.join_next().await else { return Ok(false) };
        let file = ended.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error))).flatten()?;
        self.complete.push(file);
        Ok(true)
    }

    /// Waits for all files, which get no more rows, whatever becomes of each.
    async fn end(&mut self) -> Result<()> {
        let mut outcome = Ok(());
        loop {
            match self.next_complete().await {
                Ok(true) => {}
                Ok(false) => return outcome,
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
    }

    async fn write_one(&mut self, mut rows: SendableRecordBatchStream) -> Result<()> {
        let file = self.begin(vec![])?;
        while let Some(batch) = rows.try_next().await? {
            self.send(&file, batch).await?;
        }
        Ok(())
    }

    /// Gives each file a batch in turn, and begins another instead of one that has `most_rows`.
    async fn write_in_turn(
        &mut self,
        mut rows: SendableRecordBatchStream,
        most_files: usize,
        most_rows: usize,
    ) -> Result<()> {
        let mut open: VecDeque<(Sender<RecordBatch>, usize)> = VecDeque::new();
        while let Some(batch) = rows.try_next().await? {
            let next = if open.len() < most_files { None } else { open.pop_front() };
            let (file, written) = match next.filter(|(_, written)| *written < most_rows) {
                Some(next) => next,
                None => {
                    self.wait(open.len() + MAX_ENDING).await?;
                    (self.begin(vec![])?, 0)
                }
            };
            let written = written + batch.num_rows();
            self.send(&file, batch).await?;
            open.push_back((file, written));
        }
        Ok(())
    }
}

/// The rows of a statement by partition.
struct Partitions<'a, T, W> {
    files: &'a mut Files<T, W>,
    open: HashMap<OwnedRow, Open>,
    waiting: HashMap<OwnedRow, Waiting>,
    /// Bytes of all that waits.
    waiting_bytes: usize,
    /// Batches of the statement so far.
    now: u64,
    most_open: usize,
    most_waiting: usize,
}

struct Open {
    file: Sender<RecordBatch>,
    /// When it got rows last.
    used: u64,
}

struct Waiting {
    folders: Vec<String>,
    batches: Vec<RecordBatch>,
    bytes: usize,
    /// When its first rows came.
    since: u64,
}

impl<'a, T, W> Partitions<'a, T, W>
where
    T: Send + 'static,
    W: FnMut(Part, Receiver<RecordBatch>) -> Result<BoxFuture<'static, Result<T>>> + Send,
{
    fn new(files: &'a mut Files<T, W>, most_open: usize, most_waiting: usize) -> Self {
        let (open, waiting) = (HashMap::new(), HashMap::new());
        Self { files, open, waiting, waiting_bytes: 0, now: 0, most_open, most_waiting }
    }

    async fn write(mut self, config: &FileSinkConfig, mut rows: SendableRecordBatchStream) -> Result<()> {
        let splitter = Splitter::new(config, &rows.schema())?;
        while let Some(batch) = rows.try_next().await? {
            self.now += 1;
            for group in splitter.split(&batch)? {
                self.add(group).await?;
            }
            if self.waiting_bytes > self.most_waiting {
                self.write_waiting(self.most_waiting / 2).await?;
            }
        }
        self.open.clear();
        self.write_waiting(0).await
    }

    async fn add(&mut self, group: Group) -> Result<()> {
        if let Some(open) = self.open.get_mut(&group.key) {
            open.used = self.now;
            return self.files.send(&open.file, group.rows).await;
        }
        if self.open.len() < self.most_open {
            let file = self.begin(group.folders).await?;
            self.files.send(&file, group.rows).await?;
            self.open.insert(group.key, Open { file, used: self.now });
            return Ok(());
        }
        let waiting = self.waiting.entry(group.key).or_insert_with(|| Waiting {
            folders: group.folders,
            batches: vec![],
            bytes: 0,
            since: self.now,
        });
        self.waiting_bytes -= waiting.bytes;
        waiting.push(&group.rows)?;
        self.waiting_bytes += waiting.bytes;
        Ok(())
    }

    async fn begin(&mut self, folders: Vec<String>) -> Result<Sender<RecordBatch>> {
        self.files.wait(self.open.len() + MAX_ENDING).await?;
        self.files.begin(folders)
    }

    /// Writes the partitions with the most bytes, until at most `rest` bytes wait.
    async fn write_waiting(&mut self, rest: usize) -> Result<()> {
        let mut all: Vec<_> = self.waiting.drain().collect();
        all.sort_by(|(_, a), (_, b)| (b.bytes, &a.folders).cmp(&(a.bytes, &b.folders)));
        let mut all = all.into_iter();
        while self.waiting_bytes > rest {
            let Some((key, waiting)) = all.next() else { break };
            self.waiting_bytes -= waiting.bytes;
            let takes_a_place = self.close_unused_since(waiting.since);
            let file = self.begin(waiting.folders).await?;
            for batch in waiting.batches {
                self.files.send(&file, batch).await?;
            }
            if takes_a_place {
                self.open.insert(key, Open { file, used: self.now });
            }
        }
        self.waiting.extend(all);
        Ok(())
    }

    /// Closes the file that has got no rows for the longest time, if that is since `time`.
    fn close_unused_since(&mut self, time: u64) -> bool {
        let oldest = self.open.iter().min_by_key(|(_, open)| open.used);
        let oldest = oldest.filter(|(_, open)| open.used < time).map(|(key, _)| key.clone());
        oldest.is_some_and(|key| self.open.remove(&key).is_some())
    }
}

impl Waiting {
    /// Keeps rows, without what they share with others.
    fn push(&mut self, rows: &RecordBatch) -> Result<()> {
        let columns = rows.columns().iter().map(compact).collect::<Result<Vec<_>>>()?;
        self.batches.push(with_columns(rows, columns)?);
        if self.batches.len() >= SMALL_BATCHES {
            self.batches = vec![concat_batches(rows.schema_ref(), &self.batches)?];
        }
        self.bytes = self.batches.iter().map(|batch| BATCH_OVERHEAD + batch.get_array_memory_size()).sum();
        Ok(())
    }
}

/// Cuts batches by partition.
struct Splitter {
    /// Names and places of the partition columns.
    partition_columns: Vec<(String, usize)>,
    /// Places of the columns of the files.
    file_columns: Vec<usize>,
    keys: RowConverter,
}

/// The rows of a batch that belong to one partition.
struct Group {
    key: OwnedRow,
    folders: Vec<String>,
    rows: RecordBatch,
}

impl Splitter {
    fn new(config: &FileSinkConfig, schema: &Schema) -> Result<Self> {
        let names = config.table_partition_cols.iter().map(|(name, _)| name);
        let partition_columns = names.map(|name| Ok((name.clone(), schema.index_of(name)?)));
        let partition_columns = partition_columns.collect::<Result<Vec<_>>>()?;
        let is_partition = |index: &usize| partition_columns.iter().any(|(_, place)| place == index);
        let file_columns = (0..schema.fields().len())
            .filter(|index| config.keep_partition_by_columns || !is_partition(index))
            .collect();
        let kinds = partition_columns.iter().map(|(_, index)| schema.field(*index).data_type());
        let keys = RowConverter::new(kinds.map(|kind| SortField::new(kind.clone())).collect())?;
        Ok(Self { partition_columns, file_columns, keys })
    }

    /// The partitions in the order of their first rows.
    fn split(&self, batch: &RecordBatch) -> Result<Vec<Group>> {
        let columns: Vec<ArrayRef> =
            self.partition_columns.iter().map(|(_, index)| Arc::clone(batch.column(*index))).collect();
        let keys = self.keys.convert_columns(&columns)?;
        let mut places: HashMap<Row<'_>, usize> = HashMap::new();
        let mut groups: Vec<(Row<'_>, Vec<u32>)> = vec![];
        for (row, key) in (0u32..).zip(&keys) {
            let place = *places.entry(key).or_insert(groups.len());
            match groups.get_mut(place) {
                Some((_, rows)) => rows.push(row),
                None => groups.push((key, vec![row])),
            }
        }
        let file_rows = batch.project(&self.file_columns)?;
        let is_whole = groups.len() == 1;
        let group = |(key, rows): (Row<'_>, Vec<u32>)| {
            let first = rows.first().copied().unwrap_or_default() as usize;
            let folders = self.partition_columns.iter().zip(&columns);
            let folders = folders.map(|((name, _), column)| folder_name(name, column, first));
            let folders = folders.collect::<Result<Vec<_>>>()?;
            let rows = match is_whole {
                true => file_rows.clone(),
                false => take_record_batch(&file_rows, &UInt32Array::from(rows))?,
            };
            Ok(Group { key: key.owned(), folders, rows })
        };
        groups.into_iter().map(group).collect()
    }
}

/// The rows with other columns of the same types.
fn with_columns(rows: &RecordBatch, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(rows.schema(), columns, &options)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use datafusion::arrow::array::{AsArray, Int64Array, StringViewArray};
    use datafusion::arrow::datatypes::{DataType, Field, Int64Type, SchemaRef};
    use datafusion::common::exec_err;
    use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
    use datafusion::prelude::SessionContext;
    use futures::{FutureExt, StreamExt, stream};

    use super::*;

    /// Batches of rows `(id, text, p)` with `p` as given for the ids.
    fn batches(rows: usize, per_batch: usize, p: impl Fn(usize) -> i64) -> Vec<RecordBatch> {
        let fields = [("id", DataType::Int64), ("text", DataType::Utf8View), ("p", DataType::Int64)];
        let schema = Arc::new(Schema::new(fields.map(|(name, kind)| Field::new(name, kind, true)).to_vec()));
        let ids: Vec<usize> = (0..rows).collect();
        let batch = |ids: &[usize]| {
            let text = ids.iter().map(|id| format!("a text that is longer than a view, number {id}"));
            let columns: Vec<ArrayRef> = vec![
                Arc::new(Int64Array::from_iter_values(ids.iter().map(|id| *id as i64))),
                Arc::new(StringViewArray::from_iter_values(text)),
                Arc::new(Int64Array::from_iter_values(ids.iter().map(|id| p(*id)))),
            ];
            RecordBatch::try_new(Arc::clone(&schema), columns).expect("columns of the schema")
        };
        ids.chunks(per_batch).map(batch).collect()
    }

    fn config(schema: &SchemaRef, partitioned: bool, target: &str) -> FileSinkConfig {
        use datafusion::datasource::listing::ListingTableUrl;
        use datafusion::datasource::physical_plan::{FileGroup, FileOutputMode};
        let target = ListingTableUrl::parse(target).expect("a URL");
        FileSinkConfig {
            original_url: target.to_string(),
            object_store_url: target.object_store(),
            file_group: FileGroup::default(),
            table_paths: vec![target],
            output_schema: Arc::clone(schema),
            table_partition_cols: partitioned
                .then(|| ("p".to_string(), DataType::Int64))
                .into_iter()
                .collect(),
            insert_op: datafusion::logical_expr::dml::InsertOp::Append,
            keep_partition_by_columns: false,
            file_extension: "x".to_string(),
            file_output_mode: FileOutputMode::Automatic,
        }
    }

    /// Files that were written: where, and the ids in them.
    type Written = Vec<(String, Vec<i64>)>;

    /// Writes the batches; gives the files, and how many were open at most.
    async fn write(batches: &[RecordBatch], most_open: usize, most_waiting: usize) -> (Written, usize) {
        let schema = batches[0].schema();
        let config = config(&schema, true, "mem:///t/");
        let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let write = |part: Part, mut rows: Receiver<RecordBatch>| {
            let (open, most) = (Arc::clone(&open), Arc::clone(&most));
            most.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let file = async move {
                let mut ids = vec![];
                while let Some(batch) = rows.recv().await {
                    assert_eq!(batch.num_columns(), 2, "the partition column is in the path");
                    ids.extend_from_slice(batch.column(0).as_primitive::<Int64Type>().values());
                }
                open.fetch_sub(1, Ordering::SeqCst);
                Ok((part.location(&Path::from("t"), "id", "x").to_string(), ids))
            };
            Ok(file.boxed())
        };
        let mut files = Files { write, running: JoinSet::new(), complete: vec![], begun: 0 };
        let rows = stream::iter(batches.to_vec()).map(Ok);
        let rows = Box::pin(RecordBatchStreamAdapter::new(schema, rows));
        let outcome = Partitions::new(&mut files, most_open, most_waiting).write(&config, rows).await;
        outcome.and(files.end().await).expect("written");
        let most = most.load(Ordering::SeqCst);
        (files.complete, most)
    }

    #[tokio::test]
    async fn few_files_are_open_and_every_row_is_in_one() {
        let spread = |id: usize| (id * 7919 % 40) as i64;
        let sorted = |id: usize| (id / 100) as i64;
        for (name, p) in [("spread", &spread as &dyn Fn(usize) -> i64), ("sorted", &sorted)] {
            let batches = batches(4000, 50, p);
            for (most_open, most_waiting) in [(1, 0), (3, 20_000), (64, 0), (8, 16 << 20)] {
                let (files, most) = write(&batches, most_open, most_waiting).await;
                let case = format!("{name}, {most_open} open, {most_waiting} bytes: {} files", files.len());
                assert!(most <= most_open + MAX_ENDING + 1, "{case}: {most}");
                let mut all: Vec<i64> = files.iter().flat_map(|(_, ids)| ids.clone()).collect();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..4000), "{case}");
                for (path, ids) in &files {
                    assert!(ids.is_sorted(), "{case}: {path}");
                    let folder = format!("t/p={}/", p(ids[0] as usize));
                    assert!(
                        path.starts_with(&folder)
                            && ids.iter().all(|id| p(*id as usize) == p(ids[0] as usize))
                    );
                }
                let names: std::collections::HashSet<_> = files.iter().map(|(path, _)| path).collect();
                assert_eq!(names.len(), files.len(), "{case}");
                if most_open == 64 || most_waiting == 16 << 20 {
                    assert_eq!(files.len(), 40, "{case}");
                }
            }
        }
    }

    #[tokio::test]
    async fn a_partition_that_ended_gives_its_place_to_another() {
        let batches = batches(4000, 50, |id| (id / 100) as i64);
        let (files, _) = write(&batches, 2, 0).await;
        assert_eq!(files.len(), 40, "rows that come sorted need one file each");
    }

    #[tokio::test]
    async fn what_waits_keeps_no_bytes_of_others() {
        let batches = batches(1000, 1000, |id| (id % 100) as i64);
        let splitter = Splitter::new(&config(&batches[0].schema(), true, "mem:///t/"), &batches[0].schema());
        let group = splitter.expect("columns").split(&batches[0]).expect("rows").remove(0);
        let mut waiting = Waiting { folders: vec![], batches: vec![], bytes: 0, since: 0 };
        waiting.push(&group.rows).expect("valid");
        assert!(waiting.bytes < 3000, "{}", waiting.bytes);
        for _ in 0..SMALL_BATCHES {
            waiting.push(&group.rows).expect("valid");
        }
        assert!(waiting.batches.len() < SMALL_BATCHES);
        assert_eq!(
            waiting.batches.iter().map(RecordBatch::num_rows).sum::<usize>(),
            10 * (SMALL_BATCHES + 1)
        );
    }

    #[tokio::test]
    async fn the_error_of_a_file_is_the_error() {
        let batches = batches(4000, 50, |id| (id % 5) as i64);
        for (partitioned, target) in [(true, "mem:///t/"), (false, "mem:///t/"), (false, "mem:///t.x")] {
            let config = config(&batches[0].schema(), partitioned, target);
            let ended = Arc::new(Mutex::new(0));
            let write = |part: Part, mut rows: Receiver<RecordBatch>| {
                let ended = Arc::clone(&ended);
                let file = async move {
                    let mut n = 0;
                    while rows.recv().await.is_some() {
                        n += 1;
                        if part.number == 0 && n == 3 {
                            return exec_err!("the disk is full");
                        }
                    }
                    *ended.lock().expect("whole") += 1;
                    Ok(())
                };
                Ok(file.boxed())
            };
            let rows = stream::iter(batches.clone()).map(Ok);
            let rows = Box::pin(RecordBatchStreamAdapter::new(batches[0].schema(), rows));
            let context = SessionContext::new().task_ctx();
            let (complete, failed) = write_parts(&config, &context, rows, write).await;
            assert_eq!(failed.expect("it fails").strip_backtrace(), "Execution error: the disk is full");
            assert_eq!(complete.len(), *ended.lock().expect("whole"), "all others have ended");
        }
    }
}
