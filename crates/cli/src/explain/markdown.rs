//! The little Markdown of help texts, for a terminal.

/// Paragraphs filled to `width`; lists and blocks of code stay as they are.
pub(crate) fn to_text(markdown: &str, width: usize) -> String {
    let mut out = String::new();
    let mut paragraph = String::new();
    let mut hanging = 0;
    let mut code = false;
    for line in markdown.lines() {
        if line.trim_start().starts_with("```") {
            flush(&mut paragraph, hanging, width, &mut out);
            code = !code;
            if !code || !out.ends_with("\n\n") {
                gap(&mut out);
            }
        } else if code {
            out += format!("    {line}").trim_end();
            out.push('\n');
        } else if line.trim().is_empty() {
            flush(&mut paragraph, hanging, width, &mut out);
            gap(&mut out);
            hanging = 0;
        } else {
            if line.trim_start().starts_with("- ") {
                flush(&mut paragraph, hanging, width, &mut out);
                hanging = 2;
            }
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph += line.trim();
        }
    }
    flush(&mut paragraph, hanging, width, &mut out);
    let kept = out.trim_end().len();
    out.truncate(kept);
    out.push('\n');
    out
}

/// One empty line, unless there is one or nothing before it.
fn gap(out: &mut String) {
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
}

/// Fills a paragraph; `hanging` columns are left free from its second line on.
fn flush(paragraph: &mut String, hanging: usize, width: usize, out: &mut String) {
    let mut used = 0;
    for word in paragraph.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(hanging));
            used = hanging;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    if used > 0 {
        out.push('\n');
    }
    paragraph.clear();
}

/// The first sentence of a text, on one line, without a full stop.
pub(crate) fn first_sentence(markdown: &str) -> String {
    let paragraph: Vec<&str> = markdown.lines().take_while(|line| !line.trim().is_empty()).collect();
    let text = paragraph.join(" ");
    // not that of `1, 2, 4, ... times`
    let mut ends = text.match_indices(". ").map(|(at, _)| at).filter(|&at| !text[..at].ends_with('.'));
    let end = ends.next().unwrap_or(text.len());
    text[..end].trim_end_matches(['.', ':']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_filled_and_code_is_kept() {
        let markdown = "One sentence\nover two lines.\n\n```text\n a ── b\n```\nAfter it:\n\n- a list entry that is long\n- another";
        assert_eq!(
            to_text(markdown, 20),
            "One sentence over\ntwo lines.\n\n     a ── b\n\nAfter it:\n\n- a list entry that\n  is long\n- another\n"
        );
    }

    #[test]
    fn a_first_sentence_ends_at_its_full_stop() {
        assert_eq!(first_sentence("A ring.\n\nMore."), "A ring");
        assert_eq!(first_sentence("Over two\nlines, 1.5 long. More."), "Over two lines, 1.5 long");
        assert_eq!(first_sentence("1, 2, 4, ... ranks on. More."), "1, 2, 4, ... ranks on");
        assert_eq!(first_sentence(""), "");
    }
}
