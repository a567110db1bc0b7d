//! The table that a run prints on the terminal.

mod flows;
mod jobs;
mod vertices;

use std::fmt::Write as _;

use stratasim_core::words::counted;

use crate::result::{MemoryUse, RankResult, RunResult};
use crate::style::{Style, Tone, display_width, pad_left, pad_right, pieces, shorten_apart, wrap};
use crate::traffic::traffic_summary;
use crate::units::Unit;

/// Links shown.
const TOP_LINKS: usize = 5;
/// Violations shown per check.
const TOP_VIOLATIONS: usize = 5;
/// Columns of the labels on the left, with their margin.
const LABEL: usize = 16;
/// Narrower terminals have no room for what follows from other columns, or matters less.
const ROOMY: usize = 60;

/// The table of a run: what ran, where the time went, how far from the best bound, what it cost.
pub fn summary(result: &RunResult, style: &Style) -> String {
    let mut text = Text { out: String::new(), style };
    title(&mut text, result);
    jobs::jobs(&mut text, result);
    if let Some(traffic) = &result.traffic {
        text.out += &traffic_summary(traffic, style);
    }
    times(&mut text, result);
    vertices::vertices(&mut text, result);
    links(&mut text, result);
    flows::flows(&mut text, result);
    text.gap();
    memory(&mut text, result);
    bound(&mut text, result);
    checks(&mut text, result);
    for note in &result.notes {
        text.fact("note", note, None);
    }
    cost(&mut text, result);
    text.out
}

/// Lines of the table.
struct Text<'a> {
    out: String,
    style: &'a Style,
}

impl Text<'_> {
    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn gap(&mut self) {
        if !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// A label and what there is to say, wrapped.
    fn fact(&mut self, label: &str, words: &str, tone: Option<Tone>) {
        let body = wrap(words, self.style.width.saturating_sub(LABEL), 0);
        let room = self.style.width.saturating_sub(LABEL);
        let body = body.lines().flat_map(|line| pieces(line, room));
        for (at, part) in body.enumerate() {
            let label = pad_right(if at == 0 { label } else { "" }, LABEL - 2);
            let part = tone.map_or_else(|| part.clone(), |tone| self.style.paint(tone, &part));
            let label = self.style.paint(Tone::Muted, &label);
            self.line(&format!("  {label}{part}"));
        }
    }

    /// A sentence, wrapped.
    fn words(&mut self, words: &str) {
        for part in wrap(words, self.style.width - 4, 0).lines() {
            self.line(&format!("  {part}"));
        }
    }

    fn heading(&mut self, columns: &str) {
        let rule = self.style.choose("─", "-").repeat(self.style.width - 4);
        let columns = self.style.paint(Tone::Muted, columns.trim_end());
        self.line(&format!("  {columns}"));
        let rule = self.style.paint(Tone::Muted, &rule);
        self.line(&format!("  {rule}"));
    }
}

/// What is said of the time of a run.
const fn step_label(result: &RunResult) -> &'static str {
    if result.stopped { "stopped at" } else { "step time" }
}

fn title(text: &mut Text<'_>, result: &RunResult) {
    let title = &result.title;
    if !title.experiment.is_empty() {
        let name = text.style.paint(Tone::Strong, &title.experiment);
        text.line(&name);
    }
    for (label, words) in
        [("topology", &title.topology), ("workload", &title.workload), ("network", &title.network)]
    {
        if !words.is_empty() {
            text.fact(label, words, None);
        }
    }
    text.gap();
    if result.traffic.is_some() {
        return;
    }
    // a run that was stopped has no step, whole or in the mean
    let step_s = if result.stopped { result.makespan_s } else { result.step_s() };
    let step = Unit::Seconds.format(step_s);
    let mut line =
        format!("  {}{}", pad_right(step_label(result), LABEL - 2), text.style.paint(Tone::Strong, &step));
    let width = text.style.width;
    let room = |line: &str, more: &str| display_width(line) + display_width(more) <= width;
    if result.iterations.len() > 1 && !result.stopped {
        let mean = format!(
            "(mean of {} iterations in {})",
            Unit::Count.format(result.iterations.len() as f64),
            Unit::Seconds.format(result.makespan_s)
        );
        if room(&line, &format!("  {mean}")) {
            line += &format!("  {mean}");
        } else {
            text.line(&line);
            text.fact("", &mean, None);
            line.clear();
        }
    }
    let rate = result.batches_per_s.map(|rate| text.style.paint(Tone::Strong, &Unit::Count.format(rate)));
    let beside = rate.as_ref().map_or_else(String::new, |rate| format!("{}batches/s  {rate}", " ".repeat(6)));
    // many iterations are told before it, and leave no room
    if !line.is_empty() && room(&line, &beside) {
        text.line(&(line + &beside));
    } else {
        if !line.is_empty() {
            text.line(&line);
        }
        text.fact("batches/s", &rate.unwrap_or_default(), None);
    }
    text.gap();
}

/// Mean, share, least and most over ranks of each part of the time.
fn times(text: &mut Text<'_>, result: &RunResult) {
    if result.ranks.is_empty() {
        return;
    }
    type Part = (&'static str, Tone, fn(&RankResult) -> f64);
    let parts: [Part; 4] = [
        ("compute", Tone::Compute, |rank| rank.compute_s),
        ("memory", Tone::Memory, |rank| rank.memory_s),
        ("exposed comm.", Tone::Communication, |rank| rank.comm_exposed_s),
        ("idle", Tone::Muted, |rank| rank.idle_s),
    ];
    let style = *text.style;
    let has_spread = style.width >= ROOMY;
    let count = result.ranks.len();
    // mean, least and most of each part, in one prefix
    let numbers: Vec<f64> = parts
        .iter()
        .flat_map(|(_, _, part)| {
            let values = result.ranks.iter().map(part);
            let mean = values.clone().sum::<f64>() / count as f64;
            [mean, values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max)]
        })
        .collect();
    let texts = Unit::Seconds.format_all(&numbers);
    let wide = column_width(&texts);
    let bar_width =
        style.width.saturating_sub(LABEL + wide - 1 + 9 + 2 + if has_spread { 2 * wide } else { 0 } + 2);
    // where there are several jobs, a rank of the whole is a node
    let rank = if result.jobs.is_empty() { "rank" } else { "node" };
    let ranks = counted(count as u64, rank);
    let columns = [
        pad_right(&ranks, LABEL - 2),
        pad_left(if count == 1 { "time" } else { "mean" }, wide - 1),
        pad_left("share", 9),
        " ".repeat(2 + bar_width),
        pad_left(if count == 1 || !has_spread { "" } else { "least" }, wide),
        pad_left(if count == 1 || !has_spread { "" } else { "most" }, wide),
    ];
    text.heading(&columns.concat());
    for ((label, tone, _), (number, text_of)) in parts.iter().zip(numbers.chunks(3).zip(texts.chunks(3))) {
        let share = if result.makespan_s > 0.0 { number[0] / result.makespan_s } else { 0.0 };
        let spread = if count == 1 || !has_spread {
            String::new()
        } else {
            format!("{:>wide$}{:>wide$}", text_of[1], text_of[2])
        };
        let line = format!(
            "  {}{:>mean$}{:>9}  {}{spread}",
            pad_right(label, LABEL - 2),
            text_of[0],
            Unit::Share.format(share),
            style.paint(*tone, &style.bar(share, bar_width)),
            mean = wide - 1,
        );
        text.line(&line);
    }
    if let Some((number, finish_s)) = result.slowest_rank().filter(|_| count > 1 && !result.stopped) {
        text.gap();
        let words = format!("{rank} {number}, done at {}", Unit::Seconds.format(finish_s));
        text.fact("slowest", &words, None);
    }
}

/// The width of a column of such texts: 11, or more where those need it.
fn column_width(texts: &[String]) -> usize {
    texts.iter().map(|text| display_width(text) + 2).fold(11, usize::max)
}

/// The fullest links.
fn links(text: &mut Text<'_>, result: &RunResult) {
    let Some(links) = result.links.as_ref().filter(|links| !links.is_empty()) else { return };
    let mut fullest: Vec<_> = links.iter().collect();
    // a stable sort: ties stay in link order
    fullest.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    fullest.truncate(TOP_LINKS);
    let style = *text.style;
    let bar_width = if style.width < 72 { 0 } else { 12 };
    // less and less beside the names, so that these can be told apart
    let has_time = style.width >= ROOMY;
    let has_bytes = style.width >= ROOMY - 11;
    let bytes = Unit::Bytes.format_all(&fullest.iter().map(|link| link.bytes).collect::<Vec<_>>());
    let busy = Unit::Seconds.format_all(&fullest.iter().map(|link| link.busy_s).collect::<Vec<_>>());
    let [of_bytes, of_time] = [(has_bytes, &bytes), (has_time, &busy)]
        .map(|(is_there, texts)| if is_there { column_width(texts) } else { 0 });
    let name_width = style.width.saturating_sub(4 + 9 + 2 + bar_width + of_bytes + of_time).max(12);
    text.gap();
    // a result lists the busiest of very many links
    let used = result.counter("network.links_used").unwrap_or(links.len() as u64);
    let number = counted(used, "link");
    let heading = format!("{number} used, the fullest");
    let heading = if display_width(&heading) < name_width { heading } else { number };
    let columns = [
        pad_right(&heading, name_width),
        pad_left("full", 9),
        " ".repeat(2 + bar_width),
        pad_left(if has_bytes { "bytes" } else { "" }, of_bytes),
        pad_left(if has_time { "busy" } else { "" }, of_time),
    ];
    text.heading(&columns.concat());
    let names: Vec<&str> = fullest.iter().map(|link| link.name.as_str()).collect();
    let names = shorten_apart(&names, name_width - 1, style.choose("…", ".."));
    for ((link, name), (bytes, busy)) in fullest.iter().zip(names).zip(bytes.iter().zip(&busy)) {
        let bytes = if has_bytes { bytes } else { "" };
        let busy = if has_time { busy } else { "" };
        let line = format!(
            "  {}{:>9}  {}{bytes:>of_bytes$}{busy:>of_time$}",
            pad_right(&name, name_width),
            Unit::Share.format(link.utilisation),
            style.paint(Tone::Communication, &style.bar(link.utilisation, bar_width)),
        );
        text.line(&line);
    }
}

/// Where the data lives.
fn memory(text: &mut Text<'_>, result: &RunResult) {
    let Some(groups) = &result.memory else { return };
    for (at, group) in groups.iter().take(4).enumerate() {
        let MemoryUse { first_rank, ranks, local_bytes, remote_bytes } = *group;
        let who = match (groups.len(), ranks) {
            (1, _) => "each rank".to_owned(),
            (_, 1) => format!("rank {first_rank}"),
            _ => format!("ranks {first_rank} to {}", first_rank + ranks - 1),
        };
        let words = format!(
            "{who}: {} local, {} remote",
            Unit::Bytes.format(local_bytes as f64),
            Unit::Bytes.format(remote_bytes as f64)
        );
        text.fact(if at == 0 { "memory" } else { "" }, &words, None);
    }
    if groups.len() > 4 {
        text.fact("", &format!("and {} more groups of ranks", groups.len() - 4), None);
    }
}

fn bound(text: &mut Text<'_>, result: &RunResult) {
    let Some(binding) = &result.binding else { return };
    let what = if result.iterations.len() > 1 { "run" } else { "step" };
    let place =
        if binding.bound.place.is_empty() { String::new() } else { format!(" ({})", binding.bound.place) };
    let words = format!(
        "{what} is {} the best bound: {}{place}, {}",
        Unit::Factor.format(binding.ratio),
        binding.bound.name,
        Unit::Seconds.format(binding.bound.seconds)
    );
    text.fact("bound", &words, None);
}

fn checks(text: &mut Text<'_>, result: &RunResult) {
    if result.checks.is_empty() {
        return;
    }
    if result.checks_hold() {
        let checked: u64 = result.checks.iter().map(|check| check.checked).sum();
        let words = format!(
            "{} {} on {} held",
            text.style.choose("✓", "ok:"),
            counted(result.checks.len() as u64, "check"),
            counted(checked, "thing")
        );
        text.fact("physics", &words, Some(Tone::Good));
        return;
    }
    for check in result.checks.iter().filter(|check| !check.ok) {
        let words = format!("{} broken: {}", text.style.choose("✗", "error:"), check.name);
        text.fact("physics", &words, Some(Tone::Bad));
        for violation in check.violations.iter().take(TOP_VIOLATIONS) {
            text.fact("", violation, None);
        }
        if check.violations.len() > TOP_VIOLATIONS {
            text.fact("", &format!("and {} more", check.violations.len() - TOP_VIOLATIONS), None);
        }
    }
    text.fact("", "This is a bug of the simulator, not of the experiment: please report it.", None);
}

fn cost(text: &mut Text<'_>, result: &RunResult) {
    let events = result.events_with_network();
    let mut words = format!("{} wall, {}", Unit::Seconds.format(result.wall_s), counted(events, "event"));
    if result.wall_s > 0.0 && events > 0 {
        let _ = write!(words, " ({})", Unit::PerSecond.format(events as f64 / result.wall_s));
    }
    if result.peak_rss_bytes > 0 {
        let _ = write!(words, ", {} peak", Unit::Bytes.format(result.peak_rss_bytes as f64));
    }
    text.fact("cost", &words, None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::tests::sample;
    use crate::result::{Check, Iteration};

    const EXPECTED: &str = "\
hcsim/coherent-1024
  topology      cxl-fabric: 4 H100 in 1 rack, 24 links
  workload      transformer LLaMA2-13B, data parallel 4, 1 iteration
  network       flow, max-min

  step time     8.000 s      batches/s  0.5000

  4 ranks             mean    share                           least       most
  ────────────────────────────────────────────────────────────────────────────
  compute          6.054 s   75.7 %  ██████████████▍        5.978 s    6.100 s
  memory           1.000 s   12.5 %  ██▍                    1.000 s    1.000 s
  exposed comm.    0.500 s   6.25 %  █▎                     0.500 s    0.500 s
  idle             0.446 s   5.57 %  █                      0.400 s    0.522 s

  slowest       rank 0, done at 7.900 s

  7 links used, the fullest           full                    bytes       busy
  ────────────────────────────────────────────────────────────────────────────
  xpu-0->cxl-0                      92.0 %  ███████████    1.000 TB    7.360 s
  xpu-1->cxl-0                      46.0 %  █████▌         0.500 TB    3.680 s
  xpu-2->cxl-0                      30.7 %  ███▋           0.333 TB    2.453 s
  xpu-3->cxl-0                      23.0 %  ██▊            0.250 TB    1.840 s
  xpu-4->cxl-0                      18.4 %  ██▎            0.200 TB    1.472 s

  memory        each rank: 80 GB local, 204 GB remote
  bound         step is 1.09x the best bound: bytes (xpu-0->cxl-0), 7.360 s
  physics       ✓ 2 checks on 1,224 things held
  note          Capacity: 72 % of the data of each rank lives in its memory
                node.
  cost          1.830 s wall, 12,300,000 events (6.721 M/s), 312 MB peak
";

    #[test]
    fn a_run_reads_like_this() {
        let text = summary(&sample(), &Style::UNICODE);
        assert_eq!(text, EXPECTED, "\n{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_plain_text_is_ascii() {
        let mut result = sample();
        result.title.workload = "word ".repeat(60);
        result.links.as_mut().unwrap()[0].name = "very-long-name-of-a-link-".repeat(8);
        result.notes.push("note ".repeat(50));
        result.bounds[1].place = "very-long-name-of-a-link-".repeat(8);
        result.bind();
        let widths = [40, 41, 50, 59, 60, 63, 70];
        let narrow = widths.map(|width| Style { width, ..Style::UNICODE });
        for style in [Style::PLAIN, Style::UNICODE].into_iter().chain(narrow) {
            let text = summary(&result, &style);
            let widest = text.lines().map(display_width).max().unwrap();
            assert!(widest <= style.width, "{widest} columns of {}\n{text}", style.width);
        }
        assert!(summary(&result, &Style::PLAIN).is_ascii());
    }

    #[test]
    fn batches_get_a_line_of_their_own_where_the_step_leaves_no_room() {
        let mut result = sample();
        result.iterations = vec![Iteration { start_s: 0.0, end_s: 8.0 }; 12_345];
        result.batches_per_s = Some(1_543.125);
        for style in [Style::PLAIN, Style::UNICODE, Style { width: 60, colour: true, ..Style::UNICODE }] {
            let text = summary(&result, &style);
            let wide = text.lines().find(|line| display_width(line) > style.width);
            assert_eq!(wide, None, "{text}");
            assert!(text.lines().any(|line| line.contains("mean of 12,345") && !line.contains("batches")));
            assert!(text.lines().any(|line| line.contains("batches/s") && line.contains("1,543")), "{text}");
        }
        // where there is room it stays beside the step
        let text = summary(&result, &Style { width: 100, ..Style::UNICODE });
        assert!(text.lines().any(|line| line.contains("mean of 12,345") && line.contains("batches")));
    }

    #[test]
    fn colours_change_nothing_but_colour() {
        let colour = Style { colour: true, ..Style::UNICODE };
        let text = summary(&sample(), &colour);
        assert!(text.contains("\x1b[34m"));
        let mut bare = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            bare.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        bare.push_str(rest);
        let trimmed: Vec<&str> = bare.lines().map(str::trim_end).collect();
        let plain = summary(&sample(), &Style::UNICODE);
        assert_eq!(trimmed, plain.lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_broken_check_is_shown_with_its_offenders() {
        let mut result = sample();
        result.checks.push(Check::of("no transfer beat the light", 7, vec!["xpu-0->cxl-0 at 1 s".into(); 9]));
        let text = summary(&result, &Style::PLAIN);
        assert!(text.contains("error: broken: no transfer beat the light"), "{text}");
        assert!(text.contains("xpu-0->cxl-0 at 1 s") && text.contains("and 4 more") && text.contains("bug"));
        assert!(!text.contains("held"));
    }

    #[test]
    fn what_is_unknown_is_not_mentioned() {
        let mut result = sample();
        result.links = None;
        result.memory = None;
        result.batches_per_s = None;
        result.bounds.clear();
        result.bind();
        result.checks.clear();
        result.ranks.truncate(1);
        result.iterations.push(Iteration { start_s: 4.0, end_s: 8.0 });
        let text = summary(&result, &Style::UNICODE);
        for word in ["links used", "remote", "batches", "bound", "physics", "slowest", "least"] {
            assert!(!text.contains(word), "{word}\n{text}");
        }
        assert!(text.contains("4.000 s  (mean of 2 iterations in 8.000 s)"), "{text}");
    }
}
