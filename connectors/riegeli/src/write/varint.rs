//! Varints as they are written.

/// Appends the shortest spelling of `value`.
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field of wire type 0 to a message.
pub(super) fn put_varint_field(message: &mut Vec<u8>, number: u32, value: u64) {
    put(message, u64::from(number << 3));
    put(message, value);
}

/// Appends a field of wire type 2 to a message.
pub(super) fn put_bytes_field(message: &mut Vec<u8>, number: u32, value: &[u8]) {
    put(message, u64::from(number << 3 | 2));
    put(message, value.len() as u64);
    message.extend_from_slice(value);
}
