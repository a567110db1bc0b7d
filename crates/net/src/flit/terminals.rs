//! The edge of the network: where packets come from and where they go.

use stratasim_core::random::mix;

/// A packet that waited longer for its source, in cycles, counts as one that waited so long.
pub const MOST_WAIT: u64 = 1 << 31;

/// A packet that wants to enter the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// The terminal that it goes to.
    pub dest: u32,
    /// Its flits, at least 1.
    pub flits: u16,
    /// The virtual channels that it may use: an index into [`RouterSpec::ranges`](super::router::RouterSpec::ranges).
    pub range: u8,
    /// Priority: packets of higher priority go first where an allocator or a source heeds it.
    pub priority: i32,
    /// The cycle in which it came into being, at most the present one.
    pub created: u64,
    /// Whether it could have entered before the present cycle, had its terminal been free: then it enters as soon as
    /// the one before it leaves room, which may be between two cycles.
    pub waited: bool,
    /// Handed back with the arrival; a kernel never looks into it.
    pub tag: u32,
    /// Whether its flits count in the statistics; handed back.
    pub measured: bool,
}

/// A packet whose tail has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Where it came from.
    pub source: u32,
    /// Where it arrived.
    pub dest: u32,
    /// Its flits.
    pub flits: u16,
    /// Routers that its tail went through, that of the destination among them.
    pub hops: u16,
    /// As offered, [`MOST_WAIT`] cycles before it came to the front of its source at most.
    pub created: u64,
    /// Cycle in which its head left the source.
    pub entered: u64,
    /// Cycle in which its head arrived.
    pub head_arrived: u64,
    /// Cycle in which its tail arrived: now.
    pub arrived: u64,
    /// As offered.
    pub tag: u32,
    /// As offered.
    pub measured: bool,
}

/// A flit that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlitArrival {
    /// As offered with its packet.
    pub tag: u32,
    /// As with its packet.
    pub created: u64,
    /// Where it arrived.
    pub terminal: u32,
    /// Cycle in which it arrived: now.
    pub arrived: u64,
    /// Cycles since it left its source.
    pub latency: u64,
    /// As offered with its packet.
    pub measured: bool,
}

/// Packets of one flit each arrive: tells of each flit and then of its packet.
pub fn one_by_one<T: Terminals>(terminals: &mut T, arrivals: impl Iterator<Item = Arrival>) {
    for arrival in arrivals {
        terminals.flit(FlitArrival {
            tag: arrival.tag,
            created: arrival.created,
            terminal: arrival.dest,
            arrived: arrival.arrived,
            latency: arrival.arrived - arrival.entered,
            measured: arrival.measured,
        });
        terminals.packet(&arrival);
    }
}

/// Where packets come from and where they go; one object for all terminals of a kernel (or, with several
/// threads, for those of one part).
///
/// Order of calls in a cycle, as in the classic simulators: what comes into being (`polled` sources are
/// asked terminal by terminal, queue by queue; others only when they are due), then a flit enters at
/// every terminal that has one, then arrivals by terminal.
pub trait Terminals {
    /// Queues per terminal. A packet waits for those before it in its own queue; the queues of a terminal
    /// share its one flit per cycle in turn, unless priorities differ.
    fn queues(&self) -> u8 {
        1
    }

    /// Whether every empty queue is asked in every cycle. Sources that know their next date need not be.
    fn polled(&self) -> bool {
        false
    }

    /// Whether a head that could not go at once keeps the virtual channel that it found, and waits when another queue takes
    /// that; and looks at the first one only where the packet before it had none of its range. Otherwise it looks for another one.
    fn insists(&self) -> bool {
        false
    }

    /// The next packet of `queue` of `terminal` if there is one at cycle `now`. The queue is empty: all
    /// flits of the packet before have entered the network.
    fn offer(&mut self, terminal: u32, queue: u8, now: u64) -> Option<Offer>;

    /// Appends the next packets at cycle `now` of the only queues of `terminals`, which are empty and stand in ascending order:
    /// what [`Terminals::offer`] says of each, one after the other.
    fn offers(&mut self, terminals: &[u32], now: u64, out: &mut Vec<(u32, Offer)>) {
        for &terminal in terminals {
            if let Some(offer) = self.offer(terminal, 0, now) {
                out.push((terminal, offer));
            }
        }
    }

    /// Whether [`Terminals::due`] tells of every packet: also of one that comes into being while another one of its queue is
    /// leaving. Then nobody has to be asked only because a packet has left.
    fn announces(&self) -> bool {
        false
    }

    /// Whether arrivals of a cycle are to be told in the order of their terminals, and flits that enter, too.
    fn in_order(&self) -> bool {
        true
    }

    /// Whether arrivals of a cycle may be told before what enters in it: nothing that it says depends on them.
    fn in_any_order(&self) -> bool {
        false
    }

    /// The first cycle, from `now` on, in which a terminal gets something to send that [`Terminals::offer`]
    /// has not been able to give; `None` when nothing comes any more. Not asked of `polled` sources.
    fn next_due(&mut self, now: u64) -> Option<u64>;

    /// Appends the terminals that get something to send in cycle `now`, in ascending order, each once.
    fn due(&mut self, now: u64, out: &mut Vec<u32>);

    /// A number below `bound` for a decision of routing. `key` names the decision (run, packet, router), so
    /// that its outcome depends on nothing else; a source with one stream for everything ignores it.
    fn draw(&mut self, key: u64, bound: u32) -> u32 {
        ((u64::from(bound) * (mix(key) >> 32)) >> 32) as u32
    }

    /// A flit arrived.
    fn flit(&mut self, flit: FlitArrival);

    /// A flit of a packet with this `tag` left its source, the last one where `tail`. Called once per flit.
    fn entered(&mut self, tag: u32, terminal: u32, tail: bool);

    /// A packet arrived as a whole.
    fn packet(&mut self, arrival: &Arrival);

    /// Packets of one flit each arrive in the present cycle: what [`Terminals::flit`] and [`Terminals::packet`] say of each.
    fn singles(&mut self, arrivals: impl Iterator<Item = Arrival>)
    where
        Self: Sized,
    {
        one_by_one(self, arrivals);
    }

    /// Whether the kernel is to return when the present cycle is over, whatever was left to run. Asked after
    /// every cycle.
    fn stop(&self) -> bool {
        false
    }
}
