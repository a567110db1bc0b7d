//! Heads that may go several ways, and choose one of them anew in every cycle in which they wait.
//!
//! A head that waits asks for one output at a time (see [`FlitRouting::prefers`](crate::flit::routing::FlitRouting::prefers)).
//! So in each cycle those of a router choose, one after the other, and are then given channels like heads that have one way.
//! Whoever gets none is forgotten by its port, and chooses again.

use super::guide::channels;
use super::mask::Mask;
use super::pool::Way;
use super::router::Routers;
use super::wheel::BLOCK;
use crate::flit::routing::Candidate;

/// One way of a head: a port, and virtual channels as a set.
#[derive(Debug, Clone, Copy)]
struct Choice {
    want: u16,
    port: u8,
    priority: i32,
}

/// A head that waits.
#[derive(Debug, Clone, Default)]
struct Waiting {
    /// Its ways, those that it prefers first.
    choices: Vec<Choice>,
    /// Flits of its packet.
    flits: u16,
}

/// The heads of a part that wait.
#[derive(Debug)]
pub(super) struct Choices<M> {
    /// Those that wait, by place, and places that nobody has.
    places: Vec<Waiting>,
    free: Vec<u32>,
    /// By input channel of the part: the place of its head while that waits.
    place_of: Vec<u32>,
    /// By router: input channels whose head waits,
    waiting: Vec<M>,
    /// and input ports.
    inputs: Vec<u16>,
    /// By block: routers where somebody waits.
    busy: Vec<u64>,
    /// By block: whether somebody may get a channel in the next cycle although nothing comes.
    again: Vec<bool>,
    /// Whether packets need room as a whole, or an empty channel.
    needs_room: bool,
    /// Input channels of the block that ask in this cycle.
    asking: Vec<(u16, u8)>,
    /// What the routing function says.
    pub(super) candidates: Vec<Candidate>,
}

const _: () = assert!(BLOCK <= 64, "routers of a block are bits of a word");

impl<M: Mask> Choices<M> {
    /// For routers with so many `inputs` each, of `channels` channels.
    pub(super) fn new(inputs: Vec<u16>, channels: usize, needs_room: bool) -> Self {
        let (routers, blocks) = (inputs.len(), inputs.len().div_ceil(BLOCK));
        Self {
            places: Vec::new(),
            free: Vec::new(),
            place_of: vec![0; routers * channels],
            waiting: vec![M::default(); routers],
            inputs,
            busy: vec![0; blocks],
            again: vec![false; blocks],
            needs_room,
            asking: Vec::new(),
            candidates: Vec::new(),
        }
    }

    /// Whether somebody may get a channel in the next cycle of a block although nothing comes.
    #[inline(always)]
    pub(super) fn is_idle(&self, block: usize) -> bool {
        !self.again[block]
    }

    /// Output channels may have been freed: those that wait look again.
    pub(super) fn look_again(&mut self, block: usize) {
        self.again[block] |= self.busy[block] != 0;
    }

    /// The port that the head in front of a channel of a router likes best, if it waits.
    pub(super) fn wish(&self, router: usize, channel: usize, channels: usize) -> Option<usize> {
        let waits = self.waiting[router].has(channel);
        let place = self.place_of[router * channels + channel] as usize;
        waits.then(|| self.places[place].choices.first().map(|choice| choice.port.into()))?
    }

    /// The head of a packet of `flits`, in front of input channel `number` of a block, may go the ways of `candidates`.
    pub(super) fn wait<const N: usize>(&mut self, block: usize, number: usize, flits: u16) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Waiting::default());
            self.places.len() as u32 - 1
        });
        let waiting = &mut self.places[place as usize];
        waiting.flits = flits;
        waiting.choices.clear();
        waiting.choices.extend(self.candidates.iter().map(|candidate| Choice {
            want: channels(candidate.first_vc, candidate.last_vc),
            port: candidate.output as u8,
            priority: candidate.priority,
        }));
        self.place_of[block * BLOCK * N + number] = place;
        self.waiting[block * BLOCK + number / N].insert(number % N);
        self.busy[block] |= 1 << (number / N);
        self.again[block] = true;
    }

    /// All that wait in a block choose a port, which then knows that they wait. They do so in the order of their input ports,
    /// each cycle from another one on.
    #[inline(never)]
    pub(super) fn choose<const P: usize, const VS: usize, const N: usize>(
        &mut self,
        routers: &mut Routers<P, VS, N, M>,
        block: usize,
        now: u64,
        buffer: u16,
    ) {
        self.again[block] = false;
        let mut busy = self.busy[block];
        while busy != 0 {
            let index = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let router = block * BLOCK + index;
            let first = (now % u64::from(self.inputs[router])) as usize * VS;
            let (mut left, mut at) = (self.waiting[router], (first + N - 1) % N);
            // ports that somebody has chosen
            let mut favoured = 0_u64;
            while !left.is_empty() {
                at = left.first_behind(at);
                left.remove(at);
                let waiting = &self.places[self.place_of[router * N + at] as usize];
                let takeable = |choice: &Choice| {
                    let port = index * P + usize::from(choice.port);
                    let free = u32::from(choice.want) & routers.free_of(port);
                    if !self.needs_room || free == 0 {
                        return free as u16;
                    }
                    let outs = &routers.outs_of(index)[usize::from(choice.port) * VS % N..][..VS];
                    let admits = |vc: usize| {
                        let credits: u32 = outs[vc].credits.into();
                        credits >= u32::from(waiting.flits) || credits == u32::from(buffer)
                    };
                    (0..VS).fold(0, |set, vc| set | u16::from(free >> vc & 1 != 0 && admits(vc)) << vc)
                };
                // the first way with a channel to give; rather one as good that nobody has chosen
                let mut chosen: Option<(Choice, u16)> = None;
                for &choice in &waiting.choices {
                    if let Some((first, _)) = chosen
                        && (favoured >> choice.port & 1 != 0 || choice.priority != first.priority)
                    {
                        continue;
                    }
                    let offered = takeable(&choice);
                    if offered == 0 {
                        continue;
                    }
                    chosen = Some((choice, offered));
                    if favoured >> choice.port & 1 == 0 {
                        break;
                    }
                }
                if let Some((choice, offered)) = chosen {
                    favoured |= 1 << choice.port;
                    let number = index * N + at;
                    routers.wait(number, Way::new(choice.port.into(), offered), true);
                    self.asking.push((number as u16, choice.port));
                }
            }
        }
    }

    /// The head in front of input channel `number` of a block has got a channel.
    pub(super) fn got<const N: usize>(&mut self, block: usize, number: usize) {
        let waiting = &mut self.waiting[block * BLOCK + number / N];
        waiting.remove(number % N);
        self.busy[block] &= !(u64::from(waiting.is_empty()) << (number / N));
        self.free.push(self.place_of[block * BLOCK * N + number]);
    }

    /// Who has asked in vain is forgotten.
    pub(super) fn forget<const P: usize, const VS: usize, const N: usize>(
        &mut self,
        routers: &mut Routers<P, VS, N, M>,
        block: usize,
    ) {
        for (number, port) in self.asking.drain(..) {
            let number = usize::from(number);
            if self.waiting[block * BLOCK + number / N].has(number % N) {
                routers.ask_no_more(number, port.into());
                self.again[block] = true;
            }
        }
        routers.asking.clear();
    }
}
