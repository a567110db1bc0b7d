//! Extensions of frames: what follows the common header, by frame type.

use super::{FrameType, MOST_WORDS, WireError, u16_at, u32_at, u64_at};

/// What a frame says. Addresses and keys name memory of the other side; message numbers tell messages of a connection apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// Part of a message for a posted receive; 16 bytes.
    Send {
        /// Number of the message.
        message: u32,
        /// Bytes of the whole message.
        length: u32,
        /// Where this part begins.
        offset: u32,
        /// Number of the receive that it is for.
        receive: u32,
        /// The part.
        payload: &'a [u8],
    },
    /// Bytes for an address; 16 bytes, so that every packet can be placed by itself.
    Write {
        /// Where the bytes go.
        address: u64,
        /// Key of the memory.
        key: u32,
        /// Number of the message.
        message: u32,
        /// The bytes.
        payload: &'a [u8],
    },
    /// The same with immediate data; 20 bytes.
    WriteImmediate {
        /// Where the bytes go.
        address: u64,
        /// Key of the memory.
        key: u32,
        /// Number of the message.
        message: u32,
        /// For the application.
        immediate: u32,
        /// The bytes.
        payload: &'a [u8],
    },
    /// Asks for bytes; 32 bytes, the last four zero.
    ReadRequest {
        /// Where the bytes are.
        address: u64,
        /// Key of the memory.
        key: u32,
        /// How many.
        length: u32,
        /// Comes back with them.
        token: u64,
        /// Number of the message.
        message: u32,
    },
    /// Brings bytes; 16 bytes.
    ReadResponse {
        /// Of the request.
        token: u64,
        /// Where this part begins.
        offset: u32,
        /// Number of the message.
        message: u32,
        /// The part.
        payload: &'a [u8],
    },
    /// Asks for an atomic operation on eight bytes; 32 bytes.
    AtomicRequest {
        /// Where they are.
        address: u64,
        /// Key of the memory.
        key: u32,
        /// Which operation, and its operands.
        operation: Atomic,
    },
    /// Brings the value from before; 16 bytes, four of them zero.
    AtomicResponse {
        /// Packet number of the request.
        request: u32,
        /// The value.
        value: u64,
    },
    /// What has arrived; 24 bytes and a bitmap.
    Ack(Acknowledgement<'a>),
    /// What has arrived and what was not, or was refused (`syndrome`).
    Nack(Acknowledgement<'a>),
    /// Only the credit of the common header.
    Credit,
    /// Asks for an acknowledgement.
    Probe,
    /// A mark was seen.
    CongestionNotification,
    /// Configuration, connections and management: the payload belongs to those layers.
    Other {
        /// Which frame.
        frame_type: FrameType,
        /// Its content.
        payload: &'a [u8],
    },
}

/// Atomic operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atomic {
    /// Adds.
    FetchAndAdd(u64),
    /// Stores `swap` where `compare` is found.
    CompareAndSwap {
        /// What must be found.
        compare: u64,
        /// What is stored then.
        swap: u64,
    },
}

/// What a receiver says of its side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledgement<'a> {
    /// Every packet below has arrived, modulo 2^32.
    pub cumulative: u32,
    /// Number of the transmission that caused this.
    pub echo_serial: u32,
    /// Time of sending that it carried, microseconds.
    pub echo_timestamp_us: u32,
    /// Time from its arrival to this, microseconds (saturating).
    pub delay_us: u16,
    /// Packets that can be taken, in units of 16.
    pub credit: u16,
    /// Messages that are complete, modulo 2^32.
    pub messages: u32,
    /// Why something was refused: 0 a gap, 1 no receive posted, 2 no access, 3 invalid.
    pub syndrome: u8,
    /// Words of 64 packets, big-endian: bit i of word w is packet `cumulative + 1 + 64 w + i`.
    bitmap: &'a [u8],
}

impl<'a> Acknowledgement<'a> {
    /// An acknowledgement with nothing beyond `cumulative`; the other fields are zero.
    pub const fn new(cumulative: u32, echo_serial: u32, echo_timestamp_us: u32) -> Self {
        Self {
            cumulative,
            echo_serial,
            echo_timestamp_us,
            delay_us: 0,
            credit: 0,
            messages: 0,
            syndrome: 0,
            bitmap: &[],
        }
    }

    /// The same with a bitmap of big-endian words.
    ///
    /// # Errors
    /// Bytes that are no words, or too many.
    pub fn with_bitmap(self, bitmap: &'a [u8]) -> Result<Self, WireError> {
        let value = bitmap.len() as u64;
        if !bitmap.len().is_multiple_of(8) || bitmap.len() > MOST_WORDS * 8 {
            let expected = "whole words of 8 bytes, at most 16";
            return Err(WireError::Field { field: "bitmap length", value, expected });
        }
        Ok(Self { bitmap, ..self })
    }

    /// Words of the bitmap.
    pub fn words(&self) -> impl Iterator<Item = u64> + use<'a> {
        self.bitmap.as_chunks::<8>().0.iter().map(|word| u64::from_be_bytes(*word))
    }
}

const ACKNOWLEDGEMENT_BYTES: usize = 24;

impl<'a> Body<'a> {
    /// Its code on the wire.
    pub const fn frame_type(&self) -> FrameType {
        match self {
            Self::Send { .. } => FrameType::Send,
            Self::Write { .. } => FrameType::Write,
            Self::WriteImmediate { .. } => FrameType::WriteImmediate,
            Self::ReadRequest { .. } => FrameType::ReadRequest,
            Self::ReadResponse { .. } => FrameType::ReadResponse,
            Self::AtomicRequest { .. } => FrameType::AtomicRequest,
            Self::AtomicResponse { .. } => FrameType::AtomicResponse,
            Self::Ack(_) => FrameType::Ack,
            Self::Nack(_) => FrameType::Nack,
            Self::Credit => FrameType::Credit,
            Self::Probe => FrameType::Probe,
            Self::CongestionNotification => FrameType::CongestionNotification,
            Self::Other { frame_type, .. } => *frame_type,
        }
    }

    /// Bytes of the extension of a frame type.
    pub const fn extension_of(frame_type: FrameType) -> usize {
        match frame_type {
            FrameType::Send | FrameType::Write | FrameType::ReadResponse | FrameType::AtomicResponse => 16,
            FrameType::WriteImmediate => 20,
            FrameType::ReadRequest | FrameType::AtomicRequest => 32,
            FrameType::Ack | FrameType::Nack => ACKNOWLEDGEMENT_BYTES,
            _ => 0,
        }
    }

    pub(super) const fn extension_bytes(&self) -> usize {
        Self::extension_of(self.frame_type())
    }

    /// What follows the extension.
    pub const fn payload(&self) -> &'a [u8] {
        match self {
            Self::Send { payload, .. }
            | Self::Write { payload, .. }
            | Self::WriteImmediate { payload, .. }
            | Self::ReadResponse { payload, .. }
            | Self::Other { payload, .. } => payload,
            Self::Ack(ack) | Self::Nack(ack) => ack.bitmap,
            _ => &[],
        }
    }

    pub(super) const fn payload_bytes(&self) -> usize {
        self.payload().len()
    }

    /// Writes extension and payload over all of `out`.
    pub(super) fn encode(&self, out: &mut [u8]) -> Result<(), WireError> {
        let mut writer = Writer { out, at: 0 };
        match *self {
            Self::Send { message, length, offset, receive, .. } => {
                writer.u32(message).u32(length).u32(offset).u32(receive);
            }
            Self::Write { address, key, message, .. } => {
                writer.u64(address).u32(key).u32(message);
            }
            Self::WriteImmediate { address, key, message, immediate, .. } => {
                writer.u64(address).u32(key).u32(message).u32(immediate);
            }
            Self::ReadRequest { address, key, length, token, message } => {
                writer.u64(address).u32(key).u32(length).u64(token).u32(message).u32(0);
            }
            Self::ReadResponse { token, offset, message, .. } => {
                writer.u64(token).u32(offset).u32(message);
            }
            Self::AtomicRequest { address, key, operation } => {
                let (code, first, second) = match operation {
                    Atomic::FetchAndAdd(value) => (0, value, 0),
                    Atomic::CompareAndSwap { compare, swap } => (1, compare, swap),
                };
                writer.u64(address).u32(key).u32(code).u64(first).u64(second);
            }
            Self::AtomicResponse { request, value } => {
                writer.u32(request).u32(0).u64(value);
            }
            Self::Ack(ack) | Self::Nack(ack) => {
                writer.u32(ack.cumulative).u32(ack.echo_serial).u32(ack.echo_timestamp_us);
                let words = ack.bitmap.len() / 8;
                let pair = u32::from(ack.delay_us) << 16 | u32::from(ack.credit);
                let tail = (words as u32) << 24 | u32::from(ack.syndrome) << 16;
                writer.u32(pair).u32(ack.messages).u32(tail);
            }
            Self::Other { frame_type, .. } if (frame_type as u8) < FrameType::ConfigurationRead as u8 => {
                let value = frame_type as u64;
                let expected = "only configuration, connections and management have a free payload";
                return Err(WireError::Field { field: "frame type", value, expected });
            }
            Self::Credit | Self::Probe | Self::CongestionNotification | Self::Other { .. } => {}
        }
        let at = writer.at;
        out[at..].copy_from_slice(self.payload());
        Ok(())
    }

    /// Reads an extension of the right length, and its payload.
    pub(super) fn decode(frame_type: FrameType, ext: &[u8], payload: &'a [u8]) -> Result<Self, WireError> {
        let zero = |field, value: u32| {
            let value = u64::from(value);
            if value == 0 { Ok(()) } else { Err(WireError::Field { field, value, expected: "it must be 0" }) }
        };
        let body = match frame_type {
            FrameType::Send => Self::Send {
                message: u32_at(ext, 0),
                length: u32_at(ext, 4),
                offset: u32_at(ext, 8),
                receive: u32_at(ext, 12),
                payload,
            },
            FrameType::Write => Self::Write {
                address: u64_at(ext, 0),
                key: u32_at(ext, 8),
                message: u32_at(ext, 12),
                payload,
            },
            FrameType::WriteImmediate => Self::WriteImmediate {
                address: u64_at(ext, 0),
                key: u32_at(ext, 8),
                message: u32_at(ext, 12),
                immediate: u32_at(ext, 16),
                payload,
            },
            FrameType::ReadRequest => {
                zero("reserved", u32_at(ext, 28))?;
                let (address, key, length) = (u64_at(ext, 0), u32_at(ext, 8), u32_at(ext, 12));
                Self::ReadRequest { address, key, length, token: u64_at(ext, 16), message: u32_at(ext, 24) }
            }
            FrameType::ReadResponse => {
                let (token, offset, message) = (u64_at(ext, 0), u32_at(ext, 8), u32_at(ext, 12));
                Self::ReadResponse { token, offset, message, payload }
            }
            FrameType::AtomicRequest => {
                let (first, second) = (u64_at(ext, 16), u64_at(ext, 24));
                let operation = match (u32_at(ext, 12), second) {
                    (0, 0) => Atomic::FetchAndAdd(first),
                    (1, swap) => Atomic::CompareAndSwap { compare: first, swap },
                    (code, _) => {
                        let expected = "0 adds and has one operand, 1 compares and swaps";
                        let value = u64::from(code);
                        return Err(WireError::Field { field: "atomic operation", value, expected });
                    }
                };
                Self::AtomicRequest { address: u64_at(ext, 0), key: u32_at(ext, 8), operation }
            }
            FrameType::AtomicResponse => {
                zero("reserved", u32_at(ext, 4))?;
                Self::AtomicResponse { request: u32_at(ext, 0), value: u64_at(ext, 8) }
            }
            FrameType::Ack | FrameType::Nack => {
                let ack = acknowledgement(ext, payload)?;
                if frame_type == FrameType::Ack { Self::Ack(ack) } else { Self::Nack(ack) }
            }
            FrameType::Credit => Self::Credit,
            FrameType::Probe => Self::Probe,
            FrameType::CongestionNotification => Self::CongestionNotification,
            _ => Self::Other { frame_type, payload },
        };
        if body.payload_bytes() != payload.len() {
            return Err(WireError::PayloadLength { said: payload.len(), found: body.payload_bytes() });
        }
        Ok(body)
    }
}

fn acknowledgement<'a>(ext: &[u8], payload: &'a [u8]) -> Result<Acknowledgement<'a>, WireError> {
    let [words, syndrome] = [ext[20], ext[21]];
    if usize::from(words) * 8 != payload.len() {
        let expected = "it must be the payload in words of 8 bytes";
        return Err(WireError::Field { field: "words", value: u64::from(words), expected });
    }
    if syndrome > 3 {
        let value = u64::from(syndrome);
        return Err(WireError::Field { field: "syndrome", value, expected: "0 to 3 have a meaning" });
    }
    if u16_at(ext, 22) != 0 {
        let value = u64::from(u16_at(ext, 22));
        return Err(WireError::Field { field: "reserved", value, expected: "it must be 0" });
    }
    let ack = Acknowledgement {
        delay_us: u16_at(ext, 12),
        credit: u16_at(ext, 14),
        messages: u32_at(ext, 16),
        syndrome,
        ..Acknowledgement::new(u32_at(ext, 0), u32_at(ext, 4), u32_at(ext, 8))
    };
    ack.with_bitmap(payload)
}

/// Puts numbers one after the other, big-endian.
struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn u32(&mut self, value: u32) -> &mut Self {
        self.out[self.at..self.at + 4].copy_from_slice(&value.to_be_bytes());
        self.at += 4;
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.u32((value >> 32) as u32).u32(value as u32)
    }
}
