use proptest::prelude::*;
use stratasim_core::Bandwidth;

use super::*;

/// Links that carry a byte per nanosecond.
struct Rated;
impl Labels for Rated {
    fn link_rate(&self, _: LinkId) -> Option<Bandwidth> {
        Some(Bandwidth(1e9))
    }
}

fn at(ps: u64) -> Time {
    Time::from_ps(ps)
}

fn told(over_time: OverTime, end: u64) -> RunResult {
    let mut result = RunResult::default();
    over_time.tell(&mut result, at(end), &Rated);
    result
}

fn depth(link: u32, ps: u64, bytes: u64) -> Event {
    Event::QueueDepth { link: LinkId(link), at: at(ps), bytes }
}

fn link_use(link: u32, from: u64, until: u64, bytes: f64) -> Event {
    Event::LinkUse { link: LinkId(link), start: at(from), end: at(until), bytes }
}

fn counted(link: u32, from: u64, until: u64, drops: u32, pauses: u32) -> Event {
    let counts = QueueCounts { drops, pauses, ..QueueCounts::default() };
    Event::QueueCounts { link: LinkId(link), start: at(from), end: at(until), counts }
}

/// 600 ns are 150 stretches of 4 ns.
#[test]
fn stretches_hold_what_happens_in_them() {
    let mut over_time = OverTime::new(TimeWindow::ALWAYS, Vec::new(), true);
    for event in [
        link_use(3, 0, 8_000, 8.0),
        link_use(3, 10_000, 12_000, 1.0),
        depth(3, 2_000, 100),
        depth(3, 4_000, 60),
        depth(3, 9_000, 0),
        counted(3, 0, 4_000, 2, 0),
        counted(3, 4_000, 8_000, 1, 0),
        counted(5, 596_000, 600_000, 0, 4),
    ] {
        over_time.on_event(&event);
    }
    let result = told(over_time, 600_000);
    let [link] = &result.links_over_time[..] else { panic!("{result:?}") };
    assert_eq!((link.link.as_str(), link.start_s, link.step_s), ("link 3", 0.0, 4e-9));
    assert_eq!((link.bytes.len(), link.utilisation.len()), (150, 150));
    assert_eq!(link.bytes[..4], [4.0, 4.0, 1.0, 0.0]);
    let near = |(found, expected): (&f64, f64)| (found - expected).abs() < 1e-12;
    assert!(link.utilisation[..4].iter().zip([1.0, 1.0, 0.25, 0.0]).all(near), "{:?}", link.utilisation);
    let [queue, paused] = &result.queues_over_time[..] else { panic!("{result:?}") };
    assert_eq!((queue.link.as_str(), paused.link.as_str()), ("link 3", "link 5"));
    assert_eq!(queue.mean_bytes[..4], [50.0, 60.0, 15.0, 0.0]);
    assert_eq!(queue.most_bytes[..4], [100, 60, 60, 0]);
    assert_eq!((&queue.drops[..3], queue.drops.iter().sum::<u64>()), (&[2, 1, 0][..], 3));
    assert_eq!((paused.pauses[149], paused.pauses.iter().sum::<u64>(), paused.end_s), (4, 4, 600e-9));
}

#[test]
fn a_window_is_all_that_is_told_of_and_its_last_stretch_may_be_short() {
    let window = TimeWindow { from: at(1_000_000), until: at(1_300_500) };
    let mut over_time = OverTime::new(window, [LinkId(9), LinkId(1)].into(), true);
    for event in [
        depth(1, 500_000, 10),
        counted(1, 0, 1_000_500, 7, 0),
        counted(1, 1_000_500, 1_001_000, 1, 0),
        depth(2, 1_000_000, 99),
        link_use(1, 0, 2_000_000, 2000.0),
        depth(1, 1_400_000, 1000),
        counted(1, 1_001_000, 1_400_000, 5, 0),
    ] {
        over_time.on_event(&event);
    }
    let result = told(over_time, 2_000_000);
    let names: Vec<&str> = result.links_over_time.iter().map(|link| link.link.as_str()).collect();
    assert_eq!(names, ["link 9", "link 1"], "as they were named");
    let (link, queue) = (&result.links_over_time[1], &result.queues_over_time[1]);
    assert_eq!((link.step_s, link.bytes.len(), queue.mean_bytes.len()), (2e-9, 151, 151));
    assert!(link.utilisation.iter().all(|&share| (share - 1.0).abs() < 1e-2), "{:?}", link.utilisation);
    assert!((link.bytes[150] - 0.5).abs() < 2e-3, "half a nanosecond: {}", link.bytes[150]);
    assert!(queue.mean_bytes.iter().all(|&bytes| bytes == 10.0) && queue.most_bytes == [10; 151]);
    assert_eq!(
        (queue.drops[0], queue.drops.iter().sum::<u64>()),
        (1, 1),
        "what came before is not of the window"
    );
    assert_eq!(result.queues_over_time[0].mean_bytes, [0.0; 151]);
    assert_eq!(result.links_over_time[0].bytes, [0.0; 151]);
    // a run that ended before
    let late = told(OverTime::new(window, Vec::new(), true), 1_000_000);
    assert!(late.links_over_time.is_empty() && late.queues_over_time.is_empty());
}

#[test]
fn the_fullest_links_and_the_longest_queues_are_told_of() {
    let mut over_time = OverTime::new(TimeWindow::ALWAYS, Vec::new(), true);
    for link in 0..100 {
        over_time.on_event(&link_use(link, 0, 1_000_000, f64::from(link + 1)));
        over_time.on_event(&depth(link, 0, 1000 - u64::from(link)));
    }
    let result = told(over_time, 1_000_000);
    assert_eq!((result.links_over_time.len(), result.queues_over_time.len()), (LISTED, LISTED));
    assert_eq!((&*result.links_over_time[0].link, &*result.links_over_time[63].link), ("link 99", "link 36"));
    assert_eq!(
        (&*result.queues_over_time[0].link, &*result.queues_over_time[63].link),
        ("link 0", "link 63")
    );
    // what nobody names is not there, and where the network has no queues, there are none
    let named = OverTime::new(TimeWindow::ALWAYS, vec![LinkId(4)], false);
    let result = told(named, 1_000_000);
    assert_eq!((result.links_over_time.len(), result.queues_over_time.len()), (1, 0));
}

proptest! {
    /// However often stretches were doubled, and whatever else made them longer, they hold what a sum over every nanosecond gives.
    #[test]
    fn stretches_hold_what_a_sum_by_nanoseconds_gives(
        steps in prop::collection::vec((1_u64..60, 0_u64..500, 0_u32..3), 1..60),
        more in 0_u64..2_000,
    ) {
        let mut over_time = OverTime::new(TimeWindow::ALWAYS, Vec::new(), true);
        let (mut now, mut by_ns, mut drops_at, mut held) = (0, Vec::new(), Vec::new(), 0);
        for &(ns, bytes, drops) in &steps {
            by_ns.resize((now + ns) as usize, held);
            let before = now;
            now += ns;
            held = bytes;
            over_time.on_event(&depth(0, now * 1000, bytes));
            if drops > 0 {
                over_time.on_event(&counted(0, before * 1000, now * 1000, drops, 0));
                drops_at.push((now - 1, u64::from(drops)));
            }
        }
        by_ns.resize((now + more) as usize, held);
        over_time.on_event(&link_use(1, now * 1000, (now + more + 1) * 1000, 1.0));
        let end = now + more + 1;
        by_ns.push(held);
        let result = told(over_time, end * 1000);
        let Some(queue) = result.queues_over_time.first() else {
            prop_assert!(by_ns.iter().all(|&bytes| bytes == 0) && drops_at.is_empty());
            return Ok(());
        };
        let step = (queue.step_s * 1e9).round() as usize;
        prop_assert!(step.is_power_of_two() && (step == 1 || queue.mean_bytes.len() > STRETCHES / 2));
        prop_assert!(queue.mean_bytes.len() <= STRETCHES);
        for (bin, stretch) in by_ns.chunks(step).enumerate() {
            let mean = stretch.iter().sum::<u64>() as f64 / stretch.len() as f64;
            prop_assert!((queue.mean_bytes[bin] - mean).abs() < 1e-3, "{bin}: {} of {mean}", queue.mean_bytes[bin]);
            prop_assert_eq!(queue.most_bytes[bin], stretch.iter().copied().max().unwrap_or(0));
            let drops = drops_at.iter().filter(|it| it.0 as usize / step == bin).map(|it| it.1).sum::<u64>();
            prop_assert_eq!(queue.drops[bin], drops);
        }
        prop_assert_eq!(queue.mean_bytes.len(), by_ns.len().div_ceil(step));
    }
}
