//! The trace: operations from a CSV file, one by one.

use std::collections::BTreeMap;
use std::path::Path;

use stratasim_alloc::{Address, Backing, CardMemory, Tier};
use stratasim_core::Bytes;
use stratasim_core::error::nearest;
use stratasim_experiment::{ConfigError, Error};

/// The columns, in the order in which they are looked up.
const COLUMNS: [&str; 5] = ["operation", "tier", "group", "id", "bytes"];

/// An operation that the allocator refused.
pub(super) struct Failure {
    pub(super) line: u64,
    pub(super) tier: Tier,
    pub(super) operation: &'static str,
    pub(super) id: String,
    pub(super) reason: String,
}

/// What became of a block.
enum Block {
    InUse(Address, u64),
    Freed(Address),
    /// Never given: the allocation failed.
    Refused,
}

/// Reads `path` and does what it says. Operations that a real program could do are done, and counted when they are
/// refused; lines that say nothing that could be done are errors.
pub(super) fn replay<B: Backing>(path: &Path, card: &mut CardMemory<B>) -> Result<Vec<Failure>, Error> {
    let file = std::fs::File::open(path).map_err(|error| Error::file(path, &error))?;
    let mut reader =
        csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).flexible(true).from_reader(file);
    let at = |line: u64, message: String| -> Error {
        ConfigError::new(format!("{}:{line}: {message}", path.display()), None).into()
    };
    let unreadable = |error: &csv::Error| {
        let line = error.position().map_or(0, csv::Position::line);
        match error.kind() {
            csv::ErrorKind::Io(error) => Error::file(path, error),
            csv::ErrorKind::Utf8 { .. } => at(line, "this is no UTF-8 text".to_owned()),
            _ => at(line, error.to_string()),
        }
    };
    let headings = reader.headers().map_err(|error| unreadable(&error))?.clone();
    let columns = columns(&headings).map_err(|message| at(1, message))?;
    let mut blocks: BTreeMap<String, Block> = BTreeMap::new();
    let mut failures = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| unreadable(&error))? {
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != headings.len() {
            let (found, wanted) = (record.len(), headings.len());
            let hint = if found < wanted { "; is the file cut off?" } else { "" };
            return Err(at(line, format!("{found} fields, where the heading has {wanted}{hint}")));
        }
        let [operation, tier, group, id, bytes] = columns.map(|column| &record[column]);
        let tier = read_tier(tier, group, card.groups()).map_err(|message| at(line, message))?;
        if id.is_empty() {
            return Err(at(line, "id: the name of a block is expected, found nothing".to_owned()));
        }
        let (operation, done) = match operation {
            "alloc" => {
                let bytes = read_bytes(bytes).map_err(|message| at(line, message))?;
                if let Some(Block::InUse(_, since)) = blocks.get(id) {
                    return Err(at(line, format!("id: `{id}` is in use since line {since}; free it first")));
                }
                let given = card.allocate_in(tier, bytes);
                let block = given.map_or(Block::Refused, |address| Block::InUse(address, line));
                blocks.insert(id.to_owned(), block);
                ("alloc", given.err().map(|error| error.to_string()))
            }
            "free" => {
                if !bytes.is_empty() {
                    return Err(at(line, format!("bytes: a free has none, found `{bytes}`")));
                }
                let done = match blocks.get(id) {
                    None => {
                        let hint = nearest(id, blocks.keys().map(String::as_str));
                        let hint = hint.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                        return Err(at(line, format!("id: `{id}` was never allocated{hint}")));
                    }
                    Some(Block::Refused) => Some("its allocation had failed".to_owned()),
                    Some(&(Block::InUse(address, _) | Block::Freed(address))) => {
                        let freed = card.free_in(tier, address);
                        if freed.is_ok() {
                            blocks.insert(id.to_owned(), Block::Freed(address));
                        }
                        freed.err().map(|error| error.to_string())
                    }
                };
                ("free", done)
            }
            other => {
                let hint = nearest(other, ["alloc", "free"]);
                let hint = hint.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                return Err(at(
                    line,
                    format!("operation: `alloc` or `free` is expected, found `{other}`{hint}"),
                ));
            }
        };
        if let Some(reason) = done {
            failures.push(Failure { line, tier, operation, id: id.to_owned(), reason });
        }
    }
    Ok(failures)
}

/// Where each of [`COLUMNS`] is.
fn columns(headings: &csv::StringRecord) -> Result<[usize; 5], String> {
    let mut places = [0; 5];
    for (place, wanted) in places.iter_mut().zip(COLUMNS) {
        let found = headings.iter().position(|heading| heading == wanted);
        *place = found.ok_or_else(|| {
            let near = nearest(wanted, headings.iter());
            let hint = near.map_or_else(String::new, |near| format!(", is it `{near}`?"));
            format!("the column `{wanted}` is missing{hint} (columns: {})", COLUMNS.join(", "))
        })?;
    }
    for (index, heading) in headings.iter().enumerate() {
        if !places.contains(&index) {
            return Err(format!("unknown or repeated column `{heading}` (columns: {})", COLUMNS.join(", ")));
        }
    }
    Ok(places)
}

fn read_tier(tier: &str, group: &str, groups: u32) -> Result<Tier, String> {
    match tier {
        "global" if group.is_empty() => Ok(Tier::Global),
        "global" => Err(format!("group: Global memory belongs to no group, found `{group}`; leave it empty")),
        "local" => match group.parse::<u32>() {
            Ok(number) if number < groups => Ok(Tier::Local(number)),
            Ok(number) => {
                Err(format!("group: there is no core group {number}; the card has {groups}, from 0"))
            }
            Err(_) => Err(format!("group: the number of a core group is expected, found `{group}`")),
        },
        other => {
            let hint = nearest(other, ["local", "global"]);
            let hint = hint.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
            Err(format!("tier: `local` or `global` is expected, found `{other}`{hint}"))
        }
    }
}

/// A bare number of bytes, or one with a unit.
fn read_bytes(text: &str) -> Result<u64, String> {
    if let Ok(bytes) = text.parse() {
        return Ok(bytes);
    }
    text.parse::<Bytes>().map(Bytes::count).map_err(|error| format!("bytes: {error}"))
}
