//! Requests and decisions: everything is asked and decided on the state at the beginning of the step.

use stratasim_core::random::mix;

use super::Full;
use super::router::{Asking, Router, State};
use crate::flit::allocator::{NONE, Request, Requests};
use crate::flit::router::{Speculation, Stages};
use crate::flit::terminals::Terminals;

/// How much lower speculative requests are, where they share an allocator: below every 32-bit priority.
const SPECULATIVE: i64 = 1 << 32;

impl Full {
    /// Decides, in this order: virtual channels, kept connections, the switch.
    pub(super) fn evaluate<T: Terminals>(&mut self, router: u32, step: u64, terminals: &mut T) {
        self.routers[router as usize].routing.begin(step);
        if !self.routers[router as usize].waiting.is_empty() {
            self.allocate_channels(router, step, terminals);
        }
        if !self.routers[router as usize].holding.is_empty() {
            self.check_held(router, step);
        }
        if !self.routers[router as usize].active.is_empty() {
            self.allocate_switch(router, step, terminals);
        }
        self.routers[router as usize].crossing.begin(step);
    }

    /// Virtual-channel allocation: heads ask for every free channel among their candidates.
    fn allocate_channels<T: Terminals>(&mut self, number: u32, step: u64, terminals: &mut T) {
        let base = self.channel_base(number);
        let place = self.fabric.index(number, 0);
        let vcs = u32::from(self.spec.virtual_channels);
        let Self { routers, channels, waiting, packets, credits, vc_requests: requests, spec, .. } = self;
        let router = &mut routers[number as usize];
        let decided = router.waiting.begin(step);
        requests.clear();
        let mut any = false;
        for asking in router.waiting.decided(decided) {
            any = true;
            let flits = &channels[base + asking.channel as usize].flits;
            let head = waiting.first(flits).expect("who waits for a channel has a head").flit;
            let packet = &packets[head.packet];
            let candidates = packets.candidates(head.packet);
            for candidate in candidates {
                let buffer = place + candidate.output as usize;
                for vc in candidate.first_vc..=candidate.last_vc {
                    let open = credits.is_free(buffer, vc)
                        && (!spec.virtual_cut_through || credits.has_room(buffer, vc, packet.flits));
                    if !open {
                        continue;
                    }
                    let output = u32::from(candidate.output) * vcs + u32::from(vc);
                    let input_priority = i64::from(candidate.priority);
                    // Candidates may overlap: the one of higher priority counts.
                    let before =
                        if candidates.len() > 1 { requests.find(asking.channel, output) } else { None };
                    match before {
                        Some(before) => before.input_priority = before.input_priority.max(input_priority),
                        None => requests.add(Request {
                            input: asking.channel,
                            output,
                            label: 0,
                            input_priority,
                            output_priority: packet.priority.into(),
                        }),
                    }
                }
            }
        }
        if any {
            let mut draw = Draws::new(self.seed, number, step, 0, terminals);
            router.vc_allocator.allocate(requests, &mut |bound| draw.below(bound));
            for asking in router.waiting.decided(decided) {
                let granted = requests.granted_to(asking.channel);
                asking.granted = granted.map_or(NONE, |request| request.output);
            }
        }
        let again = spec.stages == Stages::Batches && spec.vc_allocation_delay > 1;
        for asking in router.waiting.ending(step) {
            let channel = &mut channels[base + asking.channel as usize];
            if again && asking.granted != NONE {
                // What was granted at the beginning of the stage may be gone at its end.
                let (buffer, vc) = (place + (asking.granted / vcs) as usize, (asking.granted % vcs) as u8);
                let flits = waiting.first(&channel.flits).map_or(0, |first| packets[first.flit.packet].flits);
                let room = !spec.virtual_cut_through || credits.has_room(buffer, vc, flits);
                if !credits.is_free(buffer, vc) || !room {
                    asking.granted = NONE;
                }
            }
            channel.granted = (asking.granted != NONE).then_some(asking.granted);
        }
    }

    /// Connections that are kept go on if there is a credit and room behind the crossbar.
    fn check_held(&mut self, number: u32, step: u64) {
        let base = self.channel_base(number);
        let vcs = u32::from(self.spec.virtual_channels);
        let holding = &mut self.routers[number as usize].holding;
        let decided = holding.begin(step);
        let mut holding = std::mem::replace(holding, super::stage::Stage::new(1, self.spec.stages));
        for asking in holding.decided(decided) {
            let channel = &self.channels[base + asking.channel as usize];
            let place = self.fabric.index(number, channel.output);
            let input = self.crossbar_input(asking.channel / vcs, asking.channel % vcs);
            let held = self.routers[number as usize].held[input as usize];
            asking.granted = match held {
                Some(held) if !self.is_blocked(place, channel.output_vc) => held.output,
                _ => NONE,
            };
        }
        self.routers[number as usize].holding = holding;
    }

    /// Whether an output can take no flit of a virtual channel: no credit, or no room behind the crossbar.
    fn is_blocked(&self, place: usize, vc: u8) -> bool {
        self.credits.is_full(place, vc) || self.is_behind_full(place)
    }

    fn is_behind_full(&self, place: usize) -> bool {
        self.spec.output_buffer_flits.is_some_and(|most| self.outputs[place].flits.len >= u32::from(most))
    }

    /// Crossbar input of a virtual channel: those of an input take turns over its crossbar inputs.
    pub(super) fn crossbar_input(&self, input: u32, vc: u32) -> u32 {
        let speedup = u32::from(self.spec.input_speedup);
        input * speedup + vc % speedup
    }

    /// Crossbar output of an output port for an input port: inputs take turns over its crossbar outputs.
    fn crossbar_output(&self, output: u16, input: u32) -> u32 {
        let speedup = u32::from(self.spec.output_speedup);
        u32::from(output) * speedup + input % speedup
    }

    /// Switch allocation: virtual channels with an output ask for the switch, heads that speculate for the
    /// switch to every output where they may get a channel.
    fn allocate_switch<T: Terminals>(&mut self, number: u32, step: u64, terminals: &mut T) {
        let base = self.channel_base(number);
        let vcs = u32::from(self.spec.virtual_channels);
        // Lists and requests are taken out, so that the rest can be looked at while they are filled.
        let empty = || super::stage::Stage::new(1, Stages::Pipelined);
        let mut active = std::mem::replace(&mut self.routers[number as usize].active, empty());
        let mut certain = std::mem::take(&mut self.switch_requests);
        let mut speculative = std::mem::take(&mut self.speculative_requests);
        certain.clear();
        speculative.clear();
        let decided = active.begin(step);
        let mut any = false;
        for asking in active.decided(decided) {
            any = true;
            asking.granted = NONE;
            let channel = &self.channels[base + asking.channel as usize];
            if channel.state == State::Active {
                let place = self.fabric.index(number, channel.output);
                if !self.is_blocked(place, channel.output_vc) {
                    self.ask_for_switch(number, asking.channel, channel.output, false, &mut certain);
                }
                continue;
            }
            let shared = self.spec.speculation == Speculation::Prioritised;
            let requests = if shared { &mut certain } else { &mut speculative };
            let head = self.waiting.first(&channel.flits).expect("who speculates has a head").flit;
            for candidate in self.packets.candidates(head.packet) {
                let place = self.fabric.index(number, candidate.output);
                let open = |vc| self.credits.is_free(place, vc) && !self.credits.is_full(place, vc);
                if (candidate.first_vc..=candidate.last_vc).any(open) && !self.is_behind_full(place) {
                    self.ask_for_switch(number, asking.channel, candidate.output, shared, requests);
                }
            }
        }
        let router = &mut self.routers[number as usize];
        if any {
            let mut draw = Draws::new(self.seed, number, step, 1, terminals);
            router.switch_allocator.allocate(&mut certain, &mut |bound| draw.below(bound));
            if let Some(allocator) = &mut router.speculative_allocator {
                let mut draw = Draws::new(self.seed, number, step, 2, terminals);
                allocator.allocate(&mut speculative, &mut |bound| draw.below(bound));
            }
        }
        for asking in active.decided(decided) {
            let (input, vc) = (asking.channel / vcs, asking.channel % vcs);
            let crossbar_input = self.crossbar_input(input, vc);
            let granted = match certain.granted_to(crossbar_input) {
                Some(granted) => Some(granted),
                // A grant to a guess yields to a certain one for the same output.
                None => {
                    let guess = speculative.granted_to(crossbar_input);
                    guess.filter(|guess| certain.granted_of(guess.output).is_none())
                }
            };
            if let Some(granted) = granted.filter(|granted| granted.label == vc) {
                asking.granted = granted.output;
                let next = (vc + u32::from(self.spec.input_speedup)) % vcs;
                self.routers[number as usize].first_vc[crossbar_input as usize] = next as u8;
            }
        }
        let again = self.spec.stages == Stages::Batches && self.spec.switch_allocation_delay > 1;
        if again || self.spec.speculation != Speculation::None {
            for asking in active.ending(step) {
                if asking.granted != NONE && !self.still_holds(number, asking) {
                    asking.granted = NONE;
                }
            }
        }
        self.routers[number as usize].active = active;
        self.switch_requests = certain;
        self.speculative_requests = speculative;
    }

    /// Adds a request for the switch, unless the connection that it needs is kept by somebody, or a channel of
    /// the same crossbar input that comes first asks for the same output.
    fn ask_for_switch(&self, number: u32, channel: u32, output: u16, lowered: bool, requests: &mut Requests) {
        let vcs = u32::from(self.spec.virtual_channels);
        let (input, vc) = (channel / vcs, channel % vcs);
        let crossbar_input = self.crossbar_input(input, vc);
        let crossbar_output = self.crossbar_output(output, input);
        let router = &self.routers[number as usize];
        if is_held(router, crossbar_input, crossbar_output) {
            return;
        }
        let flits = &self.channels[self.channel_base(number) + channel as usize].flits;
        let front = self.waiting.first(flits).expect("who asks for the switch has a flit");
        let priority =
            i64::from(self.packets[front.flit.packet].priority) - if lowered { SPECULATIVE } else { 0 };
        let request = Request {
            input: crossbar_input,
            output: crossbar_output,
            label: vc,
            input_priority: priority,
            output_priority: priority,
        };
        match requests.find(crossbar_input, crossbar_output) {
            None => requests.add(request),
            Some(before) => {
                let first = u32::from(router.first_vc[crossbar_input as usize]);
                let turn = |vc: u32| (vc + vcs - first) % vcs;
                let wins = priority > before.input_priority
                    || priority == before.input_priority && turn(vc) < turn(before.label);
                if wins {
                    *before = request;
                }
            }
        }
    }

    /// Whether a grant of the switch can be used at the end of its stage: the connection is not kept by
    /// somebody, the head has got a channel of that output, and there is a credit and room.
    fn still_holds(&self, number: u32, asking: &Asking) -> bool {
        let vcs = u32::from(self.spec.virtual_channels);
        let crossbar_input = self.crossbar_input(asking.channel / vcs, asking.channel % vcs);
        if is_held(&self.routers[number as usize], crossbar_input, asking.granted) {
            return false;
        }
        let output = (asking.granted / u32::from(self.spec.output_speedup)) as u16;
        let place = self.fabric.index(number, output);
        let channel = &self.channels[self.channel_base(number) + asking.channel as usize];
        match channel.state {
            State::Active => channel.output == output && !self.is_blocked(place, channel.output_vc),
            _ => channel.granted.is_some_and(|granted| {
                granted / vcs == u32::from(output) && !self.is_blocked(place, (granted % vcs) as u8)
            }),
        }
    }
}

fn is_held(router: &Router, crossbar_input: u32, crossbar_output: u32) -> bool {
    router.held[crossbar_input as usize].is_some() || router.output_held[crossbar_output as usize]
}

/// The random numbers of one allocation.
struct Draws<'a, T> {
    key: u64,
    terminals: &'a mut T,
}

impl<'a, T: Terminals> Draws<'a, T> {
    fn new(seed: u64, router: u32, step: u64, allocator: u64, terminals: &'a mut T) -> Self {
        let key = mix(mix(seed ^ step).wrapping_add(u64::from(router) << 2 | allocator));
        Self { key, terminals }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.key = self.key.wrapping_add(1);
        self.terminals.draw(self.key, bound)
    }
}
