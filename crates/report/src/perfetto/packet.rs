//! The messages of a Perfetto trace that we write, with their field numbers.
//!
//! From Perfetto's `protos/perfetto/trace` (`trace_packet.proto`, `track_event/*.proto`,
//! `interned_data/interned_data.proto`): field numbers never change their meaning.

use stratasim_core::observe::MessageCounts;

use super::wire::{Buffer, Small, Wire};

/// `Trace`
const PACKET: u32 = 1;
/// `TracePacket`
mod field {
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE_ID: u32 = 10;
    pub(super) const TRACK_EVENT: u32 = 11;
    pub(super) const INTERNED_DATA: u32 = 12;
    pub(super) const SEQUENCE_FLAGS: u32 = 13;
    pub(super) const TRACK_DESCRIPTOR: u32 = 60;
    pub(super) const FIRST_ON_SEQUENCE: u32 = 87;
    pub(super) const INCREMENTAL_STATE_CLEARED: u64 = 1;
    pub(super) const NEEDS_INCREMENTAL_STATE: u64 = 2;
}
/// `TrackEvent`
mod event {
    pub(super) const CATEGORY_IID: u32 = 3;
    pub(super) const DEBUG_ANNOTATION: u32 = 4;
    pub(super) const TYPE: u32 = 9;
    pub(super) const NAME_IID: u32 = 10;
    pub(super) const TRACK: u32 = 11;
    pub(super) const DOUBLE_VALUE: u32 = 44;
    pub(super) const FLOW: u32 = 47;
    pub(super) const TERMINATING_FLOW: u32 = 48;
    pub(super) const SLICE_BEGIN: u64 = 1;
    pub(super) const SLICE_END: u64 = 2;
    pub(super) const INSTANT: u64 = 3;
    pub(super) const COUNTER: u64 = 4;
}
/// `DebugAnnotation`
mod annotation {
    pub(super) const NAME_IID: u32 = 1;
    pub(super) const UINT_VALUE: u32 = 3;
    pub(super) const DOUBLE_VALUE: u32 = 5;
    pub(super) const STRING_VALUE_IID: u32 = 17;
}
/// `InternedData`
mod interned {
    pub(super) const CATEGORIES: u32 = 1;
    pub(super) const NAMES: u32 = 2;
    pub(super) const ANNOTATION_NAMES: u32 = 3;
    pub(super) const ANNOTATION_STRINGS: u32 = 29;
}
/// `TrackDescriptor`
mod descriptor {
    pub(super) const UUID: u32 = 1;
    pub(super) const NAME: u32 = 2;
    pub(super) const PROCESS: u32 = 3;
    pub(super) const THREAD: u32 = 4;
    pub(super) const PARENT: u32 = 5;
    pub(super) const COUNTER: u32 = 8;
    pub(super) const CHILD_ORDERING: u32 = 11;
    pub(super) const ORDER: u32 = 12;
    pub(super) const PROCESS_ORDERING: u32 = 19;
    pub(super) const THREAD_ORDERING: u32 = 20;
    /// `ChildTracksOrdering.EXPLICIT`
    pub(super) const CHILDREN_EXPLICIT: u64 = 3;
    /// `PROCESS_ORDERING_EXPLICIT`, `THREAD_ORDERING_EXPLICIT`
    pub(super) const EXPLICIT: u64 = 1;
}

/// Categories, by their interned id.
pub(super) const CATEGORIES: [&str; 4] = ["compute", "memory", "communication", "message"];
/// Names of annotations, by their interned id.
const ANNOTATIONS: [&str; 9] =
    ["iteration", "bytes", "packets", "retransmissions", "time-outs", "trims", "marks", "slow-down", "path"];
const ITERATION: u64 = 1;
const BYTES: u64 = 2;
const PACKETS: u64 = 3;
const SLOWDOWN: u64 = 8;
const PATH: u64 = 9;

/// A slice or an instant.
pub(super) struct Slice<'a> {
    pub(super) track: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    /// Interned id of its name, and the name itself where it was not written before.
    pub(super) name: u64,
    pub(super) new_name: Option<&'a str>,
    /// Interned id of its category, from 1.
    pub(super) category: u64,
    pub(super) iteration: Option<u32>,
    pub(super) bytes: u64,
    /// How a message fared.
    pub(super) fate: Option<Fate<'a>>,
    /// An arrow begins or ends here.
    pub(super) flow: Option<u64>,
}

/// How a message fared on its way.
pub(super) struct Fate<'a> {
    /// What its transport counted; what is zero is not written.
    pub(super) counts: MessageCounts,
    /// Its time by the least that it needs alone.
    pub(super) slowdown: f64,
    /// Interned id of the path of its packets; 0 where they have none in common.
    pub(super) path: u64,
    /// The path itself, where it was not written before.
    pub(super) new_path: Option<&'a str>,
}

/// What a track belongs to.
pub(super) enum Kind {
    /// The processor of one rank.
    Process { pid: i32 },
    /// One stream of a rank.
    Thread { pid: i32, tid: i32 },
    /// A group of counters.
    Group,
    /// A counter of a group, with its unit.
    Counter { parent: u64, unit: &'static str },
}

impl<B: Buffer> Wire<B> {
    /// A packet of our only sequence.
    #[inline]
    fn packet(&mut self, fill: impl FnOnce(&mut Self)) {
        self.message(PACKET, |packet| {
            packet.uint(field::SEQUENCE_ID, 1);
            packet.uint(field::SEQUENCE_FLAGS, field::NEEDS_INCREMENTAL_STATE);
            fill(packet);
        });
    }

    /// The first packet: fixed interned names, and the root track, which says that processes and
    /// threads are shown in our order.
    pub(super) fn preamble(&mut self) {
        self.message(PACKET, |packet| {
            packet.uint(field::SEQUENCE_ID, 1);
            packet.uint(field::SEQUENCE_FLAGS, field::INCREMENTAL_STATE_CLEARED);
            packet.uint(field::FIRST_ON_SEQUENCE, 1);
            packet.message(field::INTERNED_DATA, |data| {
                let names = [
                    (interned::CATEGORIES, CATEGORIES.as_slice()),
                    (interned::ANNOTATION_NAMES, ANNOTATIONS.as_slice()),
                ];
                for (field, names) in names {
                    for (iid, name) in (1..).zip(names) {
                        data.interned(field, iid, name);
                    }
                }
            });
        });
        self.packet(|packet| {
            packet.message(field::TRACK_DESCRIPTOR, |track| {
                track.uint(descriptor::UUID, 0);
                track.uint(descriptor::CHILD_ORDERING, descriptor::CHILDREN_EXPLICIT);
                track.uint(descriptor::PROCESS_ORDERING, descriptor::EXPLICIT);
                track.uint(descriptor::THREAD_ORDERING, descriptor::EXPLICIT);
            });
        });
    }

    /// `EventCategory`, `EventName`, `DebugAnnotationName` and `InternedString` have the same form.
    fn interned(&mut self, field: u32, iid: u64, name: &str) {
        self.message(field, |entry| {
            entry.uint(1, iid);
            entry.text(2, name);
        });
    }

    /// A track and where it stands among its siblings.
    pub(super) fn track(&mut self, uuid: u64, kind: &Kind, name: &str, order: i32) {
        self.packet(|packet| {
            packet.message(field::TRACK_DESCRIPTOR, |track| {
                track.uint(descriptor::UUID, uuid);
                track.int(descriptor::ORDER, order);
                match *kind {
                    Kind::Process { pid } => track.message(descriptor::PROCESS, |process| {
                        process.int(1, pid);
                        process.text(6, name);
                    }),
                    Kind::Thread { pid, tid } => track.message(descriptor::THREAD, |thread| {
                        thread.int(1, pid);
                        thread.int(2, tid);
                        thread.text(5, name);
                    }),
                    Kind::Group => {
                        track.text(descriptor::NAME, name);
                        track.uint(descriptor::CHILD_ORDERING, descriptor::CHILDREN_EXPLICIT);
                    }
                    Kind::Counter { parent, unit } => {
                        track.text(descriptor::NAME, name);
                        track.uint(descriptor::PARENT, parent);
                        track.message(descriptor::COUNTER, |counter| counter.text(6, unit));
                    }
                }
            });
        });
    }

    #[inline]
    fn event(&mut self, slice: &Slice<'_>, kind: u64, flow_field: u32) {
        self.message(field::TRACK_EVENT, |begin| {
            begin.uint(event::TYPE, kind);
            begin.uint(event::TRACK, slice.track);
            begin.uint(event::NAME_IID, slice.name);
            begin.uint(event::CATEGORY_IID, slice.category);
            if let Some(iteration) = slice.iteration {
                begin.annotation(ITERATION, u64::from(iteration));
            }
            if slice.bytes > 0 {
                begin.annotation(BYTES, slice.bytes);
            }
            if let Some(Fate { counts, slowdown, path, .. }) = slice.fate {
                let MessageCounts { packets, retransmissions, timeouts, trims, marks } = counts;
                let counts = [packets, retransmissions, timeouts, trims, marks];
                for (name, count) in (PACKETS..).zip(counts).filter(|&(_, count)| count > 0) {
                    begin.annotation(name, u64::from(count));
                }
                begin.message(event::DEBUG_ANNOTATION, |entry| {
                    entry.uint(annotation::NAME_IID, SLOWDOWN);
                    entry.double(annotation::DOUBLE_VALUE, slowdown);
                });
                if path > 0 {
                    begin.message(event::DEBUG_ANNOTATION, |entry| {
                        entry.uint(annotation::NAME_IID, PATH);
                        entry.uint(annotation::STRING_VALUE_IID, path);
                    });
                }
            }
            if let Some(flow) = slice.flow {
                begin.fixed64(flow_field, flow);
            }
        });
        let new_path = slice.fate.as_ref().and_then(|fate| Some((fate.path, fate.new_path?)));
        if slice.new_name.is_some() || new_path.is_some() {
            self.new_names(slice.new_name.map(|name| (slice.name, name)), new_path);
        }
    }

    /// All that is new in one message: readers take the last of several.
    #[cold]
    fn new_names(&mut self, name: Option<(u64, &str)>, path: Option<(u64, &str)>) {
        self.message(field::INTERNED_DATA, |data| {
            for (field, entry) in [(interned::NAMES, name), (interned::ANNOTATION_STRINGS, path)] {
                if let Some((iid, text)) = entry {
                    data.interned(field, iid, text);
                }
            }
        });
    }

    #[inline]
    fn annotation(&mut self, name: u64, value: u64) {
        self.message(event::DEBUG_ANNOTATION, |entry| {
            entry.uint(annotation::NAME_IID, name);
            entry.uint(annotation::UINT_VALUE, value);
        });
    }

    /// A new value of a counter.
    pub(super) fn counter(&mut self, track: u64, at: u64, value: f64) {
        self.packet(|packet| {
            packet.uint(field::TIMESTAMP, at);
            packet.message(field::TRACK_EVENT, |sample| {
                sample.uint(event::TYPE, event::COUNTER);
                sample.uint(event::TRACK, track);
                sample.double(event::DOUBLE_VALUE, value);
            });
        });
    }
}

impl Wire<Vec<u8>> {
    /// A slice: its begin and its end. They may be written in any order with others; readers sort by
    /// time and keep the order of the file within an instant.
    #[inline]
    pub(super) fn slice(&mut self, slice: &Slice<'_>) {
        self.marker(slice, slice.start, event::SLICE_BEGIN, event::FLOW);
        let mut end = Wire { bytes: Small::new() };
        end.packet(|packet| {
            packet.uint(field::TIMESTAMP, slice.end);
            packet.message(field::TRACK_EVENT, |end| {
                end.uint(event::TYPE, event::SLICE_END);
                end.uint(event::TRACK, slice.track);
            });
        });
        self.bytes.extend_from_slice(end.bytes.as_slice());
    }

    /// An instant at the end of `slice`, where arrows end.
    #[inline]
    pub(super) fn instant(&mut self, slice: &Slice<'_>) {
        self.marker(slice, slice.end, event::INSTANT, event::TERMINATING_FLOW);
    }

    /// An event with a name.
    #[inline]
    fn marker(&mut self, slice: &Slice<'_>, at: u64, kind: u64, flow_field: u32) {
        // names and what is said of messages may need more room than `Small` has
        if slice.new_name.is_some() || slice.fate.is_some() {
            self.packet(|packet| {
                packet.uint(field::TIMESTAMP, at);
                packet.event(slice, kind, flow_field);
            });
        } else {
            let mut small = Wire { bytes: Small::new() };
            small.packet(|packet| {
                packet.uint(field::TIMESTAMP, at);
                packet.event(slice, kind, flow_field);
            });
            self.bytes.extend_from_slice(small.bytes.as_slice());
        }
    }
}
