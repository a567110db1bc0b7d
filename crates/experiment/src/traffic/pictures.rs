//! Pictures and the page of a curve.

use std::path::{Path, PathBuf};

use stratasim_core::words::counted;
use stratasim_report::picture::{Axis, LineChart, Picture, Series, channel_map, latency_over_time};
use stratasim_report::result::Title;
use stratasim_report::{Page, Unit};

use super::curve::{Curve, CurvePoint};
use crate::error::Error;
use crate::publish::publish;

impl Curve {
    fn series(&self, name: &str, number: &str, keep: impl Fn(&CurvePoint) -> bool) -> Series {
        let points = self.points.iter().filter(|point| keep(point));
        Series::new(name, points.filter_map(|point| Some((point.load, point.number(number)?.0))))
    }

    /// Latency over load: mean and tail. Saturated loads are left out, where latency has no meaning.
    pub fn latency(&self) -> Picture {
        let load = Axis::linear("load, flits per cycle and terminal", Unit::Count);
        let latency = Axis::linear("packet latency, cycles", Unit::Count);
        let mut chart = LineChart::new(format!("{}: latency over load", self.title), load, latency);
        let numbers = [
            ("99 of 100", "packet_latency_p99_cycles"),
            ("mean, in the network", "network_latency_cycles"),
            ("mean", "packet_latency_cycles"),
        ];
        chart.series =
            numbers.map(|(name, number)| self.series(name, number, |point| point.carried())).to_vec();
        chart.draw()
    }

    /// Accepted over offered load.
    pub fn throughput(&self) -> Picture {
        let load = Axis::linear("load, flits per cycle and terminal", Unit::Count);
        let accepted = Axis::linear("accepted, flits per cycle and terminal", Unit::Count);
        let mut chart = LineChart::new(format!("{}: accepted over offered load", self.title), load, accepted);
        let name = "accepted_flits_per_cycle";
        let shown = self.points.iter().filter(|point| point.number(name).is_some());
        let saturated: Vec<bool> = shown.map(CurvePoint::saturated).collect();
        if saturated.contains(&true) {
            chart.hollow = "saturated".to_owned();
        }
        chart.series.push(self.series("accepted", name, |_| true).with_hollow(saturated));
        let offered =
            self.points.iter().filter_map(|it| Some((it.load, it.number("offered_flits_per_cycle")?.0)));
        chart.series.push(Series::new("offered", offered).dashed());
        chart.draw()
    }

    /// The channels at the highest load that the network carries, or the lowest of all where it carries none: routers by
    /// directions or ports; and which of the two it is.
    fn channels(&self) -> Option<(&'static str, Picture)> {
        let stable = self.points.iter().rev().find(|point| point.carried());
        let point = stable.or_else(|| self.points.first())?;
        let title = format!("{}: utilisation of channels at load {}", self.title, point.load);
        let picture = channel_map(title, point.results.first()?.traffic.as_ref()?)?;
        let which = match stable {
            Some(_) => "The highest load that the network carries.",
            None => "The network carries none of these loads, this is the lowest.",
        };
        Some((which, picture))
    }

    /// Latency of the windows of each run, over time; and of how many loads one is shown.
    fn windows(&self) -> (Picture, usize) {
        // a legend of few, the highest load among them
        let every = self.points.len().div_ceil(8).max(1);
        let first = self.points.len().saturating_sub(1) % every;
        let runs = self.points.iter().skip(first).step_by(every).filter_map(|point| {
            // as many digits as a load has that somebody wrote
            let load = format!("{:.6}", point.load);
            let load = load.trim_end_matches('0').trim_end_matches('.');
            Some((format!("load {load}"), point.results.first()?.traffic.as_ref()?))
        });
        (latency_over_time(format!("{}: latency over time", self.title), runs), every)
    }

    /// The page.
    pub fn page(&self) -> Page {
        let mut page = Page::new(self.title.as_str());
        let first = self.points.first().and_then(|point| point.results.first());
        // what was read without its runs does not say on what they ran
        if let Some(title) = first.map(|result| &result.title).filter(|title| **title != Title::default()) {
            // a page of several loads is about none of them
            let of_one = || title.workload.rsplit_once(", load ").filter(|_| self.points.len() > 1);
            let workload = of_one().map_or(title.workload.as_str(), |(what, _)| what);
            page.paragraph(format!("{} · {workload} · {}", title.topology, title.network));
        }
        if self.saturation.is_some() {
            page.paragraph(format!("The network {}.", self.finding()));
        }
        for failure in &self.failures {
            page.paragraph("A run has no result.");
            page.code(failure.to_string());
        }
        page.picture(self.latency(), "latency", "Packets from coming into being to the arrival of their tail. Loads that the network does not carry, or of which that is not known, are left out.");
        if let Some(picture) = self.class_latency() {
            page.picture(picture, "classes", "The same by class, means.");
        }
        page.picture(self.throughput(), "throughput", "");
        if let Some((which, picture)) = self.channels() {
            page.picture(picture, "channels", which);
        }
        let (windows, every) = self.windows();
        let which = match every {
            1 => "Warm-up and sample.".to_owned(),
            every => format!("Warm-up and sample, of one of {every} loads each."),
        };
        page.picture(windows, "windows", which);
        page.heading("All loads");
        let seeds = self.points.iter().map(|point| point.results.len()).max().unwrap_or(0);
        page.table(
            self.table(),
            format!(
                "Latencies of packets in cycles, loads in flits per cycle and terminal, the fullest channel; means over {}{}.",
                counted(seeds as u64, "seed"),
                if seeds > 1 { ", those with which the network was saturated among them" } else { "" }
            ),
        );
        if let Some(table) = self.class_table() {
            page.table(table, "The classes at each load.");
        }
        let notes = self.notes();
        if !notes.is_empty() {
            page.heading("Notes");
            page.list(notes);
        }
        let spec = self.points.first().and_then(|point| point.results.first()).map(|result| &result.spec);
        if let Some(spec) = spec {
            page.heading("Experiment");
            // a configuration of BookSim2 is a text of its own
            page.code(match spec.get("booksim2").and_then(serde_json::Value::as_str) {
                Some(configuration) => configuration.to_owned(),
                None => serde_json::to_string_pretty(spec).unwrap_or_default(),
            });
        }
        page
    }

    /// Writes page, pictures, table and JSON into `out`; the page comes first.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, out: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut pictures = vec![self.latency()];
        pictures.extend(self.class_latency());
        pictures.push(self.throughput());
        pictures.extend(self.channels().map(|(_, picture)| picture));
        pictures.push(self.windows().0);
        publish(out, &self.page(), &pictures, &self.full_table(), self.json())
    }
}
