//! `topology="DRAGONFLY"`: minimal routes over groups, chassis and blades.

use super::{Cables, Gateways, LocalRoutes, PrivateLinks, between_hosts};
use crate::io::simgrid::routes::Walk;

/// A dragonfly in the manner of the Cray XC (Faanes et al., SC 2012).
///
/// A blade is a router with hosts. The routers of a chassis are joined all to all (green), those of
/// equal blade number in the chassis of a group too (black), and groups by one cable each pair
/// (blue): router `j` of group `i` holds the cable to group `j`. Cables are numbered in the order
/// local, green, black, blue.
#[derive(Debug)]
pub(in crate::io::simgrid) struct Dragonfly {
    pub(in crate::io::simgrid) groups: u64,
    /// Chassis of a group.
    pub(in crate::io::simgrid) chassis: u64,
    /// Routers of a chassis.
    pub(in crate::io::simgrid) blades: u64,
    /// Hosts of a router.
    pub(in crate::io::simgrid) hosts: u64,
    pub(in crate::io::simgrid) cables: Cables,
    pub(in crate::io::simgrid) private: PrivateLinks,
}

/// A router by its coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Router {
    group: u64,
    chassis: u64,
    blade: u64,
}

/// The number of the unordered pair `(low, high)` among those of `n`, low first.
fn pair(low: u64, high: u64, n: u64) -> u64 {
    low * n - low * (low + 1) / 2 + high - low - 1
}

fn pairs(n: u64) -> u64 {
    n * (n - 1) / 2
}

impl Dragonfly {
    /// Cables of each colour: local, green, black, blue; `None` when they overflow.
    pub(in crate::io::simgrid) fn counts(
        groups: u64,
        chassis: u64,
        blades: u64,
        hosts: u64,
    ) -> Option<[u64; 4]> {
        let pairs = |n: u64| Some(n.checked_mul(n.checked_sub(1)?)? / 2);
        let all_chassis = groups.checked_mul(chassis)?;
        Some([
            all_chassis.checked_mul(blades)?.checked_mul(hosts)?,
            all_chassis.checked_mul(pairs(blades)?)?,
            groups.checked_mul(pairs(chassis)?)?.checked_mul(blades)?,
            pairs(groups)?,
        ])
    }

    fn host(&self, host: u32) -> (Router, u64) {
        let host = u64::from(host);
        let router = host / self.hosts;
        let place = Router {
            group: router / (self.blades * self.chassis),
            chassis: router / self.blades % self.chassis,
            blade: router % self.blades,
        };
        (place, host)
    }

    /// The cable between two numbers of one all-to-all set, in the direction of travel.
    fn between(&self, walk: &mut Walk<'_>, first: u64, from: u64, to: u64, n: u64) {
        let cable = first + pair(from.min(to), from.max(to), n);
        walk.out.push(if from < to { self.cables.up(cable) } else { self.cables.down(cable) });
    }

    fn green(&self, walk: &mut Walk<'_>, at: Router, blade: u64) {
        let local = self.groups * self.chassis * self.blades * self.hosts;
        let set = (at.group * self.chassis + at.chassis) * pairs(self.blades);
        self.between(walk, local + set, at.blade, blade, self.blades);
    }

    fn black(&self, walk: &mut Walk<'_>, at: Router, chassis: u64) {
        let [local, green, ..] = self.totals();
        // the pairs of chassis come first, then the blades
        let (low, high) = (at.chassis.min(chassis), at.chassis.max(chassis));
        let set = at.group * pairs(self.chassis) + pair(low, high, self.chassis);
        let cable = local + green + set * self.blades + at.blade;
        let up = at.chassis < chassis;
        walk.out.push(if up { self.cables.up(cable) } else { self.cables.down(cable) });
    }

    fn totals(&self) -> [u64; 4] {
        Self::counts(self.groups, self.chassis, self.blades, self.hosts).expect("checked when built")
    }

    /// Routers follow the hosts among the limiters.
    fn limit(&self, walk: &mut Walk<'_>, at: Router) {
        let router = (at.group * self.chassis + at.chassis) * self.blades + at.blade;
        let hosts = self.groups * self.chassis * self.blades * self.hosts;
        walk.out.extend(self.private.limiter(hosts + router));
    }
}

impl LocalRoutes for Dragonfly {
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        if src == dst
            && let Some(loopback) = self.private.loopback(src)
        {
            walk.out.push(loopback);
            return Ok(None);
        }
        let [hosts, ..] = self.totals();
        between_hosts(hosts, src, dst)?;
        let ((mut at, from), (target, to)) = (self.host(src), self.host(dst));
        walk.out.extend(self.private.limiter(from));
        walk.out.push(self.cables.up(from));
        if at != target {
            if at.group != target.group {
                // to the router that holds the cable to the target's group
                let exit =
                    Router { chassis: target.group / self.blades, blade: target.group % self.blades, ..at };
                if at.blade != exit.blade {
                    self.limit(walk, at);
                    self.green(walk, at, exit.blade);
                    at.blade = exit.blade;
                }
                if at.chassis != exit.chassis {
                    self.limit(walk, at);
                    self.black(walk, at, exit.chassis);
                    at.chassis = exit.chassis;
                }
                let [local, green, black, _] = self.totals();
                self.between(walk, local + green + black, at.group, target.group, self.groups);
                self.limit(walk, at);
                at = Router {
                    group: target.group,
                    chassis: at.group / self.blades,
                    blade: at.group % self.blades,
                };
            }
            if at.blade != target.blade {
                self.limit(walk, at);
                self.green(walk, at, target.blade);
                // SimGrid goes on from the first chassis here, wherever the cable led
                at = Router { chassis: 0, blade: target.blade, group: target.group };
            }
            if at.chassis != target.chassis {
                self.limit(walk, at);
                self.black(walk, at, target.chassis);
            }
        }
        self.limit(walk, target);
        walk.out.push(self.cables.down(to));
        walk.out.extend(self.private.limiter(to));
        Ok(None)
    }
}
