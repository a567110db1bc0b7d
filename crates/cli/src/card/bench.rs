//! `stratasim card bench`: a collective over many sizes.

use std::path::PathBuf;

use clap::Args;
use stratasim_device::card::{AlgorithmSpec, Fidelity, Operation};
use stratasim_experiment::Error;
use stratasim_experiment::card::bench::{self, Sizes};

use super::Source;
use super::real::{Json, Real};
use crate::output::{Output, check_apart, picture_path};
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Bench {
    #[command(flatten)]
    source: Source,
    /// all-gather, reduce-scatter, all-reduce or broadcast
    #[arg(long = "op", value_name = "OPERATION", default_value = "all-gather", value_parser = bench::operation)]
    operation: Operation,
    /// Lengths of the vector: 8MB, 16KiB:64MiB (doubled each time), 1MB:1GB:10 (times 10), or several with commas
    #[arg(long, value_name = "SIZES", allow_hyphen_values = true, default_value = "16KiB:64MiB")]
    sizes: Sizes,
    /// Algorithms, with commas: ring, csc, csc-equation, direct
    #[arg(long, conflicts_with = "real", value_name = "NAMES", default_value = "ring,csc,direct", value_delimiter = ',', value_parser = bench::algorithm)]
    algorithms: Vec<AlgorithmSpec>,
    /// Level of detail: f0 (closed forms), f1 (task graph), f2 (tiles through the scratch-pads)
    #[arg(long, conflicts_with = "real", value_name = "LEVEL", default_value = "f1", value_parser = bench::fidelity)]
    fidelity: Fidelity,
    /// Write all numbers as JSON; - is standard output, in place of the table
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
    /// Draw bandwidth over size, as .svg or .png
    #[arg(long, conflicts_with = "real", value_name = "OUT", value_parser = picture_path)]
    picture: Option<PathBuf>,
    /// Print the table as CSV, in bytes, seconds and bytes per second
    #[arg(long, conflicts_with = "real")]
    csv: bool,
    #[command(flatten)]
    real: Real,
}

impl Bench {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let files = [
            ("--json", self.json.as_ref()),
            ("--picture", self.picture.as_ref()),
            ("--save", self.real.save.as_ref()),
            ("--card-out", self.real.card_out.as_ref()),
        ];
        check_apart(&[self.source.card.clone().into()], &files)?;
        let card = self.source.load()?;
        let to_output = self.json.as_ref().is_some_and(|path| path.as_os_str() == "-");
        let json = Output::begin_if("--json", self.json.as_ref().filter(|_| !to_output))?;
        if self.real.real {
            let json = if to_output { Json::Printed } else { json.map_or(Json::None, Json::File) };
            return self.real.run(&card, self.operation, &self.sizes, json, terminal);
        }
        let picture = Output::begin_if("--picture", self.picture.as_ref())?;
        let bench = bench::Bench::run(&card, self.operation, &self.algorithms, &self.sizes, self.fidelity);
        let text = serde_json::to_string_pretty(&bench.json()).unwrap_or_default() + "\n";
        if to_output {
            terminal.print(&text);
        } else if self.csv {
            let mut csv = Vec::new();
            bench.table(true).write_csv(&mut csv).map_err(|error| Error::file("standard output", &error))?;
            terminal.print(&String::from_utf8_lossy(&csv));
        } else {
            let groups = card.core_groups;
            let heading =
                format!("{}: {} between {groups} core groups\n\n", card.name, self.operation.name());
            terminal.print(&(heading + &bench.table(false).to_text(&terminal.style)));
        }
        for reason in bench.reasons() {
            terminal.note(&format!("  - {reason}"));
        }
        if let Some(json) = json {
            let note = format!("  wrote {} (times)", json.path.display());
            json.text(&text)?;
            terminal.note(&note);
        }
        if let Some(picture) = picture {
            let note = format!("  wrote {} (picture)", picture.path.display());
            picture.draw(&bench.picture())?;
            terminal.note(&note);
        }
        Ok(0)
    }
}
