//! Chunk headers and their three layouts (section 1).

use recordfusion_core::Limits;

use crate::checksum::Checksum;
use crate::fault::Fault;

/// What a chunk begins with: 0x01020304, little endian.
pub const MAGIC: [u8; 4] = [0x04, 0x03, 0x02, 0x01];

/// Bytes of a chunk header.
pub const HEADER_LEN: usize = 20;

/// Bytes of the length before each record.
pub const LENGTH_LEN: u64 = 4;

/// The order of the words of a chunk header, with the checksum and the compressors that go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// That of the Go writer and its bindings.
    Go,
    /// That of Paddle Fluid in C++.
    Fluid,
    /// That of ElasticDL in Python.
    Elastic,
}

/// The compression of a payload; what `Snappy` is depends on the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// The bytes themselves.
    None,
    /// Snappy.
    Snappy,
    /// Gzip, of one or more members.
    Gzip,
}

impl Layout {
    /// All layouts.
    pub const ALL: [Self; 3] = [Self::Go, Self::Fluid, Self::Elastic];

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Go => "go",
            Self::Fluid => "fluid",
            Self::Elastic => "elastic",
        }
    }

    /// What guards the payloads.
    pub fn checksum(self) -> Checksum {
        match self {
            Self::Go | Self::Fluid => Checksum::Crc32,
            Self::Elastic => Checksum::Crc32c,
        }
    }

    /// The codec of a compressor word.
    ///
    /// # Errors
    /// [`Fault::CompressorBits`] if only high bits of it are unknown; [`Fault::Compressor`] otherwise.
    pub fn codec(self, code: u32) -> Result<Codec, Fault> {
        match (self, code) {
            (Self::Go | Self::Fluid, 0) | (Self::Elastic, 1) => Ok(Codec::None),
            (Self::Go | Self::Fluid, 1) | (Self::Elastic, 2) => Ok(Codec::Snappy),
            (Self::Go, 2) | (Self::Elastic, 3) => Ok(Codec::Gzip),
            (_, 4..) => Err(Fault::CompressorBits(code)),
            (layout, code) => Err(Fault::Compressor { code, layout }),
        }
    }

    /// The compressor word of a codec; none if the layout does not have it.
    pub fn code(self, codec: Codec) -> Option<u32> {
        (0..4).find(|code| self.codec(*code).is_ok_and(|known| known == codec))
    }
}

impl Codec {
    /// All codecs.
    pub const ALL: [Self; 3] = [Self::None, Self::Snappy, Self::Gzip];

    /// The name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Snappy => "snappy",
            Self::Gzip => "gzip",
        }
    }
}

/// A chunk header whose claims are possible. The checksum of the payload is not yet known to be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Checksum of the payload as it is stored.
    pub checksum: u32,
    /// The compressor word.
    pub compressor: u32,
    /// Bytes of payload as it is stored.
    pub size: u32,
    /// Number of records.
    pub count: u32,
    order: Order,
}

/// The order of words, which the header itself tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Go,
    FluidOrElastic,
}

impl ChunkHeader {
    /// Reads a header. The word of index 3 tells the order: the size of a payload is at least 4, the code of a
    /// compressor less.
    ///
    /// # Errors
    /// [`Fault::Magic`], [`Fault::Size`], [`Fault::Count`], [`Fault::CompressorBits`], [`Fault::Compressor`], and
    /// [`Fault::Limit`] for a payload that is too large.
    pub fn parse(bytes: &[u8; HEADER_LEN], limits: &Limits) -> Result<Self, Fault> {
        let words = bytes.as_chunks::<4>().0;
        let &[magic, first, second, third, fourth] = words else { return Err(Fault::HeaderCut) };
        if magic != MAGIC {
            return Err(Fault::Magic(magic.to_vec()));
        }
        let [first, second, third, fourth] = [first, second, third, fourth].map(u32::from_le_bytes);
        let header = if third >= 4 {
            Self { checksum: first, compressor: second, size: third, count: fourth, order: Order::Go }
        } else {
            Self {
                count: first,
                checksum: second,
                compressor: third,
                size: fourth,
                order: Order::FluidOrElastic,
            }
        };
        header.check(limits)?;
        Ok(header)
    }

    fn check(&self, limits: &Limits) -> Result<(), Fault> {
        if u64::from(self.size) < LENGTH_LEN {
            return Err(Fault::Size(self.size));
        }
        if self.count == 0 {
            return Err(self.count_fault());
        }
        let known: Vec<_> = self.readings().collect();
        if !known.iter().any(|(_, codec)| codec.is_ok()) {
            return known.into_iter().next().map_or(Ok(()), |(_, codec)| codec.map(drop));
        }
        let has_room = |codec: &Result<Codec, Fault>| match codec {
            Ok(Codec::None) => u64::from(self.count) * LENGTH_LEN <= u64::from(self.size),
            Ok(_) => true,
            Err(_) => false,
        };
        if !known.iter().any(|(_, codec)| has_room(codec)) {
            return Err(self.count_fault());
        }
        if u64::from(self.size) > limits.chunk {
            return Err(Fault::Limit {
                what: format!("a payload of {} bytes", self.size),
                limit: limits.chunk,
                option: Limits::CHUNK,
            });
        }
        Ok(())
    }

    fn count_fault(&self) -> Fault {
        Fault::Count { claimed: self.count, size: self.size.into() }
    }

    /// Bytes of header and payload.
    pub fn chunk_len(&self) -> u64 {
        u64::from(self.size).saturating_add(HEADER_LEN as u64)
    }

    /// What the header may mean: one layout or two, with their codecs.
    fn readings(&self) -> impl Iterator<Item = (Layout, Result<Codec, Fault>)> + use<> {
        let layouts: &[Layout] = match (self.order, self.compressor) {
            (Order::Go, _) => &[Layout::Go],
            (Order::FluidOrElastic, 0) => &[Layout::Fluid],
            (Order::FluidOrElastic, 3) => &[Layout::Elastic],
            (Order::FluidOrElastic, _) => &[Layout::Fluid, Layout::Elastic],
        };
        let compressor = self.compressor;
        layouts.iter().map(move |layout| (*layout, layout.codec(compressor)))
    }

    /// The kinds of checksum that the payload may have.
    pub fn checksums(&self) -> impl Iterator<Item = Checksum> + use<> {
        self.readings().map(|(layout, _)| layout.checksum())
    }

    /// The layout and the codec, if the header alone tells them.
    pub fn certain_reading(&self) -> Option<(Layout, Codec)> {
        let mut readings = self.readings();
        match (readings.next(), readings.next()) {
            (Some((layout, Ok(codec))), None) => Some((layout, codec)),
            _ => None,
        }
    }

    /// The layout and the codec, by the checksums of the payload: the first layout whose checksum is right.
    ///
    /// # Errors
    /// [`Fault::Checksum`] if none is; [`Fault::Compressor`] and [`Fault::Count`] if the claims are impossible in
    /// the layout that it turns out to be.
    pub fn reading(&self, mut checksum: impl FnMut(Checksum) -> u32) -> Result<(Layout, Codec), Fault> {
        let mut readings = self.readings();
        let right = readings.find(|(layout, _)| checksum(layout.checksum()) == self.checksum);
        let (layout, codec) = right.ok_or(Fault::Checksum)?;
        let codec = codec?;
        if codec == Codec::None && u64::from(self.count) * LENGTH_LEN > u64::from(self.size) {
            return Err(self.count_fault());
        }
        Ok((layout, codec))
    }

    /// The bytes of a header; none if the layout does not have the codec.
    pub fn encode(
        layout: Layout,
        codec: Codec,
        checksum: u32,
        size: u32,
        count: u32,
    ) -> Option<[u8; HEADER_LEN]> {
        let code = layout.code(codec)?;
        let words = match layout {
            Layout::Go => [checksum, code, size, count],
            Layout::Fluid | Layout::Elastic => [count, checksum, code, size],
        };
        let mut bytes = [0; HEADER_LEN];
        let (magic, rest) = bytes.split_at_mut(MAGIC.len());
        magic.copy_from_slice(&MAGIC);
        rest.as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The headers of the worked examples of the specification.
    const EXAMPLES: [(Layout, [u8; 20]); 3] = [
        (Layout::Go, [4, 3, 2, 1, 0x4d, 0x9c, 0xcb, 0x0a, 0, 0, 0, 0, 23, 0, 0, 0, 3, 0, 0, 0]),
        (Layout::Fluid, [4, 3, 2, 1, 3, 0, 0, 0, 0x4d, 0x9c, 0xcb, 0x0a, 0, 0, 0, 0, 23, 0, 0, 0]),
        (Layout::Elastic, [4, 3, 2, 1, 3, 0, 0, 0, 0xea, 0x80, 0x4c, 0x73, 1, 0, 0, 0, 23, 0, 0, 0]),
    ];
    const PAYLOAD: &[u8] = b"\x05\0\0\0Hello\0\0\0\0\x06\0\0\0World!";

    fn parse(bytes: &[u8; 20]) -> Result<ChunkHeader, Fault> {
        ChunkHeader::parse(bytes, &crate::fault::LIMITS)
    }

    #[test]
    fn the_examples_are_read_and_written() {
        for (layout, bytes) in EXAMPLES {
            let header = parse(&bytes).expect("good header");
            assert_eq!((header.size, header.count, header.chunk_len()), (23, 3, 43));
            assert_eq!(header.reading(|kind| kind.of(PAYLOAD)), Ok((layout, Codec::None)));
            let again = ChunkHeader::encode(layout, Codec::None, layout.checksum().of(PAYLOAD), 23, 3);
            assert_eq!(again, Some(bytes));
            assert_eq!(header.certain_reading().is_some(), layout != Layout::Elastic);
            assert_eq!(header.reading(|_| 0), Err(Fault::Checksum));
        }
    }

    /// The Go header with words put in place of its own.
    fn go(compressor: u32, size: u32, count: u32) -> [u8; 20] {
        let mut bytes = EXAMPLES[0].1;
        for (at, word) in [(8, compressor), (12, size), (16, count)] {
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn impossible_claims_are_refused() {
        let fluid = |count, compressor, size| ChunkHeader::encode(Layout::Fluid, compressor, 0, size, count);
        for (bytes, expected) in [
            (go(0, 23, 0), Fault::Count { claimed: 0, size: 23 }),
            (go(0, 23, 6), Fault::Count { claimed: 6, size: 23 }),
            (go(0, 23, u32::MAX), Fault::Count { claimed: u32::MAX, size: 23 }),
            (go(3, 23, 3), Fault::Compressor { code: 3, layout: Layout::Go }),
            (go(0x0100_0000, 23, 3), Fault::CompressorBits(0x0100_0000)),
            (
                go(0, (256 << 20) + 1, 3),
                Fault::Limit {
                    what: "a payload of 268435457 bytes".to_string(),
                    limit: 256 << 20,
                    option: "max_chunk_size",
                },
            ),
            (fluid(3, Codec::None, 3).expect("has it"), Fault::Size(3)),
        ] {
            assert_eq!(parse(&bytes), Err(expected), "{bytes:02x?}");
        }
        assert!(parse(&go(1, 23, u32::MAX)).is_ok(), "compressed payloads may hold more");
        for at in 0..4 {
            let mut bytes = EXAMPLES[0].1;
            bytes[at] ^= 1;
            assert_eq!(parse(&bytes), Err(Fault::Magic(bytes[..4].to_vec())));
        }
    }

    #[test]
    fn codes_are_those_of_the_layouts() {
        for (layout, codes) in [
            (Layout::Go, [Some(0), Some(1), Some(2)]),
            (Layout::Fluid, [Some(0), Some(1), None]),
            (Layout::Elastic, [Some(1), Some(2), Some(3)]),
        ] {
            assert_eq!(Codec::ALL.map(|codec| layout.code(codec)), codes, "{layout:?}");
        }
    }
}
