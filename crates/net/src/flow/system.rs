//! Who uses what: resources, flows and the share of each flow on each of its resources.
//!
//! Rates are expressed by levels. A flow with penalty `p` and level `x` runs at `x / p`; on a shared
//! resource with weight `w` it takes `x * w / p` of the capacity, and `w / p` is its share there. The
//! level of a resource is that of the flows which it limits, infinite when it limits none. The level
//! of a flow is the least over its resources and its own cap. Plain max-min fairness is `p = 1`.

use smallvec::SmallVec;
use stratasim_topo::Sharing;

/// No such flow, resource or element.
pub(crate) const NONE: u32 = u32::MAX;

/// One use of a resource by a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    pub(crate) resource: u32,
    /// Position in the resource's list of users while the flow is enabled.
    place: u32,
    /// Weight divided by the flow's penalty.
    pub(crate) share: f64,
}

/// A capacity and who uses it. What a solve reads of it lies together.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) capacity: f64,
    /// Level of the users that it limits; infinite when it limits nobody.
    pub(crate) level: f64,
    /// What its users take of it. Approximate (it is updated by differences): only used to see that
    /// a resource is far from full.
    pub(super) load: f64,
    pub(crate) sharing: Sharing,
    /// Whether it is to be recomputed.
    pub(super) marked: bool,
    pub(super) users: SmallVec<[User; 2]>,
}

/// A flow on a resource, with what a solve needs of its [`Element`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct User {
    pub(crate) share: f64,
    pub(crate) flow: u32,
    element: u32,
}

/// What the solver knows of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowRow {
    /// Current level.
    pub(crate) level: f64,
    /// The level that the flow cannot pass on its own account: its cap, and what each shared
    /// resource would give to it alone.
    pub(crate) cap_level: f64,
    /// Level before the solve in progress.
    pub(super) old_level: f64,
    pub(crate) penalty: f64,
    first: u32,
    len: u32,
    room: u32,
    /// The solve that last touched the flow.
    pub(super) stamp: u32,
    pub(super) enabled: bool,
}

/// Resources and flows.
#[derive(Debug, Default)]
pub(crate) struct System {
    pub(crate) resources: Vec<Resource>,
    pub(super) elements: Vec<Element>,
    pub(crate) flows: Vec<FlowRow>,
    /// Resources of all enabled flows together.
    pub(super) uses: usize,
    pub(super) solver: super::levels::Work,
    /// A resource left with less than this fraction of its capacity by flows limited elsewhere does
    /// not limit the rest (SimGrid's `precision/work-amount`); 0 is exact.
    pub(crate) snap: f64,
}

/// Below this fraction of its capacity a resource is not full, whatever rounding did to its load.
const FAR_FROM_FULL: f64 = 1.0 - 1e-6;

impl System {
    /// Adds a resource and returns its index.
    pub(crate) fn add_resource(&mut self, capacity: f64, sharing: Sharing) -> u32 {
        self.resources.push(Resource {
            capacity,
            level: f64::INFINITY,
            load: 0.0,
            sharing,
            marked: false,
            users: SmallVec::new(),
        });
        self.resources.len() as u32 - 1
    }

    /// Resources and weights of a flow.
    pub(crate) fn elements_of(&self, flow: u32) -> &[Element] {
        let row = &self.flows[flow as usize];
        &self.elements[row.first as usize..(row.first + row.len) as usize]
    }

    /// Users of a resource.
    pub(crate) fn users_of(&self, resource: u32) -> &[User] {
        &self.resources[resource as usize].users
    }

    /// Capacity of a resource.
    #[inline]
    pub(crate) fn capacity(&self, resource: u32) -> f64 {
        self.resources[resource as usize].capacity
    }

    /// Resources of all enabled flows together.
    #[inline]
    pub(crate) fn uses(&self) -> usize {
        self.uses
    }

    /// A resource is to be recomputed, after those with a level below `level`.
    #[inline]
    pub(super) fn mark(&mut self, resource: u32, level: f64) {
        let marked = &mut self.resources[resource as usize].marked;
        if !std::mem::replace(marked, true) {
            self.solver.push(resource, level);
        }
    }

    /// Rate of a flow in bytes per second.
    #[inline]
    pub(crate) fn rate(&self, flow: u32) -> f64 {
        let row = &self.flows[flow as usize];
        row.level / row.penalty
    }

    /// Enables flow number `flow` on `uses` (resource, weight; no resource twice) with `penalty`,
    /// limited to `cap` bytes per second of its own.
    pub(crate) fn enable(&mut self, flow: u32, uses: &[(u32, f64)], penalty: f64, cap: f64) {
        let row = self.claim(flow, uses.len() as u32);
        self.uses += uses.len();
        let mut cap_level = cap * penalty;
        let mut level = f64::INFINITY;
        for (index, &(resource, weight)) in uses.iter().enumerate() {
            let r = resource as usize;
            let share = weight / penalty;
            cap_level = cap_level.min(self.resources[r].capacity / share);
            level = level.min(self.resources[r].level);
            let element = row + index as u32;
            let place = self.resources[r].users.len() as u32;
            self.elements[element as usize] = Element { resource, place, share };
            self.resources[r].users.push(User { share, flow, element });
        }
        level = level.min(cap_level);
        for &(resource, weight) in uses {
            self.resources[resource as usize].load += weight / penalty * level;
        }
        let stamp = self.solver.stamp();
        let row = &mut self.flows[flow as usize];
        row.penalty = penalty;
        row.cap_level = cap_level;
        row.level = level;
        row.old_level = f64::NAN; // differs from any level: a new flow always counts as changed
        row.enabled = true;
        if row.stamp != stamp {
            row.stamp = stamp;
            self.solver.touch(flow);
        }
        for &(resource, _) in uses {
            let r = resource as usize;
            if self.resources[r].level < f64::INFINITY || !self.far_from_full(r) {
                self.mark(resource, self.resources[r].level.min(level));
            }
        }
    }

    /// Takes an enabled flow out.
    pub(crate) fn disable(&mut self, flow: u32) {
        let row = &mut self.flows[flow as usize];
        debug_assert!(row.enabled, "only an enabled flow is taken out");
        row.enabled = false;
        let (first, len, level) = (row.first as usize, row.len as usize, row.level);
        self.uses -= len;
        for at in first..first + len {
            let Element { resource, place, share, .. } = self.elements[at];
            let r = resource as usize;
            let users = &mut self.resources[r].users;
            users.swap_remove(place as usize);
            if let Some(moved) = users.get(place as usize) {
                self.elements[moved.element as usize].place = place;
            }
            if users.is_empty() {
                self.resources[r].level = f64::INFINITY;
                self.resources[r].load = 0.0;
            } else {
                self.resources[r].load -= share * level;
                if self.resources[r].level < f64::INFINITY {
                    self.mark(resource, self.resources[r].level);
                }
            }
        }
    }

    /// Changes the capacity of a resource; `keep_caps` leaves what its present users may reach.
    pub(crate) fn set_capacity(&mut self, resource: u32, capacity: f64, keep_caps: bool) {
        let r = resource as usize;
        self.resources[r].capacity = capacity;
        if !keep_caps {
            for index in 0..self.resources[r].users.len() {
                let flow = self.resources[r].users[index].flow;
                let cap = self
                    .elements_of(flow)
                    .iter()
                    .map(|element| self.resources[element.resource as usize].capacity / element.share)
                    .fold(f64::INFINITY, f64::min);
                self.recap(flow, cap);
            }
        }
        if !self.resources[r].users.is_empty() {
            self.mark(resource, self.resources[r].level.min(capacity));
        }
    }

    /// Gives a flow another cap level and marks what that touches.
    fn recap(&mut self, flow: u32, cap_level: f64) {
        self.flows[flow as usize].cap_level = cap_level;
        let level = self
            .elements_of(flow)
            .iter()
            .map(|e| self.resources[e.resource as usize].level)
            .fold(cap_level, f64::min);
        self.move_flow(flow, level, NONE);
    }

    /// Whether the load of a resource is safely below its capacity.
    #[inline]
    pub(super) fn far_from_full(&self, r: usize) -> bool {
        self.resources[r].sharing == Sharing::Shared
            && self.resources[r].load < self.resources[r].capacity * FAR_FROM_FULL
    }

    /// Moves a flow to another level because resource `cause` changed (or its cap, `NONE`), and
    /// marks the other resources which that can concern.
    ///
    /// A resource whose level is at or below both levels of the flow sees no difference. One that
    /// limits nobody cannot begin to when the flow slows down.
    #[inline]
    pub(super) fn move_flow(&mut self, flow: u32, after: f64, cause: u32) {
        let stamp = self.solver.stamp();
        let row = &mut self.flows[flow as usize];
        let before = row.level;
        if after == before {
            return;
        }
        if row.stamp != stamp {
            row.stamp = stamp;
            row.old_level = before;
            self.solver.touch(flow);
        }
        row.level = after;
        let (first, len) = (row.first as usize, row.len as usize);
        let low = before.min(after);
        for at in first..first + len {
            let Element { resource, share, .. } = self.elements[at];
            let r = resource as usize;
            self.resources[r].load += share * (after - before);
            let level = self.resources[r].level;
            if resource == cause || level <= low {
                continue;
            }
            if level == f64::INFINITY && (after < before || self.far_from_full(r)) {
                continue;
            }
            self.mark(resource, level.min(after));
        }
    }

    /// Room for `len` elements of `flow`; reuses the room of the flow's number.
    fn claim(&mut self, flow: u32, len: u32) -> u32 {
        let unused = FlowRow {
            level: 0.0,
            cap_level: 0.0,
            old_level: 0.0,
            penalty: 1.0,
            first: 0,
            len: 0,
            room: 0,
            stamp: NONE,
            enabled: false,
        };
        if flow as usize >= self.flows.len() {
            self.flows.resize(flow as usize + 1, unused);
        }
        let row = &mut self.flows[flow as usize];
        debug_assert!(!row.enabled, "a flow is enabled once");
        if row.room < len {
            row.first = self.elements.len() as u32;
            row.room = len.next_multiple_of(4);
            let empty = Element { resource: NONE, place: 0, share: 0.0 };
            self.elements.resize(self.elements.len() + row.room as usize, empty);
        }
        row.len = len;
        row.first
    }
}
