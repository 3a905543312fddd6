//! A map for the many look-ups by pairs of small numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map from pairs of numbers.
pub(super) type PairMap<T> = HashMap<u64, T, PairHasher>;

/// The key of a pair.
pub(super) fn pair(first: u32, second: u32) -> u64 {
    u64::from(first) << 32 | u64::from(second)
}

/// Hashes a number by one multiplication, with a factor that nobody can know beforehand, so that no data make
/// all keys collide.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairHasher {
    factor: u64,
    hash: u64,
}

impl Default for PairHasher {
    fn default() -> Self {
        Self { factor: RandomState::new().hash_one(0) | 1, hash: 0 }
    }
}

impl BuildHasher for PairHasher {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for PairHasher {
    fn write_u64(&mut self, value: u64) {
        let product = u128::from(value ^ self.hash) * u128::from(self.factor);
        self.hash = product as u64 ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}
