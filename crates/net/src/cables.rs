//! Levels whose messages travel over cables from node to node, on topologies whose links may be known by routes alone.

use stratasim_core::{BuildError, LinkId};
use stratasim_topo::io::simgrid::is_loopback;
use stratasim_topo::{Sharing, Topology};

/// The first link that no two nodes are the ends of, and how many there are. Loopbacks do not count, and for more than that nobody
/// knows of fat pipes.
fn of_routes(topology: &Topology, with_fat_pipes: bool) -> Option<(LinkId, usize)> {
    let has_no_ends = |id: &LinkId| {
        let link = topology.link(*id);
        let counts = with_fat_pipes || link.sharing != Sharing::FatPipe;
        link.ends.is_none() && counts && !is_loopback(topology, *id)
    };
    let mut links = (0..topology.link_count()).map(LinkId::from_index).filter(has_no_ends);
    let first = links.next()?;
    Some((first, 1 + links.count()))
}

/// Refuses topologies with several nodes and no cable.
///
/// # Errors
/// Only routes say which links join nodes.
pub(crate) fn check(topology: &Topology) -> Result<(), BuildError> {
    let any = topology.links().iter().any(|link| link.ends.is_some());
    match of_routes(topology, true) {
        Some((first, count)) if !any && topology.node_count() > 1 => {
            let all = match count {
                1 => "its only link".to_owned(),
                _ => format!("all of its {count} links"),
            };
            let stand = if count == 1 { "stands" } else { "stand" };
            let reason = format!(
                "this level needs cables from node to node, and this topology has none: {all} ({}{}) {stand} in routes alone, \
                 as messages at flow level use them",
                topology.link_name(first),
                if count > 1 { ", ..." } else { "" },
            );
            Err(BuildError::new("", reason))
        }
        _ => Ok(()),
    }
}

/// Refuses links that change over time, for a level that does not model it.
///
/// # Errors
/// Some do.
pub(crate) fn refuse_changes(topology: &Topology, level: &str) -> Result<(), BuildError> {
    match topology.profiles().links.keys().next() {
        None => Ok(()),
        Some(&first) => {
            let name = topology.link_name(first);
            let reason = format!(
                "links change over time ({name}), which the {level} level does not model; the flow level does"
            );
            Err(BuildError::new("", reason))
        }
    }
}

/// What the message that nothing joins two nodes goes on with, where they may be joined by routes.
pub(crate) fn hint(topology: &Topology) -> String {
    of_routes(topology, false).map_or_else(String::new, |(first, _)| {
        let name = topology.link_name(first);
        format!("; links that stand in routes alone, such as {name}, are no cables, which this level needs")
    })
}

/// What to say of links that such a level leaves out, such as limiters of nodes.
pub(crate) fn note(topology: &Topology) -> Option<String> {
    let (first, count) = of_routes(topology, false)?;
    let name = topology.link_name(first);
    Some(if count == 1 {
        format!("link {name} stands in routes alone: no message of this level crosses it")
    } else {
        format!("{count} links stand in routes alone ({name}, ...): no message of this level crosses them")
    })
}
