//! `routing="Full"`: every route is declared.

use stratasim_core::LinkId;

use super::table::Table;
use super::{Gateways, LocalRoutes};
use crate::io::simgrid::routes::Walk;

/// The declared routes, and the loopback of members that declare none.
#[derive(Debug)]
pub(in crate::io::simgrid) struct Full {
    pub(in crate::io::simgrid) table: Table,
    /// `None` in a zone of zones.
    pub(in crate::io::simgrid) loopback: Option<LinkId>,
}

impl LocalRoutes for Full {
    fn route(&self, walk: &mut Walk<'_>, src: u32, dst: u32) -> Result<Option<Gateways>, String> {
        match self.table.get(src, dst) {
            Some(route) => {
                walk.out.extend(self.table.links(route));
                Ok(route.gateways)
            }
            None if src == dst => {
                walk.out.extend(self.loopback);
                Ok(None)
            }
            None => Err("the Full zone between them declares no route for this pair".to_owned()),
        }
    }
}
