//! The frame: header, blocks with checksums, and the trailer.

use std::fmt;
use std::io::Read;

use super::super::error::ReadError;
use super::super::source::{Source, wrong_at};
use super::{END, EXPANSION, MAGIC, VERSION};

/// Bytes of the file's header.
pub(super) const HEADER: usize = 40;
/// Bytes of a block before its content.
pub(super) const BLOCK: usize = 32;
/// Bytes of the trailer.
pub(super) const TRAILER: usize = 32;
/// LZ4 blocks are not made of more bytes than this.
const MOST_COMPRESSED: usize = 1 << 30;

/// What the file holds in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) ranks: u32,
    pub(super) operations: u32,
    pub(super) edges: u32,
    pub(super) shapes: u32,
    pub(super) labels: u32,
    pub(super) label_bytes: u32,
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ranks, operations, edges, shapes, labels, label_bytes } = self;
        write!(
            f,
            "{ranks} ranks, {operations} operations, {edges} dependencies, {shapes} shapes, {labels} labels of {label_bytes} bytes"
        )
    }
}

impl Totals {
    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        let fields = [self.ranks, self.operations, self.edges, self.shapes, self.labels, self.label_bytes];
        for (at, field) in (12..).step_by(4).zip(fields) {
            bytes[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        seal(&mut bytes, 36);
        bytes
    }

    /// Reads the header of a file of `length` bytes, where that is known; the header's bytes as well.
    pub(super) fn read(
        source: &mut Source<impl Read>,
        length: Option<u64>,
    ) -> Result<(Self, [u8; HEADER]), ReadError> {
        let bytes = source.take(HEADER, format_args!("the header of {HEADER} bytes"))?;
        let bytes: [u8; HEADER] = bytes.try_into().expect("as many as asked for");
        if bytes[..8] != MAGIC {
            let reason =
                format!("{:02x?}; {MAGIC:02x?} expected, with which a .strata file begins", &bytes[..8]);
            return Err(wrong_at(0, reason));
        }
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if version != VERSION {
            let reason =
                format!("version {version} of the form; {VERSION} expected, the one that is known here");
            return Err(wrong_at(8, reason));
        }
        check_seal(&bytes, 36, 0)?;
        let field = |at| u32_at(&bytes, at);
        if bytes[10] != 0 || bytes[11] != 0 {
            return Err(wrong_at(10, "a field that is not used yet is set; 0 expected"));
        }
        let totals = Self {
            ranks: field(12),
            operations: field(16),
            edges: field(20),
            shapes: field(24),
            labels: field(28),
            label_bytes: field(32),
        };
        let needed = totals.memory();
        if let Some(length) = length
            && needed > length.saturating_mul(EXPANSION)
        {
            let reason = format!(
                "a file of {length} bytes that claims {} ranks, {} operations and {} dependencies; at most {EXPANSION} times the file expected",
                totals.ranks, totals.operations, totals.edges
            );
            return Err(wrong_at(12, reason));
        }
        Ok((totals, bytes))
    }

    /// Bytes of such a schedule, shapes and labels apart.
    fn memory(&self) -> u64 {
        4 * (u64::from(self.ranks) + u64::from(self.edges)) + 8 * u64::from(self.operations)
    }
}

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Shapes = 1,
    Ranks = 2,
    Labels = 3,
    Index = 4,
}

impl Kind {
    /// What stands in such a block.
    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Shapes => "shapes",
            Self::Ranks => "ranks",
            Self::Labels => "labels",
            Self::Index => "the index",
        }
    }
}

/// A block before its content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Shapes, ranks, labels or blocks of ranks.
    pub(super) count: u32,
    /// Operations of its ranks; bytes of its labels.
    pub(super) operations: u32,
    /// Dependencies of its ranks.
    pub(super) edges: u32,
}

impl Block {
    /// Appends the block with its content to `out`, compressed where that helps; its header as well.
    /// `scratch` is overwritten.
    ///
    /// # Errors
    /// The number of bytes, when they are too many for a block.
    pub(super) fn encode(
        self,
        raw: &[u8],
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<[u8; BLOCK], usize> {
        let raw_bytes = u32::try_from(raw.len()).map_err(|_| raw.len())?;
        let mut stored = raw;
        if raw.len() <= MOST_COMPRESSED {
            scratch.clear();
            scratch.resize(lz4_flex::block::get_maximum_output_size(raw.len()), 0);
            let bytes = lz4_flex::block::compress_into(raw, scratch).expect("room for the worst case");
            if bytes < raw.len() {
                stored = &scratch[..bytes];
            }
        }
        let mut header = [0; BLOCK];
        header[0] = self.kind as u8;
        header[1] = u8::from(stored.len() < raw.len());
        let fields = [stored.len() as u32, raw_bytes, self.count, self.operations, self.edges];
        for (at, field) in (4..).step_by(4).zip(fields) {
            header[at..at + 4].copy_from_slice(&field.to_le_bytes());
        }
        header[24..28].copy_from_slice(&crc32fast::hash(stored).to_le_bytes());
        seal(&mut header, 28);
        out.extend_from_slice(&header);
        out.extend_from_slice(stored);
        Ok(header)
    }

    /// Reads the next block with its content, which replaces `raw`; its header as well. `stored` is
    /// overwritten.
    pub(super) fn read(
        source: &mut Source<impl Read>,
        stored: &mut Vec<u8>,
        raw: &mut Vec<u8>,
    ) -> Result<(Self, [u8; BLOCK]), ReadError> {
        let at = source.at();
        let header = source.take(BLOCK, format_args!("a block's header of {BLOCK} bytes"))?;
        let header: [u8; BLOCK] = header.try_into().expect("as many as asked for");
        check_seal(&header, 28, at)?;
        let wrong = |byte: u64, reason: String| Err(wrong_at(at + byte, reason));
        let kind = match header[0] {
            1 => Kind::Shapes,
            2 => Kind::Ranks,
            3 => Kind::Labels,
            4 => Kind::Index,
            other => return wrong(0, format!("a block of kind {other}; 1 to 4 expected")),
        };
        if header[2] != 0 || header[3] != 0 {
            return wrong(2, "a field that is not used yet is set; 0 expected".to_owned());
        }
        let field = |at| u32_at(&header, at);
        let [stored_bytes, raw_bytes] = [field(4), field(8)];
        let compressed = match header[1] {
            0 if stored_bytes == raw_bytes => false,
            1 if u64::from(raw_bytes) <= 255 * u64::from(stored_bytes) => true,
            codec => {
                let reason = format!(
                    "{stored_bytes} bytes stand for {raw_bytes} (compression {codec}); as many expected with 0 (none), at most 255 times as many with 1 (LZ4)"
                );
                return wrong(4, reason);
            }
        };
        let content = if compressed { &mut *stored } else { &mut *raw };
        content.clear();
        source.append(content, stored_bytes as usize, format_args!("a block of {stored_bytes} bytes"))?;
        let (found, expected) = (crc32fast::hash(content), field(24));
        if found != expected {
            return wrong(BLOCK as u64, damaged(stored_bytes as usize, found, expected));
        }
        if compressed {
            raw.clear();
            raw.resize(raw_bytes as usize, 0);
            match lz4_flex::block::decompress_into(stored, raw) {
                Ok(bytes) if bytes == raw.len() => {}
                Ok(bytes) => {
                    let reason = format!("the block expands to {bytes} bytes; {raw_bytes} expected");
                    return wrong(BLOCK as u64, reason);
                }
                Err(error) => {
                    let reason = format!("the block cannot be expanded to {raw_bytes} bytes: {error}");
                    return wrong(BLOCK as u64, reason);
                }
            }
        }
        Ok((Self { kind, count: field(12), operations: field(16), edges: field(20) }, header))
    }
}

/// The end of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Trailer {
    /// Where the index stands.
    pub(super) index: u64,
    /// Bytes of the file.
    pub(super) length: u64,
    /// Checksum over the file's header and those of all blocks.
    pub(super) headers: u32,
}

impl Trailer {
    pub(super) fn encode(&self) -> [u8; TRAILER] {
        let mut bytes = [0; TRAILER];
        bytes[..8].copy_from_slice(&self.index.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.headers.to_le_bytes());
        seal(&mut bytes, 20);
        bytes[24..].copy_from_slice(&END);
        bytes
    }

    pub(super) fn read(source: &mut Source<impl Read>) -> Result<Self, ReadError> {
        let at = source.at();
        let bytes = source.take(TRAILER, format_args!("the trailer of {TRAILER} bytes"))?;
        if bytes[24..] != END {
            let reason =
                format!("{:02x?}; {END:02x?} expected, with which a .strata file ends", &bytes[24..]);
            return Err(wrong_at(at + 24, reason));
        }
        check_seal(bytes, 20, at)?;
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        Ok(Self { index: number(0), length: number(8), headers: u32_at(bytes, 16) })
    }
}

/// Puts the checksum of the bytes before `at` there.
fn seal(bytes: &mut [u8], at: usize) {
    let sum = crc32fast::hash(&bytes[..at]);
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Compares the checksum at `at` of bytes that stand at `place`.
fn check_seal(bytes: &[u8], at: usize, place: u64) -> Result<(), ReadError> {
    let (found, expected) = (crc32fast::hash(&bytes[..at]), u32_at(bytes, at));
    if found == expected {
        return Ok(());
    }
    Err(wrong_at(place, damaged(at, found, expected)))
}

fn damaged(bytes: usize, found: u32, expected: u32) -> String {
    format!("damaged: {bytes} bytes with checksum {found:08x}; {expected:08x} expected")
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
