//! Finished tasks and messages as columns, for NumPy, CSV and pictures.

use std::io::Write;

use stratasim_core::observe::{Activity, Event, Interests, MessageSpan, Observer, TaskSpan};
use stratasim_core::{Rank, Time};

use crate::filter::Filter;
use crate::labels::{Labels, NO_STREAM, activity_name};

/// Tasks in the order in which they ended; all columns have the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskColumns {
    /// Process.
    pub rank: Vec<u32>,
    /// Stream of the rank; [`NO_STREAM`] for none.
    pub stream: Vec<u16>,
    /// 0 compute, 1 memory, 2 communication.
    pub activity: Vec<u8>,
    /// Vertex of the program.
    pub vertex: Vec<u32>,
    /// Iteration, from 0.
    pub iteration: Vec<u32>,
    /// Start in picoseconds.
    pub start_ps: Vec<u64>,
    /// End in picoseconds.
    pub end_ps: Vec<u64>,
    /// Bytes moved.
    pub bytes: Vec<u64>,
}

impl TaskColumns {
    /// Appends a task.
    #[inline]
    pub fn push(&mut self, task: &TaskSpan) {
        self.rank.push(task.rank.0);
        self.stream.push(task.stream);
        self.activity.push(task.activity as u8);
        self.vertex.push(task.vertex);
        self.iteration.push(task.iteration);
        self.start_ps.push(task.start.as_ps());
        self.end_ps.push(task.end.as_ps());
        self.bytes.push(task.bytes);
    }

    /// How many tasks there are.
    pub fn len(&self) -> usize {
        self.rank.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rank.is_empty()
    }

    /// The task at `index`.
    pub fn get(&self, index: usize) -> TaskSpan {
        TaskSpan {
            rank: Rank(self.rank[index]),
            stream: self.stream[index],
            vertex: self.vertex[index],
            iteration: self.iteration[index],
            activity: ACTIVITIES[usize::from(self.activity[index])],
            start: Time::from_ps(self.start_ps[index]),
            end: Time::from_ps(self.end_ps[index]),
            bytes: self.bytes[index],
        }
    }

    /// All tasks in order.
    pub fn iter(&self) -> impl Iterator<Item = TaskSpan> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Writes `operator,start_s,end_s,duration_s,rank,node,stream,kind,iteration,bytes`, one line per
    /// task, in the order in which they ended. Times are exact, in seconds with twelve decimals.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_csv(&self, out: impl Write, labels: &dyn Labels) -> std::io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record([
            "operator",
            "start_s",
            "end_s",
            "duration_s",
            "rank",
            "node",
            "stream",
            "kind",
            "iteration",
            "bytes",
        ])?;
        let mut nodes = Cache::default();
        let mut names = Cache::default();
        for task in self.iter() {
            let operator = names.get(task.vertex, || labels.vertex(task.vertex));
            writer.write_field(operator)?;
            for ps in [task.start.as_ps(), task.end.as_ps(), task.end.as_ps() - task.start.as_ps()] {
                writer.write_field(exact_seconds(ps))?;
            }
            writer.write_field(task.rank.to_string())?;
            writer.write_field(nodes.get(task.rank.0, || labels.node(task.rank)))?;
            writer.write_field(if task.stream == NO_STREAM {
                String::new()
            } else {
                task.stream.to_string()
            })?;
            writer.write_field(activity_name(task.activity))?;
            writer.write_field(task.iteration.to_string())?;
            writer.write_field(task.bytes.to_string())?;
            writer.write_record(None::<&[u8]>)?;
        }
        writer.flush()
    }
}

/// Every activity, by the number in the column.
pub const ACTIVITIES: [Activity; 3] = [Activity::Compute, Activity::Memory, Activity::Communication];

/// Messages in the order in which they arrived; all columns have the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageColumns {
    /// Sender.
    pub src: Vec<u32>,
    /// Receiver.
    pub dst: Vec<u32>,
    /// Start of the first byte in picoseconds.
    pub start_ps: Vec<u64>,
    /// Arrival of the last byte in picoseconds.
    pub end_ps: Vec<u64>,
    /// Payload.
    pub bytes: Vec<u64>,
}

impl MessageColumns {
    /// Appends a message.
    #[inline]
    pub fn push(&mut self, message: &MessageSpan) {
        self.src.push(message.src.0);
        self.dst.push(message.dst.0);
        self.start_ps.push(message.start.as_ps());
        self.end_ps.push(message.end.as_ps());
        self.bytes.push(message.bytes);
    }

    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// Writes `src,dst,start_s,end_s,duration_s,bytes`, one line per message, in the order in which
    /// they arrived. Times are exact, in seconds with twelve decimals.
    ///
    /// # Errors
    /// What `out` reports.
    pub fn write_csv(&self, out: impl Write) -> std::io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record(["src", "dst", "start_s", "end_s", "duration_s", "bytes"])?;
        for at in 0..self.len() {
            writer.write_record([
                self.src[at].to_string(),
                self.dst[at].to_string(),
                exact_seconds(self.start_ps[at]),
                exact_seconds(self.end_ps[at]),
                exact_seconds(self.end_ps[at] - self.start_ps[at]),
                self.bytes[at].to_string(),
            ])?;
        }
        writer.flush()
    }
}

/// Picoseconds as seconds with twelve decimals: exact, and all of the same form.
pub(crate) fn exact_seconds(ps: u64) -> String {
    const PER_S: u64 = stratasim_core::time::PS_PER_S;
    format!("{}.{:012}", ps / PER_S, ps % PER_S)
}

/// Names by id, asked for once.
#[derive(Default)]
struct Cache {
    names: std::collections::BTreeMap<u32, String>,
}

impl Cache {
    fn get(&mut self, id: u32, name: impl FnOnce() -> String) -> &str {
        self.names.entry(id).or_insert_with(name)
    }
}

/// Records the tasks, and if asked the messages, that pass a filter.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    filter: Filter,
    with_messages: bool,
    /// The tasks.
    pub tasks: TaskColumns,
    /// The messages; empty unless asked for.
    pub messages: MessageColumns,
}

impl Columns {
    /// Records the tasks that pass `filter`.
    pub fn new(filter: Filter) -> Self {
        Self { filter, ..Self::default() }
    }

    /// Records messages too.
    #[must_use]
    pub fn with_messages(mut self) -> Self {
        self.with_messages = true;
        self
    }
}

impl Observer for Columns {
    fn interests(&self) -> Interests {
        Interests { tasks: true, messages: self.with_messages, ..Interests::default() }
    }

    fn span(&self) -> (Time, Time) {
        (self.filter.window.from, self.filter.window.until)
    }

    #[inline]
    fn on_event(&mut self, event: &Event) {
        let Filter { ranks, window } = &self.filter;
        match event {
            Event::Task(task) if ranks.contains(task.rank) && window.overlaps(task.start, task.end) => {
                self.tasks.push(task);
            }
            Event::Message(message) if self.with_messages => {
                let wanted = ranks.contains(message.src) || ranks.contains(message.dst);
                if wanted && window.overlaps(message.start, message.end) {
                    self.messages.push(message);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named;
    impl Labels for Named {
        fn vertex(&self, vertex: u32) -> String {
            format!("layer {vertex}, forward")
        }
        fn node(&self, rank: Rank) -> String {
            format!("xpu-{rank}")
        }
    }

    fn task(rank: u32, vertex: u32, activity: Activity, start: u64, end: u64) -> Event {
        Event::Task(TaskSpan {
            rank: Rank(rank),
            stream: if activity == Activity::Communication { NO_STREAM } else { 0 },
            vertex,
            iteration: 1,
            activity,
            start: Time::from_ps(start),
            end: Time::from_ps(end),
            bytes: 42,
        })
    }

    fn message(src: u32, dst: u32, start: u64, end: u64) -> Event {
        let (start, end) = (Time::from_ps(start), Time::from_ps(end));
        Event::Message(MessageSpan { src: Rank(src), dst: Rank(dst), start, end, bytes: 8, flow: None })
    }

    #[test]
    fn csv_lists_operator_start_and_end_exactly() {
        let mut columns = Columns::new(Filter::default());
        columns.on_event(&task(3, 7, Activity::Compute, 1, 7_340_000_000_002));
        columns.on_event(&task(4, 7, Activity::Communication, 5, 5));
        let mut out = Vec::new();
        columns.tasks.write_csv(&mut out, &Named).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\
operator,start_s,end_s,duration_s,rank,node,stream,kind,iteration,bytes
\"layer 7, forward\",0.000000000001,7.340000000002,7.340000000001,3,xpu-3,0,compute,1,42
\"layer 7, forward\",0.000000000005,0.000000000005,0.000000000000,4,xpu-4,,communication,1,42
"
        );
    }

    #[test]
    fn only_what_passes_the_filter_is_recorded() {
        let filter = Filter { ranks: "0-1".parse().unwrap(), window: "10 ps..20 ps".parse().unwrap() };
        let mut columns = Columns::new(filter).with_messages();
        assert_eq!(columns.interests(), Interests { tasks: true, messages: true, ..Interests::default() });
        columns.on_event(&task(0, 0, Activity::Memory, 5, 11));
        columns.on_event(&task(2, 1, Activity::Memory, 5, 11));
        columns.on_event(&task(1, 2, Activity::Memory, 20, 30));
        columns.on_event(&message(7, 1, 0, 12));
        columns.on_event(&message(7, 8, 0, 12));
        assert_eq!((columns.tasks.len(), columns.messages.len()), (1, 1));
        assert_eq!(columns.tasks.get(0).activity, Activity::Memory);
        let mut out = Vec::new();
        columns.messages.write_csv(&mut out).unwrap();
        assert!(
            String::from_utf8(out).unwrap().ends_with("7,1,0.000000000000,0.000000000012,0.000000000012,8\n")
        );
    }

    #[test]
    fn a_task_comes_back_as_it_went_in() {
        let mut columns = TaskColumns::default();
        for (at, activity) in ACTIVITIES.into_iter().enumerate() {
            let Event::Task(span) = task(at as u32, 9, activity, 3, 4) else { unreachable!() };
            columns.push(&span);
            assert_eq!(columns.get(at), span);
        }
        assert_eq!(columns.iter().count(), 3);
    }
}
