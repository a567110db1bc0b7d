//! Pictures and the page of a curve.

use std::path::{Path, PathBuf};

use stratasim_report::picture::{Axis, HeatMap, LineChart, Picture, Series};
use stratasim_report::traffic::Window;
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
            numbers.map(|(name, number)| self.series(name, number, |point| !point.saturated())).to_vec();
        chart.draw()
    }

    /// Accepted over offered load.
    pub fn throughput(&self) -> Picture {
        let load = Axis::linear("load, flits per cycle and terminal", Unit::Count);
        let accepted = Axis::linear("accepted, flits per cycle and terminal", Unit::Count);
        let mut chart = LineChart::new(format!("{}: accepted over offered load", self.title), load, accepted);
        chart.series.push(self.series("accepted", "accepted_flits_per_cycle", |_| true));
        let offered =
            self.points.iter().filter_map(|it| Some((it.load, it.number("offered_flits_per_cycle")?.0)));
        chart.series.push(Series::new("offered", offered).dashed());
        chart.draw()
    }

    /// The channels at the highest load that the network carries (or the lowest of all): routers by ports.
    fn channels(&self) -> Option<(f64, Picture)> {
        let stable = self.points.iter().rev().find(|point| !point.saturated());
        let point = stable.or_else(|| self.points.first())?;
        let by_router = &point.results.first()?.traffic.as_ref()?.channels.by_router;
        // routers without channels of their own are no rows
        let rows: Vec<usize> =
            (0..by_router.len()).filter(|&at| by_router[at].iter().any(|&it| it >= 0.0)).collect();
        let columns = by_router.first()?.len();
        let value = |&value: &f32| if value < 0.0 { f64::NAN } else { f64::from(value) };
        let values = rows.iter().map(|&row| by_router[row].iter().map(value).collect()).collect();
        let mut map = HeatMap::new(
            format!("{}: utilisation of channels at load {}", self.title, point.load),
            rows.iter().map(|row| format!("router {row}")).collect(),
            (0..columns).map(|port| port.to_string()).collect(),
            values,
            Unit::Share,
        );
        map.columns_title = "output port".to_owned();
        map.most = Some(1.0);
        Some((point.load, map.draw()))
    }

    /// Latency of the windows of each run, over time.
    fn windows(&self) -> Picture {
        let time = Axis::linear("cycle", Unit::Count);
        // a load that is too much would flatten the others
        let latency = Axis::log("latency of what arrived in a window, cycles", Unit::Count);
        let mut chart = LineChart::new(format!("{}: latency over time", self.title), time, latency);
        // a legend of few
        let every = self.points.len().div_ceil(8).max(1);
        for point in self.points.iter().step_by(every) {
            let Some(result) = point.results.first().and_then(|result| result.traffic.as_ref()) else {
                continue;
            };
            let latency = |window: &Window| Some((window.end_cycle as f64, window.packet_latency_cycles?));
            let points = result.series.iter().filter_map(latency);
            chart.series.push(Series::new(format!("load {}", point.load), points));
        }
        chart.draw()
    }

    /// The page.
    pub fn page(&self) -> Page {
        let mut page = Page::new(self.title.as_str());
        if let Some(title) =
            self.points.first().and_then(|point| point.results.first()).map(|result| &result.title)
        {
            page.paragraph(format!("{} · {} · {}", title.topology, title.workload, title.network));
        }
        if let Some((low, high)) = self.saturation {
            page.paragraph(format!(
                "The network saturates between {low:.4} and {high:.4} flits per cycle and terminal."
            ));
        }
        page.picture(self.latency(), "latency", "Packets from coming into being to the arrival of their tail. Loads at which the network is saturated are left out.");
        page.picture(self.throughput(), "throughput", "");
        if let Some((_, picture)) = self.channels() {
            page.picture(
                picture,
                "channels",
                "The highest load that the network carries; rows of many routers are means.",
            );
        }
        page.picture(self.windows(), "windows", "Warm-up and sample.");
        page.heading("All loads");
        let seeds = self.points.iter().map(|point| point.results.len()).max().unwrap_or(0);
        page.table(
            self.table(),
            format!(
                "Latencies of packets in cycles, loads in flits per cycle and terminal, the fullest channel; means over {seeds} seed(s)."
            ),
        );
        let spec = self.points.first().and_then(|point| point.results.first()).map(|result| &result.spec);
        if let Some(spec) = spec {
            page.heading("Experiment");
            page.code(serde_json::to_string_pretty(spec).unwrap_or_default());
        }
        page
    }

    /// Writes page, pictures, table and JSON into `out`; the page comes first.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, out: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut pictures = vec![self.latency(), self.throughput()];
        pictures.extend(self.channels().map(|(_, picture)| picture));
        pictures.push(self.windows());
        publish(out, &self.page(), &pictures, &self.full_table(), self.json())
    }
}
