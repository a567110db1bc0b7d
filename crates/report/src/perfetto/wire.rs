//! The protobuf wire format, for writing: <https://protobuf.dev/programming-guides/encoding/>.

/// Where bytes go.
pub(super) trait Buffer {
    /// Appends one byte.
    fn push(&mut self, byte: u8);
    /// Appends bytes.
    fn extend(&mut self, bytes: &[u8]);
    /// How many bytes there are.
    fn len(&self) -> usize;
    /// Puts the length of a message, which takes the bytes from `at + 1` on, where `at` is.
    fn set_length(&mut self, at: usize, length: usize);
}

impl Buffer for Vec<u8> {
    #[inline]
    fn push(&mut self, byte: u8) {
        self.push(byte);
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn len(&self) -> usize {
        self.len()
    }

    fn set_length(&mut self, at: usize, length: usize) {
        if length < 0x80 {
            self[at] = length as u8;
        } else {
            let mut prefix = Wire { bytes: Self::new() };
            prefix.varint(length as u64);
            self.splice(at..=at, prefix.bytes);
        }
    }
}

/// Room for one event without strings. It lives in registers and cache, so that filling it costs a
/// third of what appending to a vector does.
pub(super) struct Small {
    bytes: [u8; 128],
    len: usize,
}

impl Small {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; 128], len: 0 }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Buffer for Small {
    #[inline]
    fn push(&mut self, byte: u8) {
        debug_assert!(self.len < 128, "an event is too long");
        // the mask spares a bounds check
        self.bytes[self.len & 127] = byte;
        self.len += 1;
    }

    #[inline]
    fn extend(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    #[inline]
    fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn set_length(&mut self, at: usize, length: usize) {
        self.bytes[at & 127] = length as u8;
    }
}

/// Messages, written field by field.
#[derive(Debug, Default)]
pub(super) struct Wire<B> {
    pub(super) bytes: B,
}

/// Wire types.
const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const LENGTH: u32 = 2;

impl<B: Buffer> Wire<B> {
    #[inline]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    #[inline]
    fn tag(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    /// An unsigned integer, an enum or a bool.
    #[inline]
    pub(super) fn uint(&mut self, field: u32, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    /// A signed integer that is not negative.
    #[inline]
    pub(super) fn int(&mut self, field: u32, value: i32) {
        debug_assert!(value >= 0, "negative numbers take ten bytes and are not needed");
        self.uint(field, value as u64);
    }

    /// Eight bytes.
    #[inline]
    pub(super) fn fixed64(&mut self, field: u32, value: u64) {
        self.tag(field, FIXED64);
        self.bytes.extend(&value.to_le_bytes());
    }

    /// A floating-point number.
    #[inline]
    pub(super) fn double(&mut self, field: u32, value: f64) {
        self.fixed64(field, value.to_bits());
    }

    /// A string.
    pub(super) fn text(&mut self, field: u32, text: &str) {
        self.tag(field, LENGTH);
        self.varint(text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    /// A message inside this one.
    #[inline]
    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        self.tag(field, LENGTH);
        let at = self.bytes.len();
        // nearly all messages here take less than 128 bytes, and then one byte holds the length
        self.bytes.push(0);
        fill(self);
        let length = self.bytes.len() - at - 1;
        self.bytes.set_length(at, length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_format_are_written_as_documented() {
        // "Encoding" of the protobuf documentation: field 1 = 150, and field 2 = "testing"
        let mut wire = Wire { bytes: Vec::new() };
        wire.uint(1, 150);
        wire.text(2, "testing");
        wire.message(3, |inner| inner.uint(1, 150));
        assert_eq!(
            wire.bytes,
            [
                0x08, 0x96, 0x01, 0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67, 0x1a, 0x03, 0x08,
                0x96, 0x01
            ]
        );
    }

    #[test]
    fn a_long_message_gets_a_long_length() {
        let mut wire = Wire { bytes: Vec::new() };
        wire.message(1, |inner| inner.text(1, &"x".repeat(200)));
        assert_eq!(wire.bytes[..5], [0x0a, 0xcb, 0x01, 0x0a, 0xc8]);
        assert_eq!(wire.bytes.len(), 3 + 3 + 200);
    }
}
