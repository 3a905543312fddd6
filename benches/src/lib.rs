//! The benchmark's records: `bench.LogEvent` of `log_event.proto`, the same bytes for the same seed.

mod measure;

use prost::Message;
use protox::Compiler;
use protox::file::{File, FileResolver};
use recordfusion_core::Options;
use riegeli::{CompressionType, WriterOptions};

pub use measure::{Result, timed};

/// The file's metadata (`RecordsMetadata`) as far as the benchmark needs it.
#[derive(Message)]
struct RecordsMetadata {
    #[prost(string, tag = "1")]
    file_comment: String,
    #[prost(string, tag = "2")]
    record_type_name: String,
    #[prost(bytes = "vec", repeated, tag = "3")]
    file_descriptor: Vec<Vec<u8>>,
}

/// The one .proto file of the benchmark.
struct Source;

impl FileResolver for Source {
    fn open_file(&self, name: &str) -> std::result::Result<File, protox::Error> {
        match name {
            PROTO => File::from_source(name, include_str!("../log_event.proto")),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// Its name.
const PROTO: &str = "log_event.proto";
/// The records' type.
const MESSAGE_TYPE: &str = "bench.LogEvent";

/// The options of the `riegeli` crate for a layout, `simple` or `transposed`, and a codec.
///
/// # Errors
/// Another layout or codec.
pub fn writer_options(layout: &str, codec: &str) -> Result<WriterOptions> {
    let transpose = match layout {
        "simple" => false,
        "transposed" => true,
        other => return Err(format!("unknown layout {other}").into()),
    };
    let codec = match codec {
        "none" => CompressionType::None,
        "brotli" => CompressionType::Brotli,
        "zstd" => CompressionType::Zstd,
        "snappy" => CompressionType::Snappy,
        other => return Err(format!("unknown codec {other}").into()),
    };
    Ok(WriterOptions::new().transpose(transpose).compression(codec))
}

/// The serialized `RecordsMetadata` of a file of these records.
///
/// # Errors
/// None, as the .proto file is valid.
pub fn metadata() -> Result<Vec<u8>> {
    let metadata = RecordsMetadata {
        file_comment: "requests of a web service, made up".to_string(),
        record_type_name: MESSAGE_TYPE.to_string(),
        file_descriptor: compile()?.file_descriptor_set().file.iter().map(Message::encode_to_vec).collect(),
    };
    Ok(metadata.encode_to_vec())
}

/// The serialized `FileDescriptorSet` of these records.
///
/// # Errors
/// None, as the .proto file is valid.
pub fn descriptor_set() -> Result<Vec<u8>> {
    Ok(compile()?.encode_file_descriptor_set())
}

/// The options that name the records' type.
pub fn message_type() -> Options {
    let proto = concat!(env!("CARGO_MANIFEST_DIR"), "/log_event.proto");
    Options::new().with("proto", proto).with("message_type", MESSAGE_TYPE)
}

fn compile() -> Result<Compiler> {
    let mut compiler = Compiler::with_file_resolver(Source);
    compiler.include_imports(true).open_file(PROTO)?;
    Ok(compiler)
}

/// An endless run of serialized `bench.LogEvent` records.
#[derive(Debug)]
pub struct LogEvents {
    random: Random,
    timestamp: u64,
}

const METHODS: [&str; 5] = ["GET", "GET", "GET", "POST", "PUT"];
const SEVERITIES: [u64; 6] = [0, 1, 1, 1, 1, 2];
const COUNTRIES: [(&str, &[&str], f32, f32); 8] = [
    ("US", &["Boston", "Austin", "Seattle", "Denver"], 39.0, -98.0),
    ("DE", &["Berlin", "Hamburg", "Munich"], 51.0, 10.0),
    ("JP", &["Tokyo", "Osaka", "Sapporo"], 36.0, 138.0),
    ("BR", &["Recife", "Manaus"], -10.0, -55.0),
    ("IN", &["Pune", "Chennai", "Delhi", "Kochi"], 21.0, 78.0),
    ("FR", &["Lyon", "Paris", "Lille"], 46.0, 2.0),
    ("ZA", &["Durban"], -29.0, 24.0),
    ("AU", &["Perth", "Sydney"], -25.0, 134.0),
];
const TAGS: [&str; 12] = [
    "canary", "mobile", "desktop", "retry", "beta", "internal", "bot", "eu", "us-east", "gold", "trial",
    "batch",
];
const SPANS: [&str; 8] = [
    "auth.check",
    "db.query",
    "cache.get",
    "cache.put",
    "render",
    "rpc.catalog",
    "rpc.pricing",
    "queue.publish",
];
const ERRORS: [&str; 5] = [
    "deadline exceeded",
    "connection reset by peer",
    "permission denied",
    "item not found",
    "resource exhausted: too many requests",
];
const NOUNS: [&str; 10] =
    ["items", "users", "orders", "carts", "search", "images", "reviews", "sessions", "prices", "offers"];

impl LogEvents {
    /// Records from this seed.
    pub fn new(seed: u64) -> Self {
        Self { random: Random(seed), timestamp: 1_735_689_600_000_000 }
    }

    /// The next record.
    pub fn next_record(&mut self) -> Vec<u8> {
        let mut record = Record::default();
        let r = &mut self.random;
        self.timestamp += r.skewed(3000.0) + 1;
        let bad = r.below(50) == 0;
        let user = r.skewed(5_000_000.0) + 1;
        let latency = r.skewed(900_000.0) + 150;
        record.uint(1, self.timestamp);
        record.fixed64(2, r.next());
        record.text(3, &format!("{:016x}", r.next()));
        record.uint(4, user);
        record.text(5, &format!("node-{:03}.zone-{}", r.below(240), r.pick(&["a", "b", "c", "d"])));
        record.uint(6, r.below(7));
        record.uint(7, if bad { 3 } else { r.pick(&SEVERITIES) });
        record.text(8, r.pick(&METHODS));
        record.text(9, &r.path());
        record.uint(
            10,
            if bad { r.pick(&[500, 503, 404, 403, 429]) } else { r.pick(&[200, 200, 200, 204, 304]) },
        );
        record.uint(11, latency);
        record.uint(12, r.skewed(8000.0));
        record.uint(13, r.skewed(2_000_000.0));
        record.fixed64(14, ((latency as f64 * r.unit() * 10.0).round() / 10_000.0).to_bits());
        record.uint(15, r.below(3) / 2);
        record.message(16, &r.shards());
        for _ in 0..r.below(4) {
            record.text(17, r.pick(&TAGS));
        }
        record.message(18, &r.place());
        if bad {
            record.text(19, r.pick(&ERRORS));
        }
        let mut offset = 0;
        for _ in 0..r.below(5) {
            record.message(20, &r.span(&mut offset, latency, bad));
        }
        let skew = r.below(4001) as i64 - 2000;
        record.uint(21, ((skew << 1) ^ (skew >> 63)) as u64);
        let key =
            [user.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes(), (user ^ 0x5555_5555).to_le_bytes()]
                .concat();
        record.bytes(22, &key[..12]);
        record.0
    }
}

/// Splitmix64.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Small values are common, large ones rare.
    fn skewed(&mut self, max: f64) -> u64 {
        (max * self.unit().powi(4)) as u64
    }

    fn path(&mut self) -> String {
        let noun = self.pick(&NOUNS);
        match self.below(3) {
            0 => format!("/api/v2/{noun}"),
            1 => format!("/api/v2/{noun}/{}", self.skewed(900_000.0)),
            _ => format!("/api/v2/{noun}/{}/details?page={}", self.skewed(900_000.0), self.below(20)),
        }
    }

    fn shards(&mut self) -> Record {
        let mut packed = Record::default();
        for _ in 0..self.below(6) {
            packed.varint(self.below(4096));
        }
        packed
    }

    fn place(&mut self) -> Record {
        let (country, cities, lat, lon) = self.pick(&COUNTRIES);
        let mut geo = Record::default();
        geo.text(1, country);
        geo.text(2, self.pick(cities));
        for (field, base) in [(3, lat), (4, lon)] {
            geo.fixed32(field, (base + (self.below(2000) as f32 - 1000.0) / 100.0).to_bits());
        }
        geo.uint(5, 1000 + self.below(60_000));
        geo
    }

    fn span(&mut self, offset: &mut u64, latency: u64, bad: bool) -> Record {
        *offset += self.skewed(30_000.0);
        let mut span = Record::default();
        span.text(1, self.pick(&SPANS));
        span.uint(2, *offset);
        span.uint(3, self.skewed(latency as f64));
        span.uint(4, u64::from(bad && self.below(2) == 0));
        span
    }
}

/// A message being serialized; default values are left out.
#[derive(Debug, Default)]
struct Record(Vec<u8>);

impl Record {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn uint(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    fn fixed64(&mut self, field: u64, bits: u64) {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&bits.to_le_bytes());
    }

    fn fixed32(&mut self, field: u64, bits: u32) {
        self.varint(field << 3 | 5);
        self.0.extend_from_slice(&bits.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn text(&mut self, field: u64, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    fn message(&mut self, field: u64, value: &Record) {
        if !value.0.is_empty() {
            self.bytes(field, &value.0);
        }
    }
}
