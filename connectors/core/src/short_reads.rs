//! Short pieces of a file that lie apart, such as the headers of its chunks.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::local_file::LocalFile;
use crate::{RecordFile, Result, ScanCounters};

/// Bytes of a read where the pieces lie far apart.
const SMALL_READ: u64 = 128;
/// Bytes of the first read where the pieces lie near each other, so that it brings many of them.
const LARGE_READ: u64 = 1 << 16;
/// Bytes of the largest read, after others have brought many pieces.
const LARGEST_READ: u64 = 1 << 22;

/// Reads short pieces of a file, and a little more each time: the next piece may lie in it. While the pieces lie near
/// each other, each read is twice as long as the one before.
pub struct ShortReads {
    file: RecordFile,
    counters: Arc<ScanCounters>,
    read_len: u64,
    end: u64,
    window: Bytes,
    window_begin: u64,
    local: Option<LocalFile>,
}

impl ShortReads {
    /// Reads nothing yet.
    pub fn new(file: RecordFile, counters: Arc<ScanCounters>) -> Self {
        let (window, window_begin, end) = (Bytes::new(), 0, file.size);
        Self { file, counters, read_len: SMALL_READ, end, window, window_begin, local: None }
    }

    /// Reads little behind `end`, where no piece is expected.
    #[must_use]
    pub fn until(self, end: u64) -> Self {
        Self { end, ..self }
    }

    /// The file.
    pub fn file(&self) -> &RecordFile {
        &self.file
    }

    /// Says how far the next piece lies behind this one.
    pub fn expect_step(&mut self, step: u64) {
        self.read_len = if step < LARGE_READ { self.read_len.max(LARGE_READ) } else { SMALL_READ };
    }

    /// The bytes from `begin` to `end`, which lie in the file, from the last read or from a new one.
    ///
    /// # Errors
    /// As [`RecordFile::read`]; [`crate::Error::Corrupt`] if the file ends before `end`.
    pub async fn bytes(&mut self, begin: u64, end: u64) -> Result<Bytes> {
        let window_end = self.window_begin.saturating_add(self.window.len() as u64);
        if begin < self.window_begin || end > window_end {
            let goes_on = begin >= self.window_begin && begin.saturating_sub(window_end) < LARGE_READ;
            let last_len = self.window.len() as u64;
            if self.read_len >= LARGE_READ && goes_on && last_len >= LARGE_READ {
                self.read_len = last_len.saturating_mul(2).min(LARGEST_READ);
            } else {
                self.read_len = self.read_len.min(LARGE_READ);
            }
            let most = self.read_len.min(self.end.saturating_sub(begin).max(LARGE_READ));
            self.window = self.read(begin..end.max(begin.saturating_add(most))).await?;
            self.window_begin = begin;
            self.counters.bytes_scanned.add(self.window.len() as u64);
        }
        let skip = begin.saturating_sub(self.window_begin);
        let wanted = skip as usize..skip.saturating_add(end.saturating_sub(begin)) as usize;
        if wanted.end > self.window.len() {
            return Err(self.file.corrupt(self.file.size, "the file ends too early"));
        }
        Ok(self.window.slice(wanted))
    }

    async fn read(&mut self, range: Range<u64>) -> Result<Bytes> {
        if let Some(local) = &mut self.local {
            return self.file.read_local(local, range);
        }
        let (bytes, local) = self.file.read_and_keep(range).await?;
        self.local = local;
        Ok(bytes)
    }
}

impl fmt::Debug for ShortReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShortReads").field("file", &self.file.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{ObjectStore, ObjectStoreExt};

    use super::*;

    #[tokio::test]
    async fn near_pieces_share_a_read() {
        let bytes: Vec<u8> = (0..200_000).map(|i| (i % 251) as u8).collect();
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let location = Path::from("x");
        store.put(&location, bytes.clone().into()).await.expect("memory takes it");
        let file = RecordFile::new(store, location, bytes.len() as u64, "x");
        let counters = Arc::new(ScanCounters::default());
        let mut reads = ShortReads::new(file, Arc::clone(&counters));
        for (begin, scanned) in [(0, 128), (100, 128), (120, 256), (5000, 384)] {
            assert_eq!(reads.bytes(begin, begin + 20).await.expect("inside"), bytes[begin as usize..][..20]);
            assert_eq!(counters.bytes_scanned.value(), scanned, "{begin}");
        }
        reads.expect_step(500);
        for begin in (6000..60_000).step_by(500) {
            assert_eq!(reads.bytes(begin, begin + 20).await.expect("inside"), bytes[begin as usize..][..20]);
        }
        assert_eq!(counters.bytes_scanned.value(), 384 + LARGE_READ);
        assert!(reads.bytes(199_990, 200_010).await.is_err());
    }

    /// Reads 20 bytes at each of `begins`, which lie `step` apart; gives how many bytes were read by then each time that
    /// more were.
    async fn reads_of(size: u64, end: u64, begins: Range<u64>, step: u64) -> Vec<u64> {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let location = Path::from("x");
        store.put(&location, vec![0; size as usize].into()).await.expect("memory takes it");
        let file = RecordFile::new(store, location, size, "x");
        let counters = Arc::new(ScanCounters::default());
        let mut reads = ShortReads::new(file, Arc::clone(&counters)).until(end);
        let mut scanned = vec![];
        for begin in begins.step_by(step as usize) {
            reads.bytes(begin, begin + 20).await.expect("inside");
            reads.expect_step(step);
            let so_far = counters.bytes_scanned.value();
            if scanned.last() != Some(&so_far) {
                scanned.push(so_far);
            }
        }
        scanned
    }

    #[tokio::test]
    async fn reads_of_near_pieces_grow() {
        let size = 20 << 20;
        let scanned = reads_of(size, size, 0..size, 4096).await;
        assert!(scanned.len() <= 2 + 7 + 3, "{scanned:?}");
        let lens: Vec<u64> = scanned.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(lens[..7], [1, 2, 4, 8, 16, 32, 64].map(|n| n * LARGE_READ));
        assert!(*scanned.last().expect("some") <= size + SMALL_READ, "no byte is read twice");
    }

    #[tokio::test]
    async fn reads_stay_small_where_pieces_are_far_apart_and_behind_the_end() {
        let size = 20 << 20;
        assert_eq!(reads_of(size, size, 0..size, 1 << 20).await.last(), Some(&(20 * SMALL_READ)));
        let end = 3 << 20;
        let scanned = reads_of(size, end, 0..end, 4096).await;
        assert!(*scanned.last().expect("some") <= end + SMALL_READ + LARGE_READ, "{scanned:?}");
    }
}
