//! Pictures of open-loop traffic: channels, and latency over time.

use super::{Axis, HeatMap, LineChart, Picture, Series};
use crate::traffic::{TrafficResult, Window};
use crate::units::Unit;

/// Utilisation of the channels between routers, routers by ports; none where the result does not have it router by router.
pub fn channel_map(title: impl Into<String>, traffic: &TrafficResult) -> Option<Picture> {
    let by_router = &traffic.channels.by_router;
    // routers without channels of their own are no rows
    let rows: Vec<usize> =
        (0..by_router.len()).filter(|&at| by_router[at].iter().any(|&it| it >= 0.0)).collect();
    let ports = by_router.first()?.len();
    if rows.is_empty() || ports == 0 {
        return None;
    }
    // older results have no names
    let columns = match &traffic.channels.columns[..] {
        [] => (0..ports).map(|port| port.to_string()).collect(),
        names => names.to_vec(),
    };
    let has_directions = columns.iter().any(|name| name.parse::<u32>().is_err());
    let value = |&value: &f32| if value < 0.0 { f64::NAN } else { f64::from(value) };
    let values = rows.iter().map(|&row| by_router[row].iter().map(value).collect()).collect();
    let name = |&row: &usize| {
        let name = traffic.channels.routers.get(row).cloned();
        name.unwrap_or_else(|| format!("router {row}"))
    };
    let mut map = HeatMap::new(title, rows.iter().map(name).collect(), columns, values, Unit::Share);
    map.columns_title = if has_directions { "direction" } else { "output port" }.to_owned();
    map.most = Some(1.0);
    // a hot spot is seen among its neighbours
    map.largest = true;
    if map.rows_per_cell() > 1 {
        map.rows_title = format!("the fullest of {} routers from", map.rows_per_cell());
    }
    Some(map.draw())
}

/// Latencies that lie farther apart than this stand on a logarithmic axis.
const MOST_TIMES: f64 = 8.0;

/// Latency of what arrived in each window of time, a line per run, the warm-up hollow; one run needs no name.
pub fn latency_over_time<'a>(
    title: impl Into<String>,
    runs: impl Iterator<Item = (String, &'a TrafficResult)>,
) -> Picture {
    let latency = |window: &Window| Some((window.end_cycle as f64, window.packet_latency_cycles?));
    let line = |(name, traffic): (String, &TrafficResult)| {
        let series = Series::new(name, traffic.series.iter().filter_map(latency));
        let warms_up =
            series.points.iter().map(|&(end, _)| end <= traffic.warm_up_cycles as f64).collect::<Vec<_>>();
        series.with_hollow(warms_up)
    };
    let series: Vec<Series> = runs.map(line).collect();
    let all = || series.iter().flat_map(|series| &series.points).map(|point| point.1);
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    // a load that is too much would flatten the others
    let axis = if most > MOST_TIMES * least { Axis::log } else { Axis::linear };
    let latency = axis("latency of what arrived in a window, cycles".to_owned(), Unit::Count);
    let mut chart = LineChart::new(title, Axis::linear("cycle", Unit::Count), latency);
    if series.iter().any(|series| series.hollow.contains(&true)) {
        chart.hollow = "warm-up".to_owned();
    }
    chart.series = series;
    chart.draw()
}

/// Load that entered the network and load that arrived in each window of time.
pub fn load_over_time(title: impl Into<String>, traffic: &TrafficResult) -> Picture {
    let time = Axis::linear("cycle", Unit::Count);
    let load = Axis::linear("flits per cycle and terminal", Unit::Count);
    let mut chart = LineChart::new(title, time, load);
    let line = |name: &str, value: fn(&Window) -> f64| {
        Series::new(name, traffic.series.iter().map(move |window| (window.end_cycle as f64, value(window))))
    };
    chart.series.push(line("arrived", |window| window.accepted_flits_per_cycle));
    chart.series.push(line("entered", |window| window.injected_flits_per_cycle).dashed());
    chart.draw()
}
