//! The jobs of a run: when each ran, and what sharing the machine cost it.

use stratasim_core::words::counted;

use crate::result::{JobResult, RunResult};
use crate::style::{Tone, pad_left, pad_right, shorten_apart};
use crate::units::Unit;

use super::Text;

/// Jobs shown.
const TOP_JOBS: usize = 12;
/// Least columns of a name.
const LEAST_NAME: usize = 12;
/// Most columns of a name.
const MOST_NAME: usize = 32;

/// A column behind the name.
struct Column {
    heading: &'static str,
    width: usize,
    cells: Vec<String>,
}

/// A line per job. Of many, those that suffered most are shown. Columns that a narrow terminal has no room
/// for are left out, the least important first.
pub(super) fn jobs(text: &mut Text<'_>, result: &RunResult) {
    if result.jobs.is_empty() {
        return;
    }
    let shown = shown(&result.jobs);
    let mut columns = columns(&shown);
    let room = text.style.width - 4;
    for drop in ["start", "finish", "nodes", "alone", "ranks"] {
        if columns.iter().map(|column| column.width).sum::<usize>() + LEAST_NAME > room {
            columns.retain(|column| column.heading != drop);
        }
    }
    let taken: usize = columns.iter().map(|column| column.width).sum();
    let name_width = room.saturating_sub(taken).clamp(LEAST_NAME / 2, MOST_NAME);
    text.gap();
    let number = result.jobs.len();
    let jobs = counted(number as u64, "job");
    let heading = match number > shown.len() {
        true => format!("{jobs}, {}", shown.len()),
        false => jobs,
    };
    let headings = columns.iter().map(|column| pad_left(column.heading, column.width));
    let headings: String = std::iter::once(pad_right(&heading, name_width)).chain(headings).collect();
    text.heading(&headings);
    let names: Vec<&str> = shown.iter().map(|job| job.name.as_str()).collect();
    let names = shorten_apart(&names, name_width - 1, text.style.choose("…", ".."));
    for (row, job) in shown.iter().enumerate() {
        let mut line = format!("  {}", pad_right(&names[row], name_width));
        for column in &columns {
            let cell = pad_left(&column.cells[row], column.width);
            let suffered = column.heading == "slowdown" && job.slowdown.is_some_and(|factor| factor >= 1.05);
            line += &if suffered { text.style.paint(Tone::Strong, &cell) } else { cell };
        }
        text.line(&line);
    }
    if number > shown.len() {
        let left = Unit::Count.format((number - shown.len()) as f64);
        text.words(&format!("and {left} more, which were slowed down less"));
    }
    text.gap();
}

/// Those that are shown, in their order.
fn shown(jobs: &[JobResult]) -> Vec<&JobResult> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    if jobs.len() > TOP_JOBS {
        let suffering = |job: usize| jobs[job].slowdown.unwrap_or(jobs[job].duration_s);
        // a stable sort: ties stay in their order
        order.sort_by(|&a, &b| suffering(b).total_cmp(&suffering(a)));
        order.truncate(TOP_JOBS);
        order.sort_unstable();
    }
    order.into_iter().map(|job| &jobs[job]).collect()
}

fn columns(jobs: &[&JobResult]) -> Vec<Column> {
    let count = |part: fn(&JobResult) -> u32| -> Vec<String> {
        jobs.iter().map(|job| Unit::Count.format(part(job).into())).collect()
    };
    // durations are compared with each other, and so are instants
    let times = |parts: [fn(&JobResult) -> Option<f64>; 2]| -> [Vec<String>; 2] {
        let numbers: Vec<Option<f64>> =
            parts.iter().flat_map(|part| jobs.iter().map(|job| part(job))).collect();
        let known: Vec<f64> = numbers.iter().copied().flatten().collect();
        let mut texts = Unit::Seconds.format_all(&known).into_iter();
        let mut column = |number: &Option<f64>| match number {
            Some(_) => texts.next().unwrap_or_default(),
            None => "-".to_owned(),
        };
        let (first, second) = numbers.split_at(jobs.len());
        [first.iter().map(&mut column).collect(), second.iter().map(&mut column).collect()]
    };
    let [start, finish] = times([|job| Some(job.start_s), |job| Some(job.finish_s)]);
    let [duration, alone] = times([|job| Some(job.duration_s), |job| job.alone_s]);
    let factor = |job: &&JobResult| job.slowdown.map_or_else(|| "-".to_owned(), |x| Unit::Factor.format(x));
    let mut columns = vec![
        Column { heading: "ranks", width: 7, cells: count(|job| job.ranks) },
        Column { heading: "nodes", width: 7, cells: count(|job| job.nodes) },
        Column { heading: "start", width: 10, cells: start },
        Column { heading: "finish", width: 10, cells: finish },
        Column { heading: "duration", width: 10, cells: duration },
    ];
    if jobs.iter().any(|job| job.alone_s.is_some()) {
        columns.push(Column { heading: "alone", width: 10, cells: alone });
        columns.push(Column { heading: "slowdown", width: 10, cells: jobs.iter().map(factor).collect() });
    }
    for column in &mut columns {
        let widest = column.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
        column.width = column.width.max(widest + 1);
    }
    columns
}

#[cfg(test)]
mod tests {
    use crate::result::JobResult;
    use crate::result::tests::sample;
    use crate::style::{Style, display_width};
    use crate::summary;

    fn job(name: &str, start_s: f64, duration_s: f64, alone_s: Option<f64>) -> JobResult {
        JobResult {
            name: name.to_owned(),
            ranks: 1024,
            nodes: 128,
            start_s,
            finish_s: start_s + duration_s,
            duration_s,
            alone_s,
            slowdown: alone_s.map(|alone| duration_s / alone),
        }
    }

    /// The part of the table that is about jobs.
    fn about_jobs(jobs: Vec<JobResult>, style: &Style) -> String {
        let mut result = sample();
        result.jobs = jobs;
        let text = summary(&result, style);
        let start = text.lines().position(|line| line.contains("duration")).expect("a table of jobs");
        let lines: Vec<&str> = text.lines().skip(start).take_while(|line| !line.is_empty()).collect();
        lines.join("\n")
    }

    #[test]
    fn jobs_read_like_this() {
        let jobs = || {
            vec![
                job("training", 0.0, 1.155e-3, Some(1.155e-3)),
                job("a storage job with a long name", 1e-3, 2.2e-3, Some(1.1e-3)),
            ]
        };
        let expected = [
            "  2 jobs        ranks  nodes     start    finish  duration     alone  slowdown",
            "  ────────────────────────────────────────────────────────────────────────────",
            "  training      1,024    128  0.000 ms  1.155 ms  1.155 ms  1.155 ms     1.00x",
            "  a sto… name   1,024    128  1.000 ms  3.200 ms  2.200 ms  1.100 ms     2.00x",
        ]
        .join("\n");
        let found = about_jobs(jobs(), &Style::UNICODE);
        assert_eq!(found, expected, "\n{found}");
        let narrow = [
            "  2 jobs        ranks  nodes  duration     alone  slowdown",
            "  ────────────────────────────────────────────────────────",
            "  training      1,024    128  1.155 ms  1.155 ms     1.00x",
            "  a sto… name   1,024    128  2.200 ms  1.100 ms     2.00x",
        ]
        .join("\n");
        let found = about_jobs(jobs(), &Style { width: 60, ..Style::UNICODE });
        assert_eq!(found, narrow, "\n{found}");
    }

    #[test]
    fn long_names_that_differ_within_stay_apart() {
        let names = ["training of the large model", "training of the small model", "storage"];
        let found = about_jobs(
            names.map(|name| job(name, 0.0, 1.0, None)).to_vec(),
            &Style { width: 60, ..Style::UNICODE },
        );
        assert!(
            found.contains("  …e large m… ")
                && found.contains("  …e small m… ")
                && found.contains("  storage "),
            "{found}"
        );
    }

    #[test]
    fn a_run_without_the_jobs_alone_has_no_slowdown() {
        let found = about_jobs(vec![job("a", 0.0, 1.0, None), job("b", 0.0, 2.0, None)], &Style::UNICODE);
        assert!(
            !found.contains("alone") && !found.contains("slowdown") && found.contains("2.000 s"),
            "{found}"
        );
    }

    #[test]
    fn of_many_jobs_those_that_suffered_most_are_shown() {
        let jobs = (0..40).map(|n| job(&format!("job {n}"), 0.0, f64::from(100 + n % 20), Some(100.0)));
        let found = about_jobs(jobs.collect(), &Style::PLAIN);
        assert!(found.contains("40 jobs, 12") && found.contains("and 28 more"), "{found}");
        assert!(
            found.contains("  job 19 ") && found.contains("  job 39 ") && !found.contains("job 33 "),
            "{found}"
        );
        assert_eq!(found.lines().count(), 15);
    }

    #[test]
    fn no_line_about_jobs_is_too_wide() {
        let jobs =
            || vec![job(&"long name ".repeat(30), 123.0, 4567.89, Some(1e-9)), job("", 0.0, 0.0, None)];
        for width in [40, 48, 60, 80, 84, 120, 200] {
            for style in [Style { width, ..Style::PLAIN }, Style { width, ..Style::UNICODE }] {
                let found = about_jobs(jobs(), &style);
                let widest = found.lines().map(display_width).max().unwrap();
                assert!(widest <= width, "{widest} of {width}\n{found}");
            }
        }
    }
}
