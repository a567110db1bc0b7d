//! Looking in from outside: who waits for what, and whether anything is broken.

use super::router::State;
use super::{Full, NOWHERE, Output};
use crate::flit::kernel::Wait;

impl Full {
    /// Virtual channels that hold a packet and wait, in order.
    pub(super) fn find_waiting(&self) -> Vec<Wait> {
        let mut found = Vec::new();
        let vcs = usize::from(self.spec.virtual_channels);
        for router in 0..self.routers.len() as u32 {
            let base = self.channel_base(router);
            for local in 0..usize::from(self.fabric.input_count(router)) * vcs {
                let channel = &self.channels[base + local];
                let Some(first) = self.waiting.first(&channel.flits) else { continue };
                let packet = first.flit.packet;
                let (output, output_vc) = match channel.state {
                    State::Active => (channel.output, Some(channel.output_vc)),
                    State::Waiting => (self.packets.candidates(packet)[0].output, None),
                    // It waits for nobody: it is routed in a known number of cycles.
                    State::Idle | State::Routing => continue,
                };
                found.push(Wait {
                    router,
                    input: (local / vcs) as u16,
                    vc: (local % vcs) as u8,
                    output,
                    output_vc,
                    dest: self.packets[packet].head.dest,
                });
            }
        }
        found
    }

    /// Flits sent by every output, with those that enter their channel in the cycle that comes next: nothing can
    /// hold them back any more, and the fast kernel counts a flit as soon as the switch is its.
    pub(super) fn sent(&self) -> Vec<u64> {
        let mut leaving: Vec<bool> = self.outputs.iter().map(|output| output.flits.len > 0).collect();
        if let Some(step) = self.steps.clone().of_cycle(self.now).last() {
            for (router, lists) in self.routers.iter().enumerate() {
                for crossing in lists.crossing.next_through(step) {
                    leaving[self.fabric.index(router as u32, crossing.output)] = true;
                }
            }
        }
        let sent = |(output, leaves): (&Output, bool)| {
            output.sent + u64::from(leaves && output.free_at <= self.now << 8)
        };
        self.outputs.iter().zip(leaving).map(sent).collect()
    }

    /// Whether every flit under way is in exactly one place; what is wrong otherwise.
    pub(super) fn conserved(&self) -> Option<String> {
        let found = self.waiting.len() + self.crossing + self.behind.len() + self.flits_underway.len();
        (found != self.in_flight)
            .then(|| format!("{found} flits in the network, {} entered and did not arrive", self.in_flight))
    }

    /// Everything that is wrong: what was noticed on the way and what the counters say now.
    pub(super) fn find_violations(&self) -> Vec<String> {
        let mut found = self.violations.clone();
        found.extend(self.conserved());
        for router in 0..self.routers.len() as u32 {
            for output in 0..self.fabric.output_count(router) {
                let place = self.fabric.index(router, output);
                if let Some(what) = self.credits.violation(place) {
                    found.push(format!("output {output} of router {router}: {what}"));
                }
            }
        }
        for terminal in 0..self.sources.len() {
            if let Some(what) = self.source_credits.violation(terminal) {
                found.push(format!("terminal {terminal}: {what}"));
            }
        }
        found.extend(self.lost_credits());
        found
    }

    /// Compares each credit counter with what it counts: flits on the channel or in the buffer at its end,
    /// and credits on their way back.
    fn lost_credits(&self) -> Vec<String> {
        let vcs = usize::from(self.spec.virtual_channels);
        let ports = self.outputs.len();
        let places = self.arrivals.len();
        // By place of the counter (outputs, then sources) and virtual channel.
        let mut counted = vec![0_u32; places * vcs];
        let mut count = |input_place: usize, vc: u8| {
            let (counter, _) = self.credit_target[input_place];
            if counter != NOWHERE {
                counted[counter as usize * vcs + usize::from(vc)] += 1;
            }
        };
        for &(place, flit) in self.flits_underway.iter() {
            count(place as usize, flit.vc);
        }
        for place in 0..ports {
            for vc in 0..vcs {
                for _ in 0..self.channels[place * vcs + vc].flits.len {
                    count(place, vc as u8);
                }
            }
            for mask in self.messages.iter(&self.message_queues[place]) {
                (0..vcs).filter(|vc| mask >> vc & 1 == 1).for_each(|vc| count(place, vc as u8));
            }
        }
        for &(counter, mask) in self.credits_underway.iter() {
            for vc in (0..vcs).filter(|vc| mask >> vc & 1 == 1) {
                counted[counter as usize * vcs + vc] += 1;
            }
        }
        // Flits between the switch and the channel have taken their credit, too.
        for (router, lists) in self.routers.iter().enumerate() {
            for crossing in lists.crossing.iter() {
                let counter = self.fabric.index(router as u32, crossing.output);
                counted[counter * vcs + usize::from(crossing.flit.vc)] += 1;
            }
        }
        for (counter, output) in self.outputs.iter().enumerate() {
            for flit in self.behind.iter(&output.flits) {
                counted[counter * vcs + usize::from(flit.vc)] += 1;
            }
        }
        let mut found = Vec::new();
        for place in 0..places {
            for vc in 0..vcs {
                let known = match place.checked_sub(ports) {
                    None => self.credits.occupancy(place, vc as u8),
                    Some(terminal) => self.source_credits.occupancy(terminal, vc as u8),
                };
                let seen = counted[place * vcs + vc];
                if known != seen {
                    found.push(format!(
                        "channel {vc} of place {place}: {known} credits are out, {seen} can be found"
                    ));
                }
            }
        }
        found
    }
}
