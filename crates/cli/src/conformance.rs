//! `stratasim conformance`: reference cases of other simulators.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use stratasim_experiment::Error;
use stratasim_experiment::conformance::{CaseReport, flit, flow, goal, oncard, packet};
use stratasim_report::style::Tone;

use crate::output::Output;
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Conformance {
    #[command(subcommand)]
    family: Family,
}

#[derive(Subcommand)]
enum Family {
    /// SimGrid's flow level: cases, XML platforms with their routes and flow sets, HC runs
    Flow(Cases),
    /// LogGOPSim and ATLAHS' LGS: GOAL schedules with the finish of every rank, binary forms
    Goal(Cases),
    /// BookSim2: points of curves with all histograms, cases of fixed work; bit for bit
    Flit(SelectedCases),
    /// htsim: flows alone to the nanosecond, incasts, permutations and all-to-alls by their statistics
    Packet(DrawnCases),
    /// SW-IntraCC: equations, figures and tables of the paper, each from its inputs; where it contradicts itself, how
    Oncard(Cases),
}

#[derive(Args)]
struct Cases {
    /// Files and folders of cases
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Write the reports as a JSON list
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct SelectedCases {
    #[command(flatten)]
    cases: Cases,
    /// Run only the cases whose name contains this; may be given several times
    #[arg(long, value_name = "TEXT")]
    filter: Vec<String>,
    /// Run only the cases that the reference simulator does in a few seconds
    #[arg(long)]
    quick: bool,
}

/// Cases with draws that differ from run to run.
#[derive(Args)]
struct DrawnCases {
    #[command(flatten)]
    selected: SelectedCases,
    /// Runs of ours per run of the reference, where the order of arrivals is random: more leave less of chance on our side
    /// [default: 1, and 16 of cases that differ with one]
    #[arg(long, value_name = "N")]
    draws: Option<NonZeroU32>,
}

/// Hears of each case.
type Told<'a> = &'a mut dyn FnMut(&CaseReport);

impl Conformance {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let cases = match &self.family {
            Family::Flow(cases) | Family::Goal(cases) | Family::Oncard(cases) => cases,
            Family::Flit(selected) => &selected.cases,
            Family::Packet(drawn) => &drawn.selected.cases,
        };
        let run = |paths: &[PathBuf], told: Told<'_>| match &self.family {
            Family::Flow(_) => flow::run(paths, told),
            Family::Goal(_) => goal::run(paths, told),
            Family::Oncard(_) => oncard::run(paths, told),
            Family::Flit(SelectedCases { filter, quick, .. }) => {
                flit::run(paths, &flit::Selection { filter: filter.clone(), quick: *quick }, told)
            }
            Family::Packet(DrawnCases { selected: SelectedCases { filter, quick, .. }, draws }) => {
                let (filter, draws) = (filter.clone(), draws.map(|draws| u64::from(draws.get())));
                packet::run(paths, &packet::Selection { filter, quick: *quick, draws }, told)
            }
        };
        let output = Output::begin_if("--json", cases.json.as_ref())?;
        let reports = run(&cases.paths, &mut |report| terminal.print(&line(report, terminal)))?;
        let bad = reports.iter().filter(|report| !report.ok).count();
        let compared: usize = reports.iter().map(|report| report.compared).sum();
        let cases = reports.iter().filter(|report| !report.is_left_out()).count();
        let words = match bad {
            0 => format!("{cases} cases agree, {compared} values compared"),
            _ => format!("{bad} of {cases} cases differ, {compared} values compared"),
        };
        let tone = if bad == 0 { Tone::Good } else { Tone::Bad };
        terminal.print(&format!("{}\n", terminal.style.paint(tone, &words)));
        if let Some(output) = output {
            let text = serde_json::to_string_pretty(&reports).unwrap_or_default();
            output.text(&text)?;
        }
        Ok(if bad == 0 { 0 } else { 3 })
    }
}

/// One case in one line; where it differs, in two.
fn line(report: &CaseReport, terminal: &Terminal) -> String {
    if report.is_left_out() {
        let mark = terminal.style.paint(Tone::Muted, "left   ");
        return format!("{mark} {}: {}\n", report.name, report.what);
    }
    let (mark, tone) = if report.ok { ("ok", Tone::Good) } else { ("differs", Tone::Bad) };
    let mark = terminal.style.paint(tone, &format!("{mark:<7}"));
    let error = format!("{:.1e} relative, {:.2} of the tolerance", report.relative, report.worst);
    let cpu = report.cpu.map_or_else(String::new, |cpu| {
        format!(", {:.3} s of CPU here, {:.2} s there: {:.0} times", cpu.here, cpu.there, cpu.ratio())
    });
    let mut line =
        format!("{mark} {:<40} {:>7} {:<14} {error}{cpu}\n", report.name, report.compared, report.what);
    if !report.ok {
        line += &format!("        {}\n", report.place);
    }
    if !report.note.is_empty() {
        line += &format!("        {}\n", terminal.style.paint(Tone::Muted, &report.note));
    }
    line
}
