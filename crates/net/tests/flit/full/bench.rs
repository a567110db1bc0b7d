//! A grid of routers, routing on it, and lists of packets.

use std::collections::BTreeMap;
use std::sync::Arc;

use stratasim_core::random::mix;
use stratasim_net::flit::fabric::{Channel, End, Fabric};
use stratasim_net::flit::full::Full;
use stratasim_net::flit::kernel::Kernel;
use stratasim_net::flit::router::RouterSpec;
use stratasim_net::flit::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use stratasim_net::flit::terminals::{Arrival, FlitArrival, Offer, Terminals};

/// Routers in a grid of `width` x `height`, ports: east, west, north, south, terminal.
pub(crate) fn grid(width: u32, height: u32, link: Channel, edge: Channel) -> Fabric {
    let mut fabric = Fabric::new(vec![(5, 5); (width * height) as usize]);
    for router in 0..width * height {
        let (x, y) = (router % width, router / width);
        let mut join = |output: u16, there: bool, to: u32| {
            if there {
                let end = End::Router { router: to, port: output ^ 1 };
                fabric.connect((router, output), Channel { end, ..link });
            }
        };
        join(0, x + 1 < width, router + 1);
        join(1, x > 0, router.wrapping_sub(1));
        join(2, y + 1 < height, router + width);
        join(3, y > 0, router.wrapping_sub(width));
        fabric.attach(router, (4, 4), edge, edge, None);
    }
    fabric
}

/// First along x, then along y. With `adaptive`, any direction that comes nearer, on the virtual channels
/// above the first, and this one on the first as the way out.
pub(crate) struct GridRouting {
    pub(crate) width: u32,
    pub(crate) adaptive: bool,
}

impl GridRouting {
    fn ways(&self, from: u32, to: u32) -> Vec<u16> {
        let (x, y) = (from % self.width, from / self.width);
        let (goal_x, goal_y) = (to % self.width, to / self.width);
        let along_x = (x != goal_x).then_some(if goal_x > x { 0 } else { 1 });
        let along_y = (y != goal_y).then_some(if goal_y > y { 2 } else { 3 });
        along_x.into_iter().chain(along_y).collect()
    }
}

impl FlitRouting for GridRouting {
    fn route(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        out: &mut Vec<Candidate>,
    ) {
        let ways = self.ways(place.router, head.dest);
        let (first_vc, last_vc) = head.range;
        let Some(&way) = ways.first() else {
            out.push(Candidate { output: 4, first_vc, last_vc, priority: 0 });
            return;
        };
        if !self.adaptive || first_vc == last_vc {
            out.push(Candidate { output: way, first_vc, last_vc, priority: 0 });
            return;
        }
        out.push(Candidate { output: way, first_vc, last_vc: first_vc, priority: 0 });
        let start = surroundings.draw(ways.len() as u32) as usize;
        let best = (0..ways.len())
            .map(|step| ways[(start + step) % ways.len()])
            .min_by_key(|&way| surroundings.used(way))
            .unwrap_or(way);
        out.push(Candidate { output: best, first_vc: first_vc + 1, last_vc, priority: 1 });
    }

    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let mut all = Vec::with_capacity(1);
        self.route(place, head, surroundings, &mut all);
        all[0]
    }

    fn single(&self) -> bool {
        !self.adaptive
    }

    fn adaptive(&self) -> bool {
        self.adaptive
    }
}

/// Once around a ring of four routers, eastwards.
pub(crate) struct Ring;

impl FlitRouting for Ring {
    fn only(&self, place: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        let output = u16::from(place.router == head.dest);
        Candidate { output, first_vc: head.range.0, last_vc: head.range.1, priority: 0 }
    }
}

/// Packets of a list: (cycle, terminal, queue, destination, flits). Records what arrives.
#[derive(Default)]
pub(crate) struct List {
    pub(crate) queues: u8,
    pub(crate) polled: bool,
    pub(crate) waiting: BTreeMap<(u32, u8), Vec<Offer>>,
    pub(crate) dates: BTreeMap<u64, Vec<u32>>,
    pub(crate) arrivals: Vec<Arrival>,
    pub(crate) entered: u64,
    pub(crate) flits: u64,
    pub(crate) flit_latencies: Vec<u64>,
}

impl List {
    pub(crate) fn new(packets: &[(u64, u32, u8, u32, u16)]) -> Self {
        let mut list = Self { queues: 1, ..Self::default() };
        for (tag, &(created, terminal, queue, dest, flits)) in packets.iter().enumerate() {
            let offer = Offer {
                dest,
                flits,
                range: 0,
                priority: 0,
                created,
                waited: true,
                tag: tag as u32,
                measured: true,
            };
            list.queues = list.queues.max(queue + 1);
            list.waiting.entry((terminal, queue)).or_default().push(offer);
            list.dates.entry(created).or_default().push(terminal);
        }
        list.waiting
            .values_mut()
            .for_each(|offers| offers.sort_by_key(|offer| std::cmp::Reverse(offer.created)));
        list
    }

    pub(crate) fn by_tag(&self) -> BTreeMap<u32, Arrival> {
        self.arrivals.iter().map(|arrival| (arrival.tag, *arrival)).collect()
    }
}

impl Terminals for List {
    fn queues(&self) -> u8 {
        self.queues
    }

    fn polled(&self) -> bool {
        self.polled
    }

    fn offer(&mut self, terminal: u32, queue: u8, now: u64) -> Option<Offer> {
        self.waiting
            .get_mut(&(terminal, queue))?
            .pop_if(|offer| offer.created <= now)
            .map(|offer| Offer { waited: offer.created < now, ..offer })
    }

    fn next_due(&mut self, now: u64) -> Option<u64> {
        self.dates.range(now..).next().map(|(&date, _)| date)
    }

    fn due(&mut self, now: u64, out: &mut Vec<u32>) {
        if let Some(terminals) = self.dates.get(&now) {
            out.extend_from_slice(terminals);
            out.sort_unstable();
            out.dedup();
        }
    }

    fn flit(&mut self, flit: FlitArrival) {
        self.flits += 1;
        self.flit_latencies.push(flit.latency);
    }

    fn entered(&mut self, _: u32, _: u32, _: bool) {
        self.entered += 1;
    }

    fn packet(&mut self, arrival: &Arrival) {
        self.arrivals.push(*arrival);
    }
}

pub(crate) fn kernel(fabric: Fabric, spec: &RouterSpec, routing: impl FlitRouting + 'static) -> Full {
    Full::new(Arc::new(fabric), spec, Arc::new(routing), 7).unwrap_or_else(|error| panic!("{error}"))
}

/// `count` packets of up to `flits` between `terminals`, from numbers of a counter.
pub(crate) fn traffic(
    count: u64,
    terminals: u32,
    queues: u8,
    flits: u16,
    over: u64,
) -> Vec<(u64, u32, u8, u32, u16)> {
    let below = |n: u64, bound: u64| mix(n) % bound;
    (1..=count)
        .map(|n| {
            (
                below(n * 5, over),
                below(n * 5 + 1, terminals.into()) as u32,
                below(n * 5 + 2, queues.into()) as u8,
                below(n * 5 + 3, terminals.into()) as u32,
                1 + below(n * 5 + 4, flits.into()) as u16,
            )
        })
        .collect()
}

/// Runs until everything has arrived; what is wrong otherwise.
pub(crate) fn settle(kernel: &mut impl Kernel, list: &mut List, limit: u64) -> Result<(), String> {
    while kernel.now() < limit {
        let next = kernel.now() + 500;
        kernel.run(next, list);
        let broken = kernel.violations();
        if !broken.is_empty() {
            return Err(format!("{broken:?}"));
        }
        if list.waiting.values().all(Vec::is_empty) && kernel.is_settled() {
            return Ok(());
        }
    }
    Err(format!("{} flits are still under way: {:?}", kernel.in_flight(), kernel.waiting()))
}
