//! How messages and queues fared.

use crate::flows::FlowsResult;
use crate::result::RunResult;
use crate::units::Unit;

use super::Text;

/// How messages and queues fared, where the network follows messages.
pub(super) fn flows(text: &mut Text<'_>, result: &RunResult) {
    let counter = |name: &str| result.counter(&format!("network.{name}")).unwrap_or(0);
    match &result.flows {
        Some(flows) => messages(text, flows, result.stopped.then(|| counter("messages"))),
        // stopped before
        None if counter("data_packets") > 0 => {
            text.gap();
            text.fact("messages", "none was complete", None);
        }
        None => return,
    }
    // the account of a message ends when its receiver has it: what is sent after that, for want of an acknowledgement, and
    // what is on its way when a run is stopped is in that of the network only
    let packets = counter("data_packets");
    let again = of_packets(result.flows.as_ref().filter(|_| !result.stopped), counter);
    let among = if again.is_empty() { String::new() } else { format!(": {again}") };
    text.fact("packets", &format!("{}{among}", Unit::Count.format(packets as f64)), None);
    // not among the packets of data above: acknowledgements and other control fare no better on a link
    let faults = [
        ("lost_on_links", "lost on links"),
        ("lost_on_down_links", "lost on links that were down"),
        ("corrupted", "corrupted"),
        ("duplicated", "duplicated"),
        ("reordered", "reordered"),
    ];
    let faults = happened(&faults.map(|(name, what)| (counter(name), what)));
    if !faults.is_empty() {
        text.fact("faults", &format!("packets of any kind: {faults}"), None);
    }
    let pauses = counter("pauses");
    if pauses > 0 {
        let words = format!("{} of links whose next queue was full", Unit::Count.format(pauses as f64));
        text.fact("pauses", &words, None);
    }
    if let Some(queue) = result.queues.first().filter(|queue| queue.most_bytes > 0) {
        let room = queue
            .capacity_bytes
            .map_or_else(String::new, |bytes| format!(" of {}", Unit::Bytes.format(bytes as f64)));
        let words = format!("{}: {}{room}", queue.place(), Unit::Bytes.format(queue.most_bytes as f64));
        text.fact("longest queue", &words, None);
    }
}

/// What happened to packets: as `flows` tell where all messages were complete, else as the switches counted until the run was
/// stopped.
fn of_packets(flows: Option<&FlowsResult>, counter: impl Fn(&str) -> u64) -> String {
    let (trims, acknowledged) = match flows {
        Some(flows) => ((flows.trims, "reported as trimmed"), flows.marks),
        None => ((counter("trims"), "trimmed by switches"), 0),
    };
    happened(&[
        (counter("retransmissions"), "sent again"),
        (counter("drops"), "dropped at full queues"),
        (counter("returned"), "came back as headers"),
        trims,
        (counter("marks"), "marked by switches"),
        (acknowledged, "acknowledgements with marks"),
        (counter("timeouts"), timeouts(counter("timeouts"))),
    ])
}

const fn timeouts(count: u64) -> &'static str {
    if count == 1 { "time-out" } else { "time-outs" }
}

/// How long messages took; of those that are complete, where the run was stopped after so many had begun.
fn messages(text: &mut Text<'_>, flows: &FlowsResult, begun: Option<u64>) {
    let seconds = [flows.duration_s.p50, flows.duration_s.p99, flows.duration_s.max];
    let times = Unit::Seconds.format_all(&seconds);
    text.gap();
    let count = Unit::Count.format(flows.count as f64);
    let (who, them) = match begun {
        Some(begun) if begun > flows.count => {
            (format!("{count} of {} complete", Unit::Count.format(begun as f64)), "these")
        }
        _ => (count, "them"),
    };
    let words = match flows.count {
        // nothing to compare with
        1 => format!("{who}, in {}; {:.2} times as long as alone", times[2].trim(), flows.slowdown.mean),
        _ => format!(
            "{who}, half of {them} in {}, 99 % in {}, all in {}; {:.2} times as long as alone in the mean, {:.2} times for 99 %; fairness {:.3}",
            times[0].trim(),
            times[1].trim(),
            times[2].trim(),
            flows.slowdown.mean,
            flows.slowdown.p99,
            flows.jain,
        ),
    };
    text.fact("messages", &words, None);
}

/// What happened at all, and how often.
fn happened(counts: &[(u64, &str)]) -> String {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> =
        counts.map(|(count, what)| format!("{} {what}", Unit::Count.format(*count as f64))).collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use crate::flows::{FlowsResult, Spread};
    use crate::result::tests::sample;
    use crate::style::Style;
    use crate::summary::summary;

    #[test]
    fn faults_are_told_where_there_were_any() {
        let mut result = sample();
        result.flows = Some(FlowsResult { count: 2, packets: 99, ..FlowsResult::default() });
        let counts =
            ["lost_on_links", "lost_on_down_links", "corrupted", "duplicated", "reordered", "discarded"];
        result.counters = counts.map(|name| (format!("network.{name}"), 0)).into();
        // the message was complete before its packet was sent again
        let others = [("data_packets", 100), ("retransmissions", 1), ("timeouts", 1)];
        result.counters.extend(others.map(|(name, count)| (format!("network.{name}"), count)));
        let text = summary(&result, &Style::PLAIN);
        assert!(
            !text.contains("faults") && text.contains("  packets       100: 1 sent again, 1 time-out\n"),
            "{text}"
        );
        result.counters =
            counts.iter().zip(1..).map(|(name, n)| (format!("network.{name}"), 1111 * n)).collect();
        let text = summary(&result, &Style::PLAIN);
        let expected = [
            "  faults        packets of any kind: 1,111 lost on links, 2,222 lost on links",
            "                that were down, 3,333 corrupted, 4,444 duplicated, 5,555",
            "                reordered\n",
        ];
        assert!(text.contains(&expected.join("\n")), "{text}");
    }

    #[test]
    fn one_message_is_not_compared_with_others() {
        let mut result = sample();
        let one = Spread { mean: 1.5, max: 2e-6, ..Spread::default() };
        result.flows =
            Some(FlowsResult { count: 1, duration_s: one, slowdown: one, ..FlowsResult::default() });
        let text = summary(&result, &Style::PLAIN);
        assert!(text.contains("  messages      1, in 2.000 us; 1.50 times as long as alone\n"), "{text}");
    }

    #[test]
    fn a_run_that_was_stopped_counts_the_packets_of_all_messages() {
        let mut result = sample();
        result.flows = Some(FlowsResult {
            count: 384,
            packets: 146_688,
            retransmissions: 3,
            marks: 9,
            ..FlowsResult::default()
        });
        let counters =
            [("messages", 16_256), ("data_packets", 1_000_448), ("marks", 847_649), ("retransmissions", 12)];
        result.counters = counters.map(|(name, count)| (format!("network.{name}"), count)).into();
        result.stop();
        let text = summary(&result, &Style::PLAIN);
        assert!(text.contains("  messages      384 of 16,256 complete, half of these in"), "{text}");
        let packets = "  packets       1,000,448: 12 sent again, 847,649 marked by switches\n";
        assert!(text.contains(packets), "{text}");
        // all of those that had begun were complete
        result.counters.insert("network.messages".to_owned(), 384);
        let text = summary(&result, &Style::PLAIN);
        assert!(text.contains("  messages      384, half of them in"), "{text}");
    }
}
