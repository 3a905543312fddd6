//! The hash that guards headers and data (section 1.2).

use highway::{HighwayHash, HighwayHasher, Key};

/// `Riegeli/records\n` twice.
const KEY: Key =
    Key([0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572, 0x2f69_6c65_6765_6952, 0x0a73_6472_6f63_6572]);

/// HighwayHash-64 of `bytes` with the key of the format.
pub fn hash(bytes: &[u8]) -> u64 {
    HighwayHasher::new(KEY).hash64(bytes)
}

/// The same hash over bytes that come in parts.
pub struct Hasher(HighwayHasher);

impl Default for Hasher {
    fn default() -> Self {
        Self(HighwayHasher::new(KEY))
    }
}

impl Hasher {
    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.append(bytes);
    }

    /// The hash of all bytes taken in.
    pub fn finish(self) -> u64 {
        self.0.finalize64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        let counting: Vec<u8> = (0..=0x3e).collect();
        let cases: [(&[u8], u64); 6] = [
            (b"", 0x72c3_b1e9_c013_9fe1),
            (b"abc", 0x672f_e946_c18d_0ed9),
            (&counting[..7], 0x81d0_0cb7_03e0_9f52),
            (&counting[..21], 0xa341_93bd_2d1c_2287),
            (&counting[..63], 0xbea2_8b7a_087e_1493),
            (&b"Riegeli/records\n".repeat(5), 0xc4b1_5101_881a_a6d2),
        ];
        for (bytes, expected) in cases {
            assert_eq!(hash(bytes), expected, "{bytes:02x?}");
            let mut parts = Hasher::default();
            for part in bytes.chunks(5) {
                parts.update(part);
            }
            assert_eq!(parts.finish(), expected, "{bytes:02x?} in parts");
        }
    }
}
