//! Segments of a vector that follow each other through a tree.

use stratasim_core::{BuildError, Bytes};

use super::{Action, Combine, bytes_of};

/// More segments than this are refused.
const MOST_SEGMENTS: u64 = 1 << 20;

/// Segments of at most `given` bytes that a vector of `bytes` is cut into, as equal as whole bytes
/// allow; one when nothing is given.
pub(super) fn segments(given: Option<Bytes>, bytes: u64) -> Result<u32, BuildError> {
    let Some(segment) = given else { return Ok(1) };
    if segment.count() == 0 {
        return Err(BuildError::new(
            "segment",
            "a segment of 0 bytes never moves anything; give at least 1 B",
        ));
    }
    let segments = bytes.div_ceil(segment.count()).max(1);
    if segments > MOST_SEGMENTS {
        let reason =
            format!("segments of {segment} cut {bytes} bytes into more than 2^20; give larger segments");
        return Err(BuildError::new("segment", reason));
    }
    Ok(segments as u32)
}

/// The way of a vector through a tree, in segments: a member takes segment `s` in from one side while
/// it hands segment `s - 1` on to the other one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    pub(super) bytes: u64,
    pub(super) segments: u32,
}

impl Pass {
    /// Rounds of a member that takes segments in, or hands them on, or both.
    pub(super) fn rounds(self, takes: bool, hands_on: bool) -> u32 {
        if takes || hands_on { self.segments + u32::from(takes && hands_on) } else { 0 }
    }

    pub(super) fn round(
        self,
        round: u32,
        from: impl Iterator<Item = u32>,
        to: impl Iterator<Item = u32>,
        combine: Combine,
        out: &mut Vec<Action>,
    ) {
        let first = out.len();
        if round < self.segments {
            let chunks = round..round + 1;
            out.extend(from.map(|from| Action::Receive { from, chunks: chunks.clone(), combine }));
        }
        // without somebody before it a member is a round ahead
        let takes = round == self.segments || out.len() > first;
        if let Some(segment) = round.checked_sub(u32::from(takes)) {
            let chunks = segment..segment + 1;
            let bytes = bytes_of(self.bytes, self.segments, chunks.clone());
            out.extend(to.map(|to| Action::Send { to, chunks: chunks.clone(), bytes }));
        }
    }
}
