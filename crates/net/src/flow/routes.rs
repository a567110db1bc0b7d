//! What a route means for the flows on it, worked out once per route.

use rustc_hash::FxHashMap;
use stratasim_core::{Duration, LinkId, NodeId};
use stratasim_topo::{RouteError, Routing, Sharing};

use super::rule::{CROSS_WEIGHT, RuleNumbers};
use super::system::{NONE, System};

/// Index of a route.
pub(super) type RouteId = u32;

/// A route with everything that the rule makes of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// Resources and weights, in `Routes::uses`.
    uses: (u32, u32),
    /// Links in order, in `Routes::links`.
    links: (u32, u32),
    /// Latency that no link accounts for.
    extra: Duration,
    /// Sum of latencies.
    pub(super) latency: Duration,
    /// Penalty of a flow that paid its latency.
    pub(super) penalty: f64,
    /// Own limit of a flow's rate in bytes per second, infinite when there is none.
    pub(super) bound: f64,
    /// Level of a flow that is alone and has no limit of its own.
    alone_level: f64,
    /// Rate in bytes per second of a flow that is alone and has no limit of its own.
    pub(super) alone: f64,
    /// Bytes that finished flows carried over it.
    pub(super) carried: f64,
}

/// The routes in use.
pub(super) struct Routes {
    routing: Box<dyn Routing>,
    per_flow: bool,
    by_pair: FxHashMap<(NodeId, NodeId), RouteId>,
    /// The last route from each node: most nodes speak to one other.
    last: Vec<(NodeId, RouteId)>,
    /// Routes of algorithms that spread flows, by their links and, where acknowledgements count, those of the way back.
    by_links: FxHashMap<(Vec<LinkId>, Vec<LinkId>), RouteId>,
    pub(super) routes: Vec<Route>,
    uses: Vec<(u32, f64)>,
    links: Vec<LinkId>,
    /// By resource, where it stands among the uses of the last route that has it.
    places: Vec<u32>,
    /// By resource, the routes that use it; known from the first change of any on.
    users: Option<Vec<Vec<RouteId>>>,
    /// Bytes that routes carried which are forgotten, by link.
    carried: Vec<f64>,
    /// Routes from which on those that nobody takes are forgotten.
    pub(super) limit: usize,
    /// Links of a route and of its way back.
    scratch: (Vec<LinkId>, Vec<LinkId>),
}

/// So many routes are kept in any case: some 250 MB, all pairs of a thousand nodes.
const KEPT: usize = 1 << 20;

const NOWHERE: NodeId = NodeId(u32::MAX);

impl Routes {
    pub(super) fn new(routing: Box<dyn Routing>, nodes: usize) -> Self {
        Self {
            per_flow: routing.per_flow(),
            routing,
            by_pair: FxHashMap::default(),
            last: vec![(NOWHERE, 0); nodes],
            by_links: FxHashMap::default(),
            routes: Vec::new(),
            uses: Vec::new(),
            links: Vec::new(),
            places: Vec::new(),
            users: None,
            carried: Vec::new(),
            limit: KEPT,
            scratch: Default::default(),
        }
    }

    /// Whether there are so many that those that nobody takes are to be forgotten.
    #[inline]
    pub(super) fn are_many(&self) -> bool {
        self.routes.len() >= self.limit
    }

    /// Forgets all that are not `taken`, but for what they have carried. The new numbers of the others.
    pub(super) fn forget(&mut self, taken: &[bool]) -> Vec<RouteId> {
        let mut renamed = vec![NONE; self.routes.len()];
        let (mut uses, mut links) = (Vec::new(), Vec::new());
        let mut kept = Vec::new();
        for (id, &taken) in taken.iter().enumerate() {
            let mut route = self.routes[id];
            if taken {
                renamed[id] = kept.len() as RouteId;
                let (first_use, first_link) = (uses.len() as u32, links.len() as u32);
                uses.extend_from_slice(self.uses(id as RouteId));
                links.extend_from_slice(self.links(id as RouteId));
                route.uses = (first_use, uses.len() as u32);
                route.links = (first_link, links.len() as u32);
                kept.push(route);
            } else if route.carried > 0.0 {
                let (first, end) = route.links;
                for link in &self.links[first as usize..end as usize] {
                    self.carried.resize(self.carried.len().max(link.index() + 1), 0.0);
                    self.carried[link.index()] += route.carried;
                }
            }
        }
        let rename = |route: &mut RouteId| {
            *route = renamed[*route as usize];
            *route != NONE
        };
        self.by_pair.retain(|_, route| rename(route));
        self.by_links.retain(|_, route| rename(route));
        for last in self.last.iter_mut().filter(|last| last.0 != NOWHERE) {
            if !rename(&mut last.1) {
                last.0 = NOWHERE;
            }
        }
        self.limit = self.limit.max(2 * kept.len());
        (self.routes, self.uses, self.links) = (kept, uses, links);
        // known again from the next change on
        self.users = None;
        renamed
    }

    /// Forgets what routes have carried; they are the same whoever asked first.
    pub(super) fn forget_run(&mut self) {
        self.carried.clear();
        self.routes.iter_mut().for_each(|route| route.carried = 0.0);
    }

    /// Adds what the routes have carried, of flows that are over, to the bytes of each link.
    pub(super) fn add_carried(&self, link_bytes: &mut [f64]) {
        link_bytes.iter_mut().zip(&self.carried).for_each(|(bytes, carried)| *bytes += carried);
        for (id, route) in self.routes.iter().enumerate() {
            for link in self.links(id as RouteId) {
                link_bytes[link.index()] += route.carried;
            }
        }
    }

    #[inline]
    pub(super) fn get(&self, route: RouteId) -> &Route {
        &self.routes[route as usize]
    }

    /// Rate in bytes per second of a flow that is alone, by present capacities and its own `cap`: the
    /// same floating-point operations as in [`super::system::System`].
    #[inline]
    pub(super) fn alone_rate(&self, route: RouteId, cap: f64) -> f64 {
        let route = self.get(route);
        (cap * route.penalty).min(route.alone_level) / route.penalty
    }

    /// Resources (each once) and weights of a route.
    #[inline]
    pub(super) fn uses(&self, route: RouteId) -> &[(u32, f64)] {
        let (start, end) = self.routes[route as usize].uses;
        &self.uses[start as usize..end as usize]
    }

    /// Links of a route in order.
    pub(super) fn links(&self, route: RouteId) -> &[LinkId] {
        let (start, end) = self.routes[route as usize].links;
        &self.links[start as usize..end as usize]
    }

    /// The route from `src` to `dst`; `key` chooses where the algorithm spreads flows.
    #[inline]
    pub(super) fn find(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        machine: &Machine<'_>,
    ) -> Result<RouteId, RouteError> {
        let last = self.last[src.index()];
        if last.0 == dst && !self.per_flow {
            return Ok(last.1);
        }
        self.find_slow(src, dst, key, machine)
    }

    fn find_slow(
        &mut self,
        src: NodeId,
        dst: NodeId,
        key: u64,
        machine: &Machine<'_>,
    ) -> Result<RouteId, RouteError> {
        if !self.per_flow
            && let Some(&known) = self.by_pair.get(&(src, dst))
        {
            self.last[src.index()] = (dst, known);
            return Ok(known);
        }
        let mut ways = std::mem::take(&mut self.scratch);
        let (links, back) = &mut ways;
        links.clear();
        back.clear();
        let extra = self.routing.route(src, dst, key, links)?;
        if machine.numbers.cross_traffic && self.routing.route(dst, src, key, back).is_err() {
            back.clear();
        }
        let route = if self.per_flow {
            match self.by_links.get(&ways) {
                Some(&known) => known,
                None => {
                    let new = self.make(src, dst, &ways, extra, machine);
                    self.by_links.insert(ways.clone(), new);
                    new
                }
            }
        } else {
            let new = self.make(src, dst, &ways, extra, machine);
            self.by_pair.insert((src, dst), new);
            self.last[src.index()] = (dst, new);
            new
        };
        self.scratch = ways;
        Ok(route)
    }

    /// A route along some links, with the way back of its acknowledgements where those count.
    fn make(
        &mut self,
        src: NodeId,
        dst: NodeId,
        (links, back): &(Vec<LinkId>, Vec<LinkId>),
        extra: Duration,
        machine: &Machine<'_>,
    ) -> RouteId {
        let numbers = machine.numbers;
        let start = self.uses.len();
        for &id in links {
            self.add_use(start, id.0, 1.0, machine);
        }
        if links.is_empty() && machine.loopback != NONE {
            self.add_use(start, machine.loopback, 1.0, machine);
        }
        for (node, port) in [(src, machine.ports[src.index()]), (dst, machine.ports[dst.index()])] {
            if port != NONE && (src != dst || node == src) {
                self.add_use(start, port, 1.0, machine);
            }
        }
        if numbers.cross_traffic {
            // a pair without a way back acknowledges over the loopback
            if back.is_empty() {
                self.add_use(start, machine.loopback, CROSS_WEIGHT, machine);
            }
            for &id in back {
                self.add_use(start, id.0, CROSS_WEIGHT, machine);
            }
        }
        let first_link = self.links.len() as u32;
        self.links.extend_from_slice(links);
        self.routes.push(Route {
            uses: (start as u32, self.uses.len() as u32),
            links: (first_link, self.links.len() as u32),
            extra,
            latency: Duration::ZERO,
            penalty: 1.0,
            bound: f64::INFINITY,
            alone_level: f64::INFINITY,
            alone: f64::INFINITY,
            carried: 0.0,
        });
        let id = self.routes.len() as u32 - 1;
        if let Some(users) = &mut self.users {
            self.uses[start..].iter().for_each(|&(resource, _)| users[resource as usize].push(id));
        }
        self.derive(id, machine);
        id
    }

    /// Works out what the machine's present capacities and latencies mean for a route.
    fn derive(&mut self, id: RouteId, machine: &Machine<'_>) {
        let numbers = machine.numbers;
        let mut latency = self.get(id).extra.as_ps();
        // sums in the order of the route, as the reference adds them up
        let mut penalty = self.get(id).extra.as_secs_f64();
        let mut least = f64::INFINITY;
        for link in self.links(id) {
            penalty += machine.latency[link.index()].as_secs_f64();
        }
        for link in self.links(id) {
            latency = latency.saturating_add(machine.latency[link.index()].as_ps());
            let capacity = machine.system.capacity(link.0);
            least = least.min(capacity);
            penalty += numbers.weight_s_bytes.unwrap_or(0.0) / capacity;
        }
        let to_itself = self.links(id).is_empty();
        if to_itself {
            latency = latency.saturating_add(numbers.loopback_latency.as_ps());
            least = numbers.loopback_bandwidth;
            penalty += numbers.loopback_latency.as_secs_f64() + numbers.weight_s_bytes.unwrap_or(0.0) / least;
        }
        let latency = Duration::from_ps(latency);
        let mut bound = if to_itself || numbers.weight_s_bytes.is_some() { least } else { f64::INFINITY };
        if latency > Duration::ZERO && numbers.gamma_bytes > 0.0 {
            bound = bound.min(numbers.gamma_bytes / (2.0 * latency.as_secs_f64()));
        }
        let route = &mut self.routes[id as usize];
        route.latency = latency;
        // without latency there is no penalty to speak of: all such flows count the same
        let same = numbers.weight_s_bytes.is_none() || latency == Duration::ZERO;
        route.penalty = if same { 1.0 } else { penalty };
        route.bound = bound;
        let penalty = route.penalty;
        let level = |&(resource, weight): &(u32, f64)| machine.system.capacity(resource) / (weight / penalty);
        let alone_level = self.uses(id).iter().map(level).fold(f64::INFINITY, f64::min);
        self.routes[id as usize].alone_level = alone_level;
        self.routes[id as usize].alone = self.alone_rate(id, bound);
    }

    /// Works routes out again that use any of these resources, whose capacity or latency has changed.
    pub(super) fn refresh(&mut self, changed: &[u32], machine: &Machine<'_>) {
        let users = self.users.take().unwrap_or_else(|| {
            let mut users = vec![Vec::new(); machine.system.resources.len()];
            for id in 0..self.routes.len() as RouteId {
                self.uses(id).iter().for_each(|&(resource, _)| users[resource as usize].push(id));
            }
            users
        });
        for &resource in changed {
            for &id in &users[resource as usize] {
                self.derive(id, machine);
            }
        }
        self.users = Some(users);
    }

    /// Adds a use to the route in the making: weights add up, on a fat pipe the largest counts.
    fn add_use(&mut self, start: usize, resource: u32, weight: f64, machine: &Machine<'_>) {
        let place = self.places.get(resource as usize).map_or(usize::MAX, |&place| place as usize);
        // what stands there may be of another route, or no more there
        let known = if place < start { None } else { self.uses.get_mut(place) };
        match known.filter(|(known, _)| *known == resource) {
            Some((_, known)) if machine.system.resources[resource as usize].sharing == Sharing::FatPipe => {
                *known = known.max(weight)
            }
            Some((_, known)) => *known += weight,
            None => {
                self.places.resize(machine.system.resources.len(), u32::MAX);
                self.places[resource as usize] = self.uses.len() as u32;
                self.uses.push((resource, weight));
            }
        }
    }
}

/// What routes are made for.
pub(super) struct Machine<'a> {
    pub(super) numbers: &'a RuleNumbers,
    /// Latency of each link.
    pub(super) latency: &'a [Duration],
    /// Its resources: links, then ports of memory nodes.
    pub(super) system: &'a System,
    /// The resource that messages of a node to itself share, `NONE` where they need none.
    pub(super) loopback: u32,
    /// The port resource of each node, `NONE` where it has none.
    pub(super) ports: &'a [u32],
}
