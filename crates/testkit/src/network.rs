//! What every network must do, whatever its level of detail.
//!
//! Each rule is a function that builds the network anew on several machines, loads it with random
//! messages and panics with what it found. [`crate::network_contract!`] makes tests of them.

use std::sync::Arc;

use rand::RngExt as _;
use stratasim_core::model::{Network, NetworkDone, Transfer};
use stratasim_core::{Duration, Time, Token};
use stratasim_topo::Topology;

use crate::drive::{Log, drive_messages};
use crate::machines::machines;
use crate::traffic::{Timed, random, stream};

/// Makes the network under test.
pub type Build<'a> = &'a dyn Fn(Arc<Topology>) -> Box<dyn Network>;

/// A new network on the machine in hand.
type Fresh<'a> = &'a dyn Fn() -> Box<dyn Network>;

const MESSAGES: u64 = 150;

/// Calls `look` with the network, messages and a number for each of several loads.
fn each_load(build: Build<'_>, look: &mut dyn FnMut(Fresh<'_>, &[Timed], u64)) {
    for (index, topology) in machines().into_iter().enumerate() {
        for seed in 0..4 {
            let case = 10 * index as u64 + seed;
            let messages = random(&topology, MESSAGES, &mut stream(case));
            look(&|| build(topology.clone()), &messages, case);
        }
    }
}

/// When each message was delivered.
fn deliveries(log: &Log, count: usize) -> Vec<Time> {
    let mut at = vec![None; count];
    for (time, done) in log {
        match done {
            NetworkDone::Delivered(token) => {
                let slot = at.get_mut(token.0 as usize).expect("a token nobody gave");
                assert!(slot.replace(*time).is_none(), "message {} was delivered twice", token.0);
            }
            other => panic!("{other:?} is no delivery"),
        }
    }
    at.into_iter()
        .enumerate()
        .map(|(token, at)| at.unwrap_or_else(|| panic!("message {token} was lost")))
        .collect()
}

/// Two runs of the same requests are equal, to the order within an instant.
pub fn the_same_requests_give_the_same_log(build: Build<'_>) {
    each_load(build, &mut |network, messages, case| {
        let first = drive_messages(network().as_mut(), messages, None);
        let second = drive_messages(network().as_mut(), messages, None);
        assert_eq!(first, second, "case {case}");
    });
}

/// A network that starts anew is as one that was just built, to the order within an instant and its account. Nothing to see for those
/// that cannot.
pub fn what_starts_anew_is_as_new(build: Build<'_>) {
    each_load(build, &mut |network, messages, case| {
        let mut used = network();
        // other messages, and in between none that is under way
        let before = &messages[..messages.len() / 2];
        drive_messages(used.as_mut(), before, None);
        if !used.start_anew() {
            return;
        }
        let mut new = network();
        let [log, expected] =
            [&mut used, &mut new].map(|network| drive_messages(network.as_mut(), messages, None));
        assert_eq!(log, expected, "case {case}");
        let end = log.last().map_or(Time::ZERO, |(at, _)| *at);
        let [report, expected] = [used, new].map(|mut network| network.report(end));
        assert_eq!(report.link_bytes, expected.link_bytes, "case {case}");
        assert_eq!(report.counters, expected.counters, "case {case}");
        assert_eq!(report.invariants, expected.invariants, "case {case}");
    });
}

/// It does not matter how far the engine lets the network go at a time.
pub fn small_steps_change_nothing(build: Build<'_>) {
    each_load(build, &mut |network, messages, case| {
        let at_once = drive_messages(network().as_mut(), messages, None);
        let stride = Duration::from_ps(stream(case).random_range(1_000_000..20_000_000));
        let by_steps = drive_messages(network().as_mut(), messages, Some(stride));
        assert_eq!(at_once, by_steps, "case {case}, steps of {stride}");
    });
}

/// Messages that differ in nothing end in the same instant.
pub fn equal_messages_end_together(build: Build<'_>) {
    each_load(build, &mut |network, messages, case| {
        let mut twice = Vec::with_capacity(2 * messages.len());
        for &(at, transfer) in messages {
            for copy in 0..2 {
                twice.push((at, Transfer { token: Token(2 * transfer.token.0 + copy), ..transfer }));
            }
        }
        let log = drive_messages(network().as_mut(), &twice, None);
        for (pair, ends) in deliveries(&log, twice.len()).chunks(2).enumerate() {
            assert_eq!(ends[0], ends[1], "case {case}, messages {} and {}", 2 * pair, 2 * pair + 1);
        }
    });
}

/// Every message arrives, and once.
pub fn every_message_is_delivered_once(build: Build<'_>) {
    each_load(build, &mut |network, messages, _| {
        deliveries(&drive_messages(network().as_mut(), messages, None), messages.len());
    });
}

/// No message beats the time that it takes on an idle network, nor its own limit.
pub fn nothing_is_faster_than_the_wire(build: Build<'_>) {
    each_load(build, &mut |network, messages, case| {
        let mut network = network();
        let log = drive_messages(network.as_mut(), messages, None);
        for (end, (start, transfer)) in deliveries(&log, messages.len()).into_iter().zip(messages) {
            let took = end - *start;
            let least = network.least_duration(transfer.src, transfer.dst, transfer.bytes);
            let own = transfer.rate_cap.map_or(0.0, |cap| transfer.bytes as f64 / cap.bytes_per_s());
            assert!(
                took.as_ps() + 1 >= least.as_ps() && took.as_secs_f64() >= own * (1.0 - 1e-12) - 1e-12,
                "case {case}: {transfer:?} took {took}, the least is {least} or {own} s"
            );
        }
    });
}

/// A bound is never after what it bounds, also when it is not asked for and when time stands still.
/// (That a completion is never before the bound given last is checked in every drive.)
pub fn the_next_event_is_never_too_late(build: Build<'_>) {
    each_load(build, &mut |network, messages, case| {
        // one message: its bound must lead to its end without another word
        let mut network = network();
        let (_, first) = messages[0];
        let log =
            drive_messages(network.as_mut(), &[(Time::ZERO, Transfer { token: Token(0), ..first })], None);
        assert_eq!(log.len(), 1, "case {case}: {first:?}");
        assert_eq!(network.next_event(), None, "case {case}: an idle network has no next event");
        // asked twice, it says the same
        network.submit(log[0].0, stratasim_core::model::NetworkRequest::Transfer(first));
        assert_eq!(network.next_event(), network.next_event(), "case {case}");
    });
}

/// The account at the end breaks no rule of its own, and no shared link is busy for longer than the run.
pub fn no_link_carries_more_than_its_rate(build: Build<'_>) {
    each_load(build, &mut |network, messages, case| {
        let mut network = network();
        let log = drive_messages(network.as_mut(), messages, None);
        let end = log.last().map_or(Time::ZERO, |(at, _)| *at);
        let report = network.report(end);
        assert!(report.violations().is_empty(), "case {case}: {:?}", report.violations());
        for (link, busy) in report.link_busy_s.iter().enumerate() {
            assert!(
                *busy <= end.as_secs_f64() * (1.0 + 1e-9) + 1e-11,
                "case {case}: link {link} is busy for {busy} s of {end}"
            );
        }
    });
}

/// A ring that is run as one request ends when its single messages would, with other traffic about.
/// Nothing to see for networks that do not run rings.
pub fn a_ring_ends_when_its_messages_do(build: Build<'_>) {
    for (index, topology) in machines().into_iter().enumerate() {
        if !build(topology.clone()).runs_pipelines() {
            return;
        }
        for seed in 0..30 {
            crate::ring::compare(build, &topology, 1000 + 50 * index as u64 + seed);
        }
    }
}
