//! What a protocol makes of data: bytes on the wire, chunks and slices.

use stratasim_core::BuildError;

use super::{NcclAlgorithm, NcclOperation, NcclProtocol, NcclSpec};

/// Steps that the buffer of a connection is divided into (`NCCL_STEPS`).
const STEPS: u64 = 8;

impl NcclProtocol {
    /// Bytes that travel for `bytes` of data.
    pub(super) const fn wire_bytes(self, bytes: u64) -> u64 {
        match self {
            Self::Simple => bytes,
            // 8 bytes of data and 8 of flags per line
            Self::Ll => bytes.div_ceil(8) * 16,
            // a warp writes 16 lines of 128 bytes at a time
            Self::Ll128 => bytes.div_ceil(1920) * 2048,
        }
    }

    /// Data that channels and last chunks are aligned to.
    const fn grain_bytes(self) -> u64 {
        match self {
            Self::Simple => 512,
            Self::Ll => 16,
            Self::Ll128 => 1920,
        }
    }

    /// Buffer of a connection when nobody sets it.
    const fn buffer_bytes(self) -> u64 {
        match self {
            Self::Simple => 4 << 20,
            // 512 threads with 8 lines of 16 bytes, per step
            Self::Ll => 512 * 8 * 16 * STEPS,
            // 640 threads with 120 words, per step
            Self::Ll128 => 640 * 120 * 8 * STEPS,
        }
    }
}

/// How the elements of a channel are cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// Elements of a chunk.
    pub(super) chunk: u64,
    /// Elements that the last chunks of a ring are aligned to.
    pub(super) grain: u64,
    /// Most slices of a chunk.
    pub(super) slices: u64,
    /// Least elements of a slice where there are several.
    least_slice: u64,
    /// Slices that the buffer of a connection holds.
    pub(super) window: usize,
}

impl Cut {
    /// As NCCL cuts the operation of `spec`, whose tree is `depth` deep.
    pub(super) fn new(spec: &NcclSpec, depth: u64) -> Result<Self, BuildError> {
        let element = u64::from(spec.element_bytes);
        let buffer = spec.buffer.map_or(spec.protocol.buffer_bytes(), |bytes| bytes.count());
        let step_bytes = buffer / STEPS;
        let simple = spec.protocol == NcclProtocol::Simple;
        let all_to_all_of_ring = matches!(
            spec.operation,
            NcclOperation::AllReduce | NcclOperation::AllGather | NcclOperation::ReduceScatter
        ) && spec.algorithm == NcclAlgorithm::Ring;
        // chunk and slice in steps: half and a quarter of the buffer in rings of all, else one step
        let (chunk_steps, slice_steps) = if simple && all_to_all_of_ring { (4, 2) } else { (1, 1) };
        let usual = if spec.operation.is_point_to_point() {
            (128 << 10).min(step_bytes)
        } else {
            match spec.protocol {
                NcclProtocol::Simple => step_bytes * chunk_steps,
                NcclProtocol::Ll => step_bytes / 2,
                NcclProtocol::Ll128 => step_bytes / 16 * 15,
            }
        };
        let chunk_bytes = match spec.chunk {
            Some(bytes) => bytes.count(),
            None if simple && spec.algorithm == NcclAlgorithm::Tree => tree_chunk(spec, depth, usual),
            None => usual,
        };
        let chunk = chunk_bytes / element;
        if chunk == 0 {
            let (field, size) = match spec.chunk {
                Some(bytes) => ("chunk", bytes.count()),
                None => ("buffer", buffer),
            };
            let reason = format!("{size} bytes leave no element of {element} bytes to a chunk");
            return Err(BuildError::new(field, reason));
        }
        Ok(Self {
            chunk,
            grain: spec.protocol.grain_bytes() / element,
            slices: chunk_steps / slice_steps,
            least_slice: step_bytes / element * slice_steps / 32,
            window: (STEPS / slice_steps) as usize,
        })
    }

    /// Calls `visit` with the elements of each slice of a chunk of `elements`, if it has any.
    pub(super) fn slices(self, elements: u64, mut visit: impl FnMut(u64)) {
        // multiples of 16 elements
        let even = elements.div_ceil(16 * self.slices) * 16;
        let slice = if self.slices == 1 { elements } else { even.max(self.least_slice) };
        let mut left = elements;
        while left > 0 {
            visit(left.min(slice));
            left -= left.min(slice);
        }
    }

    /// Elements of channel `channel` of `channels`: as equal as whole grains allow.
    pub(super) fn share(self, elements: u64, channel: u32, channels: u32) -> u64 {
        let grains = elements.div_ceil(self.grain);
        let before = |channel: u32| {
            let (each, longer) = (grains / u64::from(channels), grains % u64::from(channels));
            ((each * u64::from(channel) + u64::from(channel).min(longer)) * self.grain).min(elements)
        };
        before(channel + 1) - before(channel)
    }
}

/// A tree takes smaller chunks where large ones would not fill its pipeline.
fn tree_chunk(spec: &NcclSpec, depth: u64, usual: u64) -> u64 {
    let mut chunk = usual;
    for (depths, least) in [(8, 128 << 10), (4, 64 << 10), (1, 32 << 10)] {
        while chunk > least && spec.bytes.count() / (u64::from(spec.channels) * chunk) < depth * depths {
            chunk /= 2;
        }
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_carries_flags() {
        let wire = |bytes| {
            [NcclProtocol::Simple, NcclProtocol::Ll, NcclProtocol::Ll128].map(|p| p.wire_bytes(bytes))
        };
        assert_eq!(wire(0), [0, 0, 0]);
        assert_eq!(wire(9), [9, 32, 2048]);
        assert_eq!(wire(19_200), [19_200, 38_400, 20_480]);
    }

    #[test]
    fn a_chunk_is_cut_into_slices_of_multiples_of_16_elements() {
        let mut spec = NcclSpec::new(NcclOperation::AllReduce, 4, 0);
        spec.buffer = Some(stratasim_core::Bytes(1 << 20));
        let slices = |elements| {
            let mut slices = Vec::new();
            Cut::new(&spec, 0).unwrap().slices(elements, |slice| slices.push(slice));
            slices
        };
        assert_eq!(slices(131_072), [65_536, 65_536]);
        assert_eq!(slices(125_008), [62_512, 62_496]);
        // short chunks are not cut any finer than a sixteenth of a step
        assert_eq!(slices(2049), [2048, 1]);
        assert_eq!(slices(100), [100]);
        assert!(slices(0).is_empty());
    }
}
