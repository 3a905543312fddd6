//! The message types of the tests.

pub(super) const PROTO3: &str = r#"
    syntax = "proto3";
    import "google/protobuf/any.proto";
    import "google/protobuf/duration.proto";
    import "google/protobuf/empty.proto";
    import "google/protobuf/field_mask.proto";
    import "google/protobuf/struct.proto";
    import "google/protobuf/timestamp.proto";
    import "google/protobuf/wrappers.proto";

    message Scalars {
      int32 int32 = 1; int64 int64 = 2; uint32 uint32 = 3; uint64 uint64 = 4; sint32 sint32 = 5;
      sint64 sint64 = 6; fixed32 fixed32 = 7; fixed64 fixed64 = 8; sfixed32 sfixed32 = 9;
      sfixed64 sfixed64 = 10; float float = 11; double double = 12; bool bool = 13; string string = 14;
      bytes bytes = 15;
    }

    enum Color { NONE = 0; RED = 1; }

    message M {
      int32 foo_bar = 1;
      int32 other = 2 [json_name = "renamed one"];
      int32 _field_name3_ = 3;
      optional int32 maybe = 4;
      Color color = 5;
      M child = 6;
      oneof choice {
        int32 number = 7; string text = 8; M message = 9; google.protobuf.NullValue nothing = 10;
      }
    }

    message Many {
      repeated int32 ints = 1;
      repeated string texts = 2;
      repeated M messages = 3;
      repeated Color colors = 4;
      repeated float floats = 5;
      map<string, int32> by_text = 6;
      map<sint32, M> by_number = 7;
      map<bool, Color> by_bool = 8;
      map<uint64, google.protobuf.Timestamp> times = 9;
      map<int32, google.protobuf.Value> values = 10;
      map<int32, google.protobuf.Int64Value> wrappers = 11;
      repeated google.protobuf.Int64Value wrapper_list = 12;
    }

    message Known {
      google.protobuf.Timestamp timestamp = 1;
      google.protobuf.Duration duration = 2;
      google.protobuf.FieldMask mask = 3;
      google.protobuf.BoolValue bool_value = 4;
      google.protobuf.Int64Value int64_value = 5;
      google.protobuf.StringValue string_value = 6;
      google.protobuf.BytesValue bytes_value = 7;
      google.protobuf.FloatValue float_value = 8;
      google.protobuf.Empty empty = 9;
      google.protobuf.Int32Value int32_value = 10;
    }

    message Plain {
      google.protobuf.Struct struct = 1;
      google.protobuf.Value value = 2;
      google.protobuf.ListValue list = 3;
    }

    message Holder { google.protobuf.Any any = 1; }
"#;

pub(super) const PROTO2: &str = r#"
    syntax = "proto2";
    package p;

    enum Color { BLUE = 0; RED = 4; GREEN = 5; }
    enum Alias { option allow_alias = true; FIRST = 4; SECOND = 4; }

    message Two {
      optional int32 number = 1;
      optional Color color = 2;
      repeated Color colors = 3;
      map<int32, Color> by_number = 4;
      optional group Grp = 5 { optional int32 a_b = 1; optional int32 b = 2; }
      repeated group Many = 7 { optional int32 a = 1; }
      optional int32 last = 10;
      optional Alias alias = 11;
      oneof choice { int32 one = 12; Color two = 13; }
      extensions 100 to max;
    }

    extend Two { optional int32 e_one = 100; repeated int32 e_many = 102; }
    message Scope { extend Two { optional Two e_two = 101; } }
"#;
