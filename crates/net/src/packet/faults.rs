//! Faults of links, between one end of a wire and the other: a file each, and a line each in [`Faults`].
//!
//! What happens to a packet is decided when its last bit comes out of the wire, in this order: the link was down, it is
//! lost, changed, doubled, held up. Each has draws of its own on each link, so that adding one moves no other's.

mod corruption;
mod duplication;
mod loss;
mod outage;
mod reordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::random::{Draws, key};
use stratasim_core::{BuildError, Duration};
use stratasim_topo::Topology;

pub use self::corruption::Corruption;
pub use self::duplication::Duplication;
pub use self::loss::{Loss, States};
pub use self::outage::{Links, Outage};
pub use self::reordering::Reordering;

use self::loss::Lossy;
pub(super) use self::outage::Outages;
use super::engine::{Engine, Event, Flying};
use super::port::{NOTHING, Port};

/// What goes wrong on links, beside `loss`, which is for all of them. Where packets are lost or changed, the recovery
/// must be one that sends them again: any but `none`.
///
/// ```toml
/// [network.faults]
/// corruption = { probability = 1e-4 }
/// reordering = { probability = 0.01, delay = "5 us" }
/// down = [{ link = "leaf-0->spine-0", from = "10 us", to = "1 ms" }]
/// detection = "50 us"
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Faults {
    /// Loss on some links that is another one than that of all, such as `{ probability = 0.1, links = ["leaf-0->spine-0"] }`;
    /// of several that name a link, the last one counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loss: Vec<Loss>,
    /// Packets that are changed on the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corruption: Option<Corruption>,
    /// Packets that come twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplication: Option<Duplication>,
    /// Packets that others overtake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<Reordering>,
    /// Links that fail and are repaired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub down: Vec<Outage>,
    /// Time from a failure until switches and senders of new messages avoid ways over the link, where another shortest
    /// way exists; 100 us when absent. They use it again when it is repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detection: Option<Duration>,
}

impl Faults {
    /// Time until a failure is known.
    pub(super) fn detection_ps(&self) -> u64 {
        self.detection.map_or(100_000_000, |time| time.as_ps())
    }

    /// Whether any packets are changed.
    pub(super) fn corrupts(&self) -> bool {
        self.corruption.as_ref().is_some_and(|corruption| corruption.probability != 0.0)
    }

    /// Every fault that is asked for, with its place.
    pub(super) fn all<'a>(&'a self, loss: Option<&'a Loss>) -> Vec<(String, &'a dyn Fault)> {
        let mut all: Vec<(String, &dyn Fault)> = Vec::new();
        let mut add =
            |place: &str, fault: Option<&'a dyn Fault>| all.extend(fault.map(|fault| (place.into(), fault)));
        add("loss", loss.map(|fault| fault as _));
        for (number, loss) in self.loss.iter().enumerate() {
            add(&format!("faults.loss.{number}"), Some(loss));
        }
        add("faults.corruption", self.corruption.as_ref().map(|fault| fault as _));
        add("faults.duplication", self.duplication.as_ref().map(|fault| fault as _));
        add("faults.reordering", self.reordering.as_ref().map(|fault| fault as _));
        for (number, outage) in self.down.iter().enumerate() {
            add(&format!("faults.down.{number}"), Some(outage));
        }
        all
    }
}

/// A fault as the user chose it.
pub(super) trait Fault {
    /// Tells the links that it concerns.
    ///
    /// # Errors
    /// Values out of range; names that no link has.
    fn apply(&self, wires: &mut Wires<'_>) -> Result<(), BuildError>;
}

/// The wires of a network, while faults are given to them.
#[derive(Debug)]
pub(super) struct Wires<'a> {
    pub(super) topology: &'a Topology,
    pub(super) ports: &'a mut [Port],
    pub(super) faults: &'a mut Vec<LinkFaults>,
    /// Names the draws of this fault.
    pub(super) seed: u64,
}

impl Wires<'_> {
    /// Tells the ports of the links called `names`, all where none are given, together with the key of the fault's draws.
    fn each(
        &mut self,
        names: Option<&[String]>,
        tell: impl FnMut(&mut LinkFaults, u64),
    ) -> Result<(), BuildError> {
        if names.is_some_and(<[_]>::is_empty) {
            let reason = "no link is named; name one or several, or leave `links` out for all of them";
            return Err(BuildError::new("links", reason));
        }
        self.tell("links", names.unwrap_or_default(), names.is_none(), tell)
    }

    /// Tells the ports of the links called `names`, which stand in `field`.
    fn named(
        &mut self,
        field: &str,
        names: &[String],
        tell: impl FnMut(&mut LinkFaults, u64),
    ) -> Result<(), BuildError> {
        self.tell(field, names, false, tell)
    }

    fn tell(
        &mut self,
        field: &str,
        names: &[String],
        all: bool,
        mut tell: impl FnMut(&mut LinkFaults, u64),
    ) -> Result<(), BuildError> {
        let mut chosen = vec![all; self.topology.link_count()];
        for (place, name) in names.iter().enumerate() {
            let Some(link) = self.topology.find_link(name) else {
                let reason = format!("no link is called `{name}`{}", self.topology.link_hint(name));
                return Err(BuildError::new(format!("{field}.{place}"), reason));
            };
            chosen[link.index()] = true;
        }
        for (number, port) in (0..).zip(self.ports.iter_mut()).filter(|(_, port)| chosen[port.link.index()]) {
            if port.faults == NOTHING {
                port.faults = self.faults.len() as u32;
                self.faults.push(LinkFaults::default());
            }
            tell(&mut self.faults[port.faults as usize], key(self.seed, number));
        }
        Ok(())
    }
}

/// A probability as a share of 2^64.
fn share(probability: f64) -> Result<u64, BuildError> {
    if !(0.0..1.0).contains(&probability) {
        let reason = format!("{probability}; it must be at least 0 and below 1");
        return Err(BuildError::new("probability", reason));
    }
    Ok(scaled(probability))
}

/// The same for one that is known to be below 1.
const fn scaled(probability: f64) -> u64 {
    (probability * 18_446_744_073_709_551_616.0) as u64
}

/// Something that happens to a share of packets, each by a draw.
#[derive(Debug, Clone, Copy)]
struct Chance {
    share: u64,
    draws: Draws,
}

impl Chance {
    const fn new(share: u64, key: u64) -> Self {
        Self { share, draws: Draws::new(key) }
    }

    const fn happens(&mut self) -> bool {
        self.share > 0 && self.draws.bits() < self.share
    }
}

impl Default for Chance {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

/// What may go wrong on one link.
#[derive(Debug, Clone, Default)]
pub(super) struct LinkFaults {
    outages: Outages,
    lossy: Lossy,
    corrupts: Chance,
    doubles: Chance,
    holds_up: Chance,
    most_delay_ps: u64,
}

impl LinkFaults {
    /// Whether every packet gets over it as it is, though perhaps late or twice.
    pub(super) fn loses_nothing(&self) -> bool {
        self.outages.all().is_empty() && self.lossy.share_and_burst().0 == 0.0 && self.corrupts.share == 0
    }
}

/// What went wrong on all links.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FaultCounts {
    /// Packets on links that were down.
    pub(super) on_down_links: u64,
    /// Packets that were changed, and those of them that a host has thrown away.
    pub(super) corrupted: u64,
    pub(super) discarded: u64,
    pub(super) duplicated: u64,
    pub(super) reordered: u64,
}

impl Engine {
    /// Packets of which one gets over so many links and word of it back, on average, if each link were like the worst; 1 where
    /// none is lost or changed. Where they vanish in bursts, it is at most the second number.
    pub(super) fn packets_per_success(&self, links: u32) -> [f64; 2] {
        let (mut least, mut longest) = (1.0_f64, 1.0_f64);
        for faults in &self.faults {
            let (lost, burst) = faults.lossy.share_and_burst();
            let changed = faults.corrupts.share as f64 / 2_f64.powi(64);
            least = least.min((1.0 - lost) * (1.0 - changed));
            longest = longest.max(burst);
        }
        let successes = least.powi(2 * links.min(1 << 20) as i32);
        [1.0 / successes, longest / successes]
    }

    /// What goes wrong on links; where some go down, flows change their ways.
    pub(super) fn set_faults(&mut self, faults: Vec<LinkFaults>) {
        for &(from, to) in faults.iter().flat_map(|faults| faults.outages.all()) {
            self.outages.add(from, to);
        }
        self.faults = faults;
    }

    /// When links are down that are repaired later, from and to; picoseconds.
    pub(super) fn repairs(&self) -> Vec<(u64, u64)> {
        let all = self.faults.iter().flat_map(|faults| faults.outages.all());
        all.copied().filter(|&(_, to)| to < u64::MAX).collect()
    }

    /// Whether a link is down for good at `now`.
    pub(super) fn is_dead(&self, port: u32, now: u64) -> bool {
        let faults = self.faults.get(self.ports[port as usize].faults as usize);
        faults
            .and_then(|faults| faults.outages.all().last())
            .is_some_and(|&(from, to)| from <= now && to == u64::MAX)
    }

    /// Failures and repairs become known.
    pub(super) fn note_outages(&mut self, detection_ps: u64) {
        for number in 0..self.ports.len() as u32 {
            let faults = self.ports[number as usize].faults;
            if faults == NOTHING {
                continue;
            }
            for (from, to) in self.faults[faults as usize].outages.all().to_vec() {
                let known = from.saturating_add(detection_ps);
                if known < to {
                    // what is known from the start is known to those that send then
                    match known {
                        0 => self.detours.set(number, true),
                        _ => self.note(known, Event::Down(number)),
                    }
                    if to < u64::MAX {
                        self.note(to, Event::Up(number));
                    }
                }
            }
        }
    }

    /// A packet comes out of a wire on which something may go wrong, the last bit `rest_ps` from now: whether it is to be
    /// looked at now.
    #[inline(never)]
    pub(super) fn survives(&mut self, from: u32, packet: u32, rest_ps: u64) -> bool {
        let port = &mut self.ports[from as usize];
        let faults = &mut self.faults[port.faults as usize];
        let flying = &mut self.packets[packet as usize];
        if flying.signs & Flying::SETTLED != 0 {
            flying.signs &= !Flying::SETTLED;
            return true;
        }
        let end = self.now + rest_ps;
        let begin = end - port.kind.delay - port.time_of(flying.bytes);
        if faults.outages.touch(begin, end) {
            self.fault_counts.on_down_links += 1;
            self.vanish(from, packet);
            return false;
        }
        if faults.lossy.loses() {
            port.counts.vanished += 1;
            self.vanish(from, packet);
            return false;
        }
        if faults.corrupts.happens() {
            self.fault_counts.corrupted += u64::from(flying.signs & Flying::CORRUPT == 0);
            flying.signs |= Flying::CORRUPT;
        }
        let doubled = faults.doubles.happens();
        let held_up_ps = faults.holds_up.happens().then(|| {
            let draw = u128::from(faults.holds_up.draws.bits());
            1 + ((draw * u128::from(faults.most_delay_ps)) >> 64) as u64
        });
        if doubled {
            self.fault_counts.duplicated += 1;
            let copy = self.double(packet);
            self.packets[copy as usize].signs |= Flying::SETTLED;
            self.note(end, Event::Arrival(copy));
        }
        let Some(held_up_ps) = held_up_ps else { return true };
        self.fault_counts.reordered += 1;
        self.packets[packet as usize].signs |= Flying::SETTLED;
        self.note(end.saturating_add(held_up_ps), Event::Arrival(packet));
        false
    }

    /// A packet never comes out of the wire behind `from`.
    fn vanish(&mut self, from: u32, packet: u32) {
        self.totals.dropped += 1;
        let Flying { class, bytes, .. } = self.packets[packet as usize];
        // both ends count all that was ever sent, so that what vanished is no longer counted as held
        self.tell_room(from, class, bytes);
        self.release(packet);
    }

    /// A host finds that a packet was changed on its way.
    #[cold]
    pub(super) fn discard(&mut self, packet: u32) {
        self.fault_counts.discarded += 1;
        self.totals.dropped += 1;
        self.release(packet);
    }
}
