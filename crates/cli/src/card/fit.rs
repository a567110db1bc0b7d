//! `stratasim card fit`: parameters of a card from measurements.

use std::path::PathBuf;

use clap::Args;
use stratasim_device::card::Fidelity;
use stratasim_experiment::card::bench;
use stratasim_experiment::card::fit::{self, Parameter, read_anchors};
use stratasim_experiment::{ConfigError, Error, card, files};
use stratasim_report::style::Tone;

use super::Source;
use crate::output::Output;
use crate::terminal::Terminal;

#[derive(Args)]
pub(crate) struct Fit {
    #[command(flatten)]
    source: Source,
    /// Measurements as CSV: op, algorithm, bytes, and time_us or bandwidth; groups, scope (total or kernel) and
    /// source where wanted
    anchors: PathBuf,
    /// Parameters to fit, with commas: step, ring-step, csc-step, launch, sync, kernel, ring, global, local,
    /// reduce-ring, reduce-csc
    #[arg(long, required = true, value_name = "NAMES", value_delimiter = ',', value_parser = Parameter::named)]
    free: Vec<Parameter>,
    /// Relative residual up to which a measurement is met
    #[arg(long, value_name = "SHARE", default_value_t = 0.1, value_parser = tolerance)]
    tolerance: f64,
    /// Level of detail of the model: f0, f1 or f2
    #[arg(long, value_name = "LEVEL", default_value = "f0", value_parser = bench::fidelity)]
    fidelity: Fidelity,
    /// Write the card with the fitted parameters as TOML
    #[arg(long, value_name = "OUT")]
    out: Option<PathBuf>,
    /// Write all numbers as JSON
    #[arg(long, value_name = "OUT")]
    json: Option<PathBuf>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (1e-6..=1.0).contains(share));
    share.ok_or_else(|| "a share from 0.000001 to 1 is expected".to_owned())
}

impl Fit {
    pub(crate) fn run(&self, terminal: &Terminal) -> Result<u8, Error> {
        let inputs = [self.anchors.clone(), self.source.card.clone().into()];
        let files = [("--out", self.out.as_ref()), ("--json", self.json.as_ref())];
        let [out, json] = Output::begin_all(&inputs, files)?;
        let card = self.source.load()?;
        let text = files::read_text(&self.anchors).map_err(|error| Error::file(&self.anchors, &error))?;
        let named = |reason: String| ConfigError::new(format!("{}: {reason}", self.anchors.display()), None);
        let anchors = read_anchors(&text).map_err(named)?;
        let fit = fit::Fit::run(&card, anchors, &self.free, self.tolerance, self.fidelity).map_err(named)?;
        let style = &terminal.style;
        let (parameters, anchors) = (fit.parameter_table().to_text(style), fit.anchor_table().to_text(style));
        let rms = 100.0 * fit.rms();
        terminal.print(&format!("{parameters}\n{anchors}\nroot of the mean squared residual: {rms:.2} %\n"));
        for set in &fit.conflicts {
            let names =
                set.iter().map(|&at| format!("line {} ({})", fit.anchors[at].line, fit.anchors[at].name));
            let names = names.collect::<Vec<_>>().join(", ");
            let share = 100.0 * self.tolerance;
            let words = match set.len() {
                1 => format!("cannot be met within {share} % by any choice of these parameters: {names}"),
                _ => format!("cannot be met together within {share} %: {names}"),
            };
            terminal.print(&format!("{} {words}\n", style.paint(Tone::Bad, "contradiction:")));
        }
        let mut fitted = fit.card.clone();
        fitted.about = format!("{} (fitted to {})", fitted.about.trim_end(), self.anchors.display());
        let json_text = serde_json::to_string_pretty(&fit.json()).unwrap_or_default() + "\n";
        for (output, text, what) in [(out, card::to_toml(&fitted)?, "card"), (json, json_text, "fit")] {
            let Some(output) = output else { continue };
            let note = format!("  wrote {} ({what})", output.path.display());
            output.text(&text)?;
            terminal.note(&note);
        }
        Ok(0)
    }
}
