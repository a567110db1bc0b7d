//! RLTP on the wire: frames in bytes and back.
//!
//! Every frame starts with 32 bytes, big-endian:
//!
//! | offset | bits | field |
//! |---|---|---|
//! | 0 | 4 + 4 | version 1; length of this header in words of 4 bytes |
//! | 1 | 8 | frame type |
//! | 2 | 16 | flags |
//! | 4, 6 | 16 + 16 | destination and source: index in the node table |
//! | 8 | 24 + 8 | queue pair at the destination; its epoch, which tells a new connection from an old one |
//! | 12 | 32 | packet number (sub-packet number), per direction, modulo 2^32 |
//! | 16 | 32 | number of this transmission, modulo 2^32; acknowledgements echo it |
//! | 20 | 32 | time of sending, microseconds, modulo 2^32 |
//! | 24 | 16 | length of the payload: what follows the extension |
//! | 26 | 16 | credit: packets that the sender of this frame can take from the first that it has not on, in units of 16; all bits set: any number |
//! | 28 | 32 | CRC-32C of the frame with this field zero, where the flag says so, else 0 |
//!
//! An extension follows whose length goes with the frame type ([`Body`]), then the payload. Decoding is total: any bytes give a frame or
//! a reason, nothing panics, nothing is allocated. What is decoded encodes to the same bytes.

mod body;
mod bridge;
mod checksum;

pub use body::{Acknowledgement, Atomic, Body};
pub use bridge::{
    Ends, NO_LIMIT, Refusal, acknowledgement, acknowledgement_header, credit, data_header, expand, refusal,
    room,
};
pub use checksum::crc32c;

/// Version of the wire form.
pub const VERSION: u8 = 1;

/// Bytes of the common header.
pub const COMMON_BYTES: usize = 32;

/// Words of bitmap that an acknowledgement can carry.
pub const MOST_WORDS: usize = 16;

/// Flags of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WireFlags(pub u16);

impl WireFlags {
    /// First packet of a message.
    pub const FIRST: Self = Self(1);
    /// Last packet of a message.
    pub const LAST: Self = Self(1 << 1);
    /// Acknowledge at once.
    pub const ACK_REQUEST: Self = Self(1 << 2);
    /// Sent before.
    pub const RETRANSMISSION: Self = Self(1 << 3);
    /// Immediate data comes along.
    pub const IMMEDIATE: Self = Self(1 << 4);
    /// Wake the receiving application.
    pub const SOLICIT: Self = Self(1 << 5);
    /// A packet is missing.
    pub const NAK: Self = Self(1 << 6);
    /// The packet that caused this was marked.
    pub const ECN_ECHO: Self = Self(1 << 7);
    /// Sent to hear whether anybody is there.
    pub const PROBE: Self = Self(1 << 8);
    /// The last frame of a connection.
    pub const CLOSE: Self = Self(1 << 9);
    /// The checksum is filled.
    pub const CHECKSUM: Self = Self(1 << 10);

    const KNOWN: u16 = (1 << 11) - 1;

    /// Whether all bits of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// `other` where `condition` holds, else nothing.
    pub const fn when(condition: bool, other: Self) -> Self {
        if condition { other } else { Self(0) }
    }
}

impl std::ops::BitOr for WireFlags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

macro_rules! frame_types {
    ($($(#[$doc:meta])* $name:ident = $code:literal),+ $(,)?) => {
        /// Types of frames, by their code on the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum FrameType {
            $($(#[$doc])* $name = $code),+
        }

        impl FrameType {
            /// Every type.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The type with this code.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$name),)+
                    _ => None,
                }
            }
        }
    };
}

frame_types! {
    /// A message for whoever posted a receive.
    Send = 0x00,
    /// Bytes for an address of the other side.
    Write = 0x01,
    /// The same, with a number for the application there.
    WriteImmediate = 0x02,
    /// Asks for bytes of the other side.
    ReadRequest = 0x03,
    /// Brings them.
    ReadResponse = 0x04,
    /// Asks for an atomic operation.
    AtomicRequest = 0x05,
    /// Brings the value from before.
    AtomicResponse = 0x06,
    /// What has arrived.
    Ack = 0x10,
    /// What has arrived, and that something did not, or was refused.
    Nack = 0x11,
    /// Credit has changed.
    Credit = 0x12,
    /// Is anybody there?
    Probe = 0x13,
    /// A mark was seen.
    CongestionNotification = 0x14,
    /// Reads registers.
    ConfigurationRead = 0x20,
    /// Writes registers.
    ConfigurationWrite = 0x21,
    /// Answers either.
    ConfigurationResponse = 0x22,
    /// Something happened that was asked for.
    ConfigurationEvent = 0x23,
    /// Asks for a connection.
    ConnectionRequest = 0x30,
    /// Grants it.
    ConnectionReply = 0x31,
    /// It can be used.
    ConnectionReady = 0x32,
    /// Refuses it.
    ConnectionReject = 0x33,
    /// Ends it.
    Disconnect = 0x34,
    /// Looks for a manager.
    Discover = 0x40,
    /// Offers an address.
    Offer = 0x41,
    /// Asks for it.
    Request = 0x42,
    /// Leases it.
    Lease = 0x43,
    /// Is still there.
    Heartbeat = 0x44,
    /// The whole table of nodes.
    TableSnapshot = 0x45,
    /// What changed in it.
    TableDifference = 0x46,
    /// Goes away.
    Leave = 0x47,
    /// Measures the way.
    Ping = 0x48,
}

/// Why bytes are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Fewer bytes than header and extension have.
    #[error("{found} bytes; header and extension have {needed}")]
    TooShort {
        /// Bytes that are there.
        found: usize,
        /// Bytes that must be.
        needed: usize,
    },
    /// Another version.
    #[error("version {0}; this is version 1")]
    Version(u8),
    /// Another length of the common header.
    #[error("a header of {0} words; it has 8")]
    HeaderLength(u8),
    /// No such frame.
    #[error("no frame has type {0:#04x}")]
    FrameType(u8),
    /// Flags that mean nothing.
    #[error("flags {0:#06x}; those above 0x07ff are reserved")]
    Flags(u16),
    /// The payload is not as long as the header says.
    #[error("{found} bytes of payload; the header says {said}")]
    PayloadLength {
        /// What the header says.
        said: usize,
        /// Bytes that are there.
        found: usize,
    },
    /// Damaged on the way, or a checksum without its flag.
    #[error("checksum {found:#010x}; the frame has {computed:#010x}")]
    Checksum {
        /// In the frame.
        found: u32,
        /// Of its bytes.
        computed: u32,
    },
    /// A field of the extension is out of its range.
    #[error("{field} is {value}; {expected}")]
    Field {
        /// Which.
        field: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        expected: &'static str,
    },
    /// The buffer is too small for what is encoded.
    #[error("a buffer of {found} bytes; the frame has {needed}")]
    Buffer {
        /// Bytes of the buffer.
        found: usize,
        /// Bytes of the frame.
        needed: usize,
    },
}

/// A frame: the common header, and what follows it. Payloads are borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Flags; [`WireFlags::CHECKSUM`] asks for a checksum.
    pub flags: WireFlags,
    /// Destination, an index in the node table.
    pub destination: u16,
    /// Source, an index in the node table.
    pub source: u16,
    /// Queue pair at the destination, 24 bits.
    pub queue_pair: u32,
    /// Epoch of the connection.
    pub epoch: u8,
    /// Packet number, modulo 2^32.
    pub sequence: u32,
    /// Number of the transmission, modulo 2^32.
    pub serial: u32,
    /// Time of sending, microseconds, modulo 2^32.
    pub timestamp_us: u32,
    /// Credit, in units of 16 packets.
    pub credit: u16,
    /// What it says.
    pub body: Body<'a>,
}

impl<'a> Frame<'a> {
    /// Bytes on the wire.
    pub fn len(&self) -> usize {
        COMMON_BYTES + self.body.extension_bytes() + self.body.payload_bytes()
    }

    /// A frame is never empty.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Writes the frame to the front of `out`; its length.
    ///
    /// # Errors
    /// A buffer that is too small, or a field that does not fit on the wire.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let (len, payload) = (self.len(), self.body.payload_bytes());
        let found = out.len();
        let out = out.get_mut(..len).ok_or(WireError::Buffer { found, needed: len })?;
        let too_long = WireError::Field {
            field: "payload length",
            value: payload as u64,
            expected: "at most 65,535 bytes fit",
        };
        let payload = u16::try_from(payload).map_err(|_| too_long)?;
        if self.queue_pair >= 1 << 24 {
            let value = u64::from(self.queue_pair);
            return Err(WireError::Field { field: "queue pair", value, expected: "24 bits fit" });
        }
        if self.flags.0 & !WireFlags::KNOWN != 0 {
            return Err(WireError::Flags(self.flags.0));
        }
        out[0] = VERSION << 4 | (COMMON_BYTES / 4) as u8;
        out[1] = self.body.frame_type() as u8;
        out[2..4].copy_from_slice(&self.flags.0.to_be_bytes());
        out[4..6].copy_from_slice(&self.destination.to_be_bytes());
        out[6..8].copy_from_slice(&self.source.to_be_bytes());
        out[8..12].copy_from_slice(&(self.queue_pair << 8 | u32::from(self.epoch)).to_be_bytes());
        out[12..16].copy_from_slice(&self.sequence.to_be_bytes());
        out[16..20].copy_from_slice(&self.serial.to_be_bytes());
        out[20..24].copy_from_slice(&self.timestamp_us.to_be_bytes());
        out[24..26].copy_from_slice(&payload.to_be_bytes());
        out[26..28].copy_from_slice(&self.credit.to_be_bytes());
        out[28..32].fill(0);
        self.body.encode(&mut out[COMMON_BYTES..])?;
        if self.flags.has(WireFlags::CHECKSUM) {
            let checksum = crc32c(&[out]);
            out[28..32].copy_from_slice(&checksum.to_be_bytes());
        }
        Ok(len)
    }

    /// Reads a frame that fills `bytes`.
    ///
    /// # Errors
    /// Why it is none.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let found = bytes.len();
        let short = |needed| WireError::TooShort { found, needed };
        let (common, rest) = bytes.split_first_chunk::<COMMON_BYTES>().ok_or(short(COMMON_BYTES))?;
        if common[0] >> 4 != VERSION {
            return Err(WireError::Version(common[0] >> 4));
        }
        if usize::from(common[0] & 15) * 4 != COMMON_BYTES {
            return Err(WireError::HeaderLength(common[0] & 15));
        }
        let frame_type = FrameType::from_code(common[1]).ok_or(WireError::FrameType(common[1]))?;
        let flags = WireFlags(u16_at(common, 2));
        if flags.0 & !WireFlags::KNOWN != 0 {
            return Err(WireError::Flags(flags.0));
        }
        let extension = Body::extension_of(frame_type);
        if rest.len() < extension {
            return Err(short(COMMON_BYTES + extension));
        }
        let (extension, payload) = rest.split_at(extension);
        let said = usize::from(u16_at(common, 24));
        if said != payload.len() {
            return Err(WireError::PayloadLength { said, found: payload.len() });
        }
        let found = u32_at(common, 28);
        let computed =
            if flags.has(WireFlags::CHECKSUM) { crc32c(&[&common[..28], &[0; 4], rest]) } else { 0 };
        if found != computed {
            return Err(WireError::Checksum { found, computed });
        }
        let pair = u32_at(common, 8);
        Ok(Self {
            flags,
            destination: u16_at(common, 4),
            source: u16_at(common, 6),
            queue_pair: pair >> 8,
            epoch: pair as u8,
            sequence: u32_at(common, 12),
            serial: u32_at(common, 16),
            timestamp_us: u32_at(common, 20),
            credit: u16_at(common, 26),
            body: Body::decode(frame_type, extension, payload)?,
        })
    }
}

/// Big-endian numbers at an offset that the caller has checked.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) << 16 | u32::from(u16_at(bytes, at + 2))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) << 32 | u64::from(u32_at(bytes, at + 4))
}
