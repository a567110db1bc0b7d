//! BookSim2's configuration text: `name = value;`, comments, lists in braces.

/// One assignment, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The name.
    pub name: String,
    /// The value without the blanks around it.
    pub value: String,
    /// Line of the name, from 1.
    pub line: usize,
}

/// What is wrong with a configuration, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", in_line(*line))]
pub struct TextError {
    /// Line, from 1; 0 where something is missing.
    pub line: usize,
    /// What was found and what was expected.
    pub reason: String,
}

fn in_line(line: usize) -> String {
    if line == 0 { String::new() } else { format!("line {line}: ") }
}

/// Reads all assignments in order. `//` starts a comment that ends with its line.
///
/// # Errors
/// A statement that is not `name = value;`.
pub fn assignments(text: &str) -> Result<Vec<Assignment>, TextError> {
    let mut out = Vec::new();
    let (mut statement, mut start) = (String::new(), 1);
    for (index, line) in text.lines().enumerate() {
        let code = line.split_once("//").map_or(line, |(code, _)| code);
        for piece in code.split_inclusive(';') {
            if statement.trim().is_empty() {
                (statement, start) = (String::new(), index + 1);
            }
            match piece.strip_suffix(';') {
                Some(piece) => {
                    statement.push_str(piece);
                    out.push(assignment(&statement, start)?);
                    statement.clear();
                }
                None => {
                    statement.push_str(piece);
                    statement.push(' ');
                }
            }
        }
    }
    if statement.trim().is_empty() {
        return Ok(out);
    }
    let reason = format!("`{}` has no `;` at its end", shortened(statement.trim()));
    Err(TextError { line: start, reason })
}

fn assignment(statement: &str, line: usize) -> Result<Assignment, TextError> {
    let refuse = |reason: String| Err(TextError { line, reason });
    let Some((name, value)) = statement.split_once('=') else {
        return refuse(format!("found `{}`; expected `name = value;`", shortened(statement.trim())));
    };
    let (name, value) = (name.trim(), value.trim());
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(letters) {
        return refuse(format!("found `{}` where the name of an option was expected", shortened(name)));
    }
    if value.is_empty() {
        return refuse(format!("`{name}` has no value"));
    }
    Ok(Assignment { name: name.to_owned(), value: value.to_owned(), line })
}

/// A piece of a user's text that fits in a message.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The entries of a list in braces or of arguments in parentheses: `{a,{b,c}}` gives `a` and `{b,c}`. What
/// is not enclosed is a list of itself.
///
/// # Errors
/// Brackets that do not match.
pub fn entries(text: &str) -> Result<Vec<&str>, String> {
    let text = text.trim();
    let inner = match (text.chars().next(), text.chars().last()) {
        (Some('{'), Some('}')) | (Some('('), Some(')')) if text.len() >= 2 => &text[1..text.len() - 1],
        (Some('{' | '('), _) => return Err(format!("`{}` is not closed", shortened(text))),
        _ => return Ok(vec![text]),
    };
    let (mut out, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (index, c) in inner.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Err(format!("`{}` closes more than it opens", shortened(text))),
            },
            ',' if depth == 0 => {
                out.push(inner[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    if depth > 0 {
        return Err(format!("`{}` is not closed", shortened(text)));
    }
    out.push(inner[start..].trim());
    Ok(out)
}

/// A name with arguments: `randperm(7)` gives `randperm` and its list, `uniform` an empty one. Several arguments stand in
/// braces: `on_off({0.1,0.2,-1})`. Of those that do not, BookSim2 looks at the first one only, and so does this.
///
/// # Errors
/// Brackets that do not match, and lists without braces around them: `hotspot({{0,1},{3,1}})` has them.
pub fn call(text: &str) -> Result<(&str, Vec<&str>), String> {
    match text.find('(') {
        None => Ok((text.trim(), Vec::new())),
        Some(open) => {
            let (name, arguments) = (text[..open].trim(), entries(&text[open..])?);
            match arguments[..] {
                [one] => Ok((name, entries(one)?)),
                [first, ..] if first.starts_with('{') => {
                    let list = arguments.join(",");
                    Err(format!("found `{text}`; lists stand in braces of their own: `{name}({{{list}}})`"))
                }
                _ => Ok((name, arguments[..1].to_vec())),
            }
        }
    }
}
