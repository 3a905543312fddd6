//! The values of the fields: one buffer per path, buffers gathered in buckets (section 8.5, "Buffers and buckets").

use crate::write::transposed::cut::{Cut, Path};
use crate::write::varint;

/// The buffers in the order of the chunk, with their values in the order of the walk.
#[derive(Debug)]
pub(super) struct Buffers {
    /// The values of all buffers, one after another.
    values: Vec<u8>,
    /// Bytes of each buffer.
    sizes: Vec<u64>,
    /// Bytes of each bucket.
    buckets: Vec<u64>,
    /// The buffer of each path that has one.
    of_path: Vec<Option<u32>>,
    /// The lengths of records kept whole: the last buffer, in a bucket of its own, if there are any.
    lengths: Vec<u8>,
}

impl Buffers {
    /// Arranges and fills the buffers with the values in `data`.
    pub fn new(cut: &Cut, data: &[u8], bucket_size: u64) -> Self {
        let path = |id: u32| &cut.paths[id as usize];
        let mut paths: Vec<u32> = (0..cut.paths.len() as u32).filter(|&id| path(id).size > 0).collect();
        let order = |path: &Path| (path.class, path.size, path.parent, path.tag);
        paths.sort_unstable_by_key(|&id| order(path(id)));

        let mut of_path = vec![None; cut.paths.len()];
        for (buffer, &id) in paths.iter().enumerate() {
            of_path[id as usize] = Some(buffer as u32);
        }
        let sizes: Vec<u64> = paths.iter().map(|&id| path(id).size).collect();
        let mut buckets = Vec::new();
        let mut begin = 0;
        for class in paths.chunk_by(|&a, &b| path(a).class == path(b).class) {
            let end = begin + class.len();
            buckets.extend(split(&sizes[begin..end], bucket_size));
            begin = end;
        }
        let mut buffers = Self { values: Vec::new(), sizes, buckets, of_path, lengths: Vec::new() };
        buffers.fill(cut, data);
        buffers
    }

    fn fill(&mut self, cut: &Cut, data: &[u8]) {
        let mut total = 0;
        let mut places: Vec<usize> = Vec::with_capacity(self.sizes.len());
        for &size in &self.sizes {
            places.push(total);
            total += size as usize;
        }
        self.values.resize(total, 0);
        for step in cut.steps.iter().rev() {
            let symbol = &cut.symbols[step.symbol as usize];
            let Some(buffer) = symbol.path.and_then(|path| self.of_path(path)) else { continue };
            let place = &mut places[buffer as usize];
            let value = &data[step.begin as usize..][..step.len as usize];
            let target = &mut self.values[*place..][..value.len()];
            *place += value.len();
            if symbol.subtype.is_some() {
                target.iter_mut().zip(value).for_each(|(to, from)| *to = from & 0x7f);
            } else {
                target.copy_from_slice(value);
            }
            if symbol.is_non_proto() {
                varint::put(&mut self.lengths, u64::from(step.len));
            }
        }
    }

    /// The buffer of a path.
    pub fn of_path(&self, path: u32) -> Option<u32> {
        self.of_path[path as usize]
    }

    fn lengths(&self) -> Option<&[u8]> {
        (!self.lengths.is_empty()).then_some(&self.lengths)
    }

    /// Bytes of each buffer.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        self.sizes.iter().copied().chain(self.lengths().map(|lengths| lengths.len() as u64))
    }

    /// The content of each bucket.
    pub fn buckets(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.values[..];
        let buckets = self.buckets.iter().map(move |&size| {
            let (bucket, behind) = rest.split_at(size as usize);
            rest = behind;
            bucket
        });
        buckets.chain(self.lengths())
    }
}

/// Bytes of the buckets that buffers of one class are gathered in, both in the order of the chunk: by
/// ascending size. The largest buffers choose first.
fn split(sizes: &[u64], bucket_size: u64) -> Vec<u64> {
    let mut left: u64 = sizes.iter().sum();
    let mut buckets = Vec::new();
    let mut bucket = 0;
    for &size in sizes.iter().rev() {
        if bucket > 0 && bucket + size / 2 >= bucket_size {
            buckets.push(std::mem::take(&mut bucket));
        }
        bucket += size;
        left -= size;
        if left <= bucket_size / 2 {
            bucket += left;
            break;
        }
    }
    buckets.push(bucket);
    buckets.reverse();
    buckets
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn buckets_take_the_largest_buffers_first() {
        let cases: [(&[u64], u64, &[u64]); 6] = [
            (&[1, 2, 3], u64::MAX, &[6]),
            (&[1, 2, 3], 1, &[1, 2, 3]),
            (&[1, 2, 3], 2, &[3, 3]),
            (&[10, 10, 10, 10], 20, &[20, 20]),
            (&[1, 1, 1, 100], 50, &[103]),
            (&[30, 30, 30, 100], 50, &[30, 60, 100]),
        ];
        for (sizes, bucket_size, expected) in cases {
            assert_eq!(split(sizes, bucket_size), expected, "{sizes:?} {bucket_size}");
        }
    }
}
