//! Reads Perfetto's traces, with messages declared apart from the writer, by another library; and works out what they mean
//! as Perfetto's trace processor does.

pub mod messages;

use std::collections::BTreeMap;

use prost::Message as _;

use messages::{Trace, TrackDescriptor};

/// A slice as a reader sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenSlice {
    /// Name of its process.
    pub process: String,
    /// Name of its thread.
    pub thread: String,
    /// What it is called.
    pub name: String,
    /// Its first category.
    pub category: String,
    /// Ticks.
    pub start: u64,
    /// Ticks; that of the start for an instant.
    pub end: u64,
    /// What is said of it, by name.
    pub annotations: BTreeMap<String, Value>,
    /// Arrows that begin here.
    pub flows: Vec<u64>,
    /// Arrows that end here.
    pub arrivals: Vec<u64>,
}

/// The value of an annotation.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A whole number.
    Whole(u64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
}

/// A counter as a reader sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenCounter {
    /// Name of the group that it stands in.
    pub group: String,
    /// What it is called.
    pub name: String,
    /// What it counts.
    pub unit: String,
    /// Ticks, and the value from then on.
    pub values: Vec<(u64, f64)>,
}

/// A trace as a reader sees it.
#[derive(Debug, Default)]
pub struct Seen {
    /// In the order in which they end.
    pub slices: Vec<SeenSlice>,
    /// In the order of their first values.
    pub counters: Vec<SeenCounter>,
    /// All tracks.
    pub descriptors: Vec<TrackDescriptor>,
}

impl Seen {
    /// The values of the counter called `name` in a group; none where there is no such counter.
    pub fn counter(&self, group: &str, name: &str) -> Option<&[(u64, f64)]> {
        let found = self.counters.iter().find(|it| it.group == group && it.name == name);
        found.map(|counter| &*counter.values)
    }
}

/// What a trace means: packets sorted by time (stable), names interned per sequence in file order,
/// slices matched per track with a stack that must never be crossed.
///
/// # Panics
/// When it is no trace, or breaks what readers rely on.
pub fn read(bytes: &[u8]) -> Seen {
    let trace = Trace::decode(bytes).expect("a protobuf message");
    let mut seen = Seen::default();
    let mut interned: [BTreeMap<u64, String>; 4] = Default::default();
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
                data.debug_annotation_string_values,
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
                        .map(|it| {
                            let value = match (it.uint_value, it.double_value, it.string_value_iid) {
                                (Some(whole), None, None) => Value::Whole(whole),
                                (None, Some(real), None) => Value::Real(real),
                                (None, None, Some(iid)) => Value::Text(interned[3][&iid].clone()),
                                several => panic!("one value: {several:?}"),
                            };
                            (interned[2][&it.name_iid].clone(), value)
                        })
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
                let value = (at, event.double_counter_value.expect("a sample has a value"));
                let of_track = |counter: &&mut SeenCounter| {
                    (&counter.group, &counter.name) == (&parent.name, &track.name)
                };
                match seen.counters.iter_mut().find(of_track) {
                    Some(counter) => counter.values.push(value),
                    None => seen.counters.push(SeenCounter {
                        group: parent.name.clone(),
                        name: track.name.clone(),
                        unit,
                        values: vec![value],
                    }),
                }
            }
            other => panic!("unexpected type {other}"),
        }
    }
    assert!(stacks.values().all(Vec::is_empty), "every slice ends");
    seen
}
