//! What a run tells those who watch it.

use crate::model::FlowRecord;
use crate::{LinkId, NodeId, Rank, Time};

/// What a rank was doing in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// Operations on a compute node.
    Compute,
    /// Moving bytes between a memory and a compute node.
    Memory,
    /// A message or a collective between ranks.
    Communication,
}

/// A finished task, or the compute or memory part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskSpan {
    /// The process.
    pub rank: Rank,
    /// Stream of the rank.
    pub stream: u16,
    /// Vertex of the program.
    pub vertex: u32,
    /// Iteration of the vertex, from 0.
    pub iteration: u32,
    /// What it did.
    pub activity: Activity,
    /// Start.
    pub start: Time,
    /// End.
    pub end: Time,
    /// Bytes moved (memory, communication) or 0.
    pub bytes: u64,
}

/// What a transport counted for one message until it was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MessageCounts {
    /// Packets with payload that were sent for it, those sent again included.
    pub packets: u32,
    /// Of these, those that were sent again.
    pub retransmissions: u32,
    /// Times that its sender heard nothing for too long.
    pub timeouts: u32,
    /// Packets reported as trimmed.
    pub trims: u32,
    /// Acknowledgements that told of marks.
    pub marks: u32,
}

/// What happened to packets at one queue in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueueCounts {
    /// Packets dropped there, or behind its link where those who sent on were asked to pause.
    pub drops: u32,
    /// Packets trimmed there.
    pub trims: u32,
    /// Packets marked there.
    pub marks: u32,
    /// Times that its link was told to pause.
    pub pauses: u32,
}

impl QueueCounts {
    /// Both together.
    #[must_use]
    pub const fn and(&self, other: &Self) -> Self {
        Self {
            drops: self.drops.saturating_add(other.drops),
            trims: self.trims.saturating_add(other.trims),
            marks: self.marks.saturating_add(other.marks),
            pauses: self.pauses.saturating_add(other.pauses),
        }
    }
}

/// A message that has arrived at another rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageSpan {
    /// Sender.
    pub src: Rank,
    /// Receiver.
    pub dst: Rank,
    /// Start of the first byte.
    pub start: Time,
    /// Arrival of the last byte.
    pub end: Time,
    /// Payload.
    pub bytes: u64,
    /// How it fared on its way, where the network follows messages.
    pub flow: Option<Box<FlowRecord>>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A task ended.
    Task(TaskSpan),
    /// A message arrived.
    Message(MessageSpan),
    /// A transfer, or several, used `link`, at one rate. A sum of these over time gives the link's utilisation.
    LinkUse {
        /// The link.
        link: LinkId,
        /// When this began.
        start: Time,
        /// When it ended, or became faster or slower.
        end: Time,
        /// What it carried; of a packet that is under way at `end`, the part that has left.
        bytes: f64,
    },
    /// Bytes that wait for `link`, from `at` until told otherwise. Looks are taken in steps, which become longer
    /// in long runs.
    QueueDepth {
        /// The link.
        link: LinkId,
        /// When that was so.
        at: Time,
        /// Bytes with payload that wait for it, that under way on it included.
        bytes: u64,
    },
    /// What happened to packets at the queue of `link` between two looks; nothing is told where nothing did. A sum of
    /// these is what the account of the run says of the queue.
    QueueCounts {
        /// The link.
        link: LinkId,
        /// The look before.
        start: Time,
        /// When this was seen.
        end: Time,
        /// How often since then.
        counts: QueueCounts,
    },
    /// Bytes that congestion control lets be under way, from `at` until told otherwise.
    Window {
        /// Number of the connection; only the first are followed.
        connection: u32,
        /// Its sender.
        src: NodeId,
        /// Its receiver.
        dst: NodeId,
        /// When that was so.
        at: Time,
        /// The window; 0 once the connection is closed.
        bytes: u64,
    },
    /// The clock reached `at`; for progress only.
    Progress {
        /// Simulated time.
        at: Time,
        /// Tasks that have ended.
        done: u64,
        /// Tasks of the whole run.
        tasks: u64,
    },
    /// The clock of a network reached `at` while nothing ended; for progress only.
    Clock {
        /// Simulated time.
        at: Time,
    },
}

/// Which events an observer wants. What nobody wants is never made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interests {
    /// [`Event::Task`].
    pub tasks: bool,
    /// [`Event::Message`].
    pub messages: bool,
    /// [`Event::LinkUse`].
    pub link_uses: bool,
    /// [`Event::QueueDepth`], [`Event::QueueCounts`] and [`Event::Window`].
    pub queues: bool,
}

impl Interests {
    /// Everything that either wants.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tasks: self.tasks || other.tasks,
            messages: self.messages || other.messages,
            link_uses: self.link_uses || other.link_uses,
            queues: self.queues || other.queues,
        }
    }
}

/// Watches a run. Cannot change it.
pub trait Observer: Send {
    /// What to tell it; asked once, before the run.
    fn interests(&self) -> Interests;
    /// From when until when messages and uses of links matter. Those that do not overlap it may be left
    /// out, which makes a look at a part of a long run cheap.
    fn span(&self) -> (Time, Time) {
        (Time::ZERO, Time::MAX)
    }
    /// Called for each event, in a fixed order.
    fn on_event(&mut self, event: &Event);
    /// Whether the run should stop early (Ctrl-C); asked every few thousand events, and by networks in which nothing ends for
    /// long.
    fn wants_stop(&self) -> bool {
        false
    }
}

/// Watches nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Blind;

impl Observer for Blind {
    fn interests(&self) -> Interests {
        Interests::default()
    }
    fn on_event(&mut self, _: &Event) {}
}

/// Several observers as one.
#[derive(Default)]
pub struct Fan<'a> {
    watchers: Vec<(Interests, &'a mut dyn Observer)>,
}

impl<'a> Fan<'a> {
    /// Nobody yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a watcher.
    pub fn add(&mut self, observer: &'a mut dyn Observer) {
        self.watchers.push((observer.interests(), observer));
    }
}

impl Observer for Fan<'_> {
    fn interests(&self) -> Interests {
        self.watchers.iter().fold(Interests::default(), |all, (interests, _)| all.or(*interests))
    }

    fn span(&self) -> (Time, Time) {
        let wanting =
            self.watchers.iter().filter(|(wants, _)| wants.messages || wants.link_uses || wants.queues);
        let spans = wanting.map(|(_, observer)| observer.span());
        spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((Time::ZERO, Time::MAX))
    }

    fn on_event(&mut self, event: &Event) {
        for (interests, observer) in &mut self.watchers {
            let wanted = match event {
                Event::Task(_) => interests.tasks,
                Event::Message(_) => interests.messages,
                Event::LinkUse { .. } => interests.link_uses,
                Event::QueueDepth { .. } | Event::QueueCounts { .. } | Event::Window { .. } => {
                    interests.queues
                }
                Event::Progress { .. } | Event::Clock { .. } => true,
            };
            if wanted {
                observer.on_event(event);
            }
        }
    }

    fn wants_stop(&self) -> bool {
        self.watchers.iter().any(|(_, observer)| observer.wants_stop())
    }
}
