//! Several copies of a network side by side, with the same terminals.

use super::super::fabric::{End, Fabric};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};

/// Copies of a fabric: terminal `t` of copy `c` has the number `c * terminals + t`, and so have routers.
pub fn copies(one: &Fabric, count: u32) -> Fabric {
    let (routers, terminals) = (one.router_count() as u32, one.terminals().len() as u32);
    let ports = |router| (one.input_count(router), one.output_count(router));
    let mut fabric = Fabric::new((0..count).flat_map(|_| (0..routers).map(ports)).collect());
    for copy in 0..count {
        let moved = |router: u32| copy * routers + router;
        for terminal in one.terminals() {
            let (router, input) = terminal.entry();
            let ejection = *one.channel(terminal.router, terminal.output);
            let exit = (moved(terminal.router), terminal.output);
            let number = fabric.attach_apart(
                (moved(router), input),
                exit,
                terminal.injection,
                ejection,
                terminal.node,
            );
            debug_assert!(number / terminals == copy);
        }
        for router in 0..routers {
            for output in 0..one.output_count(router) {
                let mut channel = *one.channel(router, output);
                if let End::Router { router: to, port } = channel.end {
                    channel.end = End::Router { router: moved(to), port };
                    fabric.connect((moved(router), output), channel);
                }
            }
        }
    }
    fabric
}

/// The routing function of one network on all copies of it.
pub struct SideBySide {
    routing: Box<dyn FlitRouting>,
    routers: u32,
    terminals: u32,
}

impl SideBySide {
    /// The function of `one`.
    pub fn new(routing: Box<dyn FlitRouting>, one: &Fabric) -> Self {
        Self { routing, routers: one.router_count() as u32, terminals: one.terminals().len() as u32 }
    }

    /// Asks the function as if there were only its network.
    fn ask<A>(&self, head: &mut Head, question: impl FnOnce(&dyn FlitRouting, &mut Head) -> A) -> A {
        let mut inner =
            Head { source: head.source % self.terminals, dest: head.dest % self.terminals, ..*head };
        let answer = question(&*self.routing, &mut inner);
        head.memory = inner.memory;
        answer
    }

    fn place(&self, place: Place) -> Place {
        Place { router: place.router % self.routers, ..place }
    }
}

impl FlitRouting for SideBySide {
    fn start(&self, head: &mut Head, surroundings: &mut dyn Surroundings) -> (u8, u8) {
        self.ask(head, |routing, head| routing.start(head, surroundings))
    }

    fn restarts(&self) -> bool {
        self.routing.restarts()
    }

    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        self.ask(head, |routing, head| routing.only(self.place(place), head, surroundings))
    }

    fn route(
        &self,
        place: Place,
        head: &mut Head,
        surroundings: &mut dyn Surroundings,
        out: &mut Vec<Candidate>,
    ) {
        self.ask(head, |routing, head| routing.route(self.place(place), head, surroundings, out));
    }

    fn draws(&self) -> bool {
        self.routing.draws()
    }

    fn single(&self) -> bool {
        self.routing.single()
    }

    fn memory_bits(&self) -> u32 {
        self.routing.memory_bits()
    }

    fn knows_source(&self) -> bool {
        self.routing.knows_source()
    }

    fn adaptive(&self) -> bool {
        self.routing.adaptive()
    }
}
