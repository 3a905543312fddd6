//! Message types with every kind of field, and the metadata of files of them.

use std::sync::LazyLock;

use prost::Message;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

/// The message types `M` of the tests: fields 1 to 47 have the same kinds in each, as far as the syntax has them.
pub const SCHEMAS: [&str; 2] = [
    "syntax = 'proto3';
     import 'google/protobuf/any.proto'; import 'google/protobuf/duration.proto';
     import 'google/protobuf/empty.proto'; import 'google/protobuf/field_mask.proto';
     import 'google/protobuf/struct.proto'; import 'google/protobuf/timestamp.proto';
     import 'google/protobuf/wrappers.proto';
     enum E { A = 0; B = 1; C = 2; D = 300; }
     message Sub {
       int32 a = 1; string b = 2; repeated int32 c = 3; oneof o { string x = 4; sint32 y = 5; Leaf z = 6; }
       repeated Leaf d = 7; Leaf e = 8; map<string, E> f = 9; bytes g = 10;
     }
     message Leaf { fixed32 a = 1; optional string b = 2; repeated double c = 3; Sub back = 4; }
     message M {
       int32 i = 1; int64 l = 2; uint32 u = 3; uint64 ul = 4; sint32 z = 5; sint64 zl = 6; bool t = 7; E e = 8;
       fixed32 f = 9; sfixed64 fl = 10; float fp = 11; double d = 12; string s = 13; bytes b = 14; Sub sub = 15;
       optional int32 oi = 16; optional string os = 17; optional E oe = 18; optional double od = 19;
       repeated int32 ri = 20; repeated string rs = 21; repeated Sub rsub = 22; repeated E re = 23;
       repeated fixed64 rf = 24; repeated bytes rb = 25; repeated bool rt = 26;
       oneof one { int32 ki = 27; string ks = 28; Sub km = 29; E ke = 30; bytes kb = 31; Leaf kl = 46; }
       map<string, int32> ms = 32; map<int32, Sub> mm = 33; map<bool, string> mt = 34; map<uint64, E> me = 35;
       google.protobuf.Timestamp ts = 36; google.protobuf.Duration du = 37; google.protobuf.Int64Value wi = 38;
       google.protobuf.StringValue ws = 39; google.protobuf.Struct js = 40; google.protobuf.Value jv = 41;
       google.protobuf.Any any = 42; google.protobuf.FieldMask mask = 43; google.protobuf.Empty no = 44;
       M self = 45; repeated google.protobuf.Timestamp rts = 47;
     }",
    "syntax = 'proto2';
     import 'google/protobuf/duration.proto'; import 'google/protobuf/struct.proto';
     import 'google/protobuf/timestamp.proto'; import 'google/protobuf/wrappers.proto';
     enum E { B = 1; A = 0; C = 2; D = 300; }
     message Sub {
       required int32 a = 1; optional string b = 2; repeated int32 c = 3 [packed = true];
       oneof o { string x = 4; sint32 y = 5; Leaf z = 6; } repeated Leaf d = 7; optional Leaf e = 8;
       map<string, E> f = 9; optional bytes g = 10 [default = 'gg'];
     }
     message Leaf { optional fixed32 a = 1; optional string b = 2; repeated double c = 3; optional Sub back = 4; }
     message M {
       optional int32 i = 1 [default = 7]; optional int64 l = 2; optional uint32 u = 3; optional uint64 ul = 4;
       optional sint32 z = 5; optional sint64 zl = 6; optional bool t = 7 [default = true]; optional E e = 8;
       optional fixed32 f = 9; optional sfixed64 fl = 10; optional float fp = 11; optional double d = 12;
       optional string s = 13 [default = 'none']; optional bytes b = 14; optional Sub sub = 15;
       required int32 oi = 16; optional string os = 17; optional group Group = 18 {
         optional int32 a = 1; optional string b = 2; repeated group Inner = 3 { optional string c = 2; }
       }
       optional double od = 19; repeated int32 ri = 20; repeated string rs = 21; repeated Sub rsub = 22;
       repeated E re = 23 [packed = true]; repeated fixed64 rf = 24; repeated bytes rb = 25; repeated bool rt = 26;
       oneof one { int32 ki = 27; string ks = 28; Sub km = 29; group Kg = 30 { optional E e = 1; } bytes kb = 31; }
       map<string, int32> ms = 32; map<int32, Sub> mm = 33; map<bool, string> mt = 34; map<uint64, E> me = 35;
       optional google.protobuf.Timestamp ts = 36; optional google.protobuf.Duration du = 37;
       optional google.protobuf.Int64Value wi = 38; optional google.protobuf.StringValue ws = 39;
       optional google.protobuf.Struct js = 40; optional google.protobuf.Value jv = 41;
       repeated group Rg = 42 { optional E e = 1; optional Leaf l = 2; optional string s = 3; }
       oneof two { E te = 43; string tt = 44; } optional M self = 45; repeated E ree = 46;
       extensions 48 to 50;
     }
     extend M { optional string extra = 48; repeated Sub extras = 49; }",
];

struct Source(String);

impl FileResolver for Source {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match name {
            "test.proto" => File::from_source(name, &self.0),
            _ => Err(protox::Error::file_not_found(name)),
        }
    }
}

static METADATA: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| SCHEMAS.map(compile));

/// The serialized metadata of files whose records are of the type `M` of one of the schemas.
pub fn metadata(schema: &str) -> Vec<u8> {
    let known = SCHEMAS.iter().position(|known| *known == schema).expect("one of the schemas");
    METADATA[known].clone()
}

/// The serialized metadata of files whose records are of the type `M` of a .proto text.
pub fn compile(schema: &str) -> Vec<u8> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(Source(schema.to_string()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true);
    compiler.open_file("test.proto").expect("the schema compiles");
    let mut metadata = vec![0x12, 1, b'M'];
    for file in compiler.file_descriptor_set().file {
        prost::encoding::bytes::encode(3, &file.encode_to_vec(), &mut metadata);
    }
    metadata
}
