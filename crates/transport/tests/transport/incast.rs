//! Incast over a single bottleneck against htsim's runs on a leaf-spine network: many senders, one port with a data queue
//! that trims and marks, and a queue for headers. Everything else on the way is wide open there, so it is a delay here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use stratasim_core::random::{Draws, Streams};
use stratasim_core::{Bandwidth, Duration, Time};
use stratasim_transport::{Header, Mark, Pacer, Path, Poll, Profile, Readiness, Receiver, Sender, presets};

const RATE: Bandwidth = Bandwidth(25e9);
const PS_PER_BYTE: u64 = 40;
const DELAY_PS: u64 = 500_000;
const FULL: u64 = 4160;
const HEADER: u64 = 64;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Link(usize),
    Port(usize),
    Served,
    Receive(usize),
    Answer(usize),
    Pull,
}

/// A port: data below a limit in bytes, headers before data.
#[derive(Default)]
struct Port {
    data: VecDeque<(usize, Header)>,
    headers: VecDeque<(usize, Header)>,
    busy: bool,
    trims: u64,
}

struct Incast {
    hops: Vec<u64>,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    pacer: Pacer,
    port: Port,
    limit: u64,
    draws: Draws,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    made: u64,
    links: Vec<(u64, bool)>,
    /// Packets on their way to the port, to the receiver, and back, in order.
    wires: Vec<[VecDeque<(Header, Mark)>; 3]>,
    back_free: u64,
    finished: Vec<Option<u64>>,
}

impl Incast {
    fn push(&mut self, at: u64, event: Event) {
        self.made += 1;
        self.events.push(Reverse((at, self.made, event)));
    }

    fn ask(&mut self, now: u64, flow: usize) {
        let (free, asked) = self.links[flow];
        let at = now.max(free);
        if !asked && self.senders[flow].readiness(Time::from_ps(at)) == Readiness::Ready {
            self.links[flow].1 = true;
            self.push(at, Event::Link(flow));
        }
    }

    fn serve(&mut self, now: u64) {
        if self.port.busy {
            return;
        }
        let bytes = match (self.port.headers.is_empty(), self.port.data.is_empty()) {
            (false, _) => HEADER,
            (true, false) => FULL,
            _ => return,
        };
        self.port.busy = true;
        self.push(now + bytes * PS_PER_BYTE, Event::Served);
    }

    /// The packet at the front has left: headers go before data, so what is served was at the front when it began.
    fn served(&mut self, now: u64, header_was_served: bool) {
        self.port.busy = false;
        let mut mark = Mark { trimmed: header_was_served, last_hop: header_was_served, ecn: false };
        let queue = if header_was_served { &mut self.port.headers } else { &mut self.port.data };
        let (flow, header) = queue.pop_front().expect("something was served");
        if !header_was_served {
            let left = self.port.data.len() as f64 * FULL as f64;
            let (least, most) = (0.2 * self.limit as f64, 0.8 * self.limit as f64);
            mark.ecn = left > most || (left > least && self.draws.unit() < (left - least) / (most - least));
        }
        self.wires[flow][1].push_back((header, mark));
        self.push(now + DELAY_PS, Event::Receive(flow));
        self.serve(now);
    }

    fn enqueue(&mut self, now: u64, flow: usize, header: Header) {
        if (self.port.data.len() as u64 + 1) * FULL <= self.limit {
            self.port.data.push_back((flow, header));
        } else {
            self.port.trims += 1;
            // one of two is cut: the one that comes or the newest that waits
            let victim = if self.draws.below(2) == 0 || self.port.data.len() < 2 {
                (flow, header)
            } else {
                let newest = self.port.data.pop_back().expect("checked");
                self.port.data.push_back((flow, header));
                newest
            };
            self.port.headers.push_back(victim);
        }
        self.serve(now);
    }

    fn answer(&mut self, now: u64, flow: usize, answers: Vec<Header>) {
        for header in answers {
            self.back_free = self.back_free.max(now) + HEADER * PS_PER_BYTE;
            let hops = self.hops[flow];
            self.wires[flow][2].push_back((header, Mark::default()));
            self.push(
                self.back_free + (hops - 1) * HEADER * PS_PER_BYTE + hops * DELAY_PS,
                Event::Answer(flow),
            );
        }
        let deadline = self.pacer.deadline();
        if deadline < Time::MAX {
            self.push(deadline.as_ps().max(now), Event::Pull);
        }
    }

    fn run(&mut self) -> u64 {
        let mut serving_header = false;
        for flow in 0..self.senders.len() {
            self.ask(0, flow);
        }
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            let now = Time::from_ps(at);
            let mut answers = Vec::new();
            let was_busy = self.port.busy;
            match event {
                Event::Link(flow) => {
                    self.links[flow].1 = false;
                    if let Poll::Send(header) = self.senders[flow].poll_send(now, 1) {
                        self.links[flow].0 = at + FULL * PS_PER_BYTE;
                        let to_port = self.hops[flow] - 1;
                        self.wires[flow][0].push_back((header, Mark::default()));
                        self.push(at + to_port * (FULL * PS_PER_BYTE + DELAY_PS), Event::Port(flow));
                    }
                    self.ask(at, flow);
                }
                Event::Port(flow) => {
                    let (header, _) = self.wires[flow][0].pop_front().expect("sent");
                    self.enqueue(at, flow, header);
                }
                Event::Served => self.served(at, serving_header),
                Event::Receive(flow) => {
                    let (header, mark) = self.wires[flow][1].pop_front().expect("served");
                    self.receivers[flow]
                        .on_packet(now, &header, mark, &mut self.pacer, &mut |answer| answers.push(answer));
                    self.answer(at, flow, answers);
                }
                Event::Pull => {
                    if let Some(flow) = self.pacer.next(now) {
                        let flow = flow as usize;
                        self.receivers[flow]
                            .on_turn(now, &mut self.pacer, &mut |answer| answers.push(answer));
                        self.answer(at, flow, answers);
                    }
                }
                Event::Answer(flow) => {
                    let (header, _) = self.wires[flow][2].pop_front().expect("answered");
                    self.senders[flow].on_feedback(now, &header, None);
                    if self.senders[flow].is_done() && self.finished[flow].is_none() {
                        self.finished[flow] = Some(at);
                    }
                    self.ask(at, flow);
                }
            }
            // what is served is fixed when service begins
            if self.port.busy && (!was_busy || event == Event::Served) {
                serving_header = !self.port.headers.is_empty();
            }
        }
        self.port.trims
    }
}

/// Completion times, microseconds, and trims of one run of a case.
fn simulate(protocol: &str, limit: u64, flows: &[(u64, u64, u64)], seed: u64) -> (Vec<f64>, u64) {
    let spec = presets::htsim(protocol, RATE).unwrap();
    let link = FULL * PS_PER_BYTE + HEADER * PS_PER_BYTE + 2 * DELAY_PS;
    let rtt = |hops: u64| Duration::from_ps(link * hops);
    let mut kinds = BTreeMap::new();
    for hops in [2, 4] {
        let path = Path { network_rtt: rtt(4), ..Path::of_equal_links(rtt(hops), RATE, hops as u32, limit) };
        kinds.insert(hops, Profile::new(&spec, path).unwrap());
    }
    let hops: Vec<u64> =
        flows.iter().map(|(source, dest, _)| if source / 16 == dest / 16 { 2 } else { 4 }).collect();
    let profiles: Vec<Arc<Profile>> = hops.iter().map(|hops| Arc::clone(&kinds[hops])).collect();
    let mut senders: Vec<Sender> =
        profiles.iter().zip(0_u64..).map(|(profile, at)| Sender::new(profile, seed * 1000 + at)).collect();
    for (sender, flow) in senders.iter_mut().zip(flows) {
        sender.post(Time::ZERO, flow.2);
    }
    let count = flows.len();
    let mut incast = Incast {
        receivers: profiles.iter().zip(0_u32..).map(|(profile, at)| Receiver::new(profile, at)).collect(),
        hops,
        senders,
        pacer: Pacer::new(),
        port: Port::default(),
        limit,
        draws: Draws::new(Streams::new(seed).key("port")),
        events: BinaryHeap::new(),
        made: 0,
        links: vec![(0, false); count],
        wires: (0..count).map(|_| [VecDeque::new(), VecDeque::new(), VecDeque::new()]).collect(),
        back_free: 0,
        finished: vec![None; count],
    };
    let trims = incast.run();
    let times = incast.finished.iter().map(|at| at.expect("every flow ends") as f64 * 1e-6).collect();
    (times, trims)
}

/// Compares all runs of a case: the largest completion time within 1 % in each, the mean over runs within 3 %, trimmed
/// packets within 10 %.
fn agree(case: &str, limit: u64) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/ref/packet")
        .join(format!("{case}.json"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return;
    };
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let protocol = case.split_once('_').unwrap().1;
    let mut sums = [[0.0, 0.0], [0.0, 0.0]];
    for run in value["runs"].as_array().unwrap() {
        let number = |flow: &serde_json::Value, at: usize| flow[at].as_u64().unwrap();
        let flows: Vec<(u64, u64, u64)> = run["flows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flow| (number(flow, 1), number(flow, 2), number(flow, 3)))
            .collect();
        let (times, trims) = simulate(protocol, limit, &flows, run["seed"].as_u64().unwrap());
        let largest = times.iter().copied().fold(0.0, f64::max);
        let theirs = run["fct_us"]["max"].as_f64().unwrap();
        assert!(
            (largest / theirs - 1.0).abs() < 0.01,
            "{case}: the last flow ends at {largest} us, reference {theirs}"
        );
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let trimmed = run["counters"]["trims"].as_f64().unwrap();
        for (sum, pair) in
            sums.iter_mut().zip([[mean, run["fct_us"]["mean"].as_f64().unwrap()], [trims as f64, trimmed]])
        {
            sum[0] += pair[0];
            sum[1] += pair[1];
        }
    }
    let [[mean, their_mean], [trims, their_trims]] = sums;
    assert!((mean / their_mean - 1.0).abs() < 0.03, "{case}: mean {mean}, reference {their_mean}");
    assert!(
        (trims - their_trims).abs() <= 0.1 * their_trims,
        "{case}: {trims} trims, reference {their_trims}"
    );
}

const ULTRA_ETHERNET_BUFFER: u64 = 216_500;

// the constant window is left out: with delays that never vary, flows of a trim storm lock in step
#[test]
fn mprdma() {
    for senders in [8, 32, 100] {
        agree(&format!("incast{senders}_atlahs_mprdma"), ULTRA_ETHERNET_BUFFER);
        agree(&format!("incast{senders}_atlahs_mprdma_1MiB"), 1 << 20);
    }
}

#[test]
fn delay_based_windows_of_atlahs() {
    agree("incast100_atlahs_swift", ULTRA_ETHERNET_BUFFER);
}

#[test]
fn ndp() {
    agree("incast32_atlahs_ndp", 1_000_000);
    agree("incast100_atlahs_ndp", 1_000_000);
}
