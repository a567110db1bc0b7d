//! Schedules of collectives as NCCL runs them: channels, chunks, slices and protocols.
//!
//! Every GPU is a rank, so that transfers within a node go over the links of the node in the topology.
//! Facts about NCCL are those of version 2.20 (its device code and enqueueing; also described in Hu and
//! others, "Demystifying NCCL: an in-depth analysis of GPU communication protocols and algorithms",
//! 2025, and in the ATLAHS paper, whose generator this one follows in what a ring and a tree send).

mod lane;
mod layout;
mod protocol;
mod steps;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Bytes};

use self::lane::Writer;
use self::layout::Layout;
use super::{ANY, Schedule, ScheduleBuilder};

/// One NCCL operation over all ranks, cut into the messages that NCCL sends.
///
/// The data are shared out to channels, each with a ring (or tree) of its own; a channel goes through
/// its share chunk by chunk, and a chunk is sent in slices. A rank runs channel `c` on stream `c`. In a
/// channel everything keeps its order by dependencies: a slice is sent after it was received and
/// reduced, after the slice before it, and when the slice that had its place in the connection's buffer
/// is gone; a receive is posted when its place in the buffer is free. The ring of channel `c` enters
/// every node at local GPU `c` (modulo the GPUs of a node) and goes on to the next node from the last
/// GPU. A tree is NCCL's double binary tree over the nodes with a chain inside of each node: the first
/// half of the channels use the first tree, the others the second one. All messages of channel `c` have
/// tag `tag + c`. Slices without data are left out.
///
/// Slices of a channel go from node to node one after the other (`execution.connections`). A slice is gone from the buffer
/// when it is handed to the network or, where it is larger than `execution.eager-limit`, when it has arrived.
///
/// ```toml
/// [workload]
/// kind = "goal"
/// nccl = { operation = "all-reduce", ranks = 16, ranks-per-node = 8, bytes = "64 MiB", protocol = "ll128" }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NcclSpec {
    /// What is computed.
    pub operation: NcclOperation,
    /// How; `ring` when absent. Point-to-point operations have no choice.
    #[serde(default)]
    pub algorithm: NcclAlgorithm,
    /// How data and flags travel; `simple` when absent.
    #[serde(default)]
    pub protocol: NcclProtocol,
    /// GPUs.
    pub ranks: u32,
    /// GPUs of a node, which are neighbours in number; 8 when absent.
    #[serde(default = "default_ranks_per_node")]
    pub ranks_per_node: u32,
    /// The vector of each rank before an all-reduce, reduce-scatter, broadcast or reduce and after an
    /// all-gather; what each rank sends in an all-to-all, its own part included; the message of each rank
    /// in a send-receive.
    pub bytes: Bytes,
    /// Bytes of an element: 1, 2, 4 or 8; 4 when absent.
    #[serde(default = "default_element_bytes")]
    pub element_bytes: u32,
    /// Channels; 2 when absent.
    #[serde(default = "default_channels")]
    pub channels: u32,
    /// NICs of a rank; channel `c` uses NIC `c` modulo that many. 1 when absent.
    #[serde(default = "default_nics")]
    pub nics: u32,
    /// Member 0 of a broadcast or reduce; 0 when absent.
    #[serde(default)]
    pub root: u32,
    /// How many ranks further the message of a send-receive goes, cyclic; 1 when absent.
    #[serde(default = "default_distance")]
    pub distance: u32,
    /// Buffer of a connection (`NCCL_BUFFSIZE`), which holds eight steps; 4 MiB for `simple`, 512 KiB
    /// for `ll` and 4800 KiB for `ll128` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Data of a chunk. When absent, as NCCL chooses it: from the buffer and the protocol, smaller for
    /// trees that would not fill their pipeline, 128 KiB for point-to-point operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Bytes>,
    /// Rate at which a channel reduces what it receives; reductions cost nothing when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_bandwidth: Option<Bandwidth>,
    /// Rate at which a channel copies between the user's buffer and the connection's; copies cost nothing
    /// when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_bandwidth: Option<Bandwidth>,
    /// Tag of channel 0; 0 when absent.
    #[serde(default)]
    pub tag: u32,
}

fn default_ranks_per_node() -> u32 {
    8
}

fn default_element_bytes() -> u32 {
    4
}

fn default_channels() -> u32 {
    2
}

fn default_nics() -> u32 {
    1
}

fn default_distance() -> u32 {
    1
}

/// What an NCCL operation computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NcclOperation {
    /// Every rank gets the sum of all vectors.
    AllReduce,
    /// Every rank gets the parts of all.
    AllGather,
    /// Rank `i` gets part `i` of the sum.
    ReduceScatter,
    /// Every rank gets the vector of the root.
    Broadcast,
    /// The root gets the sum.
    Reduce,
    /// Rank `j` gets part `j` of every rank: sends and receives in one group.
    AllToAll,
    /// Every rank sends to the rank `distance` further and receives in the same group.
    SendReceive,
}

impl NcclOperation {
    /// Every operation.
    pub const ALL: [Self; 7] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::Broadcast,
        Self::Reduce,
        Self::AllToAll,
        Self::SendReceive,
    ];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::AllToAll => "all-to-all",
            Self::SendReceive => "send-receive",
        }
    }

    /// Whether it is made of sends and receives of single pairs.
    const fn is_point_to_point(self) -> bool {
        matches!(self, Self::AllToAll | Self::SendReceive)
    }
}

/// How NCCL computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NcclAlgorithm {
    /// Around the ring of each channel.
    #[default]
    Ring,
    /// Up and down two binary trees over the nodes; all-reduce only, as in NCCL.
    Tree,
    /// In the switches of a node (NVLink SHARP); not modelled.
    Nvls,
    /// NVLS within nodes, a tree between them; not modelled.
    NvlsTree,
    /// In the switches of the network, with direct exchange in the node; not modelled.
    CollnetDirect,
    /// In the switches of the network, with a chain in the node; not modelled.
    CollnetChain,
    /// Parallel aggregated trees; not modelled.
    Pat,
}

/// How NCCL moves data and tells that they have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NcclProtocol {
    /// Data, then a flag for the slice: all bytes are data.
    #[default]
    Simple,
    /// Lines of 8 bytes, half of each are flags: twice the bytes, the least latency.
    Ll,
    /// Lines of 128 bytes with 120 bytes of data, sent in 16 lines at a time.
    Ll128,
}

/// More operations than this are refused before anything is built.
const MOST_OPERATIONS: u128 = 1 << 31;

/// More channels than NCCL has.
const MOST_CHANNELS: u32 = 64;

impl NcclSpec {
    /// A spec with defaults for everything that can be left out.
    pub fn new(operation: NcclOperation, ranks: u32, bytes: u64) -> Self {
        Self {
            operation,
            algorithm: NcclAlgorithm::default(),
            protocol: NcclProtocol::default(),
            ranks,
            ranks_per_node: default_ranks_per_node(),
            bytes: Bytes(bytes),
            element_bytes: default_element_bytes(),
            channels: default_channels(),
            nics: default_nics(),
            root: 0,
            distance: default_distance(),
            buffer: None,
            chunk: None,
            reduce_bandwidth: None,
            copy_bandwidth: None,
            tag: 0,
        }
    }

    /// The schedule, one rank per GPU.
    ///
    /// # Errors
    /// An algorithm that is not modelled or that NCCL has not for the operation; numbers that do not fit
    /// together; more than 2^31 operations.
    pub fn schedule(&self) -> Result<Schedule, BuildError> {
        self.check()?;
        let plan = steps::Plan::new(self)?;
        let most = plan.most_operations();
        if most > MOST_OPERATIONS {
            let reason = format!(
                "about {most} operations; at most {MOST_OPERATIONS} are built, take larger chunks or fewer ranks"
            );
            return Err(BuildError::new("", reason));
        }
        let mut builder = ScheduleBuilder::new(self.ranks);
        for rank in 0..self.ranks {
            let mut writer = Writer::new(&mut builder, self, plan.cut());
            plan.rank(rank, &mut writer);
            builder.close_rank()?;
        }
        builder.build()
    }

    fn layout(&self) -> Layout {
        Layout { ranks: self.ranks, per_node: self.ranks_per_node, channels: self.channels }
    }

    /// Elements of the vector.
    fn elements(&self) -> u64 {
        self.bytes.count() / u64::from(self.element_bytes)
    }

    fn check(&self) -> Result<(), BuildError> {
        let wrong = |field: &str, reason: String| Err(BuildError::new(field, reason));
        let operation = self.operation.name();
        match self.algorithm {
            NcclAlgorithm::Ring => {}
            NcclAlgorithm::Tree if self.operation == NcclOperation::AllReduce => {}
            NcclAlgorithm::Tree => {
                return wrong(
                    "algorithm",
                    format!("NCCL has a tree for all-reduce only; {operation} goes by ring"),
                );
            }
            _ => {
                let reason = "NVLS, CollNet and PAT are not modelled: choose `ring` or `tree`".to_owned();
                return wrong("algorithm", reason);
            }
        }
        let (ranks, per_node) = (self.ranks, self.ranks_per_node);
        if ranks == 0 || ranks > 1 << 24 {
            return wrong("ranks", format!("1 to 2^24 GPUs can be scheduled, got {ranks}"));
        }
        if per_node == 0 || !ranks.is_multiple_of(per_node) {
            return wrong("ranks-per-node", format!("nodes of {per_node} GPUs do not make {ranks} GPUs"));
        }
        if !(1..=MOST_CHANNELS).contains(&self.channels) {
            return wrong("channels", format!("1 to {MOST_CHANNELS} channels, got {}", self.channels));
        }
        if !(1..=256).contains(&self.nics) {
            return wrong("nics", format!("1 to 256 NICs of a rank, got {}", self.nics));
        }
        if !matches!(self.element_bytes, 1 | 2 | 4 | 8) {
            return wrong(
                "element-bytes",
                format!("elements have 1, 2, 4 or 8 bytes, got {}", self.element_bytes),
            );
        }
        let bytes = self.bytes.count();
        if bytes >= 1 << 60 {
            return wrong("bytes", format!("at most 2^60 bytes can be scheduled, got {bytes}"));
        }
        let equal_parts = matches!(self.operation, NcclOperation::AllGather | NcclOperation::ReduceScatter);
        let whole = u64::from(self.element_bytes) * if equal_parts { u64::from(ranks) } else { 1 };
        if !bytes.is_multiple_of(whole) {
            let what = if equal_parts { format!(" for each of {ranks} ranks") } else { String::new() };
            let reason = format!(
                "{bytes} bytes are no whole number of elements of {} bytes{what}",
                self.element_bytes
            );
            return wrong("bytes", reason);
        }
        let is_rooted = matches!(self.operation, NcclOperation::Broadcast | NcclOperation::Reduce);
        if self.root != 0 && !is_rooted {
            return wrong("root", format!("`{}` has no root", self.operation.name()));
        }
        let shifts = self.operation == NcclOperation::SendReceive;
        if self.distance != default_distance() && !shifts {
            return wrong("distance", format!("`{}` knows no distance", self.operation.name()));
        }
        if self.root >= ranks {
            return wrong("root", format!("rank {} is not one of {ranks}", self.root));
        }
        if shifts && self.distance.is_multiple_of(ranks) && ranks > 1 {
            return wrong("distance", format!("{} ranks further is the rank itself", self.distance));
        }
        // the last tag must not be the wildcard
        if self.tag > ANY - self.channels {
            return wrong(
                "tag",
                format!("tags {} and up leave no room for {} channels", self.tag, self.channels),
            );
        }
        for (field, rate) in
            [("reduce-bandwidth", self.reduce_bandwidth), ("copy-bandwidth", self.copy_bandwidth)]
        {
            if rate.is_some_and(|rate| !rate.bytes_per_s().is_finite() || rate.bytes_per_s() <= 0.0) {
                return wrong(field, "a rate must be above 0; leave it out for no cost".to_owned());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_schedule_has_more_operations_than_were_foreseen() {
        for operation in NcclOperation::ALL {
            for protocol in [NcclProtocol::Simple, NcclProtocol::Ll, NcclProtocol::Ll128] {
                for algorithm in [NcclAlgorithm::Ring, NcclAlgorithm::Tree] {
                    for (ranks, ranks_per_node) in [(1, 1), (2, 1), (9, 3), (24, 4)] {
                        for bytes in [0, 4, 1000, 45_678] {
                            let spec = NcclSpec {
                                algorithm,
                                protocol,
                                ranks_per_node,
                                channels: 3,
                                buffer: Some(Bytes(64 << 10)),
                                reduce_bandwidth: Some(Bandwidth(1e9)),
                                copy_bandwidth: Some(Bandwidth(1e9)),
                                ..NcclSpec::new(operation, ranks, bytes * u64::from(ranks) * 4)
                            };
                            let Ok(schedule) = spec.schedule() else {
                                assert_eq!(algorithm, NcclAlgorithm::Tree);
                                continue;
                            };
                            let most = steps::Plan::new(&spec).unwrap().most_operations();
                            assert!(
                                u128::from(schedule.len()) <= most,
                                "{} of {most}: {spec:?}",
                                schedule.len()
                            );
                        }
                    }
                }
            }
        }
    }
}
