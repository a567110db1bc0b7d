//! A page that holds everything in one file: text, tables and pictures, as HTML and as Markdown.
//!
//! The HTML needs no network and no other file; pictures are inside. The Markdown names its pictures,
//! which are written beside it. Text is plain, except that words between backticks are code.

use std::io;
use std::path::{Path, PathBuf};

use crate::picture::Picture;
use crate::table::Table;

mod style;

/// A page, from top to bottom.
#[derive(Debug, Clone)]
pub struct Page {
    title: String,
    blocks: Vec<Block>,
}

#[derive(Debug, Clone)]
enum Block {
    Heading(String),
    Paragraph(String),
    List(Vec<String>),
    Code(String),
    Table { table: Table, caption: String },
    Picture { picture: Box<Picture>, name: String, caption: String },
}

/// A page as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Markdown {
    /// The text.
    pub text: String,
    /// The pictures that it shows: file name and SVG.
    pub pictures: Vec<(String, String)>,
}

impl Page {
    /// An empty page.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), blocks: Vec::new() }
    }

    /// Adds the heading of a section.
    pub fn heading(&mut self, text: impl Into<String>) -> &mut Self {
        self.add(Block::Heading(text.into()))
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: impl Into<String>) -> &mut Self {
        self.add(Block::Paragraph(text.into()))
    }

    /// Adds a list with bullets.
    pub fn list<T: Into<String>>(&mut self, entries: impl IntoIterator<Item = T>) -> &mut Self {
        self.add(Block::List(entries.into_iter().map(Into::into).collect()))
    }

    /// Adds text that is shown as it is, such as a command or its output.
    pub fn code(&mut self, text: impl Into<String>) -> &mut Self {
        self.add(Block::Code(text.into()))
    }

    /// Adds a table with a caption, which may be empty.
    pub fn table(&mut self, table: Table, caption: impl Into<String>) -> &mut Self {
        self.add(Block::Table { table, caption: caption.into() })
    }

    /// Adds a picture with a caption, which may be empty. `name` is that of its file beside the
    /// Markdown, without ending.
    pub fn picture(
        &mut self,
        picture: Picture,
        name: impl Into<String>,
        caption: impl Into<String>,
    ) -> &mut Self {
        self.add(Block::Picture { picture: Box::new(picture), name: name.into(), caption: caption.into() })
    }

    fn add(&mut self, block: Block) -> &mut Self {
        self.blocks.push(block);
        self
    }

    /// As one HTML file.
    pub fn html(&self) -> String {
        let title = escape_html(&self.title);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>{}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n",
            style::SHEET
        );
        for block in &self.blocks {
            match block {
                Block::Heading(text) => out.push_str(&format!("<h2>{}</h2>\n", inline_html(text))),
                Block::Paragraph(text) => out.push_str(&format!("<p>{}</p>\n", inline_html(text))),
                Block::List(entries) => {
                    let entries = entries.iter().map(|entry| format!("<li>{}</li>\n", inline_html(entry)));
                    out.push_str(&format!("<ul>\n{}</ul>\n", entries.collect::<String>()));
                }
                Block::Code(text) => {
                    out.push_str(&format!("<pre><code>{}</code></pre>\n", escape_html(text)))
                }
                Block::Table { table, caption } => {
                    out.push_str(&format!("<figure>\n{}{}</figure>\n", table.to_html(), figcaption(caption)));
                }
                Block::Picture { picture, caption, .. } => {
                    out.push_str(&format!("<figure>\n{}{}</figure>\n", picture.svg(), figcaption(caption)));
                }
            }
        }
        out.push_str("</main>\n</body>\n</html>\n");
        out
    }

    /// As Markdown (GitHub's) and pictures.
    pub fn markdown(&self) -> Markdown {
        let mut text = format!("# {}\n", inline_markdown(&self.title));
        let mut pictures = Vec::new();
        for block in &self.blocks {
            text.push('\n');
            let caption = match block {
                Block::Heading(heading) => {
                    text.push_str(&format!("## {}\n", inline_markdown(heading)));
                    ""
                }
                Block::Paragraph(paragraph) => {
                    text.push_str(&format!("{}\n", inline_markdown(paragraph)));
                    ""
                }
                Block::List(entries) => {
                    entries
                        .iter()
                        .for_each(|entry| text.push_str(&format!("- {}\n", inline_markdown(entry))));
                    ""
                }
                Block::Code(code) => {
                    // a fence longer than any inside
                    let fence =
                        "`".repeat(code.split(|c| c != '`').map(str::len).max().unwrap_or(0).max(2) + 1);
                    text.push_str(&format!("{fence}text\n{}\n{fence}\n", code.trim_end()));
                    ""
                }
                Block::Table { table, caption } => {
                    text.push_str(&table.to_markdown());
                    caption
                }
                Block::Picture { picture, name, caption } => {
                    let file = format!("{}.svg", file_name(name));
                    text.push_str(&format!("![{}]({file})\n", escape_markdown(picture.title())));
                    pictures.push((file, picture.svg()));
                    caption
                }
            };
            if !caption.is_empty() {
                text.push_str(&format!("\n*{}*\n", inline_markdown(caption)));
            }
        }
        Markdown { text, pictures }
    }

    /// Writes `<stem>.html`, `<stem>.md` and the pictures of the Markdown into a folder, which is made if
    /// need be. Returns what was written, the HTML first.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write(&self, folder: &Path, stem: &str) -> io::Result<Vec<PathBuf>> {
        std::fs::create_dir_all(folder)?;
        let markdown = self.markdown();
        let files = [(format!("{stem}.html"), self.html()), (format!("{stem}.md"), markdown.text)];
        let mut written = Vec::new();
        for (name, text) in files.into_iter().chain(markdown.pictures) {
            let path = folder.join(name);
            std::fs::write(&path, text)?;
            written.push(path);
        }
        Ok(written)
    }
}

fn figcaption(caption: &str) -> String {
    if caption.is_empty() {
        String::new()
    } else {
        format!("<figcaption>{}</figcaption>\n", inline_html(caption))
    }
}

/// What the files of a picture are called: letters, digits and dashes, safe in every file system and link.
pub fn file_name(name: &str) -> String {
    let kept = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let name: String = kept.collect();
    let name = name.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    if name.is_empty() { "picture".to_owned() } else { name }
}

/// Text with code between backticks, in pieces: `(is code, text)`. A backtick without partner is text.
fn pieces(text: &str) -> Vec<(bool, &str)> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, after)) = after.split_once('`') else { break };
        pieces.push((false, before));
        pieces.push((true, code));
        rest = after;
    }
    pieces.push((false, rest));
    pieces
}

fn inline_html(text: &str) -> String {
    let piece = |(code, text): (bool, &str)| {
        let text = escape_html(text);
        if code { format!("<code>{text}</code>") } else { text }
    };
    pieces(text).into_iter().map(piece).collect()
}

fn inline_markdown(text: &str) -> String {
    let piece = |(code, text): (bool, &str)| if code { format!("`{text}`") } else { escape_markdown(text) };
    pieces(text).into_iter().map(piece).collect()
}

/// `text` with a replacement character for each control character but line breaks and tabs, and for the two that are none: XML
/// knows no others.
fn without_controls(text: &str) -> std::borrow::Cow<'_, str> {
    let is_control = |c: char| match c {
        '\n' | '\r' | '\t' => false,
        '\u{fffe}' | '\u{ffff}' => true,
        c => c.is_control(),
    };
    if text.contains(is_control) { text.replace(is_control, "\u{fffd}").into() } else { text.into() }
}

/// `text` with what HTML would take for markup written as entities.
pub(crate) fn escape_html(text: &str) -> String {
    let text = without_controls(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `text` with backslashes before what Markdown would take for markup, on one line.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '$' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Axis, LineChart, Series};
    use crate::units::Unit;

    fn sample() -> Page {
        let mut chart = LineChart::new(
            "Rate <b>",
            Axis::log("accelerators", Unit::Count),
            Axis::linear("rate", Unit::PerSecond),
        );
        chart.series.push(Series::new("a & b", [(64.0, 8.0), (128.0, 16.0)]));
        let mut table = Table::new(["machine", "rate"]);
        table.push([crate::table::Cell::from("x|y"), (8.0, Unit::PerSecond).into()]);
        let mut page = Page::new("Figure 10 & more");
        page.heading("What it says")
            .paragraph("Run `stratasim sweep <file>` with x < 3 and a*b_c.")
            .list(["one", "two `2`"])
            .code("$ run\n```\n")
            .table(table, "Rates")
            .picture(chart.draw(), "Fig 10: rates", "Ours");
        page
    }

    #[test]
    fn the_html_is_one_well_formed_file_that_loads_nothing() {
        let html = sample().html();
        assert!(html.starts_with("<!doctype html>") && html.ends_with("</html>\n"));
        assert!(html.contains("<code>stratasim sweep &lt;file&gt;</code> with x &lt; 3 and a*b_c."));
        for outside in ["src=", "href=", "url(", "@import", "<script"] {
            assert!(!html.contains(outside), "{outside}");
        }
        // every element that is opened is closed, in the right order
        let mut open = Vec::new();
        for tag in html.split('<').skip(1) {
            let name: String =
                tag.trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
            let void = tag.split('>').next().unwrap().ends_with('/') || ["meta", ""].contains(&name.as_str());
            if tag.starts_with('/') {
                assert_eq!(open.pop(), Some(name));
            } else if !void {
                open.push(name);
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn characters_that_xml_does_not_know_are_replaced() {
        assert_eq!(escape_html("a\u{fffe}b\u{ffff}c\u{7}\n<"), "a\u{fffd}b\u{fffd}c\u{fffd}\n&lt;");
    }

    #[test]
    fn the_markdown_says_the_same_and_names_its_pictures() {
        let markdown = sample().markdown();
        assert_eq!(
            markdown.text,
            "\
# Figure 10 & more

## What it says

Run `stratasim sweep <file>` with x \\< 3 and a\\*b\\_c.

- one
- two `2`

````text
$ run
```
````

| machine | rate |
| --- | ---: |
| x\\|y | 8.000/s |

*Rates*

![Rate \\<b\\>](fig-10-rates.svg)

*Ours*
"
        );
        assert_eq!(markdown.pictures.len(), 1);
        assert!(markdown.pictures[0].1.starts_with("<svg"));
    }

    #[test]
    fn strange_text_stays_text() {
        assert_eq!(inline_html("a `b"), "a `b");
        assert_eq!(inline_html("`<x>`"), "<code>&lt;x&gt;</code>");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
        assert_eq!(file_name("图"), "picture");
    }
}
