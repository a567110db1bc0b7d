//! Why nothing moves any more, or nothing arrives: who waits for whom, and what fills the network.

use stratasim_core::{Bytes, NodeId, Time, Token};
use stratasim_topo::Topology;

use super::deadlock::{LaneId, Stuck};
use super::network::PacketNetwork;
use super::parts::Parts;
use super::patience::{Patience, RECEIVERS_ALONE, Verdict, fullest};

/// Messages that are named.
const NAMED: usize = 5;

impl PacketNetwork {
    /// Nothing can happen any more, and messages are open.
    pub(super) fn stand_still(&mut self) {
        let payload = self.transports.spec.packets.payload_bytes;
        let text = report(&self.parts, &self.topology, payload);
        // it has been so since the last event, and no messages were accepted later
        self.give_up(&text, self.parts.last());
    }

    /// Looks whether anything gets further.
    pub(super) fn look(&mut self) {
        let complete = self.flows.len() as u64;
        if let Some(verdict) = self.patience.step(&mut self.parts, complete) {
            let payload = self.transports.spec.packets.payload_bytes;
            let text = collapse(verdict, &self.parts, &self.topology, &self.patience, payload);
            self.give_up(&text, self.parts.now());
        }
    }

    /// Messages are open, and will not arrive, because of what `text` says, as is known `at` an instant.
    fn give_up(&mut self, text: &str, at: u64) {
        self.now = self.now.max(Time::from_ps(at));
        for number in 0..self.parts.connection_count() {
            let Some(connection) = self.parts.at_sender(number) else { continue };
            let tokens: Vec<Token> = connection.open_messages().collect();
            self.parts.close(number);
            for token in tokens {
                self.outcomes.fail(token, text.to_owned());
            }
        }
        self.open = 0;
    }
}

/// Nothing can happen any more: why, since when, and what is left. `payload` are the bytes of a full packet.
fn report(parts: &Parts, topology: &Topology, payload: u32) -> String {
    let open = not_arrived(parts);
    match circle(parts, topology) {
        // time-outs may have gone on for long since
        Some(circle) => {
            format!("{circle}\n  {}, and {open}{}", nothing_new(parts), named(parts, topology, payload))
        }
        None => format!(
            "nothing can happen any more, and {open}: no packet is on its way and no sender \
             waits for anything; this transport does not recover from what was lost"
        ),
    }
}

/// How many messages have not arrived, in words.
fn not_arrived(parts: &Parts) -> String {
    let open = open_messages(parts);
    format!("{open} message{} not arrived", if open == 1 { " has" } else { "s have" })
}

fn open_messages(parts: &Parts) -> usize {
    let connections = (0..parts.connection_count()).filter_map(|number| parts.at_sender(number));
    connections.map(|connection| connection.open_messages().count()).sum()
}

/// The links that stop each other in a circle, where there is one.
fn circle(parts: &Parts, topology: &Topology) -> Option<String> {
    // links that stop each other run in one part
    let engine = parts.any();
    let circle = Stuck::of(engine)?.circle(engine)?;
    let name = |&(port, _): &LaneId| topology.link_name(engine.ports[port as usize].link);
    let names: Vec<String> = circle.iter().map(name).collect();
    Some(format!(
        "deadlock: {} links stop each other in a circle, each waits until the next goes on: {}",
        names.len(),
        names.join(" -> ")
    ))
}

/// Links that are down for good, in words; none where there are none.
fn dead(parts: &Parts, topology: &Topology) -> Option<String> {
    let is_dead = |port: &u32| parts.any().is_dead(*port, parts.now());
    let links = (0..parts.any().ports.len() as u32).filter(is_dead);
    let names: Vec<_> = links.map(|port| topology.link_name(parts.any().ports[port as usize].link)).collect();
    (!names.is_empty()).then(|| format!("links that are down for good ({})", names.join(", ")))
}

/// Why a sender that asks a number of times only hears nothing, and what may help.
pub(super) fn silence(parts: &Parts, topology: &Topology) -> String {
    if let Some(why) = circle(parts, topology) {
        return why;
    }
    let advice = "with more `max-probes` its recovery asks more often";
    match (parts.any().fault_counts.on_down_links, dead(parts, topology)) {
        (0, _) => advice.to_owned(),
        (packets, Some(links)) => format!("{} lost on {links}", are(packets)),
        (packets, None) => format!("{} lost on links that were down, and {advice}", are(packets)),
    }
}

/// So many packets, as the beginning of a sentence.
fn are(packets: u64) -> String {
    if packets == 1 { "1 packet was".to_owned() } else { format!("{packets} packets were") }
}

/// Nothing gets any further although packets or time-outs go on: since when, what is left, what fills the network, and what
/// may help. `payload` are the bytes of a full packet.
fn collapse(
    verdict: Verdict,
    parts: &Parts,
    topology: &Topology,
    patience: &Patience,
    payload: u32,
) -> String {
    let since = patience.since();
    let open = not_arrived(parts);
    let named = named(parts, topology, payload);
    if verdict == Verdict::Still {
        let why = circle(parts, topology).unwrap_or_else(|| {
            if parts.ports().any(|port| port.waiting_bytes() > 0) {
                "packets wait at ports that were asked to stop, or have no room before them".into()
            } else {
                "senders wait for credit or acknowledgements that were lost on their way, and neither end says again what the \
                 other lacks: another `recovery` may (see `stratasim list recoveries`)"
                    .into()
            }
        });
        return format!("no packet moves any more, time-outs alone go on, and {open}{named}\n  {why}");
    }
    let senders = parts.senders();
    let sent = senders.packets - since.data_packets;
    let requests = match senders.requests - since.requests {
        0 => String::new(),
        1 => " and 1 request".to_owned(),
        requests => format!(" and {requests} requests"),
    };
    let mut text = format!(
        "{}: by {}, {sent} packets of data{requests} were sent in vain, and {open}{named}",
        nothing_new(parts),
        rounded(parts.now()),
    );
    if let Some(why) = circle(parts, topology) {
        return text + "\n  " + &why;
    }
    let (mut trims, mut drops, mut lost) = (0, 0, 0);
    for (port, seen) in parts.ports().zip(&since.ports) {
        trims += port.rest.counts.trims - seen.trims;
        drops += port.rest.counts.drops - seen.drops;
        lost += port.rest.counts.vanished;
    }
    let faults = parts.any().fault_counts;
    let lost_on_dead = faults.on_down_links - since.on_down_links;
    let faulty = lost - since.lost + faults.discarded - since.corrupted;
    let elapsed_s = (parts.now() - since.at) as f64 * 1e-12;
    if let Some((port, did)) = fullest(parts, since) {
        let share = 100.0 * did.bytes as f64 / port.rest.kind.rate.bytes_per_s() / elapsed_s;
        let data = port.waiting_data_bytes();
        text += &format!(
            "\n  the fullest queue: {}, {share:.0} % of the time busy, where {} of headers and other control wait and {} of data, \
             {} packets were trimmed and {} dropped",
            topology.link_name(port.rest.link),
            Bytes(port.service.high.bytes),
            Bytes(data),
            did.trims,
            did.drops
        );
    }
    let most = trims.max(drops).max(lost_on_dead).max(faulty);
    let by_senders = sent + (senders.requests - since.requests);
    let said = (parts.totals().sent - since.sent).saturating_sub(by_senders);
    let advice = if said / RECEIVERS_ALONE > by_senders {
        format!(
            "receivers alone go on: {said} packets of credit and acknowledgements keep the links busy and leave data no turn; \
             links with more room, or another congestion control, may help"
        )
    } else if most < sent / 2 {
        "most of what arrives had arrived before: a longer time-out of the recovery may help".into()
    } else if most == lost_on_dead {
        let links = dead(parts, topology).unwrap_or_else(|| "links that were down".to_owned());
        format!("{} sent onto {links}", are(lost_on_dead))
    } else if most == faulty {
        let odds = patience.hopeless().map_or_else(String::new, |sent| {
            format!(" (on the longest way, {sent:.0e} are sent for one that gets there and of which word comes back)")
        });
        format!("links lost or changed {faulty} packets{odds}: see `loss` and `faults`")
    } else if most == trims && parts.any().rules.queue.control_in_a_row == u32::MAX {
        "headers go before all data and leave it no turn: `headers-in-a-row = 10` of the trimming queue, or a congestion \
         control that slows down when packets are trimmed (such as nscc), may help"
            .into()
    } else {
        // queues that hold packets back drop only what comes after a pause
        let room = if parts.any().rules.queue.holds() { "headroom" } else { "buffer" };
        format!(
            "{} packets found no room: another congestion control, or a larger `{room}`, may help",
            trims + drops
        )
    };
    text + "\n  " + &advice
}

/// Since when nothing gets further, in words.
fn nothing_new(parts: &Parts) -> String {
    format!("nothing new has come to any receiver since {}", rounded(parts.fresh_at()))
}

/// An instant to four digits.
fn rounded(at: u64) -> Time {
    Time::from_ps(at).rounded(4)
}

/// The first messages that have not arrived, and what they lack.
fn named(parts: &Parts, topology: &Topology, payload: u32) -> String {
    let node = |host: u32| topology.node_name(NodeId(parts.any().routes.node_of(host)));
    let all = (0..parts.connection_count()).filter_map(|number| {
        let (sender, receiver) = (parts.at_sender(number)?, &parts.at_receiver(number)?.receiver);
        sender.open_messages().next()?;
        let message = &sender.message;
        let here = receiver.delivered_to() + u64::from(receiver.out_of_order());
        let lacks = (message.end.saturating_sub(here) * u64::from(payload)).min(message.bytes);
        let [from, to] = [sender.from, sender.to].map(node);
        Some(format!("\n  {from} to {to}: {} of {} left", Bytes(lacks), Bytes(message.bytes)))
    });
    let names: Vec<_> = all.take(NAMED).collect();
    let more = open_messages(parts) - names.len();
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    names.concat() + &more
}
