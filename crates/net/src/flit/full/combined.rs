//! Combined allocation: the head that gets the switch takes a virtual channel with it.
//!
//! Source: Becker, "Efficient Microarchitecture for Network-on-Chip Routers" (2012).

use std::cmp::Reverse;

use super::Full;
use super::credits::Credits;
use super::router::State;
use crate::flit::router::RouterSpec;
use crate::flit::routing::Candidate;

/// Virtual channels of an output that a head with a packet of `flits` may take, each with its priority. `place` is
/// that of the output.
pub(super) fn open(
    spec: &RouterSpec,
    credits: &Credits,
    candidates: &[Candidate],
    (output, place): (u16, usize),
    flits: u16,
) -> impl Iterator<Item = (u8, i64)> {
    let here = candidates.iter().filter(move |candidate| candidate.output == output);
    let channels = here.flat_map(|candidate| {
        (candidate.first_vc..=candidate.last_vc).map(|vc| (vc, i64::from(candidate.priority)))
    });
    channels.filter_map(move |(vc, priority)| {
        let may =
            credits.is_free(place, vc) && !credits.is_full(place, vc) && credits.admits(place, vc, flits);
        let behind = spec.requests.empty_first && credits.occupancy(place, vc) > 0;
        may.then(|| (vc, if behind { priority - super::evaluate::NOT_EMPTY } else { priority }))
    })
}

impl Full {
    /// A head that got the switch to `output` takes a virtual channel there. False where the last one went to another
    /// head in this step: outputs with a speedup take several.
    pub(super) fn take_with_switch(&mut self, router: u32, local: u32, output: u16, time: u64) -> bool {
        let vcs = self.spec.virtual_channels;
        let place = self.fabric.index(router, output);
        let channel = &mut self.channels[self.fabric.index(router, 0) * usize::from(vcs) + local as usize];
        let head = self.waiting.first(&channel.flits).expect("who gets the switch has a head").flit;
        let packet = &self.packets[head.packet];
        let candidates = self.packets.candidates(head.packet);
        let turn = &mut self.turns[place * self.queues_per_terminal + usize::from(packet.queue)];
        let behind = |vc: u8| (vc + vcs - *turn) % vcs;
        let found = open(&self.spec, &self.credits, candidates, (output, place), packet.flits)
            .max_by_key(|&(vc, priority)| (priority, Reverse(behind(vc))));
        let Some((vc, _)) = found else { return false };
        *turn = (vc + 1) % vcs;
        channel.output = output;
        channel.output_vc = vc;
        channel.state = State::Active;
        channel.since = self.spec.since_granted(time);
        self.credits.take(place, vc, head.packet);
        true
    }
}
