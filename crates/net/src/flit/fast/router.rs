//! The state of a router in a few cache lines, and its two allocators.
//!
//! Virtual channel `v` of port `p` has number `p * VS + v`, with `P` and `VS` powers of two: sets of
//! them are words, "the first at or after the pointer" is a shift and a count of zeros. Numbers that no
//! channel has never occur in a set, so the order is that of the numbers without holes.

use super::flit::Flit;
use super::mask::Mask;

/// An input virtual channel.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Vc {
    /// Its first flit, when there is one.
    pub(super) front: Flit,
    /// The virtual channels that the packet in front may use.
    pub(super) want: u16,
    /// Place of its second flit in its ring.
    pub(super) head: u8,
    /// Its flits.
    pub(super) len: u8,
    /// The output port of the packet in front.
    pub(super) port: u8,
    /// The output channel that the packet has (port and virtual channel).
    pub(super) out: u8,
    /// iSLIP of virtual channels: the output channel after the last one accepted.
    accept: u8,
}

/// An output virtual channel.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Out {
    /// Places at the other end.
    pub(super) credits: u8,
    /// The input channel whose packet has it.
    pub(super) owner: u8,
    /// iSLIP of virtual channels: the input channel after the last winner.
    grant: u8,
}

/// What a port is joined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Far {
    /// A router of this part: 0, so that the word of its link is the channel's number.
    Router,
    /// A terminal of this part.
    Terminal,
    /// A router of another part.
    Remote,
    Nothing,
}

/// The other end of a port, in eight bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// What it is (2 bits), and the first channel or the terminal there (30 bits).
    place: u32,
    /// Cycles from the grant until the flit can be used, or the credit.
    pub(super) delay: u16,
    /// Cycles from a flit's arrival at a terminal until its credit is back.
    pub(super) back: u16,
}

impl Link {
    /// Channels and terminals that it can name.
    pub(super) const NUMBERS: usize = 1 << 30;

    /// A port that is joined to nothing.
    pub(super) const NOTHING: Self = Self { place: (Far::Nothing as u32) << 30, delay: 0, back: 0 };

    /// The other end: the number of the first channel of a port (of the part, or of the fabric when remote)
    /// or of a terminal.
    pub(super) fn new(far: Far, number: u32, delay: u32, back: u32) -> Self {
        Self { place: (far as u32) << 30 | number, delay: delay as u16, back: back as u16 }
    }

    /// What it is.
    #[inline(always)]
    pub(super) fn far(self) -> Far {
        match self.place >> 30 {
            0 => Far::Router,
            1 => Far::Terminal,
            2 => Far::Remote,
            _ => Far::Nothing,
        }
    }

    /// The first channel there, or the terminal.
    #[inline(always)]
    pub(super) fn number(self) -> u32 {
        self.place & (Self::NUMBERS as u32 - 1)
    }
}

/// A router with `P` ports of `VS` virtual channels, `N = P * VS`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Router<const P: usize, const VS: usize, const N: usize, M> {
    /// Input channels with a flit, an output channel and a credit,
    pub(super) ready: M,
    /// and the same by output port.
    wanting: [M; P],
    /// Input channels whose packet waits for an output channel, by port.
    pub(super) waiters: [M; P],
    /// Output ports whose channels are given away in the next cycle.
    asking: M,
    /// Output channels that no packet has.
    pub(super) free: M,
    /// Input channels.
    pub(super) vcs: [Vc; N],
    /// Output channels.
    pub(super) outs: [Out; N],
    /// iSLIP of the switch: the input after the last winner, by output,
    switch_grant: [u8; P],
    /// and the output after the last one accepted, by input.
    switch_accept: [u8; P],
    /// The virtual channel of an input that comes first.
    offset: [u8; P],
    /// Flits sent, by output port.
    pub(super) sent: [u64; P],
    /// Where the outputs lead.
    pub(super) outputs: [Link; P],
    /// What feeds the inputs.
    pub(super) inputs: [Link; P],
}

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Router<P, VS, N, M> {
    /// An empty router whose outputs have `vcs` channels of `buffer` places each, joined to nothing.
    pub(super) fn new(vcs: u8, buffer: u8) -> Self {
        const { assert!(P * VS == N && P.is_power_of_two() && VS.is_power_of_two() && N <= 128 && VS <= 16) };
        let mut free = M::default();
        for port in 0..P {
            free |= M::run(port * VS, vcs as usize);
        }
        Self {
            ready: M::default(),
            wanting: [M::default(); P],
            waiters: [M::default(); P],
            asking: M::default(),
            free,
            vcs: [Vc::default(); N],
            outs: [Out { credits: buffer, owner: 0, grant: 0 }; N],
            switch_grant: [0; P],
            switch_accept: [0; P],
            offset: [0; P],
            sent: [0; P],
            outputs: [Link::NOTHING; P],
            inputs: [Link::NOTHING; P],
        }
    }

    /// Reads something of every cache line, in order: what comes from memory in order comes sooner.
    #[inline(always)]
    pub(super) fn touch(&self) -> usize {
        let mut sum =
            self.switch_grant[0] as usize + self.outputs[0].delay as usize + self.inputs[0].delay as usize;
        for vc in self.vcs.iter().step_by(4) {
            sum += vc.len as usize;
        }
        for out in self.outs.iter().step_by(21) {
            sum += out.credits as usize;
        }
        sum + self.sent[0] as usize + self.asking.has(0) as usize + self.waiters[0].has(0) as usize
    }

    /// An input channel has a flit and an output channel: with a credit it is ready. Returns that.
    #[inline(always)]
    pub(super) fn activate(&mut self, channel: usize) -> bool {
        let vc = &self.vcs[channel % N];
        let port = vc.port as usize % P;
        let ready = self.outs[vc.out as usize % N].credits != 0;
        if ready {
            let bit = M::bit(channel % N);
            self.ready |= bit;
            self.wanting[port] |= bit;
        }
        ready
    }

    /// It has not any more.
    #[inline(always)]
    pub(super) fn clear_ready(&mut self, bit: M, port: usize) {
        self.ready &= !bit;
        self.wanting[port % P] &= !bit;
    }

    /// The packet in front of an input channel wants to leave by `port`, on a channel of `want`.
    #[inline(always)]
    pub(super) fn wait(&mut self, channel: usize, port: usize, want: u16) {
        let vc = &mut self.vcs[channel % N];
        vc.port = port as u8;
        vc.want = want;
        self.waiters[port % P] |= M::bit(channel % N);
    }

    /// Marks a port for the next round of [`Router::give_channels`], unless it is marked or nobody waits
    /// for it. Returns whether it was marked now. Whether packets wait is hard to predict, so nothing branches.
    #[inline(always)]
    pub(super) fn ask(&mut self, port: usize) -> bool {
        let wanted = !self.waiters[port % P].is_empty();
        let new = wanted & !self.asking.has(port % P);
        self.asking |= M::bit_if(port % P, wanted);
        new
    }

    /// The input channel that waits for a port, when there is only one.
    #[inline(always)]
    pub(super) fn only_waiter(&self, port: usize) -> Option<usize> {
        let waiters = self.waiters[port % P];
        waiters.rest().is_empty().then(|| waiters.first() % N)
    }

    /// Gives a channel of a port to the only packet that waits for it, and takes the mark of the port away: every
    /// channel that it wants is granted to it. Returns whether there was one.
    #[inline(always)]
    pub(super) fn give_channel(&mut self, port: usize, input: usize) -> bool {
        let port = port % P;
        self.asking &= !M::bit(port);
        let offered = self.free.part(port * VS, VS) & u32::from(self.vcs[input % N].want);
        if offered == 0 {
            return false;
        }
        let channel = self.accepted(input % N, port, offered);
        self.give(input % N, port, channel);
        true
    }

    /// Gives channels of a port to the packets that wait for it, one iteration of iSLIP; returns the input
    /// channels that got one. Where no more can be given before a channel comes back, the mark of the port
    /// goes; the second value says whether it stays.
    pub(super) fn give_channels(&mut self, port: usize) -> (M, bool) {
        let port = port % P;
        let granted = self.share_port(port);
        let free = self.free.part(port * VS, VS);
        let mut again = false;
        let mut left = self.waiters[port];
        while free != 0 && !left.is_empty() {
            again |= u32::from(self.vcs[left.first() % N].want) & free != 0;
            left = left.rest();
        }
        if !again {
            self.asking &= !M::bit(port);
        }
        (granted, again)
    }

    /// Several packets wait for the channels of one port.
    fn share_port(&mut self, port: usize) -> M {
        let mut granted = M::default();
        let free = self.free.part(port * VS, VS);
        if free == 0 {
            return granted;
        }
        let mut requests = [M::default(); VS];
        let mut asked = 0_u32;
        let mut each = self.waiters[port];
        while !each.is_empty() {
            let input = each.first() % N;
            each = each.rest();
            let mut wanted = u32::from(self.vcs[input].want) & free;
            asked |= wanted;
            while wanted != 0 {
                requests[wanted.trailing_zeros() as usize % VS] |= M::bit(input);
                wanted &= wanted - 1;
            }
        }
        while asked != 0 {
            // the first channel's winner, and what else it was offered
            let vc = asked.trailing_zeros() as usize % VS;
            let input = requests[vc].first_from(self.outs[(port * VS + vc) % N].grant as usize) % N;
            let mut offered = 1_u32 << vc;
            let mut others = asked & (asked - 1) & u32::from(self.vcs[input].want);
            while others != 0 {
                let vc = others.trailing_zeros() as usize % VS;
                others &= others - 1;
                if requests[vc].first_from(self.outs[(port * VS + vc) % N].grant as usize) % N == input {
                    offered |= 1 << vc;
                }
            }
            asked &= !offered;
            // pointers of the channels that it declines stay
            let channel = self.accepted(input, port, offered);
            self.give(input, port, channel);
            granted |= M::bit(input);
        }
        granted
    }

    /// Which of the `offered` channels of `port` an input channel takes: the first at or after its pointer.
    #[inline(always)]
    fn accepted(&self, input: usize, port: usize, offered: u32) -> usize {
        let ahead = (self.vcs[input].accept as usize).wrapping_sub(port * VS);
        // a pointer at another port starts at the first channel of this one
        let after = if ahead < VS { offered >> ahead << ahead } else { offered };
        port * VS + (if after == 0 { offered } else { after }).trailing_zeros() as usize % VS
    }

    #[inline(always)]
    fn give(&mut self, input: usize, port: usize, channel: usize) {
        let channel = channel % N;
        let out = &mut self.outs[channel];
        out.grant = (input + 1) as u8;
        out.owner = input as u8;
        self.free &= !M::bit(channel);
        self.waiters[port] &= !M::bit(input);
        let state = &mut self.vcs[input];
        state.accept = (channel + 1) as u8;
        state.out = channel as u8;
    }

    /// Whether the request of a ready channel is the only one of its input and of its output: then it
    /// passes, whatever the others do.
    #[inline(always)]
    pub(super) fn is_alone(&self, channel: usize) -> bool {
        let bit = M::bit(channel % N);
        let of_input = M::run(channel / VS % P * VS, VS);
        self.wanting[self.vcs[channel % N].port as usize % P] | self.ready & of_input == bit
    }

    /// A channel passes the switch: pointers move on.
    #[inline(always)]
    pub(super) fn pass(&mut self, channel: usize, output: usize, vcs: u8) {
        let input = channel / VS % P;
        self.switch_grant[output % P] = (input + 1) as u8;
        self.switch_accept[input] = (output + 1) as u8;
        let next = (channel % VS) as u8 + 1;
        self.offset[input] = if next == vcs { 0 } else { next };
    }

    /// Gives the switch to channels of `ready` that compete with each other, one iteration of iSLIP; the
    /// winners. At most one per input and output.
    pub(super) fn share_switch(&self, mut ready: M) -> M {
        let (mut outputs, mut inputs) = (0_u64, 0_u64);
        let mut requests = [0_u64; P];
        let mut grants = [0_u64; P];
        let all = ready;
        while !ready.is_empty() {
            let channel = ready.first() % N;
            ready = ready.rest();
            let output = self.vcs[channel].port as usize % P;
            requests[output] |= 1 << (channel / VS);
            outputs |= 1 << output;
        }
        while outputs != 0 {
            let output = outputs.trailing_zeros() as usize % P;
            outputs &= outputs - 1;
            let input = requests[output].first_from(self.switch_grant[output] as usize) % P;
            grants[input] |= 1 << output;
            inputs |= 1 << input;
        }
        let mut winners = M::default();
        while inputs != 0 {
            let input = inputs.trailing_zeros() as usize % P;
            inputs &= inputs - 1;
            let output = grants[input].first_from(self.switch_accept[input] as usize) % P;
            winners |= M::bit(input * VS + self.speaker(input, output, all.part(input * VS, VS)));
        }
        winners
    }

    /// The virtual channel that speaks for an input at an output: of those in `ready` that want it the first
    /// at or after the input's offset.
    #[inline(always)]
    fn speaker(&self, input: usize, output: usize, ready: u32) -> usize {
        if ready & (ready - 1) == 0 {
            return ready.trailing_zeros() as usize % VS;
        }
        let mut wanting = self.wanting[output].part(input * VS, VS) & ready;
        let after = wanting & (u32::MAX << self.offset[input]);
        if after != 0 {
            wanting = after;
        }
        wanting.trailing_zeros() as usize % VS
    }
}
