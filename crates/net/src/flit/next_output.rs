//! Queues by the output of the next router: the virtual channels of a channel are divided by where packets go from its
//! end, so that none waits behind a packet that waits for another output.
//!
//! On a channel a packet uses the range that the routing function gives it on the channel *behind* that one, divided by
//! the outputs there. What routing forbids to wait for each other still does not: a packet in such a queue waits for the
//! channel whose range it is in.

use stratasim_core::BuildError;

use super::fabric::{End, Fabric};
use super::router::RouterSpec;
use super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};

/// The part of a range of virtual channels that is set aside for one of `outputs` outputs. What an even division leaves
/// over is not used. `None`: there are fewer channels than outputs, and they are not divided.
pub fn set_aside((first, last): (u8, u8), output: u16, outputs: u16) -> Option<(u8, u8)> {
    let each = (u16::from(last - first) + 1) / outputs;
    let begin = u16::from(first) + output * each;
    (each > 0).then(|| (begin as u8, (begin + each - 1) as u8))
}

/// Refuses queues by the output of the next router where routing has several ways, or a router has more outputs than
/// virtual channels.
pub(super) fn check(fabric: &Fabric, spec: &RouterSpec, routing: &dyn FlitRouting) -> Result<(), BuildError> {
    if !spec.requests.next_output_queues {
        return Ok(());
    }
    let refuse = |reason: String| Err(BuildError::new("next-output-queues", reason));
    if !routing.single() {
        return refuse("the routing function offers several outputs at once; one is expected".into());
    }
    let outputs = fabric.most_outputs();
    for range in 0..spec.ranges.len().max(1) {
        let (first, last) = spec.range(range as u8);
        if set_aside((first, last), 0, outputs).is_none() {
            let count = last - first + 1;
            return refuse(format!(
                "{count} virtual channels for {outputs} outputs; one for each is expected"
            ));
        }
    }
    Ok(())
}

/// A routing function as packets use it with queues by the output of the next router. It looks one router further
/// each time it is asked, so that draws there may differ from those that are made when the packet is there: more ways
/// than there are, as the check for deadlock may have them.
pub struct ByNextOutput<'a> {
    /// The function.
    pub routing: &'a dyn FlitRouting,
    /// Its fabric.
    pub fabric: &'a Fabric,
}

impl FlitRouting for ByNextOutput<'_> {
    fn start(&self, head: &mut Head, surroundings: &mut dyn Surroundings) -> (u8, u8) {
        self.routing.start(head, surroundings)
    }

    fn restarts(&self) -> bool {
        self.routing.restarts()
    }

    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let mut found = self.routing.only(place, head, surroundings);
        if let End::Router { router, port } = self.fabric.channel(place.router, found.output).end {
            let there = Place { router, input: port, vc: place.vc };
            let after = self.routing.only(there, &mut Head { ..*head }, surroundings);
            let range = (after.first_vc, after.last_vc);
            if let Some(aside) = set_aside(range, after.output, self.fabric.output_count(router)) {
                (found.first_vc, found.last_vc) = aside;
            }
        }
        found
    }

    fn draws(&self) -> bool {
        self.routing.draws()
    }

    fn memory_bits(&self) -> u32 {
        self.routing.memory_bits()
    }

    fn knows_source(&self) -> bool {
        self.routing.knows_source()
    }

    fn joins(&self, source: u32, dest: u32) -> bool {
        self.routing.joins(source, dest)
    }

    fn adaptive(&self) -> bool {
        self.routing.adaptive()
    }

    fn looks_at_input(&self) -> bool {
        self.routing.looks_at_input()
    }

    fn looks_at_vc(&self) -> bool {
        self.routing.looks_at_vc()
    }
}
