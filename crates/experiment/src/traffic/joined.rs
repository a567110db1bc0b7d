//! Machines in which not every terminal can send to every other: what patterns and probes become there.

use std::fmt;
use std::sync::Arc;

use stratasim_core::BuildError;
use stratasim_core::random::Draws;
use stratasim_workload::pattern::Destinations;

/// Draws of one destination before a source is given up as one that reaches nobody.
const ATTEMPTS: u32 = 4096;

/// Whether a packet of the first terminal can get to the second, and how terminals are called.
#[derive(Clone)]
pub(super) struct Joined {
    pub(super) joined: Arc<dyn Fn(u32, u32) -> bool + Send + Sync>,
    pub(super) name: Arc<dyn Fn(u32) -> String + Send + Sync>,
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Joined")
    }
}

impl Joined {
    /// Whether packets get there, and their answers back where there are any.
    pub(super) fn reaches(&self, from: u32, to: u32, and_back: bool) -> bool {
        (self.joined)(from, to) && (!and_back || (self.joined)(to, from))
    }

    /// The error of a pair that is asked for.
    pub(super) fn refuse(&self, field: impl Into<String>, from: u32, to: u32) -> BuildError {
        let [source, dest] = [from, to].map(|terminal| (self.name)(terminal));
        let reason = format!(
            "terminal {from} ({source}) sends to terminal {to} ({dest}), and no way leads there; each NIC is a terminal"
        );
        BuildError::new(field, reason)
    }

    /// The destinations of a pattern that can be reached: others are drawn again.
    ///
    /// # Errors
    /// A pattern with one destination for each source, or with a list of them, one of which cannot be reached.
    pub(super) fn limit(
        &self,
        pattern: Box<dyn Destinations>,
        terminals: u32,
        and_back: bool,
    ) -> Result<Box<dyn Destinations>, BuildError> {
        for source in 0..terminals {
            let lost = |&&dest: &&u32| !self.reaches(source, dest, and_back);
            if let Some(&dest) = pattern.listed(source).iter().find(lost) {
                return Err(self.refuse("pattern", source, dest));
            }
        }
        if pattern.is_fixed() {
            for source in 0..terminals {
                if let Some(dest) = pattern.destination(source, true, &mut Draws::new(0))
                    && !self.reaches(source, dest, and_back)
                {
                    return Err(self.refuse("pattern", source, dest));
                }
            }
            return Ok(pattern);
        }
        Ok(Box::new(Limited { pattern, joined: self.clone(), and_back }))
    }
}

#[derive(Debug)]
struct Limited {
    pattern: Box<dyn Destinations>,
    joined: Joined,
    and_back: bool,
}

impl Destinations for Limited {
    fn destination(&self, source: u32, to_self: bool, draws: &mut Draws) -> Option<u32> {
        for _ in 0..ATTEMPTS {
            let dest = self.pattern.destination(source, to_self, draws)?;
            if self.joined.reaches(source, dest, self.and_back) {
                return Some(dest);
            }
        }
        None
    }

    fn share(&self, source: u32, to_self: bool) -> f64 {
        let share = self.pattern.share(source, to_self);
        // a packet that goes nowhere says nothing of the others
        let mut draws = Draws::new(source.into());
        let mut drawn = (0..ATTEMPTS).filter_map(|_| self.pattern.destination(source, to_self, &mut draws));
        let reaches = share > 0.0 && drawn.any(|dest| self.joined.reaches(source, dest, self.and_back));
        if reaches { share } else { 0.0 }
    }
}
