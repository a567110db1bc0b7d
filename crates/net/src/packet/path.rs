//! The way that a flow took.

use stratasim_core::LinkId;

use super::engine::Engine;
use super::host::Connection;
use super::routes::Next;

impl Engine {
    /// The links that all data packets of a connection take, in order: the whole way where all take one, else as far as they
    /// may part. Where links are down meanwhile they may part at once.
    pub(super) fn common_path(&self, number: u32, connection: &Connection) -> Box<[LinkId]> {
        let mut links = vec![self.ports[connection.port as usize].link];
        let mut node = self.ends[connection.port as usize].node;
        let mut entropy = connection.sender.only_entropy();
        let target = self.routes.node_of(connection.to);
        let detours = self.outages.touch(connection.message.start, self.now.saturating_add(1));
        while node != target && !detours {
            let next = match self.landings.toward(&self.routes, node, number, connection.to) {
                Next::Port(port) => Some(port),
                Next::Set(set) => {
                    self.balancing.steady(node, number, &mut entropy, self.routes.members(node, set))
                }
                Next::Nowhere => None,
            };
            let Some(port) = next else { break };
            links.push(self.ports[port as usize].link);
            node = self.ends[port as usize].node;
        }
        links.into()
    }
}
