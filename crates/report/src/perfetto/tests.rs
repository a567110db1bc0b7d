//! Traces are read back by another library.

use proptest::prelude::*;
use prost::Message;
use stratasim_core::model::FlowRecord;
use stratasim_core::observe::{Activity, MessageCounts, QueueCounts};
use stratasim_core::{Bandwidth, Duration, NodeId, Time};
use stratasim_testkit::perfetto::messages::{Trace, TrackEvent};
use stratasim_testkit::perfetto::{Seen, SeenSlice, Value, read};

use super::*;

struct Named;

impl Labels for Named {
    fn rank(&self, rank: Rank) -> String {
        format!("rank {rank} (xpu-{rank})")
    }
    fn vertex(&self, vertex: u32) -> String {
        format!("operator {vertex}")
    }
    fn link(&self, link: LinkId) -> String {
        format!("a->b#{link}")
    }
    fn link_rate(&self, _: LinkId) -> Option<Bandwidth> {
        Some(Bandwidth(1e9))
    }
}

fn task(rank: u32, stream: u16, vertex: u32, activity: Activity, start: u64, end: u64) -> Event {
    let (start, end) = (Time::from_ps(start), Time::from_ps(end));
    Event::Task(TaskSpan { rank: Rank(rank), stream, vertex, iteration: 2, activity, start, end, bytes: 7 })
}

fn message(src: u32, dst: u32, start: u64, end: u64) -> Event {
    let (start, end) = (Time::from_ps(start), Time::from_ps(end));
    let counts = MessageCounts { packets: 3, retransmissions: 1, timeouts: 0, trims: 0, marks: 2 };
    Event::Message(MessageSpan {
        src: Rank(src),
        dst: Rank(dst),
        start,
        end,
        bytes: 4096,
        flow: Some(Box::new(flow(start, end, counts))),
    })
}

/// A message that took three times as long as it needs alone, by two links.
fn flow(start: Time, end: Time, counts: MessageCounts) -> FlowRecord {
    FlowRecord {
        src: NodeId(0),
        dst: NodeId(1),
        bytes: 4096,
        start,
        end,
        least: Duration::from_ps((end - start).as_ps() / 3),
        path: [LinkId(7), LinkId(9)].into(),
        counts,
    }
}

fn traced(options: PerfettoOptions, events: &[Event]) -> Seen {
    let mut trace = PerfettoTrace::new(Vec::new(), options, &Named);
    events.iter().for_each(|event| trace.on_event(event));
    read(&trace.finish().unwrap())
}

#[test]
fn a_task_is_a_slice_on_the_thread_of_its_stream() {
    let seen = traced(
        PerfettoOptions::default(),
        &[
            task(17, 0, 5, Activity::Compute, 1_000_000, 3_000_499),
            task(17, 0, 5, Activity::Memory, 1_000_000, 2_000_500),
            task(17, 3, 6, Activity::Communication, 0, 4_000_000),
        ],
    );
    let expected = |thread: &str, name: &str, category: &str, start, end| SeenSlice {
        process: "rank 17 (xpu-17)".into(),
        thread: thread.into(),
        name: name.into(),
        category: category.into(),
        start,
        end,
        annotations: [("iteration", 2), ("bytes", 7)]
            .map(|(name, it)| (name.to_owned(), Value::Whole(it)))
            .into(),
        flows: vec![],
        arrivals: vec![],
    };
    assert_eq!(
        seen.slices,
        [
            expected("memory", "operator 5", "memory", 1000, 2001),
            expected("compute", "operator 5", "compute", 1000, 3000),
            expected("communication stream 3", "operator 6", "communication", 0, 4000),
        ]
    );
    assert_eq!(seen.descriptors[0].process_ordering, 1);
    assert_eq!(seen.descriptors[0].thread_ordering, 1);
    let process = seen.descriptors.iter().find(|track| track.process.is_some()).unwrap();
    assert_eq!((process.process.as_ref().unwrap().pid, process.sibling_order_rank), (1701, 17));
    let threads = seen.descriptors.iter().filter_map(|track| track.thread.as_ref());
    assert_eq!(threads.map(|thread| thread.tid).collect::<Vec<_>>(), [1702, 1703, 1704]);
    let order: Vec<i32> = seen
        .descriptors
        .iter()
        .filter(|track| track.thread.is_some())
        .map(|track| track.sibling_order_rank)
        .collect();
    assert!(order.is_sorted(), "compute, memory, communication: {order:?}");
}

#[test]
fn picoseconds_can_be_kept_exactly() {
    let options = PerfettoOptions { clock: Clock::Picoseconds, ..PerfettoOptions::default() };
    let seen = traced(options, &[task(0, 0, 0, Activity::Compute, 1, 1_000_000_000_001)]);
    assert_eq!((seen.slices[0].start, seen.slices[0].end), (1, 1_000_000_000_001));
    assert!(seen.descriptors.iter().any(|track| track.name.contains("1 ps of simulated time")));
}

#[test]
fn an_arrow_leads_from_the_message_to_its_arrival() {
    let options = PerfettoOptions { ranks: "0-1".parse().unwrap(), ..PerfettoOptions::default() };
    let seen = traced(
        options,
        &[message(0, 1, 0, 5000), message(2, 1, 0, 6000), message(1, 2, 0, 7000), message(2, 3, 0, 8000)],
    );
    let sent: Vec<&SeenSlice> = seen.slices.iter().filter(|slice| slice.thread == "messages sent").collect();
    let received: Vec<&SeenSlice> =
        seen.slices.iter().filter(|slice| slice.thread == "messages received").collect();
    assert_eq!((sent.len(), received.len()), (2, 2));
    assert_eq!((sent[0].name.as_str(), sent[0].start, sent[0].end), ("to rank 1 (xpu-1)", 0, 5));
    assert_eq!((received[0].name.as_str(), received[0].start), ("from rank 0 (xpu-0)", 5));
    assert_eq!(sent[0].flows, received[0].arrivals);
    assert_eq!(sent[0].flows.len(), 1);
    // the other end is not in the trace: no arrow into nowhere
    assert!(sent[1].flows.is_empty() && received[1].arrivals.is_empty());
    let path = Value::Text("a->b#7; a->b#9".to_owned());
    let said = [
        ("bytes", Value::Whole(4096)),
        ("packets", Value::Whole(3)),
        ("retransmissions", Value::Whole(1)),
        ("marks", Value::Whole(2)),
        ("slow-down", Value::Real(5000.0 / 1666.0)),
        ("path", path.clone()),
    ];
    assert_eq!(sent[0].annotations, said.map(|(name, value)| (name.to_owned(), value)).into());
    // the path is known by now
    assert!(sent.iter().chain(&received).all(|slice| slice.annotations["path"] == path));
}

#[test]
fn counters_show_the_load_of_the_fullest_links() {
    let link_use = |link, start, end, bytes| Event::LinkUse {
        link: LinkId(link),
        start: Time::from_ps(start),
        end: Time::from_ps(end),
        bytes,
    };
    // 1 GB/s is one byte per nanosecond: half full for 1 ms, then full for 1 ms
    let ms = 1_000_000_000;
    let events = [link_use(4, 0, ms, 5e5), link_use(4, ms, 2 * ms, 1e6), link_use(9, 0, ms, 1.0)];
    let options = PerfettoOptions { links: 1, ..PerfettoOptions::default() };
    let seen = traced(options, &events);
    assert_eq!(seen.counters.len(), 2);
    let percent = seen.counter("link utilisation", "a->b#4").unwrap();
    let rate = seen.counter("link rate", "a->b#4").unwrap();
    assert_eq!(percent.len(), rate.len());
    let mean_of = |samples: &[(u64, f64)]| {
        let weighted = samples.windows(2).map(|pair| (pair[1].0 - pair[0].0) as f64 * pair[0].1).sum::<f64>();
        weighted / (samples[samples.len() - 1].0 - samples[0].0) as f64
    };
    assert!((mean_of(percent) - 75.0).abs() < 0.2, "{percent:?}");
    assert!((mean_of(rate) - 0.75e9).abs() < 0.002e9, "{rate:?}");
    assert!((percent[0].1 - 50.0).abs() < 0.1 && percent[percent.len() - 1].1 == 0.0);
    assert!(percent.iter().all(|&(_, value)| value <= 100.0));
}

#[test]
fn the_longest_queues_and_all_windows_have_counters() {
    let us = 1_000_000_u64;
    let depth = |link, at, bytes| Event::QueueDepth { link: LinkId(link), at: Time::from_ps(at * us), bytes };
    let (src, dst) = (NodeId(3), NodeId(5));
    let window = |at, bytes| Event::Window { connection: 7, src, dst, at: Time::from_ps(at * us), bytes };
    let events = [depth(1, 1, 100), depth(2, 1, 900), window(1, 50), depth(2, 2, 0), window(3, 0)];
    let seen = traced(PerfettoOptions { links: 1, ..PerfettoOptions::default() }, &events);
    let of = |group: &str, name: &str| seen.counter(group, name).map(<[_]>::to_vec);
    assert_eq!(of("queue depth", "a->b#2"), Some(vec![(1000, 900.0), (2000, 0.0)]));
    assert_eq!(of("queue depth", "a->b#1"), None, "only one is asked for");
    let windows = of("congestion window", "node 3 to node 5 (connection 7)");
    assert_eq!(windows, Some(vec![(1000, 50.0), (3000, 0.0)]));
    assert!(seen.counters.iter().all(|counter| counter.unit == "B"));
    let nothing = traced(PerfettoOptions { links: 0, ..PerfettoOptions::default() }, &events);
    assert!(nothing.counters.is_empty());
}

#[test]
fn what_happens_at_queues_is_counted_from_the_beginning() {
    let us = 1_000_000_u64;
    let counted = |link, from, until, drops, pauses| Event::QueueCounts {
        link: LinkId(link),
        start: Time::from_ps(from * us),
        end: Time::from_ps(until * us),
        counts: QueueCounts { drops, pauses, ..QueueCounts::default() },
    };
    let events = [
        counted(1, 0, 1, 3, 0),
        counted(2, 1, 2, 5, 0),
        counted(1, 2, 4, 1, 0),
        counted(3, 4, 5, 0, 7),
        counted(2, 8, 9, 1, 0),
    ];
    let seen = traced(PerfettoOptions { links: 2, ..PerfettoOptions::default() }, &events);
    let dropped = |seen: &Seen, name: &str| seen.counter("packets dropped", name).map(<[_]>::to_vec);
    assert_eq!(dropped(&seen, "a->b#1"), Some(vec![(0, 0.0), (1000, 3.0), (4000, 4.0)]));
    assert_eq!(dropped(&seen, "a->b#2"), Some(vec![(1000, 0.0), (2000, 5.0), (9000, 6.0)]));
    assert_eq!(seen.counter("pauses", "a->b#3"), Some(&[(4000, 0.0), (5000, 7.0)][..]));
    let groups: Vec<_> = seen.counters.iter().map(|it| (it.group.as_str(), it.unit.as_str())).collect();
    assert_eq!(groups.len(), 3, "what is never counted has no counter: {groups:?}");
    assert!(groups.contains(&("pauses", "pauses")) && groups.contains(&("packets dropped", "packets")));
    // in a window, what was before counts, too; where nothing happens in it, there is no counter
    let options =
        PerfettoOptions { links: 1, window: "3 us..8 us".parse().unwrap(), ..PerfettoOptions::default() };
    let seen = traced(options, &events);
    assert_eq!(dropped(&seen, "a->b#1"), Some(vec![(3000, 3.0), (4000, 4.0)]));
    assert_eq!(dropped(&seen, "a->b#2"), None);
}

#[test]
fn ranks_and_time_limit_the_file() {
    let options = PerfettoOptions {
        ranks: "1".parse().unwrap(),
        window: "1 us..2 us".parse().unwrap(),
        ..PerfettoOptions::default()
    };
    let seen = traced(
        options,
        &[
            task(1, 0, 0, Activity::Compute, 0, 999_999),
            task(0, 0, 1, Activity::Compute, 1_000_000, 1_500_000),
            task(1, 0, 2, Activity::Compute, 1_000_000, 1_500_000),
            task(1, 0, 3, Activity::Compute, 2_000_000, 2_500_000),
        ],
    );
    assert_eq!(seen.slices.iter().map(|slice| slice.name.as_str()).collect::<Vec<_>>(), ["operator 2"]);
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut trace = PerfettoTrace::new(Full, PerfettoOptions::default(), &Named);
    for at in 0..10_000 {
        trace.on_event(&task(0, 0, 0, Activity::Compute, at, at + 1));
    }
    assert_eq!(trace.finish().err().unwrap().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn names_are_written_once_and_the_file_stays_small() {
    let mut trace = PerfettoTrace::new(Vec::new(), PerfettoOptions::default(), &Named);
    for at in 0..100_000_u64 {
        trace.on_event(&task(
            (at % 8) as u32,
            0,
            (at % 500) as u32,
            Activity::Compute,
            at * 1_000_000,
            (at + 1) * 1_000_000,
        ));
    }
    assert_eq!(trace.slices(), 100_000);
    let bytes = trace.finish().unwrap().len();
    assert!(bytes < 100_000 * 70, "{} bytes per task", bytes / 100_000);
}

#[test]
fn the_largest_numbers_fit() {
    let most = u64::MAX;
    let mut wire = Wire { bytes: Vec::new() };
    wire.preamble();
    let slice = Slice {
        track: most,
        start: most - 1,
        end: most,
        name: most,
        new_name: None,
        category: 4,
        iteration: Some(u32::MAX),
        bytes: most,
        fate: Some(Fate {
            counts: MessageCounts {
                packets: u32::MAX,
                retransmissions: u32::MAX,
                timeouts: u32::MAX,
                trims: u32::MAX,
                marks: u32::MAX,
            },
            slowdown: f64::MAX,
            path: most,
            new_path: None,
        }),
        flow: Some(most),
    };
    wire.slice(&slice);
    wire.instant(&slice);
    let trace = Trace::decode(wire.bytes.as_slice()).unwrap();
    let events: Vec<&TrackEvent> =
        trace.packet.iter().filter_map(|packet| packet.track_event.as_ref()).collect();
    assert_eq!(events.iter().map(|event| event.r#type).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(events.iter().all(|event| event.track_uuid == most));
    assert_eq!(events[0].debug_annotations[1].uint_value, Some(most));
    assert_eq!(events[0].debug_annotations[6].uint_value, Some(u64::from(u32::MAX)));
    assert_eq!(events[0].debug_annotations[7].double_value, Some(f64::MAX));
    assert_eq!(events[0].debug_annotations[8].string_value_iid, Some(most));
    assert_eq!((events[0].flow_ids[0], events[2].terminating_flow_ids[0]), (most, most));
}

#[test]
fn options_are_read_with_their_mistakes_named() {
    let options: PerfettoOptions =
        serde_json::from_str(r#"{"ranks": "0-3", "window": "..1 s", "clock": "ps", "links": 0}"#).unwrap();
    assert_eq!((options.clock, options.links, options.messages), (Clock::Picoseconds, 0, true));
    assert!(
        serde_json::from_str::<PerfettoOptions>(r#"{"rank": "0"}"#).unwrap_err().to_string().contains("rank")
    );
}

proptest! {
    /// Whatever overlaps and whatever is rounded: the reader sees every task once, and no two slices of
    /// one track overlap (`read` panics otherwise).
    #[test]
    fn overlapping_tasks_take_lanes_and_none_is_lost(
        spans in prop::collection::vec((0_u32..3, 0_u16..2, 0_usize..3, 0_u64..20_000, 0_u64..9000), 0..80),
        in_order in any::<bool>(),
    ) {
        let mut spans = spans;
        if in_order {
            spans.sort_by_key(|span| span.3 + span.4);
        }
        let activities = crate::columns::ACTIVITIES;
        let events: Vec<Event> = (0..)
            .zip(&spans)
            .map(|(vertex, &(rank, stream, kind, start, length))| {
                task(rank, stream, vertex, activities[kind], start, start + length)
            })
            .collect();
        let seen = traced(PerfettoOptions::default(), &events);
        let nearest = |ps: u64| (ps + 500) / 1000;
        let mut expected: Vec<(String, u64, u64)> = (0..)
            .zip(&spans)
            .map(|(vertex, span): (u32, _)| (format!("operator {vertex}"), nearest(span.3), nearest(span.3 + span.4)))
            .collect();
        let mut found: Vec<(String, u64, u64)> =
            seen.slices.iter().map(|slice| (slice.name.clone(), slice.start, slice.end)).collect();
        expected.sort();
        found.sort();
        prop_assert_eq!(found, expected);
        let threads = seen.descriptors.iter().filter_map(|track| track.thread.as_ref());
        let mut numbers: Vec<i64> = threads.map(|thread| thread.tid).collect();
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), count, "thread numbers are unique");
    }
}
