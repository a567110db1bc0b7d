//! Draws one of each picture, a page and a trace from made-up events, to be looked at.
//!
//! `cargo run -p stratasim-report --example gallery -- FOLDER`

use std::fs;
use std::path::{Path, PathBuf};

use stratasim_core::observe::{Activity, Event, MessageSpan, Observer, TaskSpan};
use stratasim_core::{Bandwidth, LinkId, Rank, Time};
use stratasim_report::labels::Labels;
use stratasim_report::perfetto::{PerfettoOptions, PerfettoTrace};
use stratasim_report::picture::{
    Axis, HeatMap, LineChart, Picture, Scheme, Series, Timeline, breakdown_bars, job_bars, link_bars,
    link_heat_map,
};
use stratasim_report::result::{JobResult, LinkResult, RankResult};
use stratasim_report::table::{Comparison, comparison};
use stratasim_report::{Columns, Filter, LinkLoad, Page, TimeWindow, Unit};

const LAYERS: u64 = 12;
const MS: u64 = 1_000_000_000;

/// Names of the made-up run.
struct Names;

impl Labels for Names {
    fn rank(&self, rank: Rank) -> String {
        format!("rank {rank} (xpu-{rank})")
    }
    fn node(&self, rank: Rank) -> String {
        format!("xpu-{rank}")
    }
    fn vertex(&self, vertex: u32) -> String {
        let layer = u64::from(vertex) % LAYERS;
        let part = ["forward", "backward", "gradients"][(u64::from(vertex) / LAYERS) as usize % 3];
        format!("layer {layer} {part}")
    }
    fn link(&self, link: LinkId) -> String {
        format!("xpu-{link}->cxl-{}", link.0 / 8)
    }
    fn link_rate(&self, _: LinkId) -> Option<Bandwidth> {
        Some(Bandwidth(128e9))
    }
}

/// One iteration of data-parallel training: forward, backward, and gradients behind it.
fn iteration(ranks: u32, steps_per_layer: u64) -> Vec<Event> {
    let mut events = Vec::new();
    for rank in 0..ranks {
        let late = u64::from(rank * 7 % 5) * MS / 2;
        let mut clock = late;
        let mut network_free = 0;
        let mut span = |stream: u16, vertex: u64, activity, start: u64, end: u64| {
            let (start, end) = (Time::from_ps(start), Time::from_ps(end));
            let (rank, vertex, bytes) = (Rank(rank), vertex as u32, 1 << 30);
            events.push(Event::Task(TaskSpan {
                rank,
                stream,
                vertex,
                iteration: 0,
                activity,
                start,
                end,
                bytes,
            }));
        };
        for backward in [false, true] {
            for at in 0..LAYERS {
                let layer = if backward { LAYERS - 1 - at } else { at };
                let length = if backward { 22 * MS } else { 11 * MS } / steps_per_layer;
                for _ in 0..steps_per_layer {
                    let vertex = layer + if backward { LAYERS } else { 0 };
                    span(0, vertex, Activity::Compute, clock, clock + length);
                    span(0, vertex, Activity::Memory, clock, clock + length * (3 + layer % 4) / 5);
                    clock += length + length / 9;
                }
                if backward {
                    let start = clock.max(network_free);
                    network_free = start + 27 * MS;
                    span(1, layer + 2 * LAYERS, Activity::Communication, start, network_free);
                }
            }
        }
    }
    for step in 0..LAYERS {
        for rank in 0..ranks {
            let start = Time::from_ps(140 * MS + step * 27 * MS);
            let end = Time::from_ps(140 * MS + (step + 1) * 27 * MS - u64::from(rank) * MS / 10);
            let (src, dst) = (Rank(rank), Rank((rank + 1) % ranks));
            let bytes = 600_000_000 << (rank % 3);
            events.push(Event::Message(MessageSpan { src, dst, start, end, bytes, flow: None }));
            events.push(Event::LinkUse { link: LinkId(rank), start, end, bytes: bytes as f64 });
        }
    }
    events.sort_by_key(|event| match event {
        Event::Task(task) => task.end,
        Event::Message(message) => message.end,
        Event::LinkUse { end, .. } => *end,
        _ => Time::ZERO,
    });
    events
}

fn record(events: &[Event]) -> Columns {
    let mut columns = Columns::new(Filter::default());
    events.iter().for_each(|event| columns.on_event(event));
    columns
}

fn sweep() -> Picture {
    let mut chart = LineChart::new(
        "LLaMA2-13B training over the bandwidth of the CXL links",
        Axis::log("CXL bandwidth", Unit::BytesPerSecond),
        Axis::linear("training rate (batches/s)", Unit::Count),
    );
    let rates = [16e9, 32e9, 64e9, 128e9, 256e9, 512e9];
    for (scale, count) in [(1.0, 64.0), (0.98, 256.0), (0.9, 1024.0)] {
        let points = rates.map(|rate| (rate, scale * count / 7.34 / (1.0 + 40e9 / rate)));
        let reference = rates.map(|rate| (rate, 0.97 * scale * count / 7.34 / (1.0 + 44e9 / rate)));
        let series = Series::new(format!("{count} H100"), points);
        chart.series.push(if count > 64.0 { series.with_reference(reference) } else { series });
    }
    chart
        .series
        .push(Series::new("bound: compute of 1,024 H100", rates.map(|rate| (rate, 1024.0 / 7.34))).dashed());
    chart.reference = "paper".into();
    chart.draw()
}

fn latency() -> Picture {
    let mut chart = LineChart::new(
        "Step time over latency",
        Axis::log("CXL latency", Unit::Seconds),
        Axis::linear("step time", Unit::Seconds),
    );
    for (at, scale) in [64.0, 256.0, 1024.0, 4096.0].into_iter().enumerate() {
        let points =
            (0..12).map(|n| 1e-7 * 2.5f64.powi(n)).map(|x| (x, 7.4 + 2.0 * scale * x * (1.0 + at as f64)));
        chart.series.push(Series::new(format!("{scale} accelerators"), points));
    }
    chart.y.from_zero = false;
    chart.y.log = true;
    chart.draw()
}

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "target/gallery".into()));
    fs::create_dir_all(&folder)?;
    let save = |name: &str, picture: &Picture| -> std::io::Result<()> {
        fs::write(folder.join(format!("{name}.svg")), picture.svg())?;
        fs::write(folder.join(format!("{name}-light.png")), picture.png(Scheme::Light, 2.0))?;
        fs::write(folder.join(format!("{name}-dark.png")), picture.png(Scheme::Dark, 2.0))
    };

    let few = iteration(4, 1);
    let columns = record(&few);
    let mut timeline = Timeline::new("One iteration on four accelerators", &columns.tasks, &Names);
    timeline.subtitle = "cxl-fabric, LLaMA2-13B, data parallel 4".into();
    let time_line = timeline.draw();
    save("timeline-few", &time_line)?;
    timeline.by_stream = true;
    save("timeline-streams", &timeline.draw())?;
    let many = record(&iteration(1024, 8));
    let crowded = Timeline::new("One iteration on 1,024 accelerators", &many.tasks, &Names).draw();
    save("timeline-many", &crowded)?;
    let dense = record(&iteration(8, 600));
    save("timeline-dense", &Timeline::new("Eight accelerators, 172,800 tasks", &dense.tasks, &Names).draw())?;
    save("timeline-empty", &Timeline::new("Nothing", &Columns::default().tasks, &Names).draw())?;

    let share = |rank: u32| {
        let compute_s = 0.30 - 0.01 * f64::from(rank % 7);
        let (memory_s, comm_exposed_s) = (0.06 + 0.004 * f64::from(rank % 5), 0.03);
        let idle_s = 0.42 - compute_s - memory_s - comm_exposed_s;
        RankResult { finish_s: 0.41, compute_s, memory_s, comm_exposed_s, idle_s }
    };
    let four: Vec<_> = (0..4).map(share).collect();
    save("breakdown", &breakdown_bars("Where the time goes", &four).draw())?;
    let all: Vec<_> = (0..1024).map(share).collect();
    save("breakdown-many", &breakdown_bars("Where the time goes, 1,024 ranks", &all).draw())?;

    let job = |(name, start_s, duration_s, alone_s): (&str, f64, f64, f64)| JobResult {
        name: name.to_owned(),
        ranks: 8,
        nodes: 8,
        start_s,
        finish_s: start_s + duration_s,
        duration_s,
        alone_s: Some(alone_s),
        slowdown: Some(duration_s / alone_s),
    };
    let jobs = [("training", 0.0, 0.042, 0.031), ("shuffle", 0.005, 0.013, 0.013)].map(job);
    save("jobs", &job_bars("Time of the jobs", &jobs).draw())?;

    let mut load = LinkLoad::new(TimeWindow::ALWAYS, 512);
    iteration(24, 1).iter().for_each(|event| load.on_event(event));
    let links: Vec<LinkResult> = load
        .totals()
        .map(|(link, bytes)| LinkResult {
            name: Names.link(link),
            from: String::new(),
            to: String::new(),
            bytes,
            utilisation: bytes / 128e9 / 0.5,
            busy_s: bytes / 128e9,
        })
        .collect();
    save("links", &link_bars("The fullest links", &links, 10).draw())?;
    save("links-over-time", &link_heat_map("Load of links over time", &load, &Names, 24).draw())?;
    let racks: Vec<String> = (0..8).map(|rack| format!("{rack}")).collect();
    let values =
        (0..8_i32).map(|a| (0..8_i32).map(|b| 0.9 / f64::from(1 + (a - b).abs())).collect()).collect();
    let mut matrix = HeatMap::new("Utilisation between racks", racks.clone(), racks, values, Unit::Share);
    (matrix.rows_title, matrix.columns_title) = ("from rack".into(), "to rack".into());
    save("racks", &matrix.draw())?;
    save("sweep", &sweep())?;
    save("latency", &latency())?;

    let mut page = Page::new("Bandwidth of the coherent network");
    let rows = [(8.12, 7.98), (32.41, 31.97), (12.02, 10.65)].map(|(ours, theirs)| Comparison {
        labels: vec!["64 H100".into(), "ring".into()],
        ours,
        theirs: Some(theirs),
        unit: Unit::Count,
    });
    page.paragraph("Our numbers beside the paper's; run `stratasim sweep fig10.toml` to get them again.")
        .heading("Curves")
        .picture(sweep(), "sweep", "Filled: ours. Hollow: the paper, read off its figure.")
        .heading("Numbers")
        .table(comparison(&["machine", "collective"], "paper", &rows), "Batches per second.")
        .heading("One iteration")
        .picture(time_line, "timeline", "")
        .code("stratasim run experiment.toml --trace out.perfetto-trace");
    page.write(&folder, "page")?;
    trace(&folder, &few, &columns)
}

fn trace(folder: &Path, events: &[Event], columns: &Columns) -> std::io::Result<()> {
    let file = fs::File::create(folder.join("trace.perfetto-trace"))?;
    let mut trace = PerfettoTrace::new(file, PerfettoOptions::default(), &Names);
    events.iter().for_each(|event| trace.on_event(event));
    trace.finish()?;
    columns.tasks.write_csv(fs::File::create(folder.join("trace.csv"))?, &Names)
}
