//! Classes of messages, served one before the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes};

/// Messages of a class go before those of later ones in the list, at switches and at hosts (strict priority, not
/// preemptive). Each class has queues, thresholds, pauses and credits of its own. Packets without payload go before
/// all of them where the queue says so; they belong to the first class then.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Class {
    /// Largest message of the class that is in no earlier one. The last class takes all others, and has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up_to: Option<Bytes>,
}

/// Most classes, as priority flow control has them.
const MOST: usize = 8;

/// Largest message of every class but the last.
pub(super) fn limits(classes: &[Class]) -> Result<Vec<u64>, BuildError> {
    if classes.len() > MOST {
        let reason = format!("{} classes; at most {MOST} are possible", classes.len());
        return Err(BuildError::new("", reason));
    }
    let mut limits: Vec<u64> = Vec::new();
    for (number, class) in classes.iter().enumerate() {
        let field = || format!("{number}.up-to");
        match class.up_to.map(|bytes| bytes.count()) {
            Some(_) if number + 1 == classes.len() => {
                let reason = "the last class takes all messages that are in no other, and has no limit";
                return Err(BuildError::new(field(), reason));
            }
            Some(limit) if limits.last().is_some_and(|&before| before >= limit) => {
                let reason = format!(
                    "{}; it must be more than the one before, {}",
                    Bytes(limit),
                    Bytes(limits[limits.len() - 1])
                );
                return Err(BuildError::new(field(), reason));
            }
            Some(limit) => limits.push(limit),
            None if number + 1 == classes.len() => {}
            None => return Err(BuildError::new(field(), "missing; only the last class may leave it out")),
        }
    }
    Ok(limits)
}
