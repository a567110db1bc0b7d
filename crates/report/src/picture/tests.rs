//! What every picture must be: complete, inside of its frame, well formed, small.

use stratasim_core::observe::{Activity, TaskSpan};
use stratasim_core::{LinkId, Rank, Time};

use super::palette::Paint;
use super::scene::{Anchor, Shape};
use super::*;
use crate::columns::TaskColumns;
use crate::distribution::Distribution;
use crate::labels::{Labels, Plain};
use crate::load::LinkLoad;
use crate::result::{JobResult, LinkResult, RankResult, RunResult};
use crate::units::Unit;
use crate::{Filter, TimeWindow};

const MS: u64 = 1_000_000_000;

/// `count` tasks per rank and activity, each busy for `busy` of its share of a second.
fn tasks(ranks: u32, count: u64, busy: f64) -> TaskColumns {
    let mut columns = TaskColumns::default();
    let slot = 1000 * MS / count;
    for rank in 0..ranks {
        for at in 0..count {
            for activity in crate::columns::ACTIVITIES {
                let start = Time::from_ps(at * slot);
                let end = Time::from_ps(at * slot + (slot as f64 * busy) as u64);
                let (rank, vertex) = (Rank(rank), (at % 40) as u32);
                columns.push(&TaskSpan {
                    rank,
                    stream: 0,
                    vertex,
                    iteration: 0,
                    activity,
                    start,
                    end,
                    bytes: 0,
                });
            }
        }
    }
    columns
}

/// Two ranks and `count` tasks on each of `streams` streams, `per_ms` of them in a millisecond.
fn streams(streams: u16, count: u64, per_ms: u64) -> TaskColumns {
    let mut columns = TaskColumns::default();
    for at in 0..2 * u64::from(streams) * count {
        let (rank, stream) = (Rank((at % 2) as u32), (at / 2 % u64::from(streams)) as u16);
        let start = Time::from_ps(at / 2 / u64::from(streams) * MS / per_ms);
        columns.push(&TaskSpan {
            rank,
            stream,
            vertex: at as u32,
            iteration: 0,
            activity: if stream == 0 { Activity::Compute } else { Activity::Communication },
            start,
            end: start + stratasim_core::Duration::from_ps(MS / per_ms),
            bytes: 0,
        });
    }
    columns
}

#[test]
fn streams_have_rows_of_their_own_with_computation_over_what_waits() {
    struct Cpus;
    impl Labels for Cpus {
        fn stream(&self, _: Rank, stream: u16, _: Activity) -> String {
            format!("cpu {stream}")
        }
        fn vertex(&self, vertex: u32) -> String {
            ["wait", "work", "send"][vertex as usize].to_owned()
        }
    }
    let mut columns = TaskColumns::default();
    let mut push = |stream, vertex, activity, start: u64, end: u64| {
        let (start, end) = (Time::from_ps(start * MS), Time::from_ps(end * MS));
        let span = TaskSpan { rank: Rank(0), stream, vertex, iteration: 0, activity, start, end, bytes: 0 };
        columns.push(&span);
    };
    push(0, 1, Activity::Compute, 0, 40);
    push(0, 0, Activity::Communication, 0, 90);
    push(1, 2, Activity::Communication, 10, 90);
    let mut timeline = Timeline::new("Streams", &columns, &Cpus);
    let by_activity = timeline.draw().svg();
    assert!(!by_activity.contains("cpu 0") && by_activity.contains(">wait<"));
    timeline.by_stream = true;
    let by_stream = timeline.draw();
    let svg = by_stream.svg();
    // two rows as before, but the computation lies on the receive of the same stream
    assert_eq!(by_stream.size(), timeline_size(&columns));
    assert!(svg.contains(">cpu 0<") && svg.contains(">cpu 1<") && svg.contains(">send<"), "{svg}");
    assert!(svg.find(">wait<").unwrap() < svg.find(">work<").unwrap());
    // one stream needs no name
    timeline.filter.window = "0 ms..5 ms".parse().unwrap();
    assert!(!timeline.draw().svg().contains("cpu 0"));
}

/// Size of a time line by activity.
fn timeline_size(columns: &TaskColumns) -> (f64, f64) {
    Timeline::new("Streams", columns, &Plain).draw().size()
}

fn chart() -> LineChart {
    let mut chart = LineChart::new(
        "Training rate over the number of accelerators, with a title that is far too long for the width of the picture",
        Axis::log("accelerators", Unit::Count),
        Axis::linear("rate", Unit::PerSecond),
    );
    for scale in 1..=8 {
        let name = format!("series number {scale} with a long name");
        let points = (0..7).map(|n| f64::from(64 << n)).map(|x| (x, x * f64::from(scale)));
        chart.series.push(Series::new(name, points).with_reference([(64.0, 60.0)]));
    }
    chart.reference = "paper".into();
    chart
}

fn load() -> LinkLoad {
    let mut load = LinkLoad::new(TimeWindow::ALWAYS, 256);
    for link in 0..40 {
        load.add(
            LinkId(link),
            Time::from_ps(u64::from(link) * MS),
            Time::from_ps(100 * MS),
            f64::from(1 << 30),
        );
    }
    load
}

/// One of each kind, plain and extreme.
fn all() -> Vec<Picture> {
    struct Long;
    impl Labels for Long {
        fn rank(&self, rank: Rank) -> String {
            format!("rank {rank} on rack-12.server-3.socket-1.accelerator-7 of a long name")
        }
        fn link(&self, link: LinkId) -> String {
            format!("rack-12.server-3.xpu-{link}->rack-12.switch-0 with a very long name")
        }
    }
    let rank = RankResult { finish_s: 8.0, compute_s: 6.0, memory_s: 1.0, comm_exposed_s: 0.5, idle_s: 0.5 };
    let link = |at: usize| LinkResult {
        name: Long.link(LinkId::from_index(at)),
        from: String::new(),
        to: String::new(),
        bytes: 1e9,
        utilisation: 1.0 / (1.0 + at as f64),
        busy_s: 1.0,
    };
    let (few, many) = (tasks(2, 6, 0.9), tasks(100, 30, 0.5));
    let timeline = |tasks, labels| Timeline::new("Time line", tasks, labels);
    let mut named = timeline(&few, &Long);
    named.subtitle = "A line that says more about what was run and on which machine ".repeat(4);
    // streams: few with names, and more ranks than can be named
    let mut by_stream = timeline(&few, &Plain);
    by_stream.by_stream = true;
    let streams = streams(3, 70, 3);
    let mut many_streams = timeline(&streams, &Long);
    many_streams.by_stream = true;
    let job = |at: usize| JobResult {
        name: format!("job {at} with a long name that goes on and on"),
        ranks: 4,
        nodes: 4,
        start_s: at as f64,
        finish_s: at as f64 + 3.0,
        duration_s: 3.0,
        alone_s: at.is_multiple_of(2).then_some(2.0 + at as f64),
        slowdown: None,
    };
    let jobs: Vec<JobResult> = (0..40).map(job).collect();
    let size = |n: usize| (0..n).map(|at| format!("group {at}")).collect::<Vec<_>>();
    let square = |n: usize| {
        let values = (0..n).map(|a| (0..n).map(|b| (a * b) as f64).collect()).collect();
        let mut map = HeatMap::new("Bytes between groups", size(n), size(n), values, Unit::Bytes);
        (map.rows_title, map.columns_title) = ("from".into(), "to".into());
        map.draw()
    };
    let empty = TaskColumns::default();
    vec![
        timeline(&few, &Plain).draw(),
        named.draw(),
        timeline(&many, &Plain).draw(),
        timeline(&empty, &Plain).draw(),
        by_stream.draw(),
        many_streams.draw(),
        job_bars("Jobs", &jobs[..2]).draw(),
        job_bars("Jobs", &jobs).draw(),
        job_bars("Jobs", &[]).draw(),
        breakdown_bars("Where the time goes", &[rank; 3]).draw(),
        breakdown_bars("Where the time goes", &vec![rank; 5000]).draw(),
        breakdown_bars("Where the time goes", &[]).draw(),
        link_bars("Links", &(0..30).map(link).collect::<Vec<_>>(), 25).draw(),
        chart().draw(),
        LineChart::new("Nothing", Axis::log("x", Unit::Seconds), Axis::log("y", Unit::Count)).draw(),
        link_heat_map("Links over time", &load(), &Long, 30).draw(),
        link_heat_map("Nothing on links", &LinkLoad::new(TimeWindow::ALWAYS, 16), &Long, 30).draw(),
        saved().draw(),
        Bars::new("No bars", Axis::linear("time", Unit::Seconds), ["time"]).draw(),
        square(3),
        square(200),
        square(0),
    ]
}

#[test]
fn nothing_reaches_beyond_the_frame() {
    for picture in all() {
        let (width, height) = picture.size();
        let inside = |what: &dyn std::fmt::Debug, left: f64, top: f64, right: f64, bottom: f64| {
            assert!(
                left >= 0.0 && top >= 0.0 && right <= width && bottom <= height,
                "{}: {what:?} at {left}..{right} x {top}..{bottom} of {width} x {height}",
                picture.title()
            );
        };
        for shape in &picture.scene.shapes {
            match shape {
                Shape::Boxes { boxes, .. } => {
                    for [x, y, w, h] in boxes {
                        assert!(*w >= 0.0 && *h >= 0.0, "{w} x {h}");
                        inside(&"box", *x, *y, x + w, y + h);
                    }
                }
                Shape::Line { points, .. } => {
                    points.iter().for_each(|(x, y)| inside(&"line", *x, *y, *x, *y))
                }
                Shape::Mark { x, y, radius, .. } => {
                    inside(&"mark", x - radius, y - radius, x + radius, y + radius)
                }
                Shape::Text { x, y, size, bold, anchor, turned, text, .. } => {
                    // readers may have a font that is somewhat wider than ours
                    let length = 1.05 * font::width(text, *size, *bold);
                    let before = match anchor {
                        Anchor::Start => 0.0,
                        Anchor::Middle => length / 2.0,
                        Anchor::End => length,
                    };
                    if *turned {
                        inside(text, x - size, y - length / 2.0, *x, y + length / 2.0);
                    } else {
                        inside(text, x - before, y - size, x - before + length, y + 0.3 * size);
                    }
                }
            }
        }
    }
}

#[test]
fn every_picture_is_well_formed_and_can_be_drawn_as_pixels() {
    for picture in all() {
        for svg in [picture.svg(), picture.svg_in(Scheme::Dark)] {
            let mut reader = quick_xml::Reader::from_str(&svg);
            let mut depth = 0_i32;
            loop {
                match reader.read_event().expect("well-formed XML") {
                    quick_xml::events::Event::Start(_) => depth += 1,
                    quick_xml::events::Event::End(_) => depth -= 1,
                    quick_xml::events::Event::Eof => break,
                    _ => {}
                }
            }
            assert_eq!(depth, 0);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", picture.title());
        }
        assert!(picture.png(Scheme::Light, 0.5).starts_with(b"\x89PNG"));
    }
}

/// Area of the boxes of one colour, weighted with their opacity.
fn ink(picture: &Picture, wanted: Paint) -> f64 {
    let area = |shape: &Shape| match shape {
        Shape::Boxes { boxes, paint, opacity } if *paint == wanted => {
            boxes.iter().map(|[_, _, w, h]| w * h).sum::<f64>() * opacity
        }
        _ => 0.0,
    };
    picture.scene.shapes.iter().map(area).sum()
}

#[test]
fn a_time_line_of_100_000_tasks_is_small_and_as_dark_as_the_tasks_are_dense() {
    let dense = tasks(8, 4200, 0.5);
    assert!(dense.len() > 100_000);
    let picture = Timeline::new("Dense", &dense, &Plain).draw();
    assert!(picture.svg().len() < 60_000, "{} bytes", picture.svg().len());
    let row = ink(&picture, Paint::Empty) / 3.0;
    // half busy: the second of four strengths
    let share = (ink(&picture, Paint::Compute) - 8.0 * 11.0) / row;
    assert!((0.5..0.62).contains(&share), "{share}");
}

#[test]
fn tasks_drawn_one_by_one_have_their_exact_width() {
    let few = tasks(1, 10, 0.6);
    let picture = Timeline::new("Few", &few, &Plain).draw();
    let last = 0.96;
    let row = ink(&picture, Paint::Empty) / 3.0;
    // ten tasks of 60 ms in 960 ms, each less a hairline of 0.7 pixels by 18
    let share = (ink(&picture, Paint::Compute) + 10.0 * 0.7 * 18.0 - 18.0) / row;
    assert!((share - 0.6 / last).abs() < 0.03, "{share}");
}

#[test]
fn many_tasks_at_once_are_no_more_than_their_union() {
    let mut columns = TaskColumns::default();
    for at in 0..20_000_u64 {
        let (start, end) = (Time::from_ps(at * MS / 100), Time::from_ps(at * MS / 100 + 50 * MS));
        let (rank, activity) = (Rank(0), Activity::Communication);
        columns.push(&TaskSpan { rank, stream: 0, vertex: 0, iteration: 0, activity, start, end, bytes: 0 });
    }
    let svg = Timeline::new("Overlap", &columns, &Plain).draw().svg();
    assert!(svg.len() < 5000, "{} bytes", svg.len());
}

#[test]
fn the_window_and_the_ranks_choose_what_is_drawn() {
    let tasks = tasks(4, 10, 1.0);
    let mut timeline = Timeline::new("Window", &tasks, &Plain);
    timeline.filter = Filter { ranks: "2".parse().unwrap(), window: "250 ms..350 ms".parse().unwrap() };
    let svg = timeline.draw().svg();
    assert!(svg.contains(">rank 2<") && !svg.contains(">rank 1<"));
    assert!(svg.contains(">260<") && svg.contains(">340<") && !svg.contains(">0<"));
    assert!(svg.contains(">task 2<") && svg.contains(">task 3<") && !svg.contains(">task 4<"));
}

#[test]
fn the_axis_is_the_window_whatever_happens_in_it() {
    // ten tasks of 60 ms, one every 100 ms
    let tasks = tasks(1, 10, 0.6);
    let mut timeline = Timeline::new("Window", &tasks, &Plain);
    let mut axis = |window: &str| {
        timeline.filter.window = window.parse().unwrap();
        let svg = timeline.draw().svg();
        // of the texts, the numbers, which are those of the axis
        let texts = svg.split('>').filter_map(|text| text.split_once('<'));
        let ticks: Vec<f64> = texts.filter_map(|(text, _)| text.parse().ok()).collect();
        (ticks[0], ticks[ticks.len() - 1], svg.contains("no task in this window"))
    };
    for (window, first, last, is_empty) in [
        ("500 ms..2 s", 0.6, 2.0, false),
        ("500 ms..", 500.0, 900.0, false),
        ("..2 s", 0.0, 2.0, false),
        ("1 s..2 s", 1.0, 2.0, true),
        ("1 s..", 1.0, 1.000_001, true),
    ] {
        assert_eq!(axis(window), (first, last, is_empty), "{window}");
    }
}

#[test]
fn of_very_many_ranks_some_are_drawn_and_the_picture_says_so() {
    let tasks = tasks(500, 1, 1.0);
    let svg = Timeline::new("Many", &tasks, &Plain).draw().svg();
    assert!(svg.contains("48 of 500 ranks") && svg.contains(">rank 0<") && svg.contains(">rank 499<"));
}

#[test]
fn a_narrow_time_line_names_ranks_by_their_number() {
    struct Hosts;
    impl Labels for Hosts {
        fn rank(&self, rank: Rank) -> String {
            format!("rank {rank} (rack-12.accelerator-{rank})")
        }
    }
    let tasks = tasks(12, 1, 1.0);
    let names = |width: f64| -> Vec<String> {
        let mut timeline = Timeline::new("Narrow", &tasks, &Hosts);
        timeline.width = width;
        let shapes = timeline.draw().scene.shapes;
        let texts = shapes.into_iter().filter_map(|shape| match shape {
            Shape::Text { text, anchor: Anchor::End, .. } if text != "time (s)" => Some(text),
            _ => None,
        });
        texts.collect()
    };
    for width in [320.0, 400.0, 480.0, 549.0, 640.0, 960.0] {
        let names = names(width);
        let mut found: Vec<String> = Vec::new();
        for name in &names {
            let number: String =
                name.trim_start_matches("rank ").chars().take_while(char::is_ascii_digit).collect();
            found.push(number);
        }
        let step = 12 / names.len();
        let expected: Vec<String> = (0..12).step_by(step).map(|rank| rank.to_string()).collect();
        assert_eq!(found, expected, "{width}: {names:?}");
    }
    assert_eq!(names(960.0)[0], "rank 0 (rack-12.accelerator-0)");
    assert_eq!(names(320.0)[0], "rank 0");
}

/// Colours, marks and dashes together tell 160 of them apart.
#[test]
fn no_two_curves_of_many_look_alike() {
    let mut chart = LineChart::new("Many", Axis::linear("x", Unit::Count), Axis::linear("y", Unit::Count));
    for number in 0..160 {
        let name = number.to_string();
        chart.series.push(Series::new(name, [(1.0, f64::from(number)), (2.0, f64::from(number))]));
    }
    let mut looks = std::collections::HashSet::new();
    let picture = chart.draw();
    let lines = picture.scene.shapes.windows(2).filter_map(|pair| match pair {
        [Shape::Line { paint, dash, width: 2.0, .. }, Shape::Mark { mark, .. }] => {
            Some(format!("{} {dash:?} {mark:?}", paint.class()))
        }
        _ => None,
    });
    // the legend draws a line and its mark for each
    lines.for_each(|look| {
        looks.insert(look);
    });
    assert_eq!(looks.len(), 160);
    let svg = picture.svg();
    assert!(svg.contains("stroke-dasharray=\"12 5\"") && svg.contains("stroke-dasharray=\"1 5\""));
}

#[test]
fn a_chart_has_a_mark_per_point_and_a_hollow_one_per_reference() {
    let mut chart = LineChart::new("Marks", Axis::log("x", Unit::Count), Axis::linear("y", Unit::Count));
    // a logarithmic axis cannot show zero: that point interrupts the curve
    let points = [(1.0, 1.0), (2.0, 2.0), (0.0, 3.0), (4.0, 4.0), (8.0, f64::NAN), (16.0, 5.0), (32.0, 6.0)];
    chart.series.push(Series::new("a", points).with_reference([(2.0, 2.5), (-1.0, 1.0)]));
    let picture = chart.draw();
    let marks = |wanted: bool| {
        let is = |shape: &&Shape| matches!(shape, Shape::Mark { hollow, .. } if *hollow == wanted);
        picture.scene.shapes.iter().filter(is).count()
    };
    // and one in the legend
    assert_eq!((marks(false), marks(true)), (5 + 1, 1));
    let curves = picture
        .scene
        .shapes
        .iter()
        .filter(|shape| matches!(shape, Shape::Line { width, .. } if *width == 2.0));
    assert_eq!(curves.count(), 2 + 1);
}

/// Steps have two corners for each value: only the upper one is a point of the distribution.
#[test]
fn a_distribution_is_marked_at_its_points_the_first_and_the_last_among_them() {
    for points in [1, 2, 40, 41, 79, 200] {
        let cdf: Vec<[f64; 2]> =
            (1..=points).map(|point| [f64::from(point), f64::from(point) / f64::from(points)]).collect();
        let result = RunResult { link_utilisation_cdf: cdf.clone(), ..RunResult::default() };
        let picture = Distribution::LinkUtilisation.picture(&result).unwrap();
        let [mut marks, mut corners] = [Vec::new(), Vec::new()];
        for shape in &picture.scene.shapes {
            match shape {
                Shape::Mark { x, y, .. } => marks.push((*x, *y)),
                Shape::Line { points, width, .. } if *width == 2.0 => corners.clone_from(points),
                _ => {}
            }
        }
        // the first one is in the legend
        let marks = &marks[1..];
        assert_eq!(marks.len(), cdf.len().min(40), "{points}");
        assert_eq!(corners.len(), 2 * cdf.len());
        assert_eq!((marks[0], marks[marks.len() - 1]), (corners[1], corners[corners.len() - 1]));
        let upper: Vec<(f64, f64)> = corners.iter().copied().skip(1).step_by(2).collect();
        assert!(marks.iter().all(|mark| upper.contains(mark)), "{points}: {marks:?}");
    }
}

#[test]
fn points_are_where_their_values_say() {
    let mut chart = LineChart::new("Place", Axis::linear("x", Unit::Count), Axis::linear("y", Unit::Count));
    chart.series.push(Series::new("a", [(0.0, 0.0), (5.0, 5.0), (10.0, 10.0)]));
    let picture = chart.draw();
    let marks: Vec<(f64, f64)> = picture
        .scene
        .shapes
        .iter()
        .filter_map(|shape| match shape {
            Shape::Mark { x, y, .. } => Some((*x, *y)),
            _ => None,
        })
        .skip(1)
        .collect();
    assert!((marks[1].0 - (marks[0].0 + marks[2].0) / 2.0).abs() < 1e-9);
    assert!((marks[1].1 - (marks[0].1 + marks[2].1) / 2.0).abs() < 1e-9);
    assert!(marks[0].0 < marks[2].0 && marks[0].1 > marks[2].1, "y grows upwards");
}

#[test]
fn bars_are_as_long_as_their_numbers() {
    let rank = RankResult { finish_s: 4.0, compute_s: 2.0, memory_s: 1.0, comm_exposed_s: 0.5, idle_s: 0.5 };
    let picture = breakdown_bars("Bars", &[rank]).draw();
    let [compute, memory, communication, idle] =
        [Paint::Compute, Paint::Memory, Paint::Communication, Paint::Idle].map(|paint| ink(&picture, paint));
    // each has a swatch of 11 by 11 in the legend
    let swatch = 121.0;
    assert!(((compute - swatch) / (memory - swatch) - 2.0).abs() < 1e-6);
    assert!(((memory - swatch) / (communication - swatch) - 2.0).abs() < 1e-6);
    assert!(((idle - swatch) / (communication - swatch) - 1.0).abs() < 1e-6);
    assert!(picture.svg().contains("50.0 %") && picture.svg().contains("4.000 s"));
}

/// Bars of a difference, one of them negative.
fn saved() -> Bars {
    let axis = Axis::linear("saved \u{1b}[31m", Unit::Seconds);
    let mut bars = Bars::new("What an option saves \u{7} 節点", axis, ["saved"]);
    for (label, seconds) in [("ring", 2.0), ("direct", -4.0), ("none", 0.0)] {
        bars.push(label, [seconds]);
    }
    bars
}

#[test]
fn bars_say_where_there_are_none_and_write_units_as_axes_do() {
    let mut bars = Bars::new("Waits", Axis::linear("wait", Unit::Seconds), ["wait"]);
    assert!(bars.draw().svg().contains("nothing to show"));
    bars.push("a", [3e-6]);
    let svg = bars.draw().svg();
    assert!(svg.contains("3.000 µs") && !svg.contains("nothing to show"), "{svg}");
    bars.remark("saturated");
    assert!(bars.draw().svg().contains("3.000 µs (saturated)"));
}

#[test]
fn a_negative_bar_goes_to_the_left_of_zero_and_says_its_number() {
    let picture = saved().draw();
    let svg = picture.svg();
    assert!(svg.contains("-4.000 s") && svg.contains("2.000 s"));
    let boxes: Vec<[f64; 4]> = picture
        .scene
        .shapes
        .iter()
        .filter_map(|shape| match shape {
            Shape::Boxes { boxes, paint: Paint::Series(0), .. } => Some(boxes.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    let [right, left, none] = boxes[..] else { panic!("{boxes:?}") };
    assert!((left[2] - 2.0 * right[2]).abs() < 1e-6 && none[2] == 0.0);
    assert!((left[0] + left[2] - right[0]).abs() < 1e-6, "both begin at zero");
}

#[test]
fn a_letter_that_the_font_lacks_is_a_box() {
    let mut path = Outline(0);
    font::outline("節", 12.0, false, &mut path);
    assert!(path.0 > 0);
    assert!(font::width("節", 12.0, false) >= 12.0);
}

/// How many corners an outline has.
struct Outline(usize);

impl ttf_parser::OutlineBuilder for Outline {
    fn move_to(&mut self, _: f32, _: f32) {}
    fn line_to(&mut self, _: f32, _: f32) {
        self.0 += 1;
    }
    fn quad_to(&mut self, _: f32, _: f32, _: f32, _: f32) {}
    fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {}
    fn close(&mut self) {}
}

#[test]
fn the_axis_of_a_run_that_was_stopped_goes_there() {
    let empty = TaskColumns::default();
    let mut timeline = Timeline::new("Stopped", &empty, &Plain);
    timeline.ran_until = Some(28e-3);
    timeline.stopped = true;
    let svg = timeline.draw().svg();
    assert!(svg.contains("no task was complete when the run was stopped") && svg.contains(">25<"), "{svg}");
}

/// Links of a gigabyte per second.
struct Rated;

impl Labels for Rated {
    fn link_rate(&self, _: LinkId) -> Option<stratasim_core::Bandwidth> {
        Some(stratasim_core::Bandwidth(1e9))
    }
}

#[test]
fn a_fat_pipe_may_be_more_than_full() {
    let mut load = LinkLoad::new(TimeWindow::ALWAYS, 16);
    load.add(LinkId(0), Time::ZERO, Time::from_ps(8 * MS), 16e6);
    let map = link_heat_map("Links", &load, &Rated, 2);
    assert!((map.most.unwrap() - 2.0).abs() < 1e-3, "{:?}", map.most);
}

#[test]
fn means_of_merged_cells_are_kept() {
    // 128 rows become 64: each of zeros and ones, one half
    let labels = |n: usize| vec![String::new(); n];
    let values: Vec<Vec<f64>> = (0..128).map(|row| vec![f64::from(row % 2); 4]).collect();
    let mut map = HeatMap::new("Merged", labels(128), labels(4), values, Unit::Share);
    map.most = Some(1.0);
    let picture = map.draw();
    let half = Paint::Level(palette::LEVELS / 2);
    let near = Paint::Level(palette::LEVELS / 2 - 1);
    let cells = ink(&picture, half) + ink(&picture, near);
    let others: f64 =
        [Paint::Level(0), Paint::Level(palette::LEVELS - 1)].iter().map(|&paint| ink(&picture, paint)).sum();
    assert!(cells > 20.0 * others, "{cells} {others}");
}

#[test]
fn a_map_goes_on_where_links_are_idle_to_the_end() {
    let mut load = LinkLoad::new(TimeWindow::ALWAYS, 16);
    load.add(LinkId(0), Time::ZERO, Time::from_ps(8 * MS), 4e6);
    load.go_on_to(Time::from_ps(32 * MS));
    let map = link_heat_map("Links", &load, &Rated, 2);
    let (from, until) = map.time.unwrap();
    assert!(from == 0.0 && (0.032..0.036).contains(&until), "{until}");
    let row = &map.values[0];
    assert!((row[0] - 0.5).abs() < 1e-3 && *row.last().unwrap() == 0.0, "{row:?}");
    // not behind a window
    let mut load = LinkLoad::new(TimeWindow { from: Time::ZERO, until: Time::from_ps(16 * MS) }, 16);
    load.add(LinkId(0), Time::ZERO, Time::from_ps(8 * MS), 4e6);
    load.go_on_to(Time::from_ps(32 * MS));
    assert!(link_heat_map("Links", &load, &Rated, 2).time.unwrap().1 <= 0.016 * (1.0 + 1e-9));
}

#[test]
fn the_fullest_links_come_first_and_their_load_is_in_percent_of_their_rate() {
    let mut load = LinkLoad::new(TimeWindow::ALWAYS, 16);
    for (link, bytes) in [(0, 1e6), (1, 4e6), (2, 2e6)] {
        load.add(LinkId(link), Time::ZERO, Time::from_ps(8 * MS), bytes);
    }
    let map = link_heat_map("Links", &load, &Rated, 2);
    assert_eq!(map.rows, ["link 1", "link 2"]);
    assert_eq!(map.unit, Unit::Share);
    assert!(
        (map.values[0][3] - 0.5).abs() < 1e-3 && (map.values[1][3] - 0.25).abs() < 1e-3,
        "{:?}",
        map.values
    );
    assert_eq!(Activity::Compute as usize, 0, "rows of a time line are indexed by activity");
}

/// Curves have room below a legend of any length, and none of its names is wider than the picture.
#[test]
fn a_long_legend_takes_nothing_from_the_curves() {
    let mut chart = chart();
    let short = chart.draw().size().1;
    for number in 0..40 {
        let name = format!("{} number {number}", "a name that is far too long for one line ".repeat(6));
        chart.series.push(Series::new(name, [(64.0, 1.0), (512.0, 2.0)]));
    }
    let picture = chart.draw();
    assert!(picture.size().1 > short, "{:?}", picture.size());
    let (width, height) = picture.size();
    for shape in &picture.scene.shapes {
        match shape {
            Shape::Text { x, y, text, size, .. } => {
                assert!((0.0..height).contains(y), "{text} at {y}");
                assert!(!text.starts_with("a name") || x + font::room(text, *size, false) <= width, "{text}");
            }
            Shape::Mark { y, .. } => assert!((0.0..height).contains(y), "a mark at {y}"),
            _ => {}
        }
    }
}

/// The label of the last tick has room, however long it is.
#[test]
fn no_label_of_an_axis_is_cut() {
    let mut chart =
        LineChart::new("Seeds", Axis::linear("seed", Unit::Count), Axis::linear("y", Unit::Count));
    chart.series.push(Series::new("a", [(1.0, 1.0), (1e9, 2.0)]));
    let picture = chart.draw();
    let (width, _) = picture.size();
    for shape in &picture.scene.shapes {
        if let Shape::Text { x, text, size, anchor: Anchor::Middle, .. } = shape {
            assert!(x + font::room(text, *size, false) / 2.0 <= width, "{text} at {x}");
        }
    }
}
