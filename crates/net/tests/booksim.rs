//! BookSim2's networks, routing and random numbers, against published values and closed forms.

use stratasim_net::flit::booksim::cube::Cube;
use stratasim_net::flit::booksim::fly::{Fly, FlyRouting};
use stratasim_net::flit::booksim::knuth::{Chance, Knuth};
use stratasim_net::flit::booksim::mesh::{MeshFunction, MeshRouting};
use stratasim_net::flit::booksim::torus::{TorusFunction, TorusRouting};
use stratasim_net::flit::booksim::tree::{FatTree, TreeRouting};
use stratasim_net::flit::fabric::{End, Fabric, Feeder};
use stratasim_net::flit::routing::{Candidate, FlitRouting, Head, Place, Surroundings};

#[test]
fn the_streams_are_those_of_knuth() {
    let mut zero = Knuth::new(0);
    let integers: Vec<u32> = (0..5).map(|_| zero.next_integer()).collect();
    assert_eq!(integers, [58_678_820, 248_994_738, 419_973_050, 73_488_693, 261_011_187]);
    assert_eq!(zero.fraction(), 0.758_658_374_517_821_7);
    assert_eq!(zero.fraction(), 0.506_119_314_229_172_9);
    let mut one = Knuth::new(1);
    let integers: Vec<u32> = (0..3).map(|_| one.next_integer()).collect();
    assert_eq!(integers, [301_026_822, 121_006_199, 283_396_441]);
    assert_eq!((one.fraction(), one.fraction()), (0.361_245_222_124_093_6, 0.118_712_188_186_283_6));
    let mut other = Knuth::new(42);
    assert_eq!((other.next_integer(), other.next_integer()), (943_903_070, 520_268_190));
    assert_eq!((other.fraction(), other.fraction()), (0.423_354_418_906_279_7, 0.734_464_108_747_266_3));
}

#[test]
fn knuths_own_test_of_the_generators_holds() {
    // ran_array(a, 1009) 2,010 times from seed 310952 gives 995235265: section 3.6, the last number of it
    let mut knuth = Knuth::new(310_952);
    let mut last = 0;
    for _ in 0..2009 {
        for used in 0..100 {
            let value = knuth.next_integer();
            if used == 0 {
                last = value;
            }
        }
    }
    assert_eq!(knuth.next_integer(), 995_235_265, "after {last}");
}

#[test]
fn a_chance_decides_as_the_fraction_does() {
    for probability in [0.0, 1e-17, 0.1, 0.3, 0.5, 1.0 - f64::EPSILON, 1.0] {
        let (mut one, mut other) = (Knuth::new(7), Knuth::new(7));
        for _ in 0..1000 {
            assert_eq!(one.below(Chance::new(probability)), other.fraction() < probability);
        }
    }
}

/// Draws from a stream; every output is equally used.
struct Draws(Knuth);

impl Surroundings for Draws {
    fn draw(&mut self, bound: u32) -> u32 {
        self.0.integer_below(bound)
    }

    fn used(&self, _: u16) -> u32 {
        0
    }
}

/// Every channel leads where something listens, and every input is fed by what leads to it.
fn is_consistent(fabric: &Fabric) {
    fabric.check().unwrap();
    for router in 0..fabric.router_count() as u32 {
        for output in 0..fabric.output_count(router) {
            match fabric.channel(router, output).end {
                End::Router { router: to, port } => {
                    assert_eq!(fabric.feeder(to, port), Feeder::Router { router, port: output });
                }
                End::Terminal(terminal) => assert_eq!(fabric.terminal(terminal).router, router),
                End::Nothing => {}
            }
        }
    }
}

/// Walks packets by the highest-priority entry; returns the routers passed.
fn walk(fabric: &Fabric, routing: &dyn FlitRouting, source: u32, dest: u32, draws: &mut Draws) -> u32 {
    let start = fabric.terminal(source);
    let (router, input) = start.entry();
    let mut place = Place { router, input, vc: 3 };
    let mut head = Head { source, dest, range: (0, 3), memory: 0 };
    let mut out: Vec<Candidate> = Vec::new();
    for hops in 1..200 {
        out.clear();
        routing.route(place, &mut head, draws, &mut out);
        let mut priorities: Vec<i32> = out.iter().map(|entry| entry.priority).collect();
        priorities.dedup();
        assert_eq!(priorities.len(), out.len(), "one entry of each priority");
        assert!(out.is_sorted_by(|one, other| one.priority > other.priority));
        let entry = out[0];
        assert!(entry.first_vc <= entry.last_vc && entry.last_vc <= 3, "{entry:?}");
        match fabric.channel(place.router, entry.output).end {
            End::Router { router, port } => place = Place { router, input: port, vc: entry.first_vc },
            End::Terminal(terminal) => {
                assert_eq!(terminal, dest);
                return hops;
            }
            End::Nothing => panic!("{place:?} leads nowhere by {entry:?}"),
        }
    }
    panic!("{source} does not reach {dest}")
}

/// Routers on a shortest way through a cube.
fn shortest(cube: &Cube, wrapped: bool, from: u32, to: u32) -> u32 {
    let distance = |d| {
        let along = cube.coordinate(from, d).abs_diff(cube.coordinate(to, d));
        if wrapped { along.min(cube.k() - along) } else { along }
    };
    1 + (0..cube.dimensions()).map(distance).sum::<u32>()
}

#[test]
fn minimal_routing_of_meshes_and_tori_takes_shortest_ways() {
    use MeshFunction as M;
    use TorusFunction as T;
    for (k, n) in [(4, 2), (5, 2), (3, 3), (2, 4)] {
        let cube = Cube::new(k, n).unwrap();
        let (mesh, torus) = (cube.fabric(false, 1), cube.fabric(true, 2));
        is_consistent(&mesh);
        is_consistent(&torus);
        let mut draws = Draws(Knuth::new(1));
        let meshes =
            [M::DimensionOrder, M::XyYx, M::AdaptiveXyYx, M::Romm, M::MinimalAdaptive, M::PlanarAdaptive]
                .map(|function| MeshRouting::new(cube.clone(), function));
        let tori = [T::DimensionOrder, T::Balanced, T::MinimalAdaptive]
            .map(|function| TorusRouting::new(cube.clone(), function));
        for source in 0..cube.nodes() {
            for dest in 0..cube.nodes() {
                for routing in &meshes {
                    let hops = walk(&mesh, routing, source, dest, &mut draws);
                    assert_eq!(hops, shortest(&cube, false, source, dest), "{routing:?} {source} {dest}");
                }
                for routing in &tori {
                    let hops = walk(&torus, routing, source, dest, &mut draws);
                    assert_eq!(hops, shortest(&cube, true, source, dest), "{routing:?} {source} {dest}");
                }
            }
        }
    }
}

/// Follows a packet by the function and by its form in words, with the same answers to its questions.
fn same_in_words(fabric: &Fabric, routing: &dyn FlitRouting, source: u32, dest: u32, seed: u32) {
    let (mut draws, mut words) = (Draws(Knuth::new(seed)), Knuth::new(seed));
    let packed = routing.packed().expect("a function that fits into words");
    let (router, input) = fabric.terminal(source).entry();
    let mut place = Place { router, input, vc: 0 };
    let mut head = Head { source, dest, range: (0, 3), memory: 0 };
    let mut memory = 0;
    loop {
        let candidate = routing.only(place, &mut head, &mut draws);
        let step = packed.step(place.router, dest, memory, |bound| words.integer_below(bound));
        memory = step.memory;
        let vcs = match step.half {
            0 => (0, 1),
            1 => (2, 3),
            _ => (0, 3),
        };
        assert_eq!(
            (u16::from(step.output), vcs),
            (candidate.output, (candidate.first_vc, candidate.last_vc))
        );
        match fabric.channel(place.router, candidate.output).end {
            End::Router { router, port } => place = Place { router, input: port, vc: candidate.first_vc },
            End::Terminal(terminal) => return assert_eq!(terminal, dest),
            End::Nothing => panic!("{place:?} leads nowhere"),
        }
    }
}

#[test]
fn decisions_in_words_are_those_of_the_function() {
    for (k, n) in [(4, 2), (5, 2), (3, 3), (2, 4), (8, 1)] {
        let cube = Cube::new(k, n).unwrap();
        let mesh = MeshRouting::new(cube.clone(), MeshFunction::DimensionOrder);
        let torus = TorusRouting::new(cube.clone(), TorusFunction::DimensionOrder);
        let (lines, rings) = (cube.fabric(false, 1), cube.fabric(true, 1));
        for source in 0..cube.nodes() {
            for dest in 0..cube.nodes() {
                same_in_words(&lines, &mesh, source, dest, 1);
                for seed in 0..4 {
                    same_in_words(&rings, &torus, source, dest, seed);
                }
            }
        }
    }
    for (k, n) in [(2, 1), (2, 3), (4, 3), (3, 4)] {
        let tree = FatTree::new(k, n).unwrap();
        let fabric = tree.fabric();
        for source in 0..tree.nodes() {
            for dest in 0..tree.nodes() {
                same_in_words(&fabric, &TreeRouting::new(tree, false), source, dest, source);
            }
        }
    }
}

#[test]
fn valiant_goes_by_a_drawn_node_and_arrives() {
    let cube = Cube::new(4, 2).unwrap();
    let (mesh, torus) = (cube.fabric(false, 1), cube.fabric(true, 1));
    let by_mesh = MeshRouting::new(cube.clone(), MeshFunction::Valiant);
    let by_torus = TorusRouting::new(cube.clone(), TorusFunction::Valiant);
    let mut draws = Draws(Knuth::new(3));
    for source in 0..16 {
        for dest in 0..16 {
            for (fabric, routing, wrapped) in
                [(&mesh, &by_mesh as &dyn FlitRouting, false), (&torus, &by_torus, true)]
            {
                let node = draws.0.clone().integer_below(16);
                let hops = walk(fabric, routing, source, dest, &mut draws);
                let expected =
                    shortest(&cube, wrapped, source, node) + shortest(&cube, wrapped, node, dest) - 1;
                assert_eq!(hops, expected, "{source} {dest} by {node}");
            }
        }
    }
}

#[test]
fn fat_trees_go_up_no_further_than_they_must() {
    for (k, n) in [(2, 1), (2, 3), (4, 3), (3, 4)] {
        let tree = FatTree::new(k, n).unwrap();
        let fabric = tree.fabric();
        is_consistent(&fabric);
        let mut draws = Draws(Knuth::new(1));
        for adaptive in [false, true] {
            let routing = TreeRouting::new(tree, adaptive);
            for source in 0..tree.nodes() {
                for dest in 0..tree.nodes() {
                    let height = (1..=n).find(|&j| source / k.pow(j) == dest / k.pow(j)).unwrap();
                    assert_eq!(walk(&fabric, &routing, source, dest, &mut draws), 2 * height - 1);
                }
            }
        }
    }
}

#[test]
fn butterflies_settle_one_digit_per_stage() {
    for (k, n) in [(2, 1), (2, 4), (3, 3), (5, 2)] {
        let fly = Fly::new(k, n).unwrap();
        let fabric = fly.fabric();
        is_consistent(&fabric);
        let mut draws = Draws(Knuth::new(1));
        for source in 0..fly.nodes() {
            for dest in 0..fly.nodes() {
                assert_eq!(walk(&fabric, &FlyRouting(fly), source, dest, &mut draws), n);
            }
        }
    }
}

#[test]
fn networks_too_large_for_memory_are_refused() {
    assert!(Cube::new(1 << 10, 2).is_ok_and(|cube| cube.nodes() == 1 << 20));
    assert!(Cube::new(1 << 11, 2).is_err());
    // as many routers, of 41 ports each
    assert!(Cube::new(2, 20).is_err());
    assert!(Cube::new(100_000, 2).is_err());
    assert!(Cube::new(0, 2).is_err());
    assert!(FatTree::new(64, 4).is_err());
    assert!(FatTree::new(4, 0).is_err());
}
