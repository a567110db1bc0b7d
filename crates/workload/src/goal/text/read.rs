//! From text to a schedule.

use std::collections::BTreeMap;
use std::io::Read;

use super::labels::label_number;
use super::parse::{Sink, parse};
use super::statement::Label;
use super::strict::Rule;
use crate::goal::{FormatError, Operation, Place, ReadError, Schedule, ScheduleBuilder, Shape};

/// Reads GOAL text. Memory is that of the schedule and a window of the text, if blocks come in order.
///
/// Everything that `txt2bin` accepts has the meaning that it has there: numbers wrap (sizes at 2^64,
/// ranks and tags at 2^32, where 4294967295 is -1, cpu and nic at 256), a label that is defined twice stays with its first
/// operation, and what follows the block of the last rank does not count. A rank without a block does
/// nothing. [`Schedule::remarks`] tells of such numbers and ranks. More than 2^28 ranks are refused, and more than 2^24 if some have no block and the text has
/// less than one byte per rank.
///
/// # Errors
/// What cannot be read, with line and column; errors of `source`.
///
/// ```
/// use stratasim_workload::goal::text;
///
/// let schedule = text::read(&b"num_ranks 1\nrank 0 {\n  a: calc 5 // ns\n}"[..]).unwrap();
/// assert_eq!((schedule.ranks(), schedule.len()), (1, 1));
/// let error = text::read(&b"num_ranks 1\nrank 0 {\ncalc x\n}"[..]).unwrap_err();
/// assert_eq!(error.to_string(), "line 3, column 6: expected a duration in ns, found `x`");
/// ```
pub fn read(mut source: impl Read) -> Result<Schedule, ReadError> {
    let (build, ranks) = parse(&mut source, Build::default())?;
    build.finish(ranks).map_err(|reason| FormatError::new(Place::File, reason).into())
}

/// Builds the schedule.
#[derive(Default)]
struct Build {
    /// From the first block.
    builder: Option<ScheduleBuilder>,
    /// The block in hand, if ranks before it have none yet.
    early: Option<(u32, Early)>,
    /// Complete blocks that wait for ranks before them.
    waiting: BTreeMap<u32, Early>,
    /// Numbers that mean others, and the first of them.
    wrapped: u64,
    first_wrapped: Option<(Place, String)>,
    /// The ranks without a block.
    missing: Option<(Place, String)>,
}

/// The block of a rank that came before its time.
#[derive(Default)]
struct Early {
    /// Number of the shape of each operation.
    shapes: Vec<u32>,
    /// (operation, what it waits for, whether for the start).
    dependencies: Vec<(u32, u32, bool)>,
    /// (operation, end of its label in `text`).
    labels: Vec<(u32, usize)>,
    text: String,
}

impl Build {
    #[inline]
    fn builder(&mut self) -> &mut ScheduleBuilder {
        self.builder.as_mut().expect("a block is open")
    }

    /// Appends the blocks whose turn it is.
    fn append_waiting(&mut self) -> Result<(), String> {
        while let Some(entry) = self.waiting.first_entry() {
            let Some(builder) = self.builder.as_mut().filter(|builder| builder.rank() == *entry.key()) else {
                break;
            };
            append(builder, &entry.remove())?;
        }
        Ok(())
    }

    fn finish(self, ranks: u32) -> Result<Schedule, String> {
        let mut builder = self.builder.unwrap_or_else(|| ScheduleBuilder::new(ranks));
        for (rank, early) in self.waiting {
            while builder.rank() < rank {
                builder.close_rank().map_err(|error| error.reason)?;
            }
            append(&mut builder, &early)?;
        }
        let mut schedule = builder.build().map_err(|error| error.reason)?;
        let wrapped = self.first_wrapped.map(|(place, text)| {
            let more = match self.wrapped - 1 {
                0 => String::new(),
                1 => " (1 more such number)".to_owned(),
                more => format!(" ({more} more such numbers)"),
            };
            format!("{place}{text}, as other tools take it{more}")
        });
        let missing = self.missing.map(|(place, text)| {
            format!(
                "{place}{text}; a rank without a block does nothing, but the file may have been cut short"
            )
        });
        schedule.remarks = wrapped.into_iter().chain(missing).collect();
        Ok(schedule)
    }
}

fn append(builder: &mut ScheduleBuilder, early: &Early) -> Result<(), String> {
    for &shape in &early.shapes {
        builder.push_shape(shape);
    }
    let mut start = 0;
    for &(operation, end) in &early.labels {
        builder.label(operation, &early.text[start..end]);
        start = end;
    }
    for &(after, before, on_start) in &early.dependencies {
        if on_start {
            builder.requires_start(after, before);
        } else {
            builder.requires(after, before);
        }
    }
    builder.close_rank().map_err(|error| error.reason)
}

impl Sink for Build {
    const STRICT: bool = false;

    fn open(&mut self, rank: u32, ranks: u32) {
        let builder = self.builder.get_or_insert_with(|| ScheduleBuilder::new(ranks));
        self.early = (builder.rank() != rank).then(|| (rank, Early::default()));
    }

    #[inline]
    fn operation(&mut self, operation: Operation, place: u32, label: Option<&Label<'_>>) {
        let label = label.filter(|label| label.number != Some(place + 1));
        let Some((rank, early)) = &mut self.early else {
            let builder = self.builder();
            builder.push(operation);
            if let Some(label) = label {
                builder.label(place, label.text());
            }
            return;
        };
        let rank = *rank;
        if let Some(label) = label {
            debug_assert_eq!(label_number(label.word), label.number);
            early.text.push_str(label.text());
            early.labels.push((place, early.text.len()));
        }
        let builder = self.builder.as_mut().expect("a block is open");
        let shape = builder.shape_number(Shape::of(operation, rank, builder.ranks()));
        early.shapes.push(shape);
    }

    #[inline]
    fn dependency(&mut self, after: u32, before: u32, on_start: bool) {
        match &mut self.early {
            Some((_, early)) => early.dependencies.push((after, before, on_start)),
            None if on_start => self.builder().requires_start(after, before),
            None => self.builder().requires(after, before),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        if let Some((rank, early)) = self.early.take() {
            self.waiting.insert(rank, early);
            return Ok(());
        }
        self.builder().close_rank().map_err(|error| error.reason)?;
        self.append_waiting()
    }

    fn complain(&mut self, rule: Rule, place: Place, text: String) {
        match rule {
            Rule::Wraps => {
                self.wrapped += 1;
                self.first_wrapped.get_or_insert((place, text));
            }
            Rule::Missing => self.missing = Some((place, text)),
            _ => {}
        }
    }

    fn problem(&mut self, error: FormatError) -> Result<(), FormatError> {
        Err(error)
    }
}
