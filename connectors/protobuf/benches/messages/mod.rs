//! The messages of the benchmark, and records of them that are the same in every run.

use prost_types::FileDescriptorProto;

/// Name, .proto text, the field that stands alone in one benchmark, and how to make records.
pub type Case = (&'static str, &'static str, &'static str, fn(usize) -> Vec<Vec<u8>>);

/// All messages.
pub const ALL: [Case; 5] = [
    ("flat", FLAT, "b", flat),
    ("log", LOG, "path", log),
    ("strings", STRINGS, "s3", strings),
    ("lists", LISTS, "doubles", lists),
    ("maps", MAPS, "labels", maps),
];

const FLAT: &str = "syntax = 'proto3'; package bench; message M {
    int32 a = 1; int64 b = 2; uint32 c = 3; uint64 d = 4; sint32 e = 5; sint64 f = 6; bool g = 7;
    double h = 8; float i = 9; fixed32 j = 10; fixed64 k = 11; optional int32 l = 12; optional int64 m = 13; }";

const LOG: &str = "syntax = 'proto3'; package bench;
    enum Service { UNKNOWN = 0; FRONTEND = 1; CHECKOUT = 2; CATALOG = 3; SEARCH = 4; ACCOUNT = 5; MEDIA = 6; }
    enum Severity { DEBUG = 0; INFO = 1; WARNING = 2; ERROR = 3; }
    message Geo { string country = 1; string city = 2; float lat = 3; float lon = 4; uint32 asn = 5; }
    message Span { string name = 1; uint32 offset_us = 2; uint32 duration_us = 3; bool failed = 4; }
    message M {
        int64 timestamp_us = 1; fixed64 trace_id = 2; string request_id = 3; uint64 user_id = 4; string host = 5;
        Service service = 6; Severity severity = 7; string method = 8; string path = 9; int32 status = 10;
        uint32 latency_us = 11; uint64 bytes_in = 12; uint64 bytes_out = 13; double cpu_ms = 14; bool cached = 15;
        repeated uint32 shard_ids = 16; repeated string tags = 17; Geo geo = 18; optional string error = 19;
        repeated Span spans = 20; sint64 clock_skew_us = 21; bytes session_key = 22; }";

const STRINGS: &str = "syntax = 'proto3'; package bench; message M {
    string s1 = 1; string s2 = 2; string s3 = 3; string s4 = 4; string s5 = 5; string s6 = 6; bytes b = 7; }";

const LISTS: &str = "syntax = 'proto3'; package bench; message M {
    repeated double doubles = 1; repeated int32 numbers = 2; repeated string words = 3; repeated bool flags = 4; }";

const MAPS: &str = "syntax = 'proto3'; package bench; message M {
    map<string, string> labels = 1; map<int32, int64> counts = 2; }";

/// The file of a message type with `leaves` leaf fields in structs of twenty.
pub fn wide(leaves: usize) -> FileDescriptorProto {
    let mut source = String::from("syntax = 'proto3'; package bench; message M {");
    for group in 0..leaves / 20 {
        let fields: String =
            (1..=20).map(|field| format!("optional int64 field_{field} = {field};")).collect();
        source += &format!("message G{group} {{ {fields} }} G{group} group_{group} = {};", group + 1);
    }
    source += "}";
    let file = protox::file::File::from_source("bench.proto", &source).expect("the source is valid");
    file.file_descriptor_proto().clone()
}

/// A pseudorandom sequence (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Mostly small numbers.
    fn skewed(&mut self, limit: f64) -> u64 {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (limit * unit.powi(4)) as u64
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }

    fn digits(&mut self, count: usize) -> String {
        (0..count).map(|_| char::from(b"0123456789abcdef"[self.below(16) as usize])).collect()
    }
}

/// Writes fields; numbers that are 0 are left out.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn raw_varint(&mut self, value: u64) {
        prost::encoding::encode_varint(value, &mut self.0);
    }

    fn varint(&mut self, number: u64, value: u64) {
        if value != 0 {
            self.raw_varint(number << 3);
            self.raw_varint(value);
        }
    }

    fn fixed64(&mut self, number: u64, value: u64) {
        self.raw_varint(number << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn fixed32(&mut self, number: u64, value: u32) {
        self.raw_varint(number << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, number: u64, value: &[u8]) {
        self.raw_varint(number << 3 | 2);
        self.raw_varint(value.len() as u64);
        self.0.extend(value);
    }
}

fn generate(rows: usize, mut one: impl FnMut(&mut Random, &mut Writer)) -> Vec<Vec<u8>> {
    let mut random = Random(1);
    let record = |_| {
        let mut writer = Writer::default();
        one(&mut random, &mut writer);
        writer.0
    };
    (0..rows).map(record).collect()
}

fn flat(rows: usize) -> Vec<Vec<u8>> {
    generate(rows, |random, out| {
        for number in 1..=6 {
            out.varint(number, random.skewed(1e9) + 1);
        }
        out.varint(7, random.below(2));
        out.fixed64(8, random.next() >> 2);
        out.fixed32(9, random.next() as u32 >> 2);
        out.fixed32(10, random.next() as u32);
        out.fixed64(11, random.next());
        if random.below(2) == 0 {
            out.varint(12, 300);
        }
        out.varint(13, random.below(1 << 40));
    })
}

fn log(rows: usize) -> Vec<Vec<u8>> {
    const TAGS: [&str; 8] = ["canary", "mobile", "desktop", "retry", "beta", "internal", "us-east", "gold"];
    const SPANS: [&str; 6] =
        ["auth.check", "db.query", "cache.get", "render", "rpc.catalog", "queue.publish"];
    let mut timestamp = 1_735_689_600_000_000;
    generate(rows, |random, out| {
        timestamp += random.skewed(3000.0) + 1;
        out.varint(1, timestamp);
        out.fixed64(2, random.next());
        out.bytes(3, random.digits(16).as_bytes());
        out.varint(4, random.skewed(5e6) + 1);
        out.bytes(5, format!("node-{:03}.zone-{}", random.below(240), random.below(4)).as_bytes());
        out.varint(6, random.below(7));
        out.varint(7, random.below(3));
        out.bytes(8, random.pick(&["GET", "GET", "GET", "POST", "PUT"]).as_bytes());
        out.bytes(
            9,
            format!("/api/v2/orders/{}/details?page={}", random.skewed(9e5), random.below(20)).as_bytes(),
        );
        out.varint(10, [200, 200, 204, 304][random.below(4) as usize]);
        out.varint(11, random.skewed(9e5) + 150);
        out.varint(12, random.skewed(8e3));
        out.varint(13, random.skewed(2e6));
        out.fixed64(14, random.next() >> 2);
        out.varint(15, random.below(3) / 2);
        let mut shards = Writer::default();
        (0..random.below(6)).for_each(|_| shards.raw_varint(random.below(4096)));
        out.bytes(16, &shards.0);
        (0..random.below(4)).for_each(|_| out.bytes(17, random.pick(&TAGS).as_bytes()));
        let mut geo = Writer::default();
        geo.bytes(1, random.pick(&["US", "DE", "JP", "BR"]).as_bytes());
        geo.bytes(2, random.pick(&["Boston", "Berlin", "Osaka", "Recife"]).as_bytes());
        geo.fixed32(3, random.next() as u32 >> 2);
        geo.fixed32(4, random.next() as u32 >> 2);
        geo.varint(5, 1000 + random.below(60_000));
        out.bytes(18, &geo.0);
        if random.below(50) == 0 {
            out.bytes(19, b"connection reset by peer");
        }
        for _ in 0..random.below(5) {
            let mut span = Writer::default();
            span.bytes(1, random.pick(&SPANS).as_bytes());
            span.varint(2, random.skewed(3e4));
            span.varint(3, random.skewed(9e4));
            out.bytes(20, &span.0);
        }
        out.varint(21, random.below(4001));
        out.bytes(22, &random.digits(12).into_bytes());
    })
}

fn strings(rows: usize) -> Vec<Vec<u8>> {
    generate(rows, |random, out| {
        for number in 1..=7 {
            let len = random.below(40) as usize;
            out.bytes(number, random.digits(len).as_bytes());
        }
    })
}

fn lists(rows: usize) -> Vec<Vec<u8>> {
    generate(rows, |random, out| {
        let (mut doubles, mut numbers, mut flags) = (Writer::default(), Writer::default(), Writer::default());
        (0..random.below(20)).for_each(|_| doubles.0.extend(random.next().to_le_bytes()));
        (0..random.below(20)).for_each(|_| numbers.raw_varint(random.skewed(1e6)));
        (0..random.below(20)).for_each(|_| flags.raw_varint(random.below(2)));
        out.bytes(1, &doubles.0);
        out.bytes(2, &numbers.0);
        (0..random.below(5)).for_each(|_| out.bytes(3, random.pick(&["red", "green", "blue"]).as_bytes()));
        out.bytes(4, &flags.0);
    })
}

fn maps(rows: usize) -> Vec<Vec<u8>> {
    generate(rows, |random, out| {
        for key in ["host", "zone", "service"].iter().take(random.below(4) as usize) {
            let mut entry = Writer::default();
            entry.bytes(1, key.as_bytes());
            let len = random.below(20) as usize;
            entry.bytes(2, random.digits(len).as_bytes());
            out.bytes(1, &entry.0);
        }
        for key in 0..random.below(6) {
            let mut entry = Writer::default();
            entry.varint(1, key);
            entry.varint(2, random.skewed(1e9));
            out.bytes(2, &entry.0);
        }
    })
}
