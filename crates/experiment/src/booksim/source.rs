//! BookSim2's terminals: generation clocks, request and reply, what is counted of packets.

use std::collections::VecDeque;

use stratasim_net::flit::booksim::knuth::{Chance, Knuth};
use stratasim_net::flit::terminals::{Arrival, FlitArrival, Offer, Terminals};

use super::class::{Class, Message, Priority};
use super::statistics::Counters;

/// Where a simulation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Statistics are thrown away.
    WarmUp,
    /// What is made now is recorded.
    Running,
    /// Traffic goes on until all that is recorded has arrived.
    Draining,
    /// Nothing new is made.
    Emptying,
}

/// How batches are made.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    /// Packets per node.
    pub packets: u64,
    /// Most that wait for their reply, or to arrive; 0: any number.
    pub outstanding: u64,
}

/// A reply that waits to be sent.
#[derive(Debug, Clone, Copy)]
struct Reply {
    dest: u32,
    made: u64,
    recorded: bool,
    message: Message,
}

/// Networks side by side, and which of them takes what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subnets {
    /// How many there are.
    pub count: u32,
    /// The network of each [`Message`] that is not drawn.
    pub of_message: [u32; 5],
}

/// The terminals of BookSim2. Terminal `t` of network `s` has the number `s * nodes + t` in the kernel; a node
/// makes its next packet when the last one has left it, whichever network took that.
#[derive(Debug)]
pub struct Source {
    /// Everything is drawn from here, in the order of the simulator.
    pub knuth: Knuth,
    /// Where the simulation is.
    pub state: State,
    /// Since when it has been draining.
    pub drain_time: u64,
    /// Flits created, and not yet arrived, by class.
    pub in_flight: Vec<u64>,
    /// The sum of the cycles in which they were created.
    pub created_sum: Vec<u64>,
    /// Flits that are recorded and have not arrived, by class.
    pub recorded_in_flight: Vec<u64>,
    /// What is counted, by class.
    pub counters: Vec<Counters>,
    /// Generation clocks that have not passed the start of draining, by class.
    pub undrained: Vec<u64>,
    /// Nodes with packets of their batch to make.
    pub unfinished: u64,
    /// Warnings of a deadlock so far.
    pub deadlock_warnings: u64,
    /// The last cycle with an arrival.
    quiet_since: u64,
    deadlock_timeout: u64,
    nodes: u32,
    /// Whether packets are all of one class and network, and neither requests nor of a batch.
    plain: bool,
    subnets: Subnets,
    classes: Vec<Class>,
    batch: Option<Batch>,
    include_queueing: bool,
    /// Whether a node's packet has not left it, by node and class. Known where there are several networks.
    occupied: Vec<bool>,
    /// The packet that a node has made for a network other than the first, until that asks for it.
    waiting: Vec<Option<Offer>>,
    /// Whether the packet that is entering has sent its head, by terminal and class.
    entering: Vec<bool>,
    clocks: Vec<u64>,
    drained: Vec<bool>,
    replies: Vec<VecDeque<Reply>>,
    outstanding: Vec<i64>,
    made: Vec<u64>,
}

impl Source {
    /// The terminals of `nodes` nodes.
    pub fn new(
        nodes: u32,
        subnets: Subnets,
        classes: Vec<Class>,
        seed: u32,
        batch: Option<Batch>,
        include_queueing: bool,
        deadlock_timeout: u64,
    ) -> Self {
        let count = classes.len();
        let places = nodes as usize * count;
        let asks = classes.iter().any(|class| class.read_write.is_some());
        Self {
            plain: count == 1 && subnets.count == 1 && batch.is_none() && !asks,
            knuth: Knuth::new(seed),
            state: State::WarmUp,
            drain_time: 0,
            in_flight: vec![0; count],
            created_sum: vec![0; count],
            recorded_in_flight: vec![0; count],
            counters: vec![Counters::new(nodes as usize); count],
            undrained: vec![u64::from(nodes); count],
            unfinished: u64::from(nodes),
            deadlock_warnings: 0,
            quiet_since: 0,
            deadlock_timeout,
            nodes,
            subnets,
            classes,
            batch,
            include_queueing,
            occupied: vec![false; places],
            waiting: vec![None; places],
            entering: vec![false; places],
            clocks: vec![0; places],
            drained: vec![false; places],
            replies: vec![VecDeque::new(); nodes as usize],
            outstanding: vec![0; nodes as usize],
            made: vec![0; nodes as usize],
        }
    }

    /// The classes.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Starts a simulation at cycle `now`: clocks and processes are as at first, the streams go on.
    pub fn restart(&mut self, now: u64) {
        self.state = State::WarmUp;
        self.clocks.fill(now);
        self.drained.fill(false);
        self.undrained.fill(u64::from(self.nodes));
        self.outstanding.fill(0);
        self.replies.iter_mut().for_each(VecDeque::clear);
        self.classes.iter_mut().for_each(|class| class.process.reset());
        self.counters.iter_mut().for_each(Counters::clear);
        self.quiet_since = now;
    }

    /// Starts a batch.
    pub fn start_batch(&mut self) {
        self.made.fill(0);
        self.unfinished = match self.batch {
            Some(Batch { packets: 0, .. }) | None => 0,
            Some(_) => u64::from(self.nodes),
        };
        self.state = State::Running;
    }

    /// Flits of all classes in flight.
    pub fn all_in_flight(&self) -> u64 {
        self.in_flight.iter().sum()
    }

    /// Counts the warnings of a deadlock before cycle `now`.
    pub fn count_warnings(&mut self, now: u64) {
        if self.all_in_flight() > 0 && now > 0 {
            let quiet = (now - 1).saturating_sub(self.quiet_since) / (self.deadlock_timeout + 1);
            self.deadlock_warnings += quiet;
            self.quiet_since += quiet * (self.deadlock_timeout + 1);
        }
    }

    /// The node of a terminal.
    #[inline]
    fn node(&self, terminal: u32) -> u32 {
        // seldom a division
        if terminal < self.nodes { terminal } else { terminal % self.nodes }
    }

    /// What [`Terminals::offer`] says of plain packets while their number is not limited.
    #[inline]
    fn offer_plain(&mut self, node: u32, now: u64) -> Option<Offer> {
        let place = node as usize;
        while self.clocks[place] <= now {
            let clock = self.clocks[place];
            self.clocks[place] += 1;
            if self.classes[0].process.makes(node, &mut self.knuth) {
                self.outstanding[place] += 1;
                self.made[place] += 1;
                return Some(self.make(node, 0, Message::Any, clock, now));
            }
        }
        None
    }

    /// Whether the packets made next count in the rates.
    fn counts_rates(&self) -> bool {
        matches!(self.state, State::WarmUp | State::Running)
    }

    /// What the node makes in this cycle of its clock: a message, or the reply that waits.
    fn issue(&mut self, node: u32, class: usize, now: u64) -> Option<Message> {
        let place = node as usize;
        let read_write = self.classes[class].read_write;
        if read_write.is_some() && !self.replies[place].is_empty() {
            return self.replies[place].front().filter(|reply| reply.made <= now).map(|reply| reply.message);
        }
        let made = match self.batch {
            None => self.classes[class].process.makes(node, &mut self.knuth),
            Some(Batch { packets, outstanding }) => {
                self.made[place] < packets
                    && (outstanding == 0 || self.outstanding[place] < outstanding as i64)
            }
        };
        if !made {
            return None;
        }
        self.outstanding[place] += 1;
        if self.batch.is_some() && read_write.is_none() {
            // that there is a packet is told by its flits, which are drawn again where it is made
            self.draw_flits(class);
        }
        Some(match read_write {
            None => Message::Any,
            Some(how) => {
                // in batches it does not ask how many write
                let write = if self.batch.is_some() { 0.5 } else { how.write };
                match self.knuth.below(Chance::new(write)) {
                    true => Message::WriteRequest,
                    false => Message::ReadRequest,
                }
            }
        })
    }

    /// What [`Terminals::offer`] says of any packets.
    fn offer_any(&mut self, terminal: u32, queue: u8, now: u64) -> Option<Offer> {
        let class = queue as usize;
        let (subnet, terminal) = (terminal / self.nodes, terminal % self.nodes);
        let place = terminal as usize * self.classes.len() + class;
        if self.subnets.count > 1 {
            if subnet > 0 {
                return self.waiting[place].take_if(|offer| offer.dest / self.nodes == subnet);
            }
            if self.occupied[place] {
                return None;
            }
        }
        if self.state == State::Emptying {
            return None;
        }
        let mut offer = None;
        while offer.is_none() && self.clocks[place] <= now {
            let message = self.issue(terminal, class, now);
            let clock = self.clocks[place];
            if let Some(message) = message {
                self.made[terminal as usize] += 1;
                if self.batch.is_some_and(|batch| self.made[terminal as usize] == batch.packets) {
                    self.unfinished -= 1;
                }
                offer = Some(self.make(terminal, class, message, clock, now));
            }
            // replies take none of the clock's cycles
            if !matches!(message, Some(Message::ReadReply | Message::WriteReply)) {
                self.clocks[place] += 1;
            }
        }
        if self.state == State::Draining && self.clocks[place] > self.drain_time && !self.drained[place] {
            self.drained[place] = true;
            self.undrained[class] -= 1;
        }
        if self.subnets.count > 1
            && let Some(made) = offer
        {
            self.occupied[place] = true;
            if made.dest >= self.nodes {
                self.waiting[place] = offer.take();
            }
        }
        offer
    }

    /// Draws the flits of a packet.
    #[inline]
    fn draw_flits(&mut self, class: usize) -> u16 {
        match self.classes[class].sizes[..] {
            [(flits, _)] => flits,
            ref sizes => {
                let drawn = self.knuth.integer_below(sizes[sizes.len() - 1].1);
                sizes[sizes.partition_point(|&(_, upto)| upto <= drawn)].0
            }
        }
    }

    /// Draws a packet and enters it in the books.
    #[inline(never)]
    fn make(&mut self, node: u32, class: usize, message: Message, clock: u64, now: u64) -> Offer {
        let mut flits = self.draw_flits(class);
        let kind = &self.classes[class];
        let mut dest = kind.pattern.dest(node, self.nodes, &mut self.knuth);
        let mut created = if self.include_queueing { clock } else { now };
        let mut recorded = false;
        if let Some(how) = kind.read_write {
            flits = how.flits[message as usize];
        }
        if matches!(message, Message::ReadReply | Message::WriteReply)
            && let Some(reply) = self.replies[node as usize].pop_front()
        {
            (dest, created, recorded) = (reply.dest, reply.made, reply.recorded);
        }
        match self.state {
            State::Running => recorded = kind.measured,
            State::Draining if created < self.drain_time => recorded = kind.measured,
            _ => {}
        }
        let subnet = match message {
            // drawn even where there is one
            Message::Any => self.knuth.integer_below(self.subnets.count),
            _ => self.subnets.of_message[message as usize],
        };
        if self.all_in_flight() == 0 {
            self.quiet_since = now;
        }
        self.in_flight[class] += u64::from(flits);
        self.created_sum[class] += u64::from(flits) * created;
        if recorded {
            self.recorded_in_flight[class] += u64::from(flits);
        }
        Offer {
            dest: subnet * self.nodes + dest,
            flits,
            range: message as u8,
            priority: match kind.priority {
                Priority::Same(priority) => priority,
                // the packet itself is among those that were made
                Priority::Sequence => i32::MAX.saturating_sub_unsigned(self.made[node as usize] as u32),
            },
            created,
            waited: created < now,
            tag: (message as u32) << 5 | class as u32,
            measured: recorded,
        }
    }
}

impl Terminals for Source {
    fn queues(&self) -> u8 {
        self.classes.len() as u8
    }

    fn polled(&self) -> bool {
        true
    }

    fn insists(&self) -> bool {
        true
    }

    #[inline]
    fn offer(&mut self, terminal: u32, queue: u8, now: u64) -> Option<Offer> {
        if self.plain && self.counts_rates() {
            self.offer_plain(terminal, now)
        } else {
            self.offer_any(terminal, queue, now)
        }
    }

    fn in_order(&self) -> bool {
        // sums do not depend on it
        !self.plain
    }

    fn next_due(&mut self, _: u64) -> Option<u64> {
        None
    }

    fn due(&mut self, _: u64, _: &mut Vec<u32>) {}

    fn draw(&mut self, _: u64, bound: u32) -> u32 {
        self.knuth.integer_below(bound)
    }

    fn flit(&mut self, flit: FlitArrival) {
        let FlitArrival { tag, created, terminal, arrived: now, latency, measured } = flit;
        let terminal = self.node(terminal);
        let class = (tag & 31) as usize;
        let quiet = now - self.quiet_since;
        if quiet > self.deadlock_timeout {
            self.deadlock_warnings += quiet / (self.deadlock_timeout + 1);
        }
        self.quiet_since = now;
        self.in_flight[class] -= 1;
        self.created_sum[class] -= created;
        if measured {
            self.recorded_in_flight[class] -= 1;
        }
        let counts = self.counts_rates();
        let counters = &mut self.counters[class];
        if counts {
            counters.accepted_flits[terminal as usize] += 1;
        }
        counters.flit.add(latency);
    }

    fn entered(&mut self, tag: u32, terminal: u32, tail: bool) {
        let class = (tag & 31) as usize;
        let terminal = self.node(terminal);
        // the simulator counts a packet as sent with its head
        let place = terminal as usize * self.classes.len() + class;
        self.occupied[place] &= !tail;
        let head = !std::mem::replace(&mut self.entering[place], !tail);
        if self.counts_rates() {
            let counters = &mut self.counters[class];
            counters.sent_flits[terminal as usize] += 1;
            counters.sent_packets[terminal as usize] += u64::from(head);
        }
    }

    fn packet(&mut self, arrival: &Arrival) {
        let (source, dest) = (self.node(arrival.source), self.node(arrival.dest));
        let message = Message::of(arrival.tag >> 5 & 7);
        match message {
            Message::ReadRequest | Message::WriteRequest => {
                let reply =
                    if message == Message::ReadRequest { Message::ReadReply } else { Message::WriteReply };
                self.replies[dest as usize].push_back(Reply {
                    dest: source,
                    made: arrival.arrived,
                    recorded: arrival.measured,
                    message: reply,
                });
            }
            Message::ReadReply | Message::WriteReply => self.outstanding[dest as usize] -= 1,
            Message::Any => self.outstanding[source as usize] -= 1,
        }
        let counts = self.counts_rates();
        let counters = &mut self.counters[(arrival.tag & 31) as usize];
        if counts {
            counters.accepted_packets[dest as usize] += 1;
        }
        if self.state == State::WarmUp || arrival.measured {
            counters.packet.add(arrival.arrived - arrival.created);
            counters.network.add(arrival.arrived - arrival.entered);
            counters.fragmentation.add(arrival.arrived - arrival.head_arrived + 1 - u64::from(arrival.flits));
            counters.hops.add(u64::from(arrival.hops));
        }
    }
}
