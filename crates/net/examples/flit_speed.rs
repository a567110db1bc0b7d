#![allow(missing_docs, clippy::print_stdout, clippy::disallowed_methods)]
use std::sync::Arc;
use stratasim_core::random::mix;
use stratasim_net::flit::fabric::*;
use stratasim_net::flit::fast::Fast;
use stratasim_net::flit::kernel::Kernel;
use stratasim_net::flit::router::RouterSpec;
use stratasim_net::flit::routing::*;
use stratasim_net::flit::terminals::*;

struct Dor {
    k: u32,
    n: u32,
    wrap: bool,
    at: Vec<[u8; 4]>,
    half: u8,
}
impl FlitRouting for Dor {
    fn single(&self) -> bool {
        true
    }
    fn memory_bits(&self) -> u32 {
        0
    }
    fn knows_source(&self) -> bool {
        false
    }
    fn route(&self, place: Place, head: &mut Head, s: &mut dyn Surroundings, out: &mut Vec<Candidate>) {
        let c = self.only(place, head, s);
        out.push(c);
    }
}
impl Dor {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, s: &mut dyn Surroundings) -> Candidate {
        let (c, d) = (&self.at[place.router as usize], &self.at[head.dest as usize]);
        let Some(dim) = (0..self.n as usize).find(|&i| c[i] != d[i]) else {
            return Candidate {
                output: 2 * self.n as u16,
                first_vc: head.range.0,
                last_vc: head.range.1,
                priority: 0,
            };
        };
        if !self.wrap {
            let output = if c[dim] < d[dim] { 2 * dim } else { 2 * dim + 1 };
            return Candidate {
                output: output as u16,
                first_vc: head.range.0,
                last_vc: head.range.1,
                priority: 0,
            };
        }
        let output = if place.input as usize / 2 != dim {
            let k = self.k as u8;
            let ahead = if d[dim] >= c[dim] { d[dim] - c[dim] } else { d[dim] + k - c[dim] };
            let right = if ahead * 2 == k { s.draw(2) == 1 } else { ahead * 2 < k };
            if right { 2 * dim } else { 2 * dim + 1 }
        } else {
            (place.input ^ 1) as usize
        };
        let high = if place.input as usize / 2 != dim { c[dim] > d[dim] } else { place.vc >= self.half };
        let (f, l) = if !high { (0, self.half - 1) } else { (self.half, 2 * self.half - 1) };
        Candidate { output: output as u16, first_vc: f, last_vc: l, priority: 0 }
    }
}
fn cube(k: u32, n: u32, wrap: bool) -> Fabric {
    let count = k.pow(n);
    let mut f = Fabric::new(vec![(2 * n as u16 + 1, 2 * n as u16 + 1); count as usize]);
    let lat = if wrap { 2 } else { 1 };
    for r in 0..count {
        for d in 0..n {
            let s = k.pow(d);
            let x = r / s % k;
            let ch = |router, port| Channel {
                end: End::Router { router, port },
                latency: lat,
                credit_latency: lat,
                ..Channel::default()
            };
            if wrap || x + 1 < k {
                let to = r - x * s + (x + 1) % k * s;
                f.connect((r, 2 * d as u16), ch(to, 2 * d as u16 + 1));
            }
            if wrap || x > 0 {
                let to = r - x * s + (x + k - 1) % k * s;
                f.connect((r, 2 * d as u16 + 1), ch(to, 2 * d as u16));
            }
        }
        f.attach(r, (2 * n as u16, 2 * n as u16), Channel::default(), Channel::default(), None);
    }
    f
}
struct Traffic {
    nodes: u32,
    rate: f64,
    flits: u16,
    seed: u64,
    next: Vec<u64>,
    number: Vec<u64>,
    wheel: Vec<Vec<u32>>,
    log: f64,
    last: u64,
    sum: u64,
    count: u64,
    hops: u64,
}
impl Traffic {
    fn new(nodes: u32, load: f64, flits: u16, seed: u64) -> Self {
        let rate = load / f64::from(flits);
        let mut t = Self {
            nodes,
            rate,
            flits,
            seed,
            next: vec![0; nodes as usize],
            number: vec![0; nodes as usize],
            wheel: vec![Vec::new(); 1024],
            log: (1.0 - rate).ln(),
            last: 0,
            sum: 0,
            count: 0,
            hops: 0,
        };
        for n in 0..nodes {
            t.advance(n, u64::MAX);
            t.file(n);
        }
        let _ = t.rate;
        t
    }
    fn random(&mut self, node: u32, what: u64) -> u64 {
        mix(self.seed ^ mix(u64::from(node) << 32 | self.number[node as usize]).wrapping_add(what))
    }
    fn advance(&mut self, node: u32, from: u64) {
        self.number[node as usize] += 1;
        let u = (self.random(node, 1) >> 11) as f64 / (1u64 << 53) as f64;
        let gap = ((1.0 - u).ln() / self.log) as u64 + 1;
        self.next[node as usize] = if from == u64::MAX { gap - 1 } else { from + gap };
    }
    fn file(&mut self, node: u32) {
        let at = self.next[node as usize].min(self.last + 1000);
        self.wheel[(at % 1024) as usize].push(node);
    }
}
impl Terminals for Traffic {
    fn offer(&mut self, terminal: u32, _: u8, now: u64) -> Option<Offer> {
        let at = self.next[terminal as usize];
        if at > now {
            self.file(terminal);
            return None;
        }
        let dest = ((self.random(terminal, 2) >> 32) * u64::from(self.nodes) >> 32) as u32;
        self.advance(terminal, at);
        Some(Offer { dest, flits: self.flits, range: 0, priority: 0, created: at, tag: 0, measured: true })
    }
    fn next_due(&mut self, now: u64) -> Option<u64> {
        (now..now + 1000).find(|at| !self.wheel[(at % 1024) as usize].is_empty())
    }
    fn due(&mut self, now: u64, out: &mut Vec<u32>) {
        self.last = now;
        let l = &mut self.wheel[(now % 1024) as usize];
        l.sort_unstable();
        out.append(l);
    }
    fn flit(&mut self, _: u32, _: u64, _: bool) {}
    fn entered(&mut self, _: u32, _: bool) {}
    fn packet(&mut self, a: &Arrival) {
        self.sum += a.arrived - a.created;
        self.count += 1;
        self.hops += u64::from(a.hops) * u64::from(a.flits);
    }
}
fn main() {
    let only: Option<usize> = std::env::args().nth(1).and_then(|a| a.parse().ok());
    for (i, (k, n, wrap, load, flits, cycles)) in [
        (8, 2, false, 0.1, 1, 12072u64),
        (8, 2, false, 0.3, 1, 12077),
        (8, 2, false, 0.3, 16, 12155),
        (8, 2, true, 0.3, 1, 12058),
        (8, 3, true, 0.05, 1, 1275),
        (8, 3, true, 0.3, 1, 1279),
        (8, 3, true, 0.3, 16, 1329),
        (16, 3, true, 0.1, 1, 453),
        (16, 3, true, 0.3, 1, 502),
        (16, 3, true, 0.1, 32, 809),
    ]
    .into_iter()
    .enumerate()
    {
        if only.is_some_and(|o| o != i) {
            continue;
        }
        let fabric = Arc::new(cube(k, n, wrap));
        let at = (0..k.pow(n))
            .map(|r| {
                let mut c = [0; 4];
                let mut r = r;
                for i in 0..n as usize {
                    c[i] = (r % k) as u8;
                    r /= k;
                }
                c
            })
            .collect();
        let routing: Arc<dyn FlitRouting> = Arc::new(Dor { k, n, wrap, at, half: 2 });
        let mut best = f64::MAX;
        let mut hops = 0;
        let mut lat = 0.0;
        for _ in 0..std::env::var("REPS").map_or(5, |r| r.parse().unwrap()) {
            let start = std::time::Instant::now();
            let mut kernel = Fast::new(fabric.clone(), &RouterSpec::default(), routing.clone(), 1).unwrap();
            let mut t = Traffic::new(k.pow(n), load, flits, 1);
            kernel.run(cycles, &mut t);
            let s = start.elapsed().as_secs_f64();
            if s < best {
                best = s;
            }
            hops = kernel.channel_flits().iter().sum::<u64>();
            lat = t.sum as f64 / t.count as f64;
        }
        println!(
            "k={k} n={n} wrap={wrap} load={load} L={flits}: {best:.4} s, {hops} hops, {:.1} M/s, {:.0} ns, latency {lat:.2}",
            hops as f64 / best / 1e6,
            best * 1e9 / hops as f64
        );
    }
}
