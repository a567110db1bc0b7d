//! Where terminals are, and how virtual channels are divided.

use smallvec::SmallVec;
use stratasim_core::BuildError;

use crate::flit::fabric::Fabric;
use crate::flit::router::RouterSpec;
use crate::flit::routing::{Candidate, Surroundings};

/// The router and the output port of every terminal.
#[derive(Debug, Clone)]
pub(crate) struct Destinations {
    of: Vec<(u32, u16)>,
    /// The router that each terminal sends to.
    entry: Vec<u32>,
}

impl Destinations {
    pub(crate) fn new(fabric: &Fabric) -> Self {
        Self {
            of: fabric.terminals().iter().map(|terminal| (terminal.router, terminal.output)).collect(),
            entry: fabric.terminals().iter().map(|terminal| terminal.entry().0).collect(),
        }
    }

    /// Router and output port of each terminal.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, u16)> {
        self.of.iter().copied()
    }

    /// The router of a terminal.
    #[inline]
    pub(crate) fn router(&self, terminal: u32) -> u32 {
        self.of[terminal as usize].0
    }

    /// The router at which packets of a terminal enter.
    pub(crate) fn entry(&self, terminal: u32) -> u32 {
        self.entry[terminal as usize]
    }

    /// The way out to `terminal`, by any virtual channel of `range`.
    #[inline]
    pub(crate) fn eject(&self, terminal: u32, range: (u8, u8)) -> Candidate {
        any(self.of[terminal as usize].1, range)
    }
}

/// `output` by any virtual channel of `range`.
#[inline]
pub(crate) fn any(output: u16, (first_vc, last_vc): (u8, u8)) -> Candidate {
    Candidate { output, first_vc, last_vc, priority: 0 }
}

/// Puts `candidates` in the order of preference: those with fewer flits under way first, among those with fewest from a drawn
/// one on. An order of their own would load some channels more than others that are as good.
pub(crate) fn prefer(candidates: &mut [Candidate], surroundings: &mut dyn Surroundings) {
    // each is asked about once; they are few, and equal ones stay in order
    let mut used: SmallVec<[u32; 16]> =
        candidates.iter().map(|candidate| surroundings.used(candidate.output)).collect();
    for at in 1..candidates.len() {
        let mut to = at;
        while to > 0 && used[to - 1] > used[to] {
            used.swap(to - 1, to);
            candidates.swap(to - 1, to);
            to -= 1;
        }
    }
    let equal = used.iter().take_while(|&&flits| flits == used[0]).count();
    if equal > 1 {
        let first = surroundings.draw(equal as u32);
        candidates[..equal].rotate_left(first as usize);
    }
}

/// Part `index` of `parts` nearly equal parts of `range`, none empty where there are as many channels.
#[inline]
pub(crate) fn part((first, last): (u8, u8), parts: u8, index: u8) -> (u8, u8) {
    if parts == 1 {
        return (first, last);
    }
    let count = u16::from(last - first) + 1;
    let cut = |index: u8| {
        let product = count * u16::from(index);
        // halves and quarters are the usual case, and cheap
        let cut = if parts.is_power_of_two() {
            product >> parts.trailing_zeros()
        } else {
            product / u16::from(parts)
        };
        first + cut as u8
    };
    (cut(index), cut(index + 1) - 1)
}

/// Refuses ranges of virtual channels that cannot be divided into `parts`; `why` says what the parts are
/// for. With `equal`, also those that are no multiple.
pub(crate) fn check_parts(
    router: &RouterSpec,
    kind: &str,
    parts: u8,
    equal: bool,
    why: &str,
) -> Result<(), BuildError> {
    for index in 0..router.ranges.len().max(1) {
        let (first, last) = router.range(index as u8);
        let count = last - first + 1;
        let (field, what) = if router.ranges.is_empty() {
            ("router.virtual-channels", "there are".to_owned())
        } else {
            ("router.ranges", format!("range {index} has"))
        };
        if count < parts {
            let reason = format!("{what} {count} virtual channels; `{kind}` needs {parts}: {why}");
            return Err(BuildError::new(field, reason));
        }
        if equal && count % parts != 0 {
            let reason = format!(
                "{what} {count} virtual channels, which is no multiple of {parts}; `{kind}` divides them evenly: {why}"
            );
            return Err(BuildError::new(field, reason));
        }
    }
    Ok(())
}
