//! `<cluster>`: many hosts from one line, as a star, torus, fat tree or dragonfly.

use stratasim_core::{Bandwidth, Duration, LinkId, NodeId};

use super::world::{Kind, World, shared};
use super::zone::dragonfly::Dragonfly;
use super::zone::fat_tree::{FatTree, Level};
use super::zone::torus::{Torus, next_up};
use super::zone::{Cables, PrivateLinks};
use crate::graph::LinkType;

/// Numbers of hosts, such as `0-3,6,8-9`, as ranges that include both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Radical(Vec<[u64; 2]>);

impl Radical {
    /// Reads the text form; allocates by its length, not by the numbers in it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let number = |word: &str| word.trim().parse::<u64>().ok();
        let range = |part: &str| {
            let [first, last] =
                part.split_once('-').map_or([part, part], |(first, last)| [first, last]).map(number);
            match (first, last) {
                (Some(first), Some(last)) if first <= last => Ok([first, last]),
                _ => Err(format!("`{part}` is no range of host numbers; write them like `0-3,6,8-9`")),
            }
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }

    /// How many numbers; `None` when they overflow.
    pub(super) fn count(&self) -> Option<u64> {
        self.0.iter().try_fold(0_u64, |sum, [first, last]| sum.checked_add((last - first).checked_add(1)?))
    }

    /// The numbers in order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|&[first, last]| first..=last)
    }
}

/// What a `<cluster>` says.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) id: String,
    pub(super) prefix: String,
    pub(super) suffix: String,
    pub(super) radical: Radical,
    pub(super) speed: f64,
    pub(super) cores: u32,
    pub(super) bandwidth: Bandwidth,
    pub(super) latency: Duration,
    /// Whether each cable is one link per direction. A cable that both directions share is shared
    /// whatever else the file says, as in SimGrid.
    pub(super) split: bool,
    pub(super) backbone: Option<LinkType>,
    pub(super) limiter: Option<Bandwidth>,
    pub(super) loopback: Option<LinkType>,
    pub(super) router: String,
    pub(super) topology: String,
    pub(super) parameters: String,
}

impl Cluster {
    /// Adds the cluster to `parent`; gives its hosts.
    pub(super) fn build(&self, world: &mut World, parent: u32) -> Result<Vec<NodeId>, String> {
        match self.topology.as_str() {
            "FLAT" => self.flat(world, parent),
            "TORUS" => self.torus(world, parent),
            "FAT_TREE" => self.fat_tree(world, parent),
            "DRAGONFLY" => self.dragonfly(world, parent),
            other => Err(format!("unknown topology `{other}` (known: FLAT, TORUS, FAT_TREE, DRAGONFLY)")),
        }
    }

    fn link(&self) -> LinkType {
        shared(self.bandwidth, self.latency)
    }

    /// Links of a cable.
    fn ways(&self) -> u64 {
        1 + u64::from(self.split)
    }

    fn flat(&self, world: &mut World, parent: u32) -> Result<Vec<NodeId>, String> {
        let private = u64::from(self.limiter.is_some()) + u64::from(self.loopback.is_some());
        let per_host = 1 + self.ways() + private;
        world.claim(self.radical.count().and_then(|hosts| hosts.checked_mul(per_host)?.checked_add(2)))?;
        let zone = world.zone(parent, &self.id, Kind::Star)?;
        let backbone = match self.backbone {
            Some(backbone) => Some(world.link(&format!("{}_backbone", self.id), backbone)?),
            None => None,
        };
        let mut hosts = Vec::new();
        let mut arms = Vec::new();
        for number in self.radical.numbers() {
            let name = format!("{}{number}{}", self.prefix, self.suffix);
            let host = world.host(zone, &name, self.speed, self.cores)?;
            let member = world.places[host.index()].local;
            let base = format!("{}_link_{number}", self.id);
            if let Some(loopback) = self.loopback {
                let link = world.link(&format!("{base}_loopback"), loopback)?;
                world.zones[zone as usize].star.set_loopback(member, &[link]);
            }
            let limiter = match self.limiter {
                Some(rate) => Some(world.link(&format!("{base}_limiter"), shared(rate, Duration::ZERO))?),
                None => None,
            };
            let [up, down] = self.cable(world, &base)?;
            let path =
                |link: LinkId| -> Vec<LinkId> { limiter.into_iter().chain([link]).chain(backbone).collect() };
            let (there, mut back) = (path(up), path(down));
            back.reverse();
            world.zones[zone as usize].star.set(member, &there, &back);
            hosts.push(host);
            arms.push([up, down]);
        }
        let router = match self.router.as_str() {
            "" => format!("{}{}_router{}", self.prefix, self.id, self.suffix),
            given => given.to_owned(),
        };
        let router = world.router(zone, &router)?;
        if backbone.is_none() {
            for (&host, &arm) in hosts.iter().zip(&arms) {
                attach(world, arm, [host, router]);
            }
        }
        Ok(hosts)
    }

    /// One cable called `name`: up and down, the same link when both share it.
    fn cable(&self, world: &mut World, name: &str) -> Result<[LinkId; 2], String> {
        if self.split {
            world.pair(name, self.link())
        } else {
            world.link(name, self.link()).map(|link| [link; 2])
        }
    }

    /// The hosts of a regular cluster with their private links; `switches` gives the numbers that
    /// SimGrid counts the switches by.
    fn regular(
        &self,
        world: &mut World,
        parent: u32,
        [count, cables]: [Option<u64>; 2],
        switches: impl ExactSizeIterator<Item = i64>,
    ) -> Result<(u32, Vec<NodeId>, PrivateLinks), String> {
        let hosts = self.radical.count();
        if hosts != count || count.is_none() {
            let shown =
                |count: Option<u64>| count.map_or_else(|| "too many".to_owned(), |count| count.to_string());
            return Err(format!(
                "the radical names {} hosts, topo_parameters `{}` make {}; they must be as many",
                shown(hosts),
                self.parameters,
                shown(count)
            ));
        }
        let limited =
            |count: u64| count.checked_add(switches.len() as u64).filter(|_| self.limiter.is_some());
        let items = || {
            let count = count?;
            let private =
                limited(count).unwrap_or(0).checked_add(if self.loopback.is_some() { count } else { 0 })?;
            cables?.checked_mul(self.ways())?.checked_add(count)?.checked_add(private)
        };
        world.claim(items())?;
        let zone = world.zone(parent, &self.id, Kind::Made)?;
        let mut nodes = Vec::new();
        let mut private = PrivateLinks::default();
        for (index, number) in self.radical.numbers().enumerate() {
            let name = format!("{}{number}{}", self.prefix, self.suffix);
            nodes.push(world.host(zone, &name, self.speed, self.cores)?);
            if let Some(loopback) = self.loopback {
                let name = format!("{}_link_{number}_loopback", self.id);
                private.loopbacks.push(world.link(&name, loopback)?);
            }
            if let Some(rate) = self.limiter {
                private.limiters.push(self.limit(world, index as i64, rate)?);
            }
        }
        if let Some(rate) = self.limiter {
            for switch in switches {
                private.limiters.push(self.limit(world, switch, rate)?);
            }
        }
        Ok((zone, nodes, private))
    }

    fn limit(&self, world: &mut World, number: i64, rate: Bandwidth) -> Result<LinkId, String> {
        world.link(&format!("{}_link_{number}_limiter", self.id), shared(rate, Duration::ZERO))
    }

    /// So many switches, which messages at flow level cross without a stop. `regular` has not claimed them.
    fn switches(&self, world: &mut World, zone: u32, count: u64) -> Result<Vec<NodeId>, String> {
        world.claim(Some(count))?;
        (0..count).map(|switch| world.router(zone, &format!("{}_switch_{switch}", self.id))).collect()
    }

    /// The cables that will come next.
    fn cables(&self, world: &World) -> Cables {
        Cables { first: LinkId::from_index(world.builder.links().len()), split: self.split }
    }

    fn torus(&self, world: &mut World, parent: u32) -> Result<Vec<NodeId>, String> {
        let dimensions = numbers(&self.parameters)?;
        let count = product(&dimensions);
        let total = count.and_then(|count| count.checked_mul(dimensions.len() as u64));
        let (zone, hosts, private) = self.regular(world, parent, [count, total], [].into_iter())?;
        let cables = self.cables(world);
        for host in 0..hosts.len() as u64 {
            let mut stride = 1;
            for &extent in &dimensions {
                let next = next_up(host, stride, extent);
                let cable = self.cable(world, &format!("{}_link_from_{host}_to_{next}", self.id))?;
                attach(world, cable, [hosts[host as usize], hosts[next as usize]]);
                stride *= extent;
            }
        }
        world.zones[zone as usize].made = Some(Box::new(Torus { dimensions, cables, private }));
        Ok(hosts)
    }

    fn fat_tree(&self, world: &mut World, parent: u32) -> Result<Vec<NodeId>, String> {
        let fail = || {
            format!(
                "`{}` is no fat tree; write topo_parameters like `2;4,4;1,2;1,2` (levels; children; parents; parallel cables, each innermost first)",
                self.parameters
            )
        };
        let parts: Vec<&str> = self.parameters.split(';').collect();
        let [count, children, parents, ports] = parts[..] else { return Err(fail()) };
        let [count, children, parents, ports] =
            [numbers(count)?, numbers(children)?, numbers(parents)?, numbers(ports)?];
        let depth = children.len();
        if count != [depth as u64] || parents.len() != depth || ports.len() != depth {
            return Err(fail());
        }
        let levels: Vec<Level> = (0..depth)
            .map(|l| Level { children: children[l], parents: parents[l], ports: ports[l] })
            .collect();
        let nodes: Vec<Option<u64>> = (0..=depth).map(|level| FatTree::nodes(&levels, level)).collect();
        let total = || {
            (0..depth).try_fold(0_u64, |sum, l| {
                sum.checked_add(nodes[l]?.checked_mul(parents[l])?.checked_mul(ports[l])?)
            })
        };
        let switches = || nodes[1..].iter().try_fold(0_u64, |sum, count| sum.checked_add((*count)?));
        let total = total();
        // as many switches as fit into the count of hosts and links
        let switch_count = switches().filter(|&count| count <= u64::from(u32::MAX));
        let hosts = nodes[0].filter(|_| switch_count.is_some());
        let top = 2 * hosts.unwrap_or(0).min(u64::from(u32::MAX)) as i64;
        let numbers = (0..switch_count.unwrap_or(0) as u32).map(|switch| top - 1 - i64::from(switch));
        let (zone, nodes_of_hosts, private) = self.regular(world, parent, [hosts, total], numbers)?;
        let switches = self.switches(world, zone, switch_count.unwrap_or(0))?;
        let tree =
            FatTree { cables: self.cables(world), first_position: world.fat_tree_hosts, private, levels };
        let counts: Vec<u64> = nodes.into_iter().flatten().collect();
        // SimGrid calls hosts by place and switches by a number that falls
        let first_switch = |level: usize| counts[1..level].iter().sum::<u64>();
        let name = |level: usize, position: u64| match level {
            0 => position as i64,
            _ => top - 1 - (first_switch(level) + position) as i64,
        };
        let node = |level: usize, position: u64| match level {
            0 => nodes_of_hosts[position as usize],
            _ => switches[(first_switch(level) + position) as usize],
        };
        for (level, &Level { parents, ports, .. }) in tree.levels.iter().enumerate() {
            for position in 0..counts[level] {
                let mut digits = tree.digits(level, position);
                let child = name(level, position);
                for parent in 0..parents {
                    digits[level] = parent;
                    let above = tree.position(level + 1, &digits);
                    let parent = name(level + 1, above);
                    for _ in 0..ports {
                        let unique = world.fat_tree_cables;
                        let cable = self.cable(world, &format!("link_from_{child}_{parent}_{unique}"))?;
                        attach(world, cable, [node(level, position), node(level + 1, above)]);
                        world.fat_tree_cables += 1;
                    }
                }
            }
        }
        world.fat_tree_hosts += nodes_of_hosts.len() as u64;
        world.zones[zone as usize].made = Some(Box::new(tree));
        Ok(nodes_of_hosts)
    }

    fn dragonfly(&self, world: &mut World, parent: u32) -> Result<Vec<NodeId>, String> {
        let fail = || {
            format!(
                "`{}` is no dragonfly; write topo_parameters like `3,4;2,3;4,2;2` (groups, links between two; chassis of a group, links; blades of a chassis, links; hosts of a blade)",
                self.parameters
            )
        };
        let parts: Vec<Vec<u64>> = self.parameters.split(';').map(numbers).collect::<Result<_, _>>()?;
        let [[groups, blue], [chassis, black], [blades, green], [hosts]] =
            parts.iter().map(Vec::as_slice).collect::<Vec<_>>()[..]
        else {
            return Err(fail());
        };
        let (groups, chassis, blades, per_blade) = (*groups, *chassis, *blades, *hosts);
        if chassis.checked_mul(blades).is_some_and(|routers| groups > routers) {
            return Err(format!(
                "{groups} groups of {chassis} x {blades} routers: router j of a group holds the link to group j, so there must not be more groups than routers in one"
            ));
        }
        let counts = Dragonfly::counts(groups, chassis, blades, per_blade);
        let total = counts.and_then(|counts| counts.into_iter().try_fold(0, u64::checked_add));
        let routers = product(&[groups, chassis, blades]).filter(|&count| count <= u64::from(u32::MAX));
        let count = counts.map(|counts| counts[0]).filter(|_| routers.is_some());
        let top = 2 * count.unwrap_or(0).min(u64::from(u32::MAX)) as i64;
        let switches = (0..routers.unwrap_or(0) as u32).map(|router| top - 1 - i64::from(router));
        let (zone, nodes, private) = self.regular(world, parent, [count, total], switches)?;
        let routers = self.switches(world, zone, routers.unwrap_or(0))?;
        let router = |group: u64, chassis_of: u64, blade: u64| {
            routers[((group * chassis + chassis_of) * blades + blade) as usize]
        };
        let cables = self.cables(world);
        let mut add = |name: String, links: u64, ends: [NodeId; 2]| {
            let link = shared(Bandwidth(self.bandwidth.bytes_per_s() * links as f64), self.latency);
            let name = format!("{name}_{}", world.dragonfly_cables);
            world.dragonfly_cables += 1;
            let cable = if self.split { world.pair(&name, link)? } else { [world.link(&name, link)?; 2] };
            attach(world, cable, ends);
            Ok::<_, String>(())
        };
        for (place, &switch) in routers.iter().enumerate() {
            for host in 0..per_blade {
                let name = format!("local_link_from_router_{place}_to_node_{host}");
                add(name, 1, [nodes[place * per_blade as usize + host as usize], switch])?;
            }
        }
        for place in 0..groups * chassis {
            let (group, place) = (place / chassis, place % chassis);
            for (a, b) in all_pairs(blades) {
                let name = format!("green_link_in_chassis_{place}_between_routers_{a}_and_{b}");
                add(name, *green, [a, b].map(|blade| router(group, place, blade)))?;
            }
        }
        for group in 0..groups {
            for (a, b) in all_pairs(chassis) {
                for blade in 0..blades {
                    let name =
                        format!("black_link_in_group_{group}_between_chassis_{a}_and_{b}_blade_{blade}");
                    add(name, *black, [a, b].map(|place| router(group, place, blade)))?;
                }
            }
        }
        for (a, b) in all_pairs(groups) {
            let [from, to] = [a * blades * chassis + b, b * blades * chassis + a];
            let name = format!("blue_link_between_group_{a}_and_{b}_routers_{from}_and_{to}");
            add(name, *blue, [from, to].map(|place| routers[place as usize]))?;
        }
        world.zones[zone as usize].made =
            Some(Box::new(Dragonfly { groups, chassis, blades, hosts: per_blade, cables, private }));
        Ok(nodes)
    }
}

/// Gives the cable `[up, down]` its ends.
fn attach(world: &mut World, [up, down]: [LinkId; 2], [from, to]: [NodeId; 2]) {
    let links = world.builder.links_mut();
    links[up.index()].ends = Some([from, to]);
    if up == down {
        links[up.index()].half_duplex = true;
    } else {
        links[down.index()].ends = Some([to, from]);
    }
}

/// Unordered pairs of `0..n`, in order.
fn all_pairs(n: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b)))
}

fn product(factors: &[u64]) -> Option<u64> {
    factors.iter().try_fold(1_u64, |product, &factor| product.checked_mul(factor))
}

/// Numbers above zero, separated by commas.
fn numbers(text: &str) -> Result<Vec<u64>, String> {
    /// Dimensions or levels; with more, work would grow with their square for nothing.
    const MOST: usize = 64;
    if text.split(',').nth(MOST).is_some() {
        return Err(format!("topo_parameters has more than {MOST} numbers in a row"));
    }
    let number = |word: &str| {
        let number = word.trim().parse::<u64>().ok().filter(|&number| number > 0);
        number.ok_or_else(|| format!("`{word}` in topo_parameters is no whole number above zero"))
    };
    text.split(',').map(number).collect()
}
