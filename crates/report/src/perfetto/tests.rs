//! Traces are read back with messages declared here, apart from the writer, by another library; and
//! what they mean is worked out as Perfetto's trace processor does it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use prost::Message;
use stratasim_core::observe::{Activity, MessageCounts};
use stratasim_core::{Bandwidth, NodeId, Time};

use super::*;

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    interned_data: Option<InternedData>,
    #[prost(uint32, tag = "13")]
    sequence_flags: u32,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    category_iids: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    r#type: i32,
    #[prost(uint64, tag = "10")]
    name_iid: u64,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(double, optional, tag = "44")]
    double_counter_value: Option<f64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(uint64, tag = "1")]
    name_iid: u64,
    #[prost(uint64, tag = "3")]
    uint_value: u64,
}

#[derive(Clone, PartialEq, Message)]
struct InternedData {
    #[prost(message, repeated, tag = "1")]
    event_categories: Vec<InternedString>,
    #[prost(message, repeated, tag = "2")]
    event_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "3")]
    debug_annotation_names: Vec<InternedString>,
}

#[derive(Clone, PartialEq, Message)]
struct InternedString {
    #[prost(uint64, tag = "1")]
    iid: u64,
    #[prost(string, tag = "2")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    thread: Option<ThreadDescriptor>,
    #[prost(uint64, tag = "5")]
    parent_uuid: u64,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
    #[prost(int32, tag = "12")]
    sibling_order_rank: i32,
    #[prost(int32, tag = "19")]
    process_ordering: i32,
    #[prost(int32, tag = "20")]
    thread_ordering: i32,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, tag = "6")]
    process_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(int64, tag = "2")]
    tid: i64,
    #[prost(string, tag = "5")]
    thread_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {
    #[prost(string, tag = "6")]
    unit_name: String,
}

/// A slice as a reader sees it.
#[derive(Debug, Clone, PartialEq)]
struct SeenSlice {
    process: String,
    thread: String,
    name: String,
    category: String,
    start: u64,
    end: u64,
    annotations: BTreeMap<String, u64>,
    flows: Vec<u64>,
    arrivals: Vec<u64>,
}

#[derive(Default)]
struct Seen {
    slices: Vec<SeenSlice>,
    /// Values by counter name and unit.
    counters: BTreeMap<(String, String), Vec<(u64, f64)>>,
    descriptors: Vec<TrackDescriptor>,
}

/// What a trace means: packets sorted by time (stable), names interned per sequence in file order,
/// slices matched per track with a stack that must never be crossed.
fn read(bytes: &[u8]) -> Seen {
    let trace = Trace::decode(bytes).expect("a protobuf message");
    let mut seen = Seen::default();
    let mut interned: [BTreeMap<u64, String>; 3] = Default::default();
    let mut tracks: BTreeMap<u64, TrackDescriptor> = BTreeMap::new();
    let mut events = Vec::new();
    for (at, packet) in trace.packet.into_iter().enumerate() {
        assert_eq!(packet.trusted_packet_sequence_id, 1);
        assert_eq!(packet.sequence_flags, if at == 0 { 1 } else { 2 });
        if let Some(data) = packet.interned_data {
            for (map, entries) in interned.iter_mut().zip([
                data.event_categories,
                data.event_names,
                data.debug_annotation_names,
            ]) {
                for entry in entries {
                    assert!(map.insert(entry.iid, entry.name).is_none(), "interned twice");
                }
            }
        }
        if let Some(track) = packet.track_descriptor {
            seen.descriptors.push(track.clone());
            assert!(tracks.insert(track.uuid, track).is_none(), "described twice");
        }
        if let Some(event) = packet.track_event {
            assert!(tracks.contains_key(&event.track_uuid), "a track is described before it is used");
            if matches!(event.r#type, 1 | 3) {
                assert!(interned[1].contains_key(&event.name_iid), "a name comes with its first use");
            }
            events.push((packet.timestamp.expect("events have a time"), event));
        }
    }
    events.sort_by_key(|(at, _)| *at);

    let process_name = |pid: i32| {
        let named =
            tracks.values().filter_map(|track| track.process.as_ref()).find(|process| process.pid == pid);
        named.expect("a thread has a process").process_name.clone()
    };
    let mut stacks: BTreeMap<u64, Vec<SeenSlice>> = BTreeMap::new();
    for (at, event) in events {
        let track = &tracks[&event.track_uuid];
        match event.r#type {
            1 | 3 => {
                let thread = track.thread.as_ref().expect("slices are on threads");
                let slice = SeenSlice {
                    process: process_name(thread.pid),
                    thread: thread.thread_name.clone(),
                    name: interned[1][&event.name_iid].clone(),
                    category: interned[0][&event.category_iids[0]].clone(),
                    start: at,
                    end: at,
                    annotations: event
                        .debug_annotations
                        .iter()
                        .map(|annotation| (interned[2][&annotation.name_iid].clone(), annotation.uint_value))
                        .collect(),
                    flows: event.flow_ids,
                    arrivals: event.terminating_flow_ids,
                };
                if event.r#type == 1 {
                    let stack = stacks.entry(event.track_uuid).or_default();
                    assert!(stack.is_empty(), "slices of one track do not overlap");
                    stack.push(slice);
                } else {
                    seen.slices.push(slice);
                }
            }
            2 => {
                let mut slice =
                    stacks.get_mut(&event.track_uuid).and_then(Vec::pop).expect("an end has a begin");
                slice.end = at;
                seen.slices.push(slice);
            }
            4 => {
                let parent = &tracks[&track.parent_uuid];
                let unit = track.counter.as_ref().expect("samples are on counters").unit_name.clone();
                assert!(!parent.name.is_empty());
                let values = seen.counters.entry((track.name.clone(), unit)).or_default();
                values.push((at, event.double_counter_value.expect("a sample has a value")));
            }
            other => panic!("unexpected type {other}"),
        }
    }
    assert!(stacks.values().all(Vec::is_empty), "every slice ends");
    seen
}

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
        counts: Some(counts),
    })
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
        annotations: [("iteration".to_owned(), 2), ("bytes".to_owned(), 7)].into(),
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
    let counts = [("bytes", 4096), ("packets", 3), ("retransmissions", 1), ("marks", 2)];
    assert_eq!(sent[0].annotations, counts.map(|(name, count)| (name.to_owned(), count)).into());
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
    let percent = &seen.counters[&("a->b#4".to_owned(), "%".to_owned())];
    let rate = &seen.counters[&("a->b#4".to_owned(), "B/s".to_owned())];
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
    let of = |name: &str| seen.counters.get(&(name.to_owned(), "B".to_owned()));
    assert_eq!(of("a->b#2"), Some(&vec![(1000, 900.0), (2000, 0.0)]));
    assert_eq!(of("a->b#1"), None, "only one is asked for");
    assert_eq!(of("node 3 to node 5 (connection 7)"), Some(&vec![(1000, 50.0), (3000, 0.0)]));
    let nothing = traced(PerfettoOptions { links: 0, ..PerfettoOptions::default() }, &events);
    assert!(nothing.counters.is_empty());
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
        counts: Some(MessageCounts {
            packets: u32::MAX,
            retransmissions: u32::MAX,
            timeouts: u32::MAX,
            trims: u32::MAX,
            marks: u32::MAX,
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
    assert_eq!(events[0].debug_annotations[1].uint_value, most);
    assert_eq!(events[0].debug_annotations[6].uint_value, u64::from(u32::MAX));
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
