//! Sequential reading of a file in large ranges, a bounded way ahead.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures::future::{BoxFuture, FutureExt, MaybeDone, maybe_done};

use crate::{RecordFile, Result, ScanCounters};

/// Bytes of one request to the store; requests begin and end at multiples of it.
const WINDOW: u64 = 1 << 20;
/// Requests under way while an earlier window is used.
const WINDOWS_AHEAD: usize = 2;
/// Least bytes of a request behind the limit.
const SMALL_WINDOW: u64 = 1 << 16;

/// Hands out a file's bytes in order, and requests the next windows before they are needed.
///
/// Holds at most three windows of 1 MiB besides what it has handed out.
pub struct ReadAhead {
    file: RecordFile,
    counters: Arc<ScanCounters>,
    position: u64,
    limit: u64,
    window_begin: u64,
    window: Bytes,
    ahead: VecDeque<Window>,
    /// Windows to request ahead: none at first, because a query may want but a few rows.
    windows_ahead: usize,
}

/// A request for a range of the file.
struct Window {
    begin: u64,
    end: u64,
    bytes: MaybeDone<BoxFuture<'static, Result<Bytes>>>,
}

impl ReadAhead {
    /// Reads from `position` on. Nothing at or behind `limit` is requested before it is asked for.
    pub fn new(file: RecordFile, position: u64, limit: u64, counters: Arc<ScanCounters>) -> Self {
        Self {
            file,
            counters,
            position,
            limit,
            window_begin: position,
            window: Bytes::new(),
            ahead: VecDeque::new(),
            windows_ahead: 0,
        }
    }

    /// The file.
    pub fn file(&self) -> &RecordFile {
        &self.file
    }

    /// Offset in the file of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Goes on at `position`; cheap where it lies in what was requested already.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// Allows to request what lies before `limit` ahead; a limit before the present one changes nothing.
    pub fn extend_limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// The next `len` bytes. They are not copied if they lie in one window, as the bytes of one
    /// 64 KiB block do.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] if the file ends before; [`crate::Error::Store`] if the store fails.
    pub async fn take(&mut self, len: u64) -> Result<Bytes> {
        self.check_there(len)?;
        let first = self.take_part(len).await?;
        if first.len() as u64 == len {
            return Ok(first);
        }
        let mut whole = BytesMut::with_capacity(len as usize);
        whole.extend_from_slice(&first);
        while let Some(left) = len.checked_sub(whole.len() as u64).filter(|left| *left > 0) {
            whole.extend_from_slice(&self.take_part(left).await?);
        }
        Ok(whole.freeze())
    }

    /// Appends the next `len` bytes to `buffer`.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub async fn take_into(&mut self, len: u64, buffer: &mut BytesMut) -> Result<()> {
        self.check_there(len)?;
        buffer.reserve(len as usize);
        let mut left = len;
        while left > 0 {
            let part = self.take_part(left).await?;
            buffer.extend_from_slice(&part);
            left = left.saturating_sub(part.len() as u64);
        }
        Ok(())
    }

    fn check_there(&self, len: u64) -> Result<()> {
        let there = self.file.size.saturating_sub(self.position);
        let Some(missing) = len.checked_sub(there).filter(|missing| *missing > 0) else { return Ok(()) };
        let reason = format!("the file ends {missing} bytes too early");
        Err(self.file.corrupt(self.file.size, reason))
    }

    /// As many of the next `len` bytes as one window holds, at least one if `len` is not zero.
    async fn take_part(&mut self, len: u64) -> Result<Bytes> {
        let window_end = self.window_begin.saturating_add(self.window.len() as u64);
        if len > 0 && !(self.window_begin..window_end).contains(&self.position) {
            self.next_window(len).await?;
        }
        let skip = usize::try_from(self.position.saturating_sub(self.window_begin)).unwrap_or(usize::MAX);
        let skip = skip.min(self.window.len());
        let end = skip.saturating_add(usize::try_from(len).unwrap_or(usize::MAX)).min(self.window.len());
        let part = self.window.slice(skip..end);
        self.position = self.position.saturating_add(part.len() as u64);
        Ok(part)
    }

    /// Moves on to the window that holds the position.
    async fn next_window(&mut self, len: u64) -> Result<()> {
        while self.ahead.front().is_some_and(|window| !(window.begin..window.end).contains(&self.position)) {
            self.ahead.pop_front();
        }
        if self.ahead.is_empty() {
            self.request(self.position, len);
        }
        let wanted = self.position.saturating_add(len);
        while let Some(last) = self.ahead.back() {
            let ahead = if last.end < wanted { WINDOWS_AHEAD } else { self.windows_ahead };
            if self.ahead.len() > ahead || last.end >= self.limit.min(self.file.size) {
                break;
            }
            self.request(last.end, 0);
        }
        self.windows_ahead = self.windows_ahead.saturating_add(1).min(WINDOWS_AHEAD);
        poll_fn(|context| poll_all(&mut self.ahead, context)).await;
        if let Some(mut window) = self.ahead.pop_front() {
            self.window = Pin::new(&mut window.bytes).take_output().unwrap_or(Ok(Bytes::new()))?;
            self.window_begin = window.begin;
            self.counters.bytes_scanned.add(self.window.len() as u64);
        }
        Ok(())
    }

    fn request(&mut self, begin: u64, len: u64) {
        let aligned = (begin / WINDOW).saturating_add(1).saturating_mul(WINDOW);
        let enough = if begin < self.limit { aligned.min(self.limit) } else { begin };
        let least = begin.saturating_add(len.clamp(SMALL_WINDOW, WINDOW));
        let head = self.file.head().len() as u64;
        let end = if begin < head { head } else { enough.max(least.min(aligned)) }.min(self.file.size);
        let file = self.file.clone();
        let bytes = maybe_done(async move { file.read(begin..end).await }.boxed());
        self.ahead.push_back(Window { begin, end, bytes });
    }
}

/// Drives all requests; ready when the first one is.
fn poll_all(windows: &mut VecDeque<Window>, context: &mut Context<'_>) -> Poll<()> {
    let mut first = None;
    for window in windows {
        let state = Pin::new(&mut window.bytes).poll(context);
        first.get_or_insert(state);
    }
    first.unwrap_or(Poll::Ready(()))
}

impl fmt::Debug for ReadAhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAhead").field("file", &self.file.name).field("position", &self.position).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};

    use super::*;

    async fn file(size: usize) -> (Vec<u8>, RecordFile) {
        let bytes: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let location = Path::from("x");
        store.put(&location, bytes.clone().into()).await.expect("memory takes it");
        (bytes, RecordFile::new(store, location, size as u64, "x"))
    }

    #[tokio::test]
    async fn what_was_read_already_is_the_first_window() {
        let (bytes, file) = file(300_000).await;
        let head = Bytes::copy_from_slice(&bytes[..1000]);
        for steps in [vec![10, 990], vec![1000], vec![64, 936, 70_000], vec![200_000, 100_000]] {
            let counters = Arc::new(ScanCounters::default());
            let file = file.clone().with_head(head.clone());
            let mut source = ReadAhead::new(file, 0, 65_536, Arc::clone(&counters));
            let mut at = 0;
            for step in &steps {
                let found = source.take(*step as u64).await.expect("inside");
                assert_eq!(found, bytes[at..at + step], "{steps:?}");
                at += step;
            }
            if at <= head.len() {
                assert_eq!(counters.bytes_scanned.value(), 1000, "{steps:?}");
            }
        }
    }

    #[tokio::test]
    async fn any_steps_give_the_bytes_of_the_file() {
        let (bytes, file) = file(3_500_000).await;
        for (start, limit, step) in
            [(0, 3_500_000, 65_536), (7, 10, 999_983), (1_048_575, 2_000_000, 2_100_000)]
        {
            let counters = Arc::new(ScanCounters::default());
            let mut reader = ReadAhead::new(file.clone(), start, limit, Arc::clone(&counters));
            let mut at = start as usize;
            while at < bytes.len() {
                let len = step.min(bytes.len() - at);
                assert_eq!(reader.take(len as u64).await.expect("inside"), bytes[at..at + len]);
                at += len;
            }
            assert_eq!(counters.bytes_scanned.value(), file.size - start);
            assert!(reader.take(1).await.is_err());
        }
    }

    #[tokio::test]
    async fn seeking_ahead_and_back_gives_the_right_bytes() {
        let (bytes, file) = file(3_000_000).await;
        let mut reader = ReadAhead::new(file, 0, 3_000_000, Arc::default());
        for at in [0usize, 100, 1_500_000, 1_499_990, 2_999_000, 5] {
            reader.seek(at as u64);
            assert_eq!(reader.take(50).await.expect("inside"), bytes[at..at + 50]);
        }
    }

    #[tokio::test]
    async fn a_short_read_near_the_limit_requests_little() {
        let (_, file) = file(3_000_000).await;
        let counters = Arc::new(ScanCounters::default());
        let mut reader = ReadAhead::new(file, 1000, 1100, Arc::clone(&counters));
        reader.take(40).await.expect("inside");
        assert_eq!(counters.bytes_scanned.value(), SMALL_WINDOW);
    }

    #[tokio::test]
    async fn an_extended_limit_allows_a_whole_window() {
        let (_, file) = file(3_000_000).await;
        let counters = Arc::new(ScanCounters::default());
        let mut reader = ReadAhead::new(file, 1000, 1100, Arc::clone(&counters));
        reader.extend_limit(3_000_000);
        reader.extend_limit(50);
        reader.take(40).await.expect("inside");
        assert_eq!(counters.bytes_scanned.value(), WINDOW - 1000);
    }
}
