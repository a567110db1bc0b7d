//! XML as a stream of elements with their places, hardened against hostile files.
//!
//! Entities of a document type are refused (no expansion, so no "billion laughs"), nesting is
//! bounded, nothing is read from elsewhere, and memory grows with the file only.

use std::borrow::Cow;

use quick_xml::XmlVersion;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use stratasim_core::error::nearest;

/// Elements inside elements deeper than this are refused.
pub(crate) const DEEPEST: usize = 200;

/// What is wrong with an XML file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{source_name}:{line}:{column}: {}{reason}", if element.is_empty() { String::new() } else { format!("<{element}>: ") })]
pub struct XmlError {
    /// Name of the file.
    pub source_name: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Name of the element; empty where the text is no element.
    pub element: String,
    /// What was found, what was expected, what to do.
    pub reason: String,
}

/// A text and the name that errors call it by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    /// An error about `element` at byte `at`.
    pub(crate) fn error(&self, at: usize, element: &str, reason: impl Into<String>) -> XmlError {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
        XmlError {
            source_name: self.name.to_owned(),
            line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
            column: String::from_utf8_lossy(&before[line_start..]).chars().count() + 1,
            element: element.to_owned(),
            reason: reason.into(),
        }
    }
}

/// A start tag.
#[derive(Debug, Clone)]
pub(crate) struct Element<'a> {
    start: BytesStart<'a>,
    at: usize,
}

impl Element<'_> {
    /// Its name, as written.
    pub(crate) fn name(&self) -> &str {
        self.start.name().into_inner()
    }

    /// An error about it.
    pub(crate) fn error(&self, source: &Source<'_>, reason: impl Into<String>) -> XmlError {
        source.error(self.at, self.name(), reason)
    }

    /// The values of the attributes called `names`, in that order.
    ///
    /// # Errors
    /// An attribute of another name (unless `lenient`), one given twice, or a malformed one.
    fn values_of<'s, const N: usize>(
        &'s self,
        source: &Source<'_>,
        names: &[&'static str; N],
        lenient: bool,
    ) -> Result<[Option<Cow<'s, str>>; N], XmlError> {
        let mut values = [const { None }; N];
        for attribute in self.start.attributes() {
            let attribute = attribute.map_err(|e| self.error(source, format!("bad attribute: {e}")))?;
            let key = attribute.key.into_inner();
            let Some(place) = names.iter().position(|name| *name == key) else {
                if lenient {
                    continue;
                }
                let hint = nearest(key, names.iter().copied())
                    .map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                let known = names.join(", ");
                return Err(self.error(source, format!("unknown attribute `{key}`{hint} (known: {known})")));
            };
            let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|e| {
                self.error(source, format!("bad value of `{key}`: {e}; only &amp; &lt; &gt; &quot; &apos; and character references are read"))
            })?;
            values[place] = Some(value);
        }
        Ok(values)
    }

    /// The values of the attributes called `names`; any other attribute is an error.
    pub(crate) fn values<'s, const N: usize>(
        &'s self,
        source: &Source<'_>,
        names: [&'static str; N],
    ) -> Result<[Option<Cow<'s, str>>; N], XmlError> {
        self.values_of(source, &names, false)
    }

    /// The values of the attributes called `names`; others are passed over.
    pub(crate) fn some_values<'s, const N: usize>(
        &'s self,
        source: &Source<'_>,
        names: [&'static str; N],
    ) -> Result<[Option<Cow<'s, str>>; N], XmlError> {
        self.values_of(source, &names, true)
    }

    /// `value`, which must be there.
    pub(crate) fn required<T>(
        &self,
        source: &Source<'_>,
        name: &str,
        value: Option<T>,
    ) -> Result<T, XmlError> {
        value.ok_or_else(|| self.error(source, format!("the attribute `{name}` is missing")))
    }
}

/// What comes next in a file.
#[derive(Debug)]
pub(crate) enum Item<'a> {
    /// An element begins.
    Open(Element<'a>),
    /// The element opened last and not closed yet ends.
    Close,
    /// Text inside an element; blank text is not reported.
    Text(Cow<'a, str>),
    /// The file ends, with all elements closed.
    End,
}

/// Reads a file item by item.
pub(crate) struct Reader<'a> {
    pub(crate) source: Source<'a>,
    inner: quick_xml::Reader<&'a [u8]>,
    /// Where the start tags of the open elements are.
    open: Vec<usize>,
    roots: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `source`.
    pub(crate) fn new(source: Source<'a>) -> Self {
        let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
        let source = Source { text, ..source };
        let mut inner = quick_xml::Reader::from_str(text);
        inner.config_mut().expand_empty_elements = true;
        Self { source, inner, open: Vec::new(), roots: 0 }
    }

    /// An error at byte `at`, inside the element that is open now.
    pub(crate) fn error_here(&self, at: usize, reason: impl Into<String>) -> XmlError {
        let name = self.open.last().map_or("", |&start| {
            let tag = &self.source.text[start + 1..];
            let ends = |c: char| c.is_whitespace() || matches!(c, '>' | '/');
            &tag[..tag.find(ends).unwrap_or(tag.len())]
        });
        self.source.error(at, name, reason)
    }

    /// An error about `text`, which starts at byte `at` and does not belong there.
    pub(crate) fn error_at_text(&self, at: usize, text: &str) -> XmlError {
        let blank = text.len() - text.trim_start().len();
        self.error_here(at + blank, "text, where only elements are expected")
    }

    /// Where reading stands, in bytes.
    pub(crate) fn at(&self) -> usize {
        self.inner.buffer_position() as usize
    }

    /// The next item.
    ///
    /// # Errors
    /// Text that is no well-formed XML, a file cut short, entities, too deep nesting.
    pub(crate) fn next(&mut self) -> Result<Item<'a>, XmlError> {
        loop {
            let at = self.at();
            let event = match self.inner.read_event() {
                Ok(event) => event,
                Err(e) => {
                    let at = self.inner.error_position() as usize;
                    return Err(self.error_here(at, format!("this is not well-formed XML: {e}")));
                }
            };
            match event {
                Event::Start(start) | Event::Empty(start) => return self.open(start, at).map(Item::Open),
                Event::End(_) => {
                    self.open.pop();
                    return Ok(Item::Close);
                }
                Event::Text(text) => {
                    if text.trim().is_empty() {
                        continue;
                    }
                    return Ok(Item::Text(text.into_inner()));
                }
                Event::CData(text) => return Ok(Item::Text(text.into_inner())),
                Event::GeneralRef(reference) => {
                    let character = reference.resolve_char_ref().ok().flatten();
                    let text = match character {
                        Some(character) => Some(character.to_string()),
                        None => resolve_predefined_entity(&reference).map(str::to_owned),
                    };
                    let Some(text) = text else {
                        return Err(self.error_here(at, format!("the entity `&{};` is not known; only &amp; &lt; &gt; &quot; &apos; and character references are read", &*reference)));
                    };
                    return Ok(Item::Text(Cow::Owned(text)));
                }
                Event::DocType(doctype) => {
                    if doctype.contains('[') || doctype.contains("<!") {
                        return Err(self.error_here(at, "the document type declares entities or elements of its own, which are not read; remove the part in [ ]"));
                    }
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
                Event::Eof => {
                    return match self.open.last() {
                        Some(&opened) => {
                            let opened = self.source.error(opened, "", "").line;
                            Err(self.error_here(
                                at,
                                format!("the file ends inside this element, which was opened at line {opened}; is it complete?"),
                            ))
                        }
                        None if self.roots == 0 => Err(self.error_here(at, "the file holds no element")),
                        None => Ok(Item::End),
                    };
                }
            }
        }
    }

    fn open(&mut self, start: BytesStart<'a>, at: usize) -> Result<Element<'a>, XmlError> {
        let element = Element { start, at };
        if self.open.is_empty() {
            self.roots += 1;
            if self.roots > 1 {
                return Err(
                    element.error(&self.source, "a second element at the top of the file; XML has one")
                );
            }
        }
        if self.open.len() >= DEEPEST {
            return Err(element.error(
                &self.source,
                format!("elements are nested more than {DEEPEST} deep, which no real file needs"),
            ));
        }
        self.open.push(at);
        Ok(element)
    }
}

/// `text` as the content of an element or an attribute in double quotes.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    const SPECIAL: [char; 8] = ['&', '<', '>', '"', '\'', '\n', '\r', '\t'];
    if !text.contains(SPECIAL) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // an attribute would be read back with blanks in their place
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\t' => escaped.push_str("&#9;"),
            other => escaped.push(other),
        }
    }
    Cow::Owned(escaped)
}
