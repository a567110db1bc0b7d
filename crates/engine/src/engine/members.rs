//! Members of collectives: what they ask for, and how they leave.

use std::cmp::Reverse;

use stratasim_core::Rank;
use stratasim_core::model::{NetworkRequest, Transfer};
use stratasim_workload::collective::kernel::Held;
use stratasim_workload::program::VertexId;

use super::{Engine, Place};
use crate::collectives::{Access, Ask, Way};
use crate::kernel;
use crate::token::{Part, pack};

impl Engine<'_> {
    /// Does what collectives ask for.
    pub(super) fn serve(&mut self) {
        let mut asks = std::mem::take(&mut self.asks);
        for ask in asks.drain(..) {
            match ask {
                Ask::Send(slot) => {
                    let message = self.collectives.messages[slot];
                    let group = &self.program.groups()[self.collectives.run(message.run).group as usize];
                    let node = |member: u32| self.nodes[group[member as usize].index()];
                    let token = pack(Part::Round, u64::from(slot));
                    let ends = [message.from, message.to].map(node);
                    let transfer = Transfer::new(token, ends[0], ends[1], message.bytes);
                    if transfer.src != transfer.dst {
                        self.collectives.sends(message.run, message.from, 1, message.bytes);
                    }
                    self.network.submit(self.now, NetworkRequest::Transfer(transfer));
                }
                Ask::Access(slot) => self.begin_access(slot),
                Ask::Fixed { run, member, fixed } => {
                    let length = kernel::fixed(&self.member_place(run, member).kernels, fixed);
                    self.waits.push(Reverse((self.now + length, run, member)));
                }
                Ask::Local { run, member, bytes } => {
                    let length = kernel::local(&self.member_place(run, member), bytes);
                    self.waits.push(Reverse((self.now + length, run, member)));
                }
                Ask::Done { run, member } => self.leave(run, member),
                Ask::Open { run } => {
                    let pipeline = self.collectives.pipeline(run, self.program, &self.nodes);
                    for member in 0..pipeline.members.len() as u32 {
                        let [own, next] = pipeline.ends(member);
                        if own.node != next.node {
                            self.collectives.sends(run, member, pipeline.steps, pipeline.bytes_sent(member));
                        }
                    }
                    let token = pack(Part::Pipeline, u64::from(run));
                    self.network.submit(self.now, NetworkRequest::OpenPipeline { token, pipeline });
                }
                Ask::Join { run, member } => {
                    let token = pack(Part::Pipeline, u64::from(run));
                    self.network.submit(self.now, NetworkRequest::JoinPipeline { token, member });
                }
            }
        }
        if self.asks.is_empty() {
            self.asks = asks;
        }
    }

    /// Where a member of a collective runs.
    fn member_place(&mut self, run: u32, member: u32) -> Place {
        let group = self.collectives.run(run).group;
        self.places[self.program.groups()[group as usize][member as usize].index()]
    }

    /// A member of a collective stores or loads: no host takes part.
    fn begin_access(&mut self, slot: u32) {
        let Access { run, member, bytes, way } = self.collectives.accesses[slot];
        let place = self.member_place(run, member);
        let shared = || place.home_memory.expect("checked: members of a card have a shared memory");
        let (src, dst) = match way {
            Way::Store => {
                self.collectives.sends(run, member, 1, bytes);
                (place.node, shared())
            }
            Way::Load { at: Held::InShared, .. } => (shared(), place.node),
            Way::Load { from, .. } => (self.member_place(run, from).node, place.node),
        };
        let token = pack(Part::Access, u64::from(slot));
        let rate_cap = kernel::cap(&place, way);
        let transfer = Transfer { rate_cap, overhead_charged: true, ..Transfer::new(token, src, dst, bytes) };
        self.network.submit(self.now, NetworkRequest::Transfer(transfer));
    }

    /// A member of a collective is done.
    pub(super) fn leave(&mut self, run: u32, member: u32) {
        let of = self.collectives.run(run);
        let (vertex, index) = (of.vertex, of.instance_of(member));
        let rank = self.instances.rank(self.program, vertex, index);
        self.check_member(run, member, vertex, rank);
        self.collectives.left(run);
        self.finish(vertex, index);
    }

    /// What a member sent cannot have left its node faster than the node's links allow.
    fn check_member(&mut self, run: u32, member: u32, vertex: VertexId, rank: Rank) {
        const NAMED: usize = 20;
        let effort = self.collectives.effort(run, member);
        let least_s = effort.bytes as f64 / self.egress_bytes_per_s[rank.index()];
        let took = self.now - effort.since;
        // every message may end as much early as time is rounded
        let rounding_s =
            (self.options.timing_precision.as_secs_f64() + 1e-12) * f64::from(effort.messages + 1);
        self.summary.collectives += 1;
        let beaten = took.as_secs_f64() * (1.0 + 1e-9) + rounding_s < least_s;
        if beaten && self.summary.violations.len() < NAMED {
            let name = self.name(vertex, rank);
            let bytes = effort.bytes;
            self.summary.violations.push(format!(
                "{name} sent {bytes} bytes in {took}, its node's links take {least_s:.9} s for them"
            ));
        }
    }
}
