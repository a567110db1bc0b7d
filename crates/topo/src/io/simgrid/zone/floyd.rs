//! `routing="Floyd"`: fewest links over the declared routes, all pairs at once.

use std::sync::OnceLock;

use stratasim_core::LinkId;

use super::table::Table;
use super::{Gateways, LocalRoutes};
use crate::io::simgrid::routes::Walk;

/// A zone of more members would need more than a few hundred MB and minutes.
pub(in crate::io::simgrid) const MOST_MEMBERS: u32 = 4096;

/// Floyd and Warshall's shortest paths. A route costs its number of links. Transit members are
/// tried in order and only a strictly cheaper path replaces one found before.
#[derive(Debug)]
pub(in crate::io::simgrid) struct Floyd {
    table: Table,
    members: u32,
    loopback: Option<LinkId>,
    /// By `src * members + dst`: the member before `dst`; computed when first asked for.
    before: OnceLock<Vec<u32>>,
}

const NONE: u32 = u32::MAX;

impl Floyd {
    /// Routes among `members` members. `loopback`: the link of members that declare none to
    /// themselves, `None` in a zone of zones.
    pub(in crate::io::simgrid) fn new(table: Table, members: u32, loopback: Option<LinkId>) -> Self {
        assert!(members <= MOST_MEMBERS, "checked when the file was read");
        Self { table, members, loopback, before: OnceLock::new() }
    }

    fn search(&self) -> Vec<u32> {
        let n = self.members as usize;
        let mut cost = vec![u64::MAX; n * n];
        let mut before = vec![NONE; n * n];
        for route in self.table.routes() {
            let [src, dst] = route.ends;
            let place = src as usize * n + dst as usize;
            cost[place] = self.table.links(route).len() as u64;
            before[place] = src;
        }
        if self.loopback.is_some() {
            for member in 0..n {
                let place = member * n + member;
                if before[place] == NONE {
                    cost[place] = 1;
                    before[place] = member as u32;
                }
            }
        }
        for transit in 0..n {
            for src in 0..n {
                let first = cost[src * n + transit];
                if first == u64::MAX {
                    continue;
                }
                for dst in 0..n {
                    let second = cost[transit * n + dst];
                    if second < u64::MAX && first + second < cost[src * n + dst] {
                        cost[src * n + dst] = first + second;
                        before[src * n + dst] = before[transit * n + dst];
                    }
                }
            }
        }
        before
    }
}

impl LocalRoutes for Floyd {
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        let before = self.before.get_or_init(|| self.search());
        let mut members = vec![dst];
        while members.len() == 1 || members.last() != Some(&src) {
            let at = members[members.len() - 1];
            let previous = before[src as usize * self.members as usize + at as usize];
            if previous == NONE {
                return Err("no declared routes of the Floyd zone between them lead there".to_owned());
            }
            members.push(previous);
        }
        members.reverse();
        join(walk, &self.table, &members, self.loopback)
    }
}

/// Appends the declared routes along `members`, and where one ends at another gateway than the
/// next one starts from, the way between the two. Gives the first and last gateway.
fn join(
    walk: &mut Walk<'_>,
    table: &Table,
    members: &[u32],
    loopback: Option<LinkId>,
) -> Result<Option<Gateways>, String> {
    let mut gateways: Option<Gateways> = None;
    for pair in members.windows(2) {
        let Some(route) = table.get(pair[0], pair[1]) else {
            // only a member's way to itself may be undeclared
            walk.out.extend(loopback);
            continue;
        };
        if let (Some([_, reached]), Some([leaving, _])) = (gateways, route.gateways)
            && reached != leaving
        {
            walk.global(reached, leaving)?;
        }
        walk.out.extend(table.links(route));
        if let Some([leaving, entering]) = route.gateways {
            gateways = Some([gateways.map_or(leaving, |first| first[0]), entering]);
        }
    }
    Ok(gateways)
}
