//! A dragonfly by way of a third group: always, or where the queue on the way there is shorter.

use stratasim_core::BuildError;

use super::dragonfly::DragonflyMap;
use super::places::{any, check_parts, part};
use super::two_phase::{BETWEEN, CHOSEN, SECOND};
use super::ugal::detour_is_better;
use super::{Candidate, FlitRouting, Head, Place, Surroundings};
use crate::flit::fabric::from_topology::Wiring;
use crate::flit::router::RouterSpec;

/// Ways by a third group, ready for one fabric. Three classes of virtual channels, one for each group on the way.
///
/// Memory: flags; groups entered so far (0 to 2) in the lowest byte; the group between.
#[derive(Debug, Clone)]
pub(super) struct ThirdGroup {
    map: DragonflyMap,
    /// By how much the shortest way may be worse and is still taken; it never is when absent.
    threshold: Option<u64>,
}

impl ThirdGroup {
    /// For the dragonfly of `wiring`; `kind` is the routing function that asks.
    ///
    /// # Errors
    /// No dragonfly; virtual channels that do not divide into three classes.
    pub(super) fn new(
        wiring: &Wiring,
        router: &RouterSpec,
        kind: &str,
        threshold: Option<u64>,
    ) -> Result<Self, BuildError> {
        let map = DragonflyMap::new(wiring, kind)?;
        check_parts(router, kind, 3, false, "packets change the class with the group")?;
        Ok(Self { map, threshold })
    }

    /// The group to go by, if any, and the port toward it or toward the target's group: the one whose queue was looked at.
    fn decide(
        &self,
        router: u32,
        target: u32,
        surroundings: &mut dyn Surroundings,
    ) -> (Option<u32>, Option<u16>) {
        let map = &self.map;
        let (own, group) = (map.group(router), map.group(target));
        if own == group || map.groups() < 3 {
            return (None, None);
        }
        // any but these two
        let mut between = surroundings.draw(map.groups() - 2);
        for taken in [own.min(group), own.max(group)] {
            between += u32::from(between >= taken);
        }
        let direct =
            self.threshold.map(|threshold| (threshold, map.draw_toward(router, group, surroundings)));
        let by = map.draw_toward(router, between, surroundings);
        let Some((threshold, direct)) = direct else { return (Some(between), Some(by)) };
        let local = |to: u32| 1 + u32::from(!map.is_gateway(router, to));
        let better = detour_is_better(
            (surroundings.used(direct), local(group) + 1),
            (surroundings.used(by), local(between) + 3),
            threshold,
        );
        (better.then_some(between), Some(if better { by } else { direct }))
    }
}

impl FlitRouting for ThirdGroup {
    #[inline]
    fn only(&self, place: Place, head: &mut Head, surroundings: &mut dyn Surroundings) -> Candidate {
        let map = &self.map;
        let target = map.destinations.router(head.dest);
        if place.router == target {
            return map.destinations.eject(head.dest, head.range);
        }
        let mut first_port = None;
        if head.memory & CHOSEN == 0 {
            let (between, port) = self.decide(place.router, target, surroundings);
            first_port = port;
            head.memory = match between {
                Some(between) => CHOSEN | (u64::from(between) << BETWEEN),
                None => CHOSEN | SECOND,
            };
        }
        let own = map.group(place.router);
        if head.memory & SECOND == 0 && own == (head.memory >> BETWEEN) as u32 {
            // the group between: class 1, and on to the destination's
            head.memory = CHOSEN | SECOND | 1;
        }
        let group =
            if head.memory & SECOND == 0 { (head.memory >> BETWEEN) as u32 } else { map.group(target) };
        if own == group {
            any(map.within(place.router, target), part(head.range, 3, 2))
        } else {
            let port = first_port.unwrap_or_else(|| map.draw_toward(place.router, group, surroundings));
            any(port, part(head.range, 3, (head.memory & 1) as u8))
        }
    }

    fn adaptive(&self) -> bool {
        self.threshold.is_some()
    }

    fn looks_at_input(&self) -> bool {
        false
    }

    fn looks_at_vc(&self) -> bool {
        false
    }
}
