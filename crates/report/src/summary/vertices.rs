//! How long the tasks of the vertices of a program took.

use super::{ROOMY, Text, column_width};
use crate::result::{RunResult, VertexResult};
use crate::style::{pad_left, pad_right, shorten_apart};
use crate::units::Unit;

/// Vertices shown.
const TOP_VERTICES: usize = 8;

/// Those that ranks waited for most; where they waited as long, those whose tasks took longest.
pub(super) fn vertices(text: &mut Text<'_>, result: &RunResult) {
    let took = |it: &VertexResult| it.mean_s * it.tasks as f64;
    let mut most: Vec<&VertexResult> = result.vertices.iter().filter(|it| it.longest_s > 0.0).collect();
    // of one alone the table of the ranks tells all
    if most.len() < 2 {
        return;
    }
    // a stable sort: ties stay in the order of the program
    most.sort_by(|a, b| b.comm_exposed_s.total_cmp(&a.comm_exposed_s).then(took(b).total_cmp(&took(a))));
    let count = most.len();
    most.truncate(TOP_VERTICES);
    let style = *text.style;
    let column = |of: fn(&VertexResult) -> f64| {
        Unit::Seconds.format_all(&most.iter().map(|it| of(it)).collect::<Vec<_>>())
    };
    let tasks: Vec<String> = most.iter().map(|it| Unit::Count.format(it.tasks as f64)).collect();
    let mut columns = vec![("mean", column(|it| it.mean_s)), ("exposed", column(|it| it.comm_exposed_s))];
    if style.width >= ROOMY {
        columns.insert(1, ("longest", column(|it| it.longest_s)));
        columns.insert(0, ("tasks", tasks));
    }
    let widths: Vec<usize> = columns.iter().map(|(_, texts)| column_width(texts)).collect();
    let room = style.width.saturating_sub(4 + widths.iter().sum::<usize>()).max(8);
    let names: Vec<&str> = most.iter().map(|it| it.name.as_str()).collect();
    let names = shorten_apart(&names, room - 1, style.choose("…", ".."));
    let number = Unit::Count.format(count as f64);
    let heading = match count > most.len() {
        true => format!("{number} vertices, the first {TOP_VERTICES}"),
        false => format!("{number} vertices"),
    };
    let heading = if heading.len() < room { heading } else { "vertices".to_owned() };
    text.gap();
    let headings = columns.iter().zip(&widths).map(|((heading, _), &width)| pad_left(heading, width));
    text.heading(&(pad_right(&heading, room) + &headings.collect::<String>()));
    for (row, name) in names.iter().enumerate() {
        let cells = columns.iter().zip(&widths).map(|((_, texts), &width)| pad_left(&texts[row], width));
        text.line(&format!("  {}{}", pad_right(name, room), cells.collect::<String>()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Style;
    use crate::result::tests::sample;
    use crate::summary::summary;

    fn vertex(name: &str, mean_s: f64, comm_exposed_s: f64) -> VertexResult {
        VertexResult { name: name.into(), tasks: 768, mean_s, longest_s: 1.5 * mean_s, comm_exposed_s }
    }

    fn about(vertices: Vec<VertexResult>, style: &Style) -> Vec<String> {
        let text = summary(&RunResult { vertices, ..sample() }, style);
        let lines = text.lines().map(str::to_owned).skip_while(|line| !line.contains(" vertices"));
        lines.take_while(|line| !line.is_empty()).collect()
    }

    #[test]
    fn vertices_read_like_this() {
        let three = || {
            let join = vertex("join", 0.0, 0.0);
            vec![vertex("work", 3e-3, 0.0), join, vertex("dispatch", 2e-4, 4e-4), vertex("sum", 4e-3, 5e-4)]
        };
        let expected = [
            "  3 vertices                            tasks       mean    longest    exposed",
            "  ────────────────────────────────────────────────────────────────────────────",
            "  sum                                     768   4.000 ms   6.000 ms   500.0 us",
            "  dispatch                                768   0.200 ms   0.300 ms   400.0 us",
            "  work                                    768   3.000 ms   4.500 ms     0.0 us",
        ];
        let found = about(three(), &Style::UNICODE);
        assert_eq!(found, expected, "{found:#?}");
        let narrow = about(three(), &Style { width: 50, ..Style::UNICODE });
        assert_eq!(narrow[2].split_whitespace().collect::<Vec<_>>(), ["sum", "4.000", "ms", "500.0", "us"]);
        assert!(narrow.iter().all(|line| crate::style::display_width(line) <= 50), "{narrow:#?}");
    }

    #[test]
    fn of_many_vertices_those_that_were_waited_for_are_shown() {
        let many = |count: u32| (0..count).map(|at| vertex(&format!("v{at}"), 1e-3, f64::from(at) * 1e-3));
        let found = about(many(12).collect(), &Style::UNICODE);
        assert!(found[0].starts_with("  12 vertices, the first 8 "), "{found:#?}");
        assert!(found.len() == 2 + TOP_VERTICES && found[2].starts_with("  v11 "), "{found:#?}");
        assert!(about(many(1).collect(), &Style::UNICODE).is_empty());
    }
}
