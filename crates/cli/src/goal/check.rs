//! `stratasim goal check`: what can never run.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use stratasim_experiment::Error;
use stratasim_report::Unit;
use stratasim_report::style::Tone;
use stratasim_workload::goal::check::{FindingKind, Findings, check};
use stratasim_workload::goal::file::Form;
use stratasim_workload::goal::text::{Complaint, Severity, strict, write};
use stratasim_workload::goal::{Schedule, WriteError};

use super::file::read_and_tell;
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Check {
    /// A schedule of any form; - reads standard input
    file: PathBuf,
    /// Also list what txt2bin of LogGOPSim and ATLAHS would reject, change or not notice in the text
    #[arg(long)]
    strict: bool,
    /// Print no progress
    #[arg(long, short)]
    quiet: bool,
}

/// How much a line matters.
#[derive(Clone, Copy)]
enum Mark {
    Fault,
    Doubt,
    Good,
}

impl Check {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let loaded = match read_and_tell(&self.file, terminal, self.quiet) {
            Ok(loaded) => loaded,
            Err(error) => {
                // a text that cannot be read may have more that is wrong
                if self.strict && matches!(&error, Error::File { reason, .. } if reason.starts_with("line "))
                {
                    let list = complaints(&self.file)?;
                    terminal.print(&list.iter().map(|it| self.complaint(it, terminal)).collect::<String>());
                }
                return Err(error);
            }
        };
        let mut text = String::new();
        let mut bad = 0;
        let mut doubtful = 0;
        if self.strict {
            let list = match loaded.form {
                Form::Text if self.file != Path::new("-") => complaints(&self.file)?,
                _ => Vec::new(),
            };
            for it in &list {
                text += &self.complaint(it, terminal);
            }
            bad += list.iter().filter(|it| it.severity != Severity::Note).count() as u64;
            doubtful += list.iter().filter(|it| it.severity == Severity::Note).count() as u64;
            if let Some(reason) = unsayable(&loaded.schedule) {
                text += &line(Mark::Fault, &format!("no GOAL of other tools: {reason}"), terminal);
                bad += 1;
            }
        }
        let findings = check(&loaded.schedule);
        text += &listed(&findings, terminal);
        for kind in FindingKind::ALL {
            *(if kind.is_fault() { &mut bad } else { &mut doubtful }) += findings.count(kind);
        }
        let count = |number: u64, one: &str, more: &str| {
            format!("{} {}", Unit::Count.format(number as f64), if number == 1 { one } else { more })
        };
        let what = format!(
            "{} with {}",
            count(loaded.schedule.ranks().into(), "rank", "ranks"),
            count(loaded.schedule.len().into(), "operation", "operations"),
        );
        let notes = count(doubtful, "thing worth a look", "things worth a look");
        text += &match (bad, doubtful) {
            (0, 0) => line(Mark::Good, &format!("{what}: nothing is wrong"), terminal),
            (0, _) => line(Mark::Good, &format!("{what}: nothing is wrong, {notes}"), terminal),
            (bad, 0) => line(Mark::Fault, &format!("{what}: {}", count(bad, "fault", "faults")), terminal),
            (bad, _) => {
                line(Mark::Fault, &format!("{what}: {}, {notes}", count(bad, "fault", "faults")), terminal)
            }
        };
        terminal.print(&text);
        Ok(if bad == 0 { 0 } else { 3 })
    }

    fn complaint(&self, complaint: &Complaint, terminal: &Terminal) -> String {
        let Complaint { line: at, column, severity, text } = complaint;
        let (mark, words) = match severity {
            Severity::Rejected => (Mark::Fault, "rejected by txt2bin: "),
            Severity::Changed => (Mark::Fault, "changed by txt2bin: "),
            Severity::Note => (Mark::Doubt, ""),
        };
        line(mark, &format!("{}:{at}:{column}: {words}{text}", self.file.display()), terminal)
    }
}

fn complaints(path: &Path) -> Result<Vec<Complaint>, Error> {
    let fail = |error: io::Error| Error::file(path, &error);
    strict(File::open(path).map_err(fail)?).map_err(fail)
}

/// Why the schedule cannot be said in GOAL text, which the other tools read.
fn unsayable(schedule: &Schedule) -> Option<String> {
    match write(schedule, &mut io::sink()) {
        Err(WriteError::Form(reason)) => Some(reason),
        Ok(()) | Err(WriteError::Io(_)) => None,
    }
}

fn listed(findings: &Findings, terminal: &Terminal) -> String {
    let mark = |kind: FindingKind| if kind.is_fault() { Mark::Fault } else { Mark::Doubt };
    let mut text: String =
        findings.list.iter().map(|it| line(mark(it.kind), &it.to_string(), terminal)).collect();
    for kind in FindingKind::ALL {
        let shown = findings.list.iter().filter(|it| it.kind == kind).count() as u64;
        let more = findings.count(kind) - shown;
        if more > 0 {
            let number = Unit::Count.format(more as f64);
            text += &line(mark(kind), &format!("and {number} more {}", kind.plural()), terminal);
        }
    }
    text
}

fn line(mark: Mark, words: &str, terminal: &Terminal) -> String {
    let style = &terminal.style;
    let mark = match mark {
        Mark::Fault => style.paint(Tone::Bad, style.choose("✗", "not:")),
        Mark::Doubt => style.paint(Tone::Communication, style.choose("•", "note:")),
        Mark::Good => style.paint(Tone::Good, style.choose("✓", "ok:")),
    };
    format!("{mark} {words}\n")
}
