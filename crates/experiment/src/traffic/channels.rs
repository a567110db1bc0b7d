//! The channels between routers: how much each carried, and in which direction it leads.

use stratasim_core::LinkId;
use stratasim_net::flit::fabric::from_topology::Wiring;
use stratasim_net::flit::fabric::{End, FULL_WIDTH, Fabric};
use stratasim_report::traffic::{ChannelResult, ChannelSummary};
use stratasim_topo::geometry::{Direction, Geometry};

/// Channels that a result lists.
const BUSIEST: usize = 32;
/// Routers up to which a result has the utilisation of every channel.
pub(super) const MAPPED_ROUTERS: usize = 1024;

/// A channel between routers: its use, router, output and flits.
type Use = (f64, u32, u16, u64);

/// Use of every channel between routers.
fn each_channel(fabric: &Fabric, [before, after]: &[Vec<u64>; 2], cycles: u64) -> Vec<Use> {
    let of = |router: u32, port: u16| {
        let channel = fabric.channel(router, port);
        let at = fabric.index(router, port);
        let flits = after[at] - before[at];
        let width = f64::from(channel.spacing) / f64::from(FULL_WIDTH);
        let is_between = matches!(channel.end, End::Router { .. });
        // a narrow channel has not yet carried all that it was given
        let utilisation = (flits as f64 * width / cycles.max(1) as f64).min(1.0);
        is_between.then_some((utilisation, router, port, flits))
    };
    let routers = 0..fabric.router_count() as u32;
    routers
        .flat_map(|router| (0..fabric.output_count(router)).filter_map(move |port| of(router, port)))
        .collect()
}

/// What the channels between routers carried in `cycles` cycles; `flits` is what they had carried before and
/// after. `name` names links of a topology, `directions` where they lead.
pub(crate) fn channel_summary(
    fabric: &Fabric,
    flits: &[Vec<u64>; 2],
    cycles: u64,
    name: &dyn Fn(LinkId) -> String,
    directions: Option<&Directions<'_>>,
) -> ChannelSummary {
    let mut all = each_channel(fabric, flits, cycles);
    let (mut columns, mut by_router) = (Vec::new(), Vec::new());
    if fabric.router_count() <= MAPPED_ROUTERS {
        let places: Vec<usize>;
        (columns, places) =
            directions.and_then(|directions| directions.columns(fabric, &all)).unwrap_or_else(|| {
                let ports = all.iter().map(|&(_, _, port, _)| port + 1).max().unwrap_or(0);
                let names = (0..ports).map(|port| port.to_string()).collect();
                (names, all.iter().map(|&(_, _, port, _)| port.into()).collect())
            });
        by_router = vec![vec![-1.0; columns.len()]; fabric.router_count()];
        for (&(utilisation, router, ..), &column) in all.iter().zip(&places) {
            by_router[router as usize][column] = utilisation as f32;
        }
    }
    let count = all.len() as u64;
    let sum: f64 = all.iter().map(|(utilisation, ..)| utilisation).sum();
    let mean = (count > 0).then(|| sum / count as f64);
    // no two are equal, and only the first are looked at
    let order = |a: &Use, b: &Use| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2)));
    if all.len() > BUSIEST {
        all.select_nth_unstable_by(BUSIEST, order);
        all.truncate(BUSIEST);
    }
    all.sort_unstable_by(order);
    let named = |&(utilisation, router, port, flits): &Use| {
        let name = match fabric.channel(router, port).link {
            Some(link) => name(link),
            None => format!("router {router} output {port}"),
        };
        ChannelResult { name, router, port, flits, utilisation }
    };
    let busiest: Vec<ChannelResult> = all.iter().map(named).collect();
    let max_utilisation = all.first().map(|&(utilisation, ..)| utilisation);
    ChannelSummary {
        count,
        mean_utilisation: mean,
        max_utilisation,
        busiest,
        columns,
        by_router,
        routers: Vec::new(),
    }
}

/// The directions of channels on a regular topology.
pub(crate) struct Directions<'a> {
    wiring: &'a Wiring,
    geometry: &'a Geometry,
}

impl<'a> Directions<'a> {
    /// Those of a topology that knows where its routers are.
    pub(crate) fn of(wiring: &'a Wiring) -> Option<Self> {
        wiring.geometry.as_ref().map(|geometry| Self { wiring, geometry })
    }

    /// The columns of a table of `all` channels, router by router, and which of them each channel is in; none where a
    /// channel has no direction. Several of one router and direction have columns of their own.
    fn columns(&self, fabric: &Fabric, all: &[Use]) -> Option<(Vec<String>, Vec<usize>)> {
        let node = |router: u32| self.wiring.nodes[router as usize].0;
        let direction = |&(_, router, port, _): &Use| match fabric.channel(router, port).end {
            End::Router { router: to, .. } => self.geometry.direction(node(router), node(to)),
            _ => None,
        };
        // each direction, the router that was seen last, its channels in that direction, and the most of any router
        let mut ways: Vec<(Direction, u32, usize, usize)> = Vec::new();
        let mut keys = Vec::with_capacity(all.len());
        for channel in all {
            let (direction, router) = (direction(channel)?, channel.1);
            let way = ways.iter().position(|way| way.0 == direction).unwrap_or_else(|| {
                ways.push((direction, router, 0, 0));
                ways.len() - 1
            });
            let (_, seen, here, most) = &mut ways[way];
            *here = if *seen == router { *here } else { 0 };
            keys.push((way, *here));
            *seen = router;
            *here += 1;
            *most = (*most).max(*here);
        }
        let mut order: Vec<usize> = (0..ways.len()).collect();
        order.sort_unstable_by_key(|&way| ways[way].0);
        let (mut names, mut first) = (Vec::new(), vec![0; ways.len()]);
        for way in order {
            let (direction, .., most) = ways[way];
            first[way] = names.len();
            match most {
                1 => names.push(direction.to_string()),
                _ => names.extend((0..most).map(|number| format!("{direction} {number}"))),
            }
        }
        Some((names, keys.into_iter().map(|(way, number)| first[way] + number).collect()))
    }
}
