//! Links that stop each other for good.

use super::engine::Engine;
use super::port::NOTHING;

/// A class of packets at a port, before a link that may stop it.
pub(super) type Lane = (u32, u8);

/// Lanes that will never send again, each because of the next one and the last because of the first; none where none is found.
///
/// A lane that may not send what it has goes on when something that came by its link has left the node behind it. So it does
/// sooner or later where word of room is on its way to it, where something is still on its link, where a packet that came by it
/// is on its way out of that node, or waits there at a lane that goes on. What is left when all that is worked out waits for
/// nobody but each other.
pub(super) fn circle(engine: &Engine) -> Option<Vec<Lane>> {
    let classes = usize::from(engine.rules.classes);
    let place = |(port, class): Lane| port as usize * classes + usize::from(class);
    let lanes =
        || (0..engine.ports.len() as u32).flat_map(|port| (0..classes as u8).map(move |class| (port, class)));
    let mut goes_on: Vec<bool> = lanes().map(|lane| goes_on(engine, lane, place(lane))).collect();
    // by lane, those by which the packets came that wait at it
    let mut behind: Vec<Vec<Lane>> = lanes().map(|lane| came_by(engine, lane)).collect();
    let mut ahead: Vec<Lane> = lanes().filter(|&lane| goes_on[place(lane)]).collect();
    while let Some(lane) = ahead.pop() {
        for lane in std::mem::take(&mut behind[place(lane)]) {
            if !std::mem::replace(&mut goes_on[place(lane)], true) {
                ahead.push(lane);
            }
        }
    }
    let stopped: Vec<Lane> = lanes().filter(|&lane| !goes_on[place(lane)]).collect();
    let waits_for = |lane: Lane| stopped.iter().copied().find(|&next| behind[place(next)].contains(&lane));
    let mut way = vec![*stopped.first()?];
    loop {
        let next = waits_for(way[way.len() - 1])?;
        if let Some(begin) = way.iter().position(|&lane| lane == next) {
            return Some(way.split_off(begin));
        }
        way.push(next);
    }
}

/// Whether a lane goes on whatever others do, or has nothing that could.
fn goes_on(engine: &Engine, (port, class): Lane, place: usize) -> bool {
    let service = engine.ports.service(port);
    let lane = engine.ports[port as usize].lanes.get(class);
    let heads = heads(engine, (port, class)).filter(|&head| head != NOTHING);
    let mut bytes = heads.map(|head| engine.packets[head as usize].bytes).peekable();
    let is_idle = bytes.peek().is_none();
    let hears_of_room = engine.returning.get(place).is_some_and(|words| !words.is_empty())
        || lane.credit_bytes == 0 && !lane.pausing && engine.returning.is_empty();
    let carries = engine.now < service.busy_until.saturating_add(engine.ports.kind(port).delay);
    // what has come by it and still leaves the node behind it
    let node = engine.ends[port as usize].node;
    let mut exits = engine.routes.ports_of(node);
    let leaves = exits.any(|exit| engine.ports[exit as usize].leaving_from == port);
    is_idle
        || lane.held_bytes == 0
        || hears_of_room
        || carries
        || leaves
        || bytes.any(|bytes| lane.lets(bytes))
}

/// The first packets of the lines in which a class waits at a port; [`NOTHING`] where none does.
fn heads(engine: &Engine, (port, class): Lane) -> impl Iterator<Item = u32> {
    let control = if class == 0 { engine.ports.service(port).high.head } else { NOTHING };
    [control, engine.ports.line(port, class).head].into_iter()
}

/// By which lanes the packets came that wait at one.
fn came_by(engine: &Engine, lane: Lane) -> Vec<Lane> {
    let mut all = Vec::new();
    for mut at in heads(engine, lane) {
        while at != NOTHING {
            let packet = &engine.packets[at as usize];
            if packet.came_by != NOTHING {
                all.push((packet.came_by, packet.class));
            }
            at = packet.next;
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}
