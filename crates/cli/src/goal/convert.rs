//! `stratasim goal convert`: a schedule in another form.

use std::path::PathBuf;

use clap::Args;
use stratasim_experiment::Error;
use stratasim_report::Unit;
use stratasim_report::table::{Cell, Table};
use stratasim_workload::goal::file::Form;

use super::file::{Output, read_and_tell};
use crate::output::check_apart;
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Convert {
    /// A schedule of any form, whatever its name; - reads standard input
    #[arg(value_name = "IN")]
    from: PathBuf,
    /// Where to; the ending says in which form: .goal (GOAL text), .bin (GOAL binary, byte for byte
    /// as txt2bin writes it) or .strata (ours, a few bytes per operation). - writes text to standard
    /// output
    #[arg(value_name = "OUT")]
    to: PathBuf,
    /// Print no table and no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Convert {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        check_apart(std::slice::from_ref(&self.from), &[("OUT", Some(&self.to))])?;
        let output = Output::create(&self.to)?;
        let loaded = read_and_tell(&self.from, terminal, self.quiet)?;
        let (form, silent) = (output.form, self.quiet || output.is_standard_output());
        let bytes = output.write(&loaded.schedule, terminal, self.quiet)?;
        if silent {
            return Ok(0);
        }
        let schedule = &loaded.schedule;
        let mut table = Table::new(["file", "form", "size", "per operation"]);
        for (path, form, bytes) in [(&self.from, loaded.form, loaded.bytes), (&self.to, form, bytes)] {
            let size = bytes as f64;
            let each = (!schedule.is_empty()).then(|| (size / f64::from(schedule.len()), Unit::Bytes));
            table.push([
                Cell::from(path.display().to_string()),
                form.name().into(),
                (size, Unit::Bytes).into(),
                each.map_or(Cell::Missing, |(size, _)| Cell::Text(per_operation(size))),
            ]);
        }
        terminal.print(&table.to_text(&terminal.style));
        let labelled = || (0..schedule.len()).any(|number| schedule.own_label(number).is_some());
        if form == Form::Binary && loaded.form != Form::Binary && labelled() {
            terminal.note("  GOAL binary has no labels: those of this schedule are lost");
        }
        Ok(0)
    }
}

/// Bytes of an operation: fractions count.
pub(super) fn per_operation(bytes: f64) -> String {
    if bytes < 0.005 { "under 0.01 B".to_owned() } else { format!("{bytes:.2} B") }
}
