//! Allocators against literal implementations and properties of matchings.

use proptest::prelude::*;
use stratasim_net::flit::allocator::{Allocator, Request, Requests};
use stratasim_net::flit::router::{
    AllocatorKind, AllocatorSpec, Arbiter, ArbiterTree, Iterations, PlainArbiter,
};

const ALL: [AllocatorKind; 9] = [
    AllocatorKind::Islip,
    AllocatorKind::SeparableInputFirst,
    AllocatorKind::SeparableOutputFirst,
    AllocatorKind::Wavefront,
    AllocatorKind::WavefrontRoundRobin,
    AllocatorKind::Pim,
    AllocatorKind::LonelyOutput,
    AllocatorKind::Select,
    AllocatorKind::MaximumSize,
];

/// Requests of one cycle: input, output, priority.
type Cycle = Vec<(u32, u32, i64)>;

fn spec(kind: AllocatorKind, arbiter: Arbiter, iterations: u8) -> AllocatorSpec {
    AllocatorSpec { kind, arbiter, iterations: Iterations(iterations) }
}

/// An allocator with its requests and a generator of numbers.
struct Bench {
    allocator: Allocator,
    requests: Requests,
    draws: u64,
}

impl Bench {
    fn new(spec: AllocatorSpec, inputs: u32, outputs: u32) -> Self {
        let allocator = Allocator::new(&spec, inputs, outputs);
        Self { allocator, requests: Requests::new(inputs as usize, outputs as usize), draws: 0 }
    }

    /// The pairs granted in one cycle, by input.
    fn cycle(&mut self, cycle: &Cycle) -> Vec<(u32, u32)> {
        self.requests.clear();
        for &(input, output, priority) in cycle {
            let label = input * 1000 + output;
            self.requests.add(Request {
                input,
                output,
                label,
                input_priority: priority,
                output_priority: priority,
            });
        }
        let draws = &mut self.draws;
        self.allocator.allocate(&mut self.requests, &mut |bound| {
            *draws += 1;
            (stratasim_core::random::mix(*draws) % u64::from(bound)) as u32
        });
        let mut granted = Vec::new();
        for &(input, output, _) in cycle {
            if let Some(request) = self.requests.granted_to(input).filter(|found| found.output == output) {
                assert_eq!(request.label, input * 1000 + output);
                assert_eq!(self.requests.granted_of(output), Some(request));
                granted.push((input, output));
            }
        }
        granted.sort_unstable();
        granted
    }
}

/// A few cycles of requests among `inputs` x `outputs`, with priorities below `priorities`.
fn cycles(inputs: u32, outputs: u32, priorities: i64) -> impl Strategy<Value = Vec<Cycle>> {
    let pair = (0..inputs, 0..outputs, 0..priorities);
    let cycle = prop::collection::vec(pair, 0..(inputs * outputs) as usize).prop_map(|mut cycle| {
        cycle.sort_unstable_by_key(|&(input, output, _)| (output ^ 3, input ^ 5));
        cycle.dedup_by_key(|&mut (input, output, _)| (input, output));
        cycle
    });
    prop::collection::vec(cycle, 1..12)
}

fn is_matching(cycle: &Cycle, granted: &[(u32, u32)]) -> bool {
    let mut outputs: Vec<_> = granted.iter().map(|&(_, output)| output).collect();
    outputs.sort_unstable();
    outputs.windows(2).all(|pair| pair[0] != pair[1])
        && granted.windows(2).all(|pair| pair[0].0 != pair[1].0)
        && granted.iter().all(|pair| cycle.iter().any(|&(input, output, _)| (input, output) == *pair))
}

fn is_maximal(cycle: &Cycle, granted: &[(u32, u32)]) -> bool {
    cycle.iter().all(|&(input, output, _)| granted.iter().any(|&(i, o)| i == input || o == output))
}

/// Size of a largest matching, by Kuhn's algorithm on the dense matrix.
fn largest(cycle: &Cycle, inputs: u32, outputs: u32) -> usize {
    fn place(input: u32, cycle: &Cycle, seen: &mut [bool], of: &mut [Option<u32>]) -> bool {
        for &(_, output, _) in cycle.iter().filter(|request| request.0 == input) {
            if std::mem::replace(&mut seen[output as usize], true) {
                continue;
            }
            if of[output as usize].is_none_or(|other| place(other, cycle, seen, of)) {
                of[output as usize] = Some(input);
                return true;
            }
        }
        false
    }
    let mut of = vec![None; outputs as usize];
    (0..inputs).filter(|&input| place(input, cycle, &mut vec![false; outputs as usize], &mut of)).count()
}

/// iSLIP as its paper puts it, on dense matrices.
struct LiteralIslip {
    grant: Vec<usize>,
    accept: Vec<usize>,
}

impl LiteralIslip {
    fn cycle(&mut self, cycle: &Cycle, iterations: u8) -> Vec<(u32, u32)> {
        let (outputs, inputs) = (self.grant.len(), self.accept.len());
        let asks = |i: usize, o: usize| cycle.iter().any(|r| (r.0 as usize, r.1 as usize) == (i, o));
        let mut matched: Vec<(usize, usize)> = Vec::new();
        for iteration in 0..iterations {
            let mut grants = Vec::new();
            for output in (0..outputs).filter(|&output| matched.iter().all(|pair| pair.1 != output)) {
                let ring = (0..inputs).map(|step| (self.grant[output] + step) % inputs);
                let mut open = ring.filter(|&input| matched.iter().all(|pair| pair.0 != input));
                if let Some(input) = open.find(|&input| asks(input, output)) {
                    grants.push((input, output));
                }
            }
            for input in 0..inputs {
                let mut ring = (0..outputs).map(|step| (self.accept[input] + step) % outputs);
                if let Some(output) = ring.find(|&output| grants.contains(&(input, output))) {
                    matched.push((input, output));
                    if iteration == 0 {
                        self.grant[output] = (input + 1) % inputs;
                        self.accept[input] = (output + 1) % outputs;
                    }
                }
            }
        }
        let mut granted: Vec<_> = matched.into_iter().map(|(i, o)| (i as u32, o as u32)).collect();
        granted.sort_unstable();
        granted
    }
}

/// An input-first allocator with a matrix of "is served before" bits in each arbiter.
struct LiteralMatrix {
    inputs: Vec<Vec<Vec<bool>>>,
    outputs: Vec<Vec<Vec<bool>>>,
}

impl LiteralMatrix {
    fn new(inputs: usize, outputs: usize) -> Self {
        // At first a client is served before all those with lower numbers.
        let matrix = |size: usize| (0..size).map(|a| (0..size).map(|b| a > b).collect()).collect::<Vec<_>>();
        Self { inputs: vec![matrix(outputs); inputs], outputs: vec![matrix(inputs); outputs] }
    }

    fn winner(matrix: &[Vec<bool>], clients: &[(usize, i64)]) -> Option<usize> {
        let beats = |a: (usize, i64), b: (usize, i64)| a.1 > b.1 || a.1 == b.1 && matrix[a.0][b.0];
        let wins = |&&a: &&(usize, i64)| clients.iter().all(|&b| a.0 == b.0 || beats(a, b));
        clients.iter().find(wins).map(|&(client, _)| client)
    }

    fn serve(matrix: &mut [Vec<bool>], client: usize) {
        (0..matrix.len()).filter(|&other| other != client).for_each(|other| {
            matrix[client][other] = false;
            matrix[other][client] = true;
        });
    }

    fn cycle(&mut self, cycle: &Cycle) -> Vec<(u32, u32)> {
        let mut asked = vec![Vec::new(); self.outputs.len()];
        for input in 0..self.inputs.len() {
            let mine = cycle.iter().filter(|request| request.0 as usize == input);
            let clients: Vec<_> = mine.map(|request| (request.1 as usize, request.2)).collect();
            if let Some(output) = Self::winner(&self.inputs[input], &clients) {
                let priority = clients.iter().find(|client| client.0 == output).map_or(0, |client| client.1);
                asked[output].push((input, priority));
            }
        }
        let mut granted = Vec::new();
        for (output, clients) in asked.iter().enumerate() {
            if let Some(input) = Self::winner(&self.outputs[output], clients) {
                Self::serve(&mut self.inputs[input], output);
                Self::serve(&mut self.outputs[output], input);
                granted.push((input as u32, output as u32));
            }
        }
        granted.sort_unstable();
        granted
    }
}

/// A tree of round-robin arbiters: those of the groups choose among their clients, and one chooses among the groups.
struct LiteralTree {
    next: Vec<usize>,
    among: usize,
    group: usize,
}

impl LiteralTree {
    fn new(groups: usize, size: usize) -> Self {
        Self { next: vec![0; groups], among: 0, group: size / groups }
    }

    /// The first of `clients` from `start` on, going round, of those with the highest priority.
    fn first(clients: &[(usize, i64)], start: usize, size: usize) -> Option<(usize, i64)> {
        let most = clients.iter().map(|client| client.1).max()?;
        (0..size)
            .map(|step| (start + step) % size)
            .find(|&place| clients.contains(&(place, most)))
            .map(|place| (place, most))
    }

    fn winner(&self, clients: &[(usize, i64)]) -> Option<usize> {
        let mut winners = Vec::new();
        for (group, &next) in self.next.iter().enumerate() {
            let inside = clients.iter().filter(|client| client.0 / self.group == group);
            let inside: Vec<_> = inside.map(|client| (client.0 % self.group, client.1)).collect();
            if let Some((place, priority)) = Self::first(&inside, next, self.group) {
                winners.push((group, priority, group * self.group + place));
            }
        }
        let groups: Vec<_> = winners.iter().map(|&(group, priority, _)| (group, priority)).collect();
        let (group, _) = Self::first(&groups, self.among, self.next.len())?;
        winners.iter().find(|winner| winner.0 == group).map(|winner| winner.2)
    }

    fn serve(&mut self, client: usize) {
        let (group, place) = (client / self.group, client % self.group);
        self.next[group] = (place + 1) % self.group;
        self.among = (group + 1) % self.next.len();
    }
}

/// An input-first allocator of such trees.
struct LiteralTrees {
    inputs: Vec<LiteralTree>,
    outputs: Vec<LiteralTree>,
}

impl LiteralTrees {
    fn cycle(&mut self, cycle: &Cycle) -> Vec<(u32, u32)> {
        let mut asked = vec![Vec::new(); self.outputs.len()];
        for (input, tree) in self.inputs.iter().enumerate() {
            let mine = cycle.iter().filter(|request| request.0 as usize == input);
            let clients: Vec<_> = mine.map(|request| (request.1 as usize, request.2)).collect();
            if let Some(output) = tree.winner(&clients) {
                let priority = clients.iter().find(|client| client.0 == output).map_or(0, |client| client.1);
                asked[output].push((input, priority));
            }
        }
        let mut granted = Vec::new();
        for (output, clients) in asked.iter().enumerate() {
            if let Some(input) = self.outputs[output].winner(clients) {
                self.inputs[input].serve(output);
                self.outputs[output].serve(input);
                granted.push((input as u32, output as u32));
            }
        }
        granted.sort_unstable();
        granted
    }
}

/// The wave over the dense matrix, diagonal by diagonal, for each priority.
fn literal_wavefront(cycle: &Cycle, size: u32, first: u32) -> Vec<(u32, u32)> {
    let mut granted: Vec<(u32, u32)> = Vec::new();
    let mut priorities: Vec<_> = cycle.iter().map(|request| request.2).collect();
    priorities.sort_unstable();
    priorities.dedup();
    for &priority in priorities.iter().rev() {
        for diagonal in 0..size {
            for output in 0..size {
                let input = (first + diagonal + size - output) % size;
                let free = granted.iter().all(|&(i, o)| i != input && o != output);
                if free && cycle.contains(&(input, output, priority)) {
                    granted.push((input, output));
                }
            }
        }
    }
    granted.sort_unstable();
    granted
}

proptest! {
    #[test]
    fn every_allocator_grants_only_what_was_asked_for_and_nothing_twice(
        cycles in cycles(6, 5, 3), iterations in 1_u8..4, matrix in any::<bool>(),
    ) {
        let arbiter = if matrix { Arbiter::Matrix } else { Arbiter::RoundRobin };
        for kind in ALL {
            let mut bench = Bench::new(spec(kind, arbiter, iterations), 6, 5);
            for cycle in &cycles {
                let granted = bench.cycle(cycle);
                prop_assert!(is_matching(cycle, &granted), "{kind:?}: {cycle:?} -> {granted:?}");
                prop_assert!(cycle.is_empty() || !granted.is_empty(), "{kind:?} grants nothing of {cycle:?}");
            }
        }
    }

    #[test]
    fn islip_is_what_its_paper_says(cycles in cycles(5, 7, 2), iterations in 1_u8..4) {
        let mut literal = LiteralIslip { grant: vec![0; 7], accept: vec![0; 5] };
        let mut bench = Bench::new(spec(AllocatorKind::Islip, Arbiter::RoundRobin, iterations), 5, 7);
        for cycle in &cycles {
            prop_assert_eq!(bench.cycle(cycle), literal.cycle(cycle, iterations));
        }
    }

    #[test]
    fn without_priorities_output_first_and_select_are_islip(cycles in cycles(6, 6, 1)) {
        let mut literal = LiteralIslip { grant: vec![0; 6], accept: vec![0; 6] };
        let bench = |kind| Bench::new(spec(kind, Arbiter::RoundRobin, 1), 6, 6);
        let (mut output_first, mut select) =
            (bench(AllocatorKind::SeparableOutputFirst), bench(AllocatorKind::Select));
        for cycle in &cycles {
            let expected = literal.cycle(cycle, 1);
            prop_assert_eq!(&output_first.cycle(cycle), &expected);
            prop_assert_eq!(&select.cycle(cycle), &expected);
        }
    }

    #[test]
    fn trees_choose_in_groups_and_among_groups(cycles in cycles(6, 4, 3)) {
        let tree = ArbiterTree { groups: 2, arbiters: PlainArbiter::RoundRobin };
        let mut bench = Bench::new(spec(AllocatorKind::SeparableInputFirst, Arbiter::Tree(tree), 1), 6, 4);
        let mut literal = LiteralTrees {
            inputs: (0..6).map(|_| LiteralTree::new(2, 4)).collect(),
            outputs: (0..4).map(|_| LiteralTree::new(2, 6)).collect(),
        };
        for cycle in &cycles {
            prop_assert_eq!(bench.cycle(cycle), literal.cycle(cycle));
        }
    }

    #[test]
    fn trees_of_matrices_in_one_group_are_matrices(cycles in cycles(5, 4, 2)) {
        let bench = |arbiter| Bench::new(spec(AllocatorKind::SeparableOutputFirst, arbiter, 1), 5, 4);
        let tree = ArbiterTree { groups: 1, arbiters: PlainArbiter::Matrix };
        let (mut tree, mut plain) = (bench(Arbiter::Tree(tree)), bench(Arbiter::Matrix));
        for cycle in &cycles {
            prop_assert_eq!(tree.cycle(cycle), plain.cycle(cycle));
        }
    }

    #[test]
    fn matrix_arbiters_serve_who_was_served_longest_ago(cycles in cycles(5, 4, 2)) {
        let mut literal = LiteralMatrix::new(5, 4);
        let mut bench = Bench::new(spec(AllocatorKind::SeparableInputFirst, Arbiter::Matrix, 1), 5, 4);
        for cycle in &cycles {
            prop_assert_eq!(bench.cycle(cycle), literal.cycle(cycle));
        }
    }

    #[test]
    fn a_wavefront_goes_over_the_diagonals_and_is_maximal(cycles in cycles(4, 6, 2)) {
        let mut plain = Bench::new(spec(AllocatorKind::Wavefront, Arbiter::RoundRobin, 1), 4, 6);
        let mut skipping = Bench::new(spec(AllocatorKind::WavefrontRoundRobin, Arbiter::RoundRobin, 1), 4, 6);
        let mut first = 0;
        for cycle in &cycles {
            let granted = plain.cycle(cycle);
            prop_assert_eq!(&granted, &literal_wavefront(cycle, 6, first));
            prop_assert!(is_maximal(cycle, &granted));
            prop_assert!(is_maximal(cycle, &skipping.cycle(cycle)));
            first = if cycle.is_empty() { first } else { (first + 1) % 6 };
        }
    }

    #[test]
    fn a_maximum_size_matching_has_maximum_size(cycles in cycles(7, 6, 1)) {
        let mut bench = Bench::new(spec(AllocatorKind::MaximumSize, Arbiter::RoundRobin, 1), 7, 6);
        for cycle in &cycles {
            prop_assert_eq!(bench.cycle(cycle).len(), largest(cycle, 7, 6));
        }
    }

    #[test]
    fn as_many_iterations_as_inputs_make_a_maximal_matching(cycles in cycles(5, 5, 1)) {
        for kind in [AllocatorKind::Islip, AllocatorKind::Select, AllocatorKind::Pim] {
            let mut bench = Bench::new(spec(kind, Arbiter::RoundRobin, 5), 5, 5);
            for cycle in &cycles {
                let granted = bench.cycle(cycle);
                prop_assert!(is_maximal(cycle, &granted), "{kind:?}: {cycle:?} -> {granted:?}");
            }
        }
    }

    #[test]
    fn the_highest_priority_is_served_where_it_is_heeded(cycles in cycles(5, 5, 4)) {
        use AllocatorKind::{Select, SeparableInputFirst, SeparableOutputFirst, Wavefront};
        for kind in [Select, SeparableInputFirst, SeparableOutputFirst, Wavefront] {
            let mut bench = Bench::new(spec(kind, Arbiter::RoundRobin, 1), 5, 5);
            for cycle in cycles.iter().filter(|cycle| !cycle.is_empty()) {
                let highest = cycle.iter().map(|request| request.2).max().unwrap_or(0);
                let granted = bench.cycle(cycle);
                let served = cycle.iter().any(|&(i, o, p)| p == highest && granted.contains(&(i, o)));
                prop_assert!(served, "{kind:?}: {cycle:?} -> {granted:?}");
            }
        }
    }
}

#[test]
fn all_that_ask_for_one_output_are_served_equally_often() {
    use AllocatorKind::{LonelyOutput, MaximumSize, Pim};
    let cycle: Cycle = [0, 2, 3, 5].map(|input| (input, 1, 0)).to_vec();
    for kind in ALL {
        for arbiter in [Arbiter::RoundRobin, Arbiter::Matrix] {
            let mut bench = Bench::new(spec(kind, arbiter, 1), 6, 6);
            let mut served = [0_u32; 6];
            for _ in 0..600 {
                bench.cycle(&cycle).iter().for_each(|&(input, _)| served[input as usize] += 1);
            }
            assert_eq!(served.iter().sum::<u32>(), 600, "{kind:?} leaves the output idle");
            // Pointers that only step by one, or a random start, favour those behind a gap; nobody starves.
            let (least, most) = match kind {
                Pim | LonelyOutput | MaximumSize => (60, 300),
                AllocatorKind::Wavefront | AllocatorKind::WavefrontRoundRobin => (60, 300),
                _ => (150, 150),
            };
            for input in [0, 2, 3, 5] {
                assert!((least..=most).contains(&served[input]), "{kind:?} {arbiter:?}: {served:?}");
            }
        }
    }
}

#[test]
fn islip_reaches_full_throughput_under_uniform_load() {
    // All ask for all: pointers part and every cycle matches everybody (McKeown 1999, section III).
    let cycle: Cycle = (0..8).flat_map(|input| (0..8).map(move |output| (input, output, 0))).collect();
    let mut bench = Bench::new(spec(AllocatorKind::Islip, Arbiter::RoundRobin, 1), 8, 8);
    let sizes: Vec<_> = (0..64).map(|_| bench.cycle(&cycle).len()).collect();
    assert_eq!(sizes[0], 1);
    assert!(sizes[8..].iter().all(|&size| size == 8), "{sizes:?}");
}
