//! The first bytes of files that are being opened: they are read once, to recognise the file and for what it says of
//! itself.

use bytes::Bytes;
use recordfusion_core::{Connector, RecordFile};

/// First bytes of a file that is opened: they hold the metadata of most.
pub(super) const HEAD: u64 = 1 << 16;
/// Most bytes that are kept of all files of a table until it is open. Of those behind, they are read again.
const MOST: usize = 64 << 20;

/// What is kept of files that are opened together.
#[derive(Debug)]
pub(super) struct Heads {
    /// Bytes that may still be kept.
    left: usize,
    /// What was kept of the last file.
    last: Bytes,
}

impl Default for Heads {
    fn default() -> Self {
        Self { left: MOST, last: Bytes::new() }
    }
}

impl Heads {
    /// The file with as many of its first bytes, which are `head`, as opening it takes: small files as a whole at first,
    /// then the metadata alone. Files in a row that have the same share them.
    pub fn keep(&mut self, file: RecordFile, head: Bytes, connector: Option<&dyn Connector>) -> RecordFile {
        let Some(connector) = connector else { return file };
        let kept = if head.len() as u64 == file.size && self.left > MOST / 2 {
            head
        } else {
            let len = connector.metadata_len(&head, file.size);
            let needed = &head[..usize::try_from(len).map_or(head.len(), |len| len.min(head.len()))];
            if needed == self.last {
                return file.with_head(self.last.clone());
            }
            Bytes::copy_from_slice(needed)
        };
        let Some(left) = self.left.checked_sub(kept.len()) else { return file };
        self.left = left;
        self.last = kept.clone();
        file.with_head(kept)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;

    use super::*;
    use crate::registry;

    fn file(size: u64) -> RecordFile {
        RecordFile::new(Arc::new(InMemory::new()), "x".into(), size, "x")
    }

    #[test]
    fn large_files_share_what_is_the_same() {
        let riegeli = registry::connector("riegeli").expect("known").as_ref();
        let mut heads = Heads::default();
        let mut kept = vec![];
        for last in [1, 2, 3] {
            let mut head = vec![0; HEAD as usize];
            *head.last_mut().expect("some") = last;
            kept.push(heads.keep(file(1 << 20), head.into(), Some(riegeli)).head().clone());
        }
        assert!((64..200).contains(&kept[0].len()), "{}", kept[0].len());
        assert!(kept.iter().all(|head| head.as_ptr() == kept[0].as_ptr()));
        assert_eq!(heads.left, MOST - kept[0].len());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let riegeli = registry::connector("riegeli").expect("known").as_ref();
        let mut heads = Heads::default();
        let (mut whole, mut sum) = (0, 0);
        for at in 0..5000u64 {
            let head = [&at.to_le_bytes()[..], &[0; 50_000]].concat();
            let file = heads.keep(file(head.len() as u64), head.into(), Some(riegeli));
            whole += u64::from(file.head().len() as u64 == file.size);
            sum += file.head().len();
        }
        assert!((600..700).contains(&whole), "{whole}");
        assert!(sum <= MOST && sum > 600 * 50_000 + 4000 * 64, "{sum}");
    }

    #[test]
    fn nothing_is_kept_of_files_that_say_nothing_or_are_foreign() {
        let recordio = registry::connector("recordio").expect("known").as_ref();
        let head = Bytes::from(vec![0; HEAD as usize]);
        assert!(Heads::default().keep(file(1 << 20), head.clone(), Some(recordio)).head().is_empty());
        assert!(Heads::default().keep(file(1 << 20), head, None).head().is_empty());
    }
}
