//! Requests and decisions: everything is asked and decided on the state at the beginning of the step.

use stratasim_core::random::mix;

use super::chains::Chains;
use super::combined;
use super::credits::Credits;
use super::packet::Packets;
use super::precedence::precedence;
use super::router::{Asking, Held, InputChannel, Router, State, Waiting};
use super::{Full, Output};
use crate::flit::allocator::{NONE, Request, Requests};
use crate::flit::router::{Guess, RouterSpec, Speculation, Stages};
use crate::flit::routing::Candidate;
use crate::flit::terminals::Terminals;

/// How much lower virtual channels with flits are, where empty ones go first.
pub(super) const NOT_EMPTY: i64 = 1 << 32;

/// What is granted to who does not listen.
const DEAF: u32 = NONE - 1;

/// How much lower speculative requests are, where they share an allocator: below every priority and date.
const SPECULATIVE: i64 = 1 << 62;

impl Full {
    /// Decides, in this order: virtual channels, kept connections, the switch.
    pub(super) fn evaluate<T: Terminals>(&mut self, router: u32, time: u64, terminals: &mut T) {
        let lists = &mut self.routers[router as usize];
        lists.routing.begin(time);
        lists.crossing.begin(time);
        let (waiting, holding, active) =
            (!lists.waiting.is_empty(), !lists.holding.is_empty(), !lists.active.is_empty());
        if waiting {
            self.allocate_channels(router, time, terminals);
        }
        if holding {
            self.check_held(router, time);
        }
        if active {
            self.allocate_switch(router, time, terminals);
        }
    }

    /// Virtual-channel allocation: heads ask for every free channel among their candidates.
    fn allocate_channels<T: Terminals>(&mut self, number: u32, time: u64, terminals: &mut T) {
        let base = self.channel_base(number);
        let place = self.fabric.index(number, 0);
        let vcs = u32::from(self.spec.virtual_channels);
        let Self {
            routers,
            channels,
            waiting,
            packets,
            credits,
            vc_requests: requests,
            spec,
            fabric,
            prefers,
            favoured,
            now,
            ..
        } = self;
        let Router { waiting: stage, vc_allocator, .. } = &mut routers[number as usize];
        let decided = stage.begin(time);
        let rules = &spec.requests;
        // the number of a virtual channel of an input, as the allocator counts them
        let inputs = u32::from(fabric.input_count(number));
        let input = |asking: &Asking| match rules.by_channel {
            false => asking.channel,
            true => asking.channel % vcs * inputs + asking.channel / vcs,
        };
        let head_of = |asking: &Asking| {
            let flits = &channels[base + asking.channel as usize].flits;
            waiting.first(flits).expect("who waits for a channel has a head").flit.packet
        };
        // the first candidate that has a channel to give and that nobody before asks for, or else the first one that has
        let favourite = |packet: u32, favoured: &[bool]| {
            let gives = |candidate: &&Candidate| {
                let buffer = place + candidate.output as usize;
                let mut vcs = candidate.first_vc..=candidate.last_vc;
                vcs.any(|vc| is_takeable(spec, credits, (buffer, vc), packets[packet].flits))
            };
            let mut giving = packets.candidates(packet).iter().filter(gives);
            let first = giving.next()?;
            let is_free = |candidate: &&Candidate| {
                candidate.priority == first.priority && !favoured[candidate.output as usize]
            };
            Some(std::iter::once(first).chain(giving).find(is_free).unwrap_or(first))
        };
        favoured.fill(false);
        requests.clear();
        if *prefers {
            // who comes first has the first choice: in the order of the inputs, each cycle from another one on
            let first = (*now % u64::from(inputs.max(1))) as u32 * vcs;
            stage.sort_by_key(|asking| (asking.channel < first, asking.channel));
        }
        let mut any = works_always(spec);
        for asking in stage.decided(decided) {
            any = true;
            asking.granted = NONE;
            let flits = &channels[base + asking.channel as usize].flits;
            let number = head_of(asking);
            let packet = &packets[number];
            let candidates = match prefers.then(|| favourite(number, favoured)).flatten() {
                Some(only) => {
                    favoured[only.output as usize] = true;
                    std::slice::from_ref(only)
                }
                None => packets.candidates(number),
            };
            let output_priority = precedence(rules, packets, waiting, flits);
            for candidate in candidates {
                let buffer = place + candidate.output as usize;
                for vc in candidate.first_vc..=candidate.last_vc {
                    if !is_takeable(spec, credits, (buffer, vc), packet.flits) {
                        continue;
                    }
                    let output = u32::from(candidate.output) * vcs + u32::from(vc);
                    let behind = rules.empty_first && credits.occupancy(buffer, vc) > 0;
                    let input_priority = i64::from(candidate.priority) - if behind { NOT_EMPTY } else { 0 };
                    // Candidates may overlap: the one of higher priority counts.
                    let before =
                        if candidates.len() > 1 { requests.find(input(asking), output) } else { None };
                    match before {
                        Some(before) => before.input_priority = before.input_priority.max(input_priority),
                        None => requests.add(Request {
                            input: input(asking),
                            output,
                            label: 0,
                            input_priority,
                            output_priority,
                        }),
                    }
                }
            }
        }
        if any {
            let mut draw = Draws::new(self.seed, number, self.step, 0, terminals);
            vc_allocator.allocate(requests, &mut |bound| draw.below(bound));
            for asking in stage.decided(decided) {
                let granted = requests.granted_to(input(asking));
                asking.granted = granted.map_or(NONE, |request| request.output);
            }
        }
        let again = spec.stages == Stages::Batches && spec.vc_allocation_delay > 1;
        if !again && spec.speculation == Speculation::None {
            return;
        }
        for asking in stage.ending(time) {
            let channel = &mut channels[base + asking.channel as usize];
            if again && asking.granted != NONE {
                // What was granted at the beginning of the stage may be gone at its end.
                let (buffer, vc) = (place + (asking.granted / vcs) as usize, (asking.granted % vcs) as u8);
                let flits = waiting.first(&channel.flits).map_or(0, |first| packets[first.flit.packet].flits);
                if !is_takeable(spec, credits, (buffer, vc), flits) {
                    asking.granted = NONE;
                }
            }
            channel.granted = asking.granted;
        }
    }

    /// Connections that are kept go on if there is a credit and room behind the crossbar.
    fn check_held(&mut self, number: u32, time: u64) {
        let (base, place) = (self.channel_base(number), self.fabric.index(number, 0));
        let Self { routers, channels, waiting, packets, credits, outputs, spec, .. } = self;
        let Router { holding, held, output_held, .. } = &mut routers[number as usize];
        let view =
            View { spec, base, place, channels, waiting, packets, credits, outputs, held, output_held };
        let decided = holding.begin(time);
        for asking in holding.decided(decided) {
            let channel = &view.channels[base + asking.channel as usize];
            let held = view.held[spec.crossbar_input(asking.channel).0 as usize];
            let goes = !view.is_blocked(channel.output, channel.output_vc);
            asking.granted = held.filter(|_| goes).map_or(NONE, |held| held.output);
        }
    }

    /// Switch allocation: virtual channels with an output ask for the switch, heads that speculate for the
    /// switch to every output where they may get a channel.
    fn allocate_switch<T: Terminals>(&mut self, number: u32, time: u64, terminals: &mut T) {
        let (base, place) = (self.channel_base(number), self.fabric.index(number, 0));
        let Self { routers, channels, waiting, packets, credits, outputs, spec, prefers, .. } = self;
        // those that guess whatever there is to give, or get what they guess only, ask for all
        let rules = &spec.requests;
        let one = *prefers && rules.guess != Guess::Always && !rules.combined_allocation;
        let (certain, speculative) = (&mut self.switch_requests, &mut self.speculative_requests);
        let Router { active, switch_allocator, speculative_allocator, first_vc, held, output_held, .. } =
            &mut routers[number as usize];
        let view =
            View { spec, base, place, channels, waiting, packets, credits, outputs, held, output_held };
        certain.clear();
        speculative.clear();
        let decided = active.begin(time);
        let mut any = works_always(spec);
        for asking in active.decided(decided) {
            any = true;
            asking.granted = NONE;
            let channel = &view.channels[base + asking.channel as usize];
            if channel.state == State::Active {
                if !view.is_blocked(channel.output, channel.output_vc) {
                    view.ask(asking.channel, channel.output, 0, first_vc, certain);
                }
                continue;
            }
            let (lowered, requests) = match spec.speculation {
                Speculation::Prioritised => (SPECULATIVE, &mut *certain),
                _ => (0, &mut *speculative),
            };
            let head = view.waiting.first(&channel.flits).expect("who speculates has a head").flit;
            let flits = view.packets[head.packet].flits;
            let mut gives_up = false;
            for candidate in view.packets.candidates(head.packet) {
                if view.may_guess(candidate, flits) {
                    view.ask(asking.channel, candidate.output, lowered, first_vc, requests);
                    if one {
                        break;
                    }
                } else {
                    gives_up = spec.stages == Stages::Batches;
                }
            }
            if gives_up {
                // BookSim2 lets it ask elsewhere, and then has no ear for the answer
                asking.granted = DEAF;
            }
        }
        if any {
            let mut draw = Draws::new(self.seed, number, self.step, 1, terminals);
            switch_allocator.allocate(certain, &mut |bound| draw.below(bound));
            if let Some(allocator) = speculative_allocator {
                let mut draw = Draws::new(self.seed, number, self.step, 2, terminals);
                allocator.allocate(speculative, &mut |bound| draw.below(bound));
            }
        }
        for asking in active.decided(decided) {
            if asking.granted == DEAF {
                asking.granted = NONE;
                continue;
            }
            let (input, vc) = spec.crossbar_input(asking.channel);
            let granted = match certain.granted_to(input) {
                Some(granted) => Some(granted),
                // A grant to a guess yields to a certain one for the same output.
                None => {
                    let guess = speculative.granted_to(input);
                    guess.filter(|guess| match spec.requests.yield_to_requests {
                        false => certain.granted_of(guess.output).is_none(),
                        true => certain.count_of_output(guess.output) == 0,
                    })
                }
            };
            if let Some(granted) = granted.filter(|granted| granted.label == vc) {
                asking.granted = granted.output;
                let next = (vc + u32::from(spec.input_speedup)) % u32::from(spec.virtual_channels);
                first_vc[input as usize] = next as u8;
            }
        }
        let again = spec.stages == Stages::Batches && spec.switch_allocation_delay > 1;
        if again || spec.speculation != Speculation::None {
            for asking in active.ending(time) {
                if asking.granted != NONE && !view.still_holds(asking) {
                    asking.granted = NONE;
                }
            }
        }
    }
}

/// Whether allocators work while nobody asks, for the batch before is under way: some draw numbers and some turn even so.
fn works_always(spec: &RouterSpec) -> bool {
    spec.stages == Stages::Batches
}

/// Whether a head with a packet of `flits` may take a virtual channel of an output.
fn is_takeable(spec: &RouterSpec, credits: &Credits, (buffer, vc): (usize, u8), flits: u16) -> bool {
    credits.is_free(buffer, vc)
        && credits.admits(buffer, vc, flits)
        && (!spec.requests.with_credit || !credits.is_full(buffer, vc))
}

/// A router as those that ask for its switch see it.
struct View<'a> {
    spec: &'a RouterSpec,
    /// Its first virtual channel of an input.
    base: usize,
    /// Its first port.
    place: usize,
    channels: &'a [InputChannel],
    waiting: &'a Chains<Waiting>,
    packets: &'a Packets,
    credits: &'a Credits,
    outputs: &'a [Output],
    held: &'a [Option<Held>],
    output_held: &'a [bool],
}

impl View<'_> {
    /// Whether an output can take no flit of a virtual channel: no credit, or no room behind the crossbar.
    fn is_blocked(&self, output: u16, vc: u8) -> bool {
        let place = self.place + output as usize;
        self.credits.is_full(place, vc) || !self.has_space(place)
    }

    /// Whether a head may hope to get a virtual channel of a candidate and use it at once.
    fn may_guess(&self, candidate: &Candidate, flits: u16) -> bool {
        let (guess, output) = (self.spec.requests.guess, candidate.output);
        let place = self.place + output as usize;
        let is_open = |vc| {
            self.credits.is_free(place, vc)
                && self.has_space(place)
                && (guess == Guess::Free || !self.credits.is_full(place, vc))
                && self.credits.admits(place, vc, flits)
        };
        match guess {
            Guess::Always => true,
            Guess::Never => false,
            _ => (candidate.first_vc..=candidate.last_vc).any(is_open),
        }
    }

    /// Whether there is room behind the crossbar.
    fn has_space(&self, place: usize) -> bool {
        let most = self.spec.output_buffer_flits;
        most.is_none_or(|most| self.outputs[place].flits.len < u32::from(most))
    }

    fn is_held(&self, crossbar_input: u32, crossbar_output: u32) -> bool {
        self.held[crossbar_input as usize].is_some() || self.output_held[crossbar_output as usize]
    }

    /// Adds a request for the switch, unless the connection that it needs is kept by somebody, or a virtual
    /// channel of the same crossbar input that comes first (from `first_vc` on) asks for the same output.
    fn ask(&self, channel: u32, output: u16, lowered: i64, first_vc: &[u8], requests: &mut Requests) {
        let (input, vc) = self.spec.crossbar_input(channel);
        let output = self.spec.crossbar_output(output, channel);
        if self.is_held(input, output) {
            return;
        }
        let flits = &self.channels[self.base + channel as usize].flits;
        let priority = precedence(&self.spec.requests, self.packets, self.waiting, flits) - lowered;
        let request =
            Request { input, output, label: vc, input_priority: priority, output_priority: priority };
        match requests.find(input, output) {
            None => requests.add(request),
            Some(before) => {
                let first = u32::from(first_vc[input as usize]);
                let vcs = u32::from(self.spec.virtual_channels);
                let turn = |vc: u32| if vc >= first { vc - first } else { vc + vcs - first };
                let wins = priority > before.input_priority
                    || priority == before.input_priority && turn(vc) < turn(before.label);
                if wins {
                    *before = request;
                }
            }
        }
    }

    /// Whether a grant of the switch can be used at the end of its stage: the connection is not kept by
    /// somebody, the head has got a channel of that output, and there is a credit.
    fn still_holds(&self, asking: &Asking) -> bool {
        let (input, _) = self.spec.crossbar_input(asking.channel);
        if self.is_held(input, asking.granted) {
            return false;
        }
        let output = (asking.granted / u32::from(self.spec.output_speedup)) as u16;
        let place = self.place + output as usize;
        let channel = &self.channels[self.base + asking.channel as usize];
        match channel.state {
            State::Active => channel.output == output && !self.credits.is_full(place, channel.output_vc),
            _ if self.spec.requests.combined_allocation => {
                let head = self.waiting.first(&channel.flits).expect("who speculates has a head").flit;
                let (candidates, flits) =
                    (self.packets.candidates(head.packet), self.packets[head.packet].flits);
                combined::open(self.spec, self.credits, candidates, (output, place), flits).next().is_some()
            }
            _ => {
                let vcs = u32::from(self.spec.virtual_channels);
                let granted = channel.granted;
                // guesses that look at nothing have not looked at the room behind the crossbar either; the peer lets them in
                granted != NONE
                    && granted / vcs == u32::from(output)
                    && !self.credits.is_full(place, (granted % vcs) as u8)
                    && (self.spec.stages == Stages::Batches || self.has_space(place))
            }
        }
    }
}

/// Where virtual channels and ports meet the crossbar.
pub(super) trait Crossbar {
    /// Crossbar input of a virtual channel (`input * virtual channels + vc`), and the `vc`: those of an
    /// input take turns over its crossbar inputs.
    fn crossbar_input(&self, channel: u32) -> (u32, u32);

    /// Crossbar output of an output port for a virtual channel: inputs take turns over the crossbar outputs.
    fn crossbar_output(&self, output: u16, channel: u32) -> u32;
}

impl Crossbar for RouterSpec {
    #[inline]
    fn crossbar_input(&self, channel: u32) -> (u32, u32) {
        let vcs = u32::from(self.virtual_channels);
        let (input, vc) = (channel / vcs, channel % vcs);
        match u32::from(self.input_speedup) {
            1 => (input, vc),
            speedup => (input * speedup + vc % speedup, vc),
        }
    }

    #[inline]
    fn crossbar_output(&self, output: u16, channel: u32) -> u32 {
        match u32::from(self.output_speedup) {
            1 => output.into(),
            speedup => {
                let input = channel / u32::from(self.virtual_channels);
                u32::from(output) * speedup + input % speedup
            }
        }
    }
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
