//! Why nothing moves any more: who waits for whom.

use stratasim_topo::Topology;

use super::engine::Engine;
use super::port::NOTHING;

/// Names the ports that are stopped in a circle, where there is one.
pub(super) fn report(engine: &Engine, topology: &Topology) -> String {
    let stopped: Vec<u32> =
        (0..engine.ports.len() as u32).filter(|&port| engine.ports[port as usize].paused).collect();
    let name = |port: u32| topology.link_name(engine.ports[port as usize].link);
    // a stopped port goes on when something that came by its link has left the node behind it, by a port that is stopped
    let waits_for = |port: u32| -> Option<u32> {
        let node = engine.ports[port as usize].to;
        let holds = |next: u32| {
            let line = &engine.ports[next as usize];
            let mut at = [line.high.head, line.low.head];
            at.iter_mut().any(|at| {
                while *at != NOTHING {
                    let packet = &engine.packets[*at as usize];
                    if packet.came_by == port {
                        return true;
                    }
                    *at = packet.next;
                }
                false
            })
        };
        engine.routes.ports_of(node).find(|&next| engine.ports[next as usize].paused && holds(next))
    };
    for &start in &stopped {
        let mut way = vec![start];
        while let Some(next) = waits_for(way[way.len() - 1]) {
            if let Some(begin) = way.iter().position(|&port| port == next) {
                let names: Vec<String> = way[begin..].iter().map(|&port| name(port)).collect();
                return format!(
                    "deadlock: {} links stop each other in a circle, each waits until the next goes on: {}",
                    names.len(),
                    names.join(" -> ")
                );
            }
            way.push(next);
        }
    }
    let messages = engine.connections.iter().flatten().filter(|connection| !connection.reported).count();
    format!(
        "nothing can happen any more, and {messages} messages have not arrived: no packet is on its way and no \
         sender waits for anything; this transport does not recover from what was lost"
    )
}
