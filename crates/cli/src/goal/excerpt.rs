//! The lines of a text around a place in it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Characters shown on either side of the place.
const SHOWN: usize = 50;
/// Columns beyond which nothing is shown: nobody wrote that line by hand.
const MOST_COLUMN: u64 = 1 << 20;

/// The line with a mark under `column`, and its neighbours, in the way of other errors; none where the file
/// cannot be read again. Both count from 1.
pub(super) fn around(path: &Path, line: u64, column: u64) -> Option<String> {
    if column > MOST_COLUMN || !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut file = BufReader::with_capacity(1 << 16, File::open(path).ok()?);
    for _ in 2..line {
        next_line(&mut file, 0)?;
    }
    let room = 4 * (column as usize + SHOWN);
    let first = line.saturating_sub(1).max(1);
    let from = (column as usize - 1).saturating_sub(SHOWN);
    let digits = (line + 1).to_string().len();
    let mut text = format!("{:digits$} ╭─[{}:{line}:{column}]\n", "", path.display());
    for number in first..=line + 1 {
        let Some(bytes) = next_line(&mut file, if number == line { room } else { 8 * SHOWN }) else { break };
        // the place lies in the part that is shown; of other lines the beginning is
        let (part, skipped) = if number == line { (from, from) } else { (0, 0) };
        text += &format!("{number:digits$} │ {}\n", shown(&bytes, part));
        if number == line {
            let margin = column as usize - 1 - skipped + usize::from(skipped > 0);
            text += &format!("{:digits$} · {:margin$}▲\n", "", "");
        }
    }
    text += &format!("{:digits$} ╰────", "");
    Some(text)
}

/// The next line without its end, no more than about `most` bytes of it; none at the end of the file.
fn next_line(file: &mut impl BufRead, most: usize) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let mut any = false;
    loop {
        let piece = file.fill_buf().ok()?;
        if piece.is_empty() {
            return any.then_some(line);
        }
        any = true;
        let end = piece.iter().position(|&byte| byte == b'\n');
        let taken = &piece[..end.unwrap_or(piece.len())];
        line.extend_from_slice(&taken[..taken.len().min(most.saturating_sub(line.len()))]);
        let used = end.map_or(piece.len(), |end| end + 1);
        file.consume(used);
        if end.is_some() {
            return Some(line);
        }
    }
}

/// Characters of a line from `from` on, one column each.
fn shown(line: &[u8], from: usize) -> String {
    let text = String::from_utf8_lossy(line);
    let mut chars = text.trim_end_matches('\r').chars().skip(from);
    let part: String = chars.by_ref().take(2 * SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if chars.next().is_some() { "…" } else { "" });
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, line: u64, column: u64) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, text).unwrap();
        let shown = around(&path, line, column)?;
        Some(shown.replace(&path.display().to_string(), "x"))
    }

    #[test]
    fn the_place_is_marked_between_its_neighbours() {
        let text = "num_ranks 1\r\nrank 0 {\r\n\tcalc x\r\n}\r\n";
        assert_eq!(
            excerpt(text, 3, 7).unwrap(),
            "  ╭─[x:3:7]\n2 │ rank 0 {\n3 │  calc x\n  ·       ▲\n4 │ }\n  ╰────"
        );
        assert_eq!(excerpt("a", 1, 1).unwrap(), "  ╭─[x:1:1]\n1 │ a\n  · ▲\n  ╰────");
        // a place behind the end is that of the end
        assert_eq!(excerpt("a\n", 2, 1).unwrap(), "  ╭─[x:2:1]\n1 │ a\n  ╰────");
        assert_eq!(excerpt("a\n", 9, 1), None);
    }

    #[test]
    fn of_long_lines_the_part_around_the_place_is_shown() {
        let long = format!("{}HERE{}", "y".repeat(500), "z".repeat(5000));
        let shown = excerpt(&format!("{long}\n{long}\n{long}"), 2, 501).unwrap();
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 2 * SHOWN + 8), "{shown}");
        let at = lines[2].chars().position(|c| c == 'H').unwrap();
        assert_eq!(lines[3].chars().position(|c| c == '▲'), Some(at), "{shown}");
    }
}
