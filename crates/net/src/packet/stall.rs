//! Why nothing moves any more: who waits for whom.

use stratasim_topo::Topology;

use super::parts::Parts;
use super::port::NOTHING;

/// Names the ports that are stopped in a circle, where there is one.
pub(super) fn report(parts: &Parts, topology: &Topology) -> String {
    // links that stop each other run in one part
    let engine = parts.any();
    let full = engine.rules.full_bytes;
    let is_stopped = |port: u32, class: u8| !engine.ports[port as usize].lanes.get(class).lets(full);
    let classes = engine.rules.classes;
    let lanes = (0..engine.ports.len() as u32).flat_map(|port| (0..classes).map(move |class| (port, class)));
    let stopped: Vec<(u32, u8)> = lanes.filter(|&(port, class)| is_stopped(port, class)).collect();
    let name = |(port, _): (u32, u8)| topology.link_name(engine.ports[port as usize].link);
    // a stopped port goes on when something that came by its link has left the node behind it, by a port that is stopped;
    // packets keep their class
    let waits_for = |(port, class): (u32, u8)| -> Option<(u32, u8)> {
        let node = engine.ports[port as usize].to;
        let holds = |next: u32| {
            let line = &engine.ports[next as usize];
            let control = if class == 0 { line.high.head } else { NOTHING };
            let mut at = [control, line.lanes.get(class).line.head];
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
        let next = engine.routes.ports_of(node).find(|&next| is_stopped(next, class) && holds(next));
        next.map(|next| (next, class))
    };
    for &start in &stopped {
        let mut way = vec![start];
        while let Some(next) = waits_for(way[way.len() - 1]) {
            if let Some(begin) = way.iter().position(|&lane| lane == next) {
                let names: Vec<String> = way[begin..].iter().map(|&lane| name(lane)).collect();
                return format!(
                    "deadlock: {} links stop each other in a circle, each waits until the next goes on: {}",
                    names.len(),
                    names.join(" -> ")
                );
            }
            way.push(next);
        }
    }
    let connections = (0..parts.connection_count()).filter_map(|number| parts.at_sender(number));
    let messages: usize = connections.map(|connection| connection.open_messages().count()).sum();
    format!(
        "nothing can happen any more, and {messages} messages have not arrived: no packet is on its way and no \
         sender waits for anything; this transport does not recover from what was lost"
    )
}
