//! Labels that are not the usual ones: how many operations on from the one before, and the text.

use super::super::schedule::Labels;
use super::varint::{Numbers, put};

/// Appends the labels of the operations from `first` on, before `end`, to `out`; their number and bytes.
/// `next` is the first label that was not written yet, and moves on.
pub(super) fn encode(
    labels: &Labels,
    next: &mut usize,
    first: u32,
    end: u32,
    out: &mut Vec<u8>,
) -> (u32, u32) {
    let begin = *next;
    let text_end = |at: usize| at.checked_sub(1).map_or(0, |before| labels.ends[before].1);
    let mut expected = first;
    while let Some(&(operation, to)) = labels.ends.get(*next).filter(|(operation, _)| *operation < end) {
        let text = &labels.text.as_bytes()[text_end(*next) as usize..to as usize];
        put(out, u64::from(operation - expected));
        put(out, text.len() as u64);
        out.extend_from_slice(text);
        expected = operation + 1;
        *next += 1;
    }
    ((*next - begin) as u32, text_end(*next) - text_end(begin))
}

/// Appends the labels of a block; its operations are `first..end`.
pub(super) fn decode(
    raw: &[u8],
    count: u32,
    text_bytes: u32,
    (first, end): (u32, u32),
    labels: &mut Labels,
) -> Result<(), String> {
    let mut numbers = Numbers::new(raw);
    let short = || "its labels are longer than the block".to_owned();
    let start = labels.text.len();
    let mut expected = u64::from(first);
    for _ in 0..count {
        let operation = expected.saturating_add(numbers.next().ok_or_else(short)?);
        if operation >= u64::from(end) {
            return Err(format!(
                "a label of operation {operation}; less than {end} expected, where the block's ranks end"
            ));
        }
        let length = numbers.next().ok_or_else(short)?;
        let text = numbers.bytes(length).ok_or_else(short)?;
        let text = str::from_utf8(text).map_err(|error| format!("a label that is no UTF-8: {error}"))?;
        if text.is_empty() {
            return Err("a label without letters".to_owned());
        }
        labels.text.push_str(text);
        let to = u32::try_from(labels.text.len()).map_err(|_| "labels of more than 4 GiB".to_owned())?;
        labels.ends.push((operation as u32, to));
        expected = operation + 1;
    }
    let found = labels.text.len() - start;
    if !numbers.is_empty() || found != text_bytes as usize {
        return Err(format!("{count} labels of {found} bytes; {text_bytes} bytes expected, and none after"));
    }
    Ok(())
}
