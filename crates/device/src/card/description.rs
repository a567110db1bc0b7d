//! What a card consists of, as a file says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{Bandwidth, BuildError, Bytes, ComputeRate, Duration};

/// Most core groups of a card: a schedule has a copy for each pair of groups.
pub const MOST_CORE_GROUPS: u32 = 64;

/// An accelerator card: core groups, tiers of memory, the ring, DMA engines, host link, fixed costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Card {
    /// Name in reports.
    pub name: String,
    /// What it describes and where the numbers come from.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Number of core groups: the members of an on-card collective.
    pub core_groups: u32,
    /// Compute elements of a core group.
    #[serde(default)]
    pub compute: Compute,
    /// Local and Global memory.
    pub memory: Memory,
    /// Bandwidths of a core group.
    pub bandwidth: Rates,
    /// Fixed costs.
    pub cost: Cost,
    /// DMA engines of the compute elements; matters to the tile model only.
    #[serde(default)]
    pub dma: Dma,
    /// Link to the host.
    pub host: Host,
}

/// Compute elements of a core group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Compute {
    /// Compute elements of a group.
    pub elements: u32,
    /// Scratch-pad memory of each element (LDM, shared memory).
    pub ldm: Bytes,
    /// Arithmetic rate of a whole group; unlimited where absent, so that only data movement takes time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<ComputeRate>,
}

impl Default for Compute {
    fn default() -> Self {
        Self { elements: 32, ldm: Bytes(256 << 10), rate: None }
    }
}

/// Memory of a card. A switch divides what a group has between Local and Global:
/// `global = core-groups * (per-group - local)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Memory {
    /// Memory that belongs to each core group, before it is divided.
    pub per_group: Bytes,
    /// Local memory of each core group, which only that group uses.
    pub local: Bytes,
    /// Global memory of the whole card, which all groups reach.
    pub global: Bytes,
    /// Unit of small allocations.
    #[serde(default = "page")]
    pub page: Bytes,
    /// Unit of large allocations, a multiple of `page`.
    #[serde(default = "segment")]
    pub segment: Bytes,
}

fn page() -> Bytes {
    Bytes(8 << 10)
}

fn segment() -> Bytes {
    Bytes(1 << 20)
}

/// Bandwidths of a core group, in each direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rates {
    /// Of a group's link to the next on the ring.
    pub ring: Bandwidth,
    /// Of a group's access to Global memory over the ring.
    pub global: Bandwidth,
    /// Of a group's Local memory.
    pub local: Bandwidth,
    /// Of all groups together on the ring, where the ring is one shared bus; unlimited when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_total: Option<Bandwidth>,
    /// At which a group fetches and adds in a ring reduce-scatter; that of the memory path when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_ring: Option<Bandwidth>,
    /// At which a group fetches and adds where one kernel does the whole reduce-scatter (CSC, direct);
    /// that of the memory path when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce_csc: Option<Bandwidth>,
}

/// Fixed costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cost {
    /// Of the host starting a kernel on all groups (they start at the same time).
    pub launch: Duration,
    /// Of a synchronisation of all groups through the host.
    pub sync: Duration,
    /// Of a step of a ring algorithm, beside its launch, synchronisation and data (the paper's t_OTHERS).
    pub ring_step: Duration,
    /// Of a step inside of a kernel that does the whole collective (CSC, direct).
    pub csc_step: Duration,
    /// Of each kernel on the card itself, part of the kernel's own time and not of its launch.
    #[serde(default)]
    pub kernel: Duration,
}

/// DMA engines between the scratch-pads and the memories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Dma {
    /// Time to issue a command.
    pub command: Duration,
    /// Size at which a command reaches half of the bandwidth: efficiency is n / (n + this).
    pub half_efficiency: Bytes,
    /// Commands of an element that may be in flight.
    pub queue: u32,
    /// Whether a tile is fetched while the one before is written.
    pub buffering: Buffering,
}

impl Default for Dma {
    fn default() -> Self {
        Self { command: Duration::ZERO, half_efficiency: Bytes(0), queue: 2, buffering: Buffering::Double }
    }
}

/// How tiles use the scratch-pad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Buffering {
    /// One tile: written before the next is fetched.
    Single,
    /// Two tiles of half the size: one is fetched while the other is written.
    #[default]
    Double,
}

/// Link between host and card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Host {
    /// Bandwidth of the link, shared by all groups.
    pub link: Bandwidth,
    /// Fixed cost of a copy over it.
    #[serde(default)]
    pub copy: Duration,
}

impl Card {
    /// Checks what must hold between the numbers.
    ///
    /// # Errors
    /// The first field that does not fit, with what was found and expected.
    pub fn check(&self) -> Result<(), BuildError> {
        if !(1..=MOST_CORE_GROUPS).contains(&self.core_groups) {
            let reason = format!("1 to {MOST_CORE_GROUPS} are expected, found {}", self.core_groups);
            return Err(BuildError::new("core-groups", reason));
        }
        if self.compute.elements == 0 {
            return Err(BuildError::new("compute.elements", "at least one is expected, found 0"));
        }
        if self.compute.ldm.count() == 0 {
            return Err(BuildError::new("compute.ldm", "more than nothing is expected, found 0 B"));
        }
        if self.compute.rate.is_some_and(|rate| rate.flop_per_s() <= 0.0) {
            return Err(BuildError::new("compute.rate", "more than nothing is expected, found 0 FLOP/s"));
        }
        self.memory.check(self.core_groups)?;
        let rates = &self.bandwidth;
        let optional = [
            ("ring-total", rates.ring_total),
            ("reduce-ring", rates.reduce_ring),
            ("reduce-csc", rates.reduce_csc),
        ];
        let always = [("ring", rates.ring), ("global", rates.global), ("local", rates.local)];
        let stated = optional.into_iter().filter_map(|(name, rate)| Some((name, rate?)));
        let bandwidths =
            always.into_iter().chain(stated).map(|(name, rate)| (format!("bandwidth.{name}"), rate));
        for (field, rate) in bandwidths.chain([("host.link".to_owned(), self.host.link)]) {
            if rate.bytes_per_s() <= 0.0 {
                return Err(BuildError::new(field, format!("more than nothing is expected, found {rate}")));
            }
            // below, times are beyond what anything can be compared with
            if rate.bytes_per_s() < 1.0 {
                return Err(BuildError::new(field, "at least 1 B/s is expected, found less"));
            }
        }
        if self.dma.queue == 0 {
            return Err(BuildError::new("dma.queue", "at least one command is expected, found 0"));
        }
        Ok(())
    }

    /// The same card with the switch set so that each group keeps `local` for itself.
    ///
    /// # Errors
    /// More than a group has.
    pub fn with_local(&self, local: Bytes) -> Result<Self, BuildError> {
        let mut card = self.clone();
        card.memory.local = local;
        card.memory.global = self.memory.global_beside(local, self.core_groups).ok_or_else(|| {
            let most = self.memory.per_group;
            BuildError::new("memory.local", format!("a group has {most} in all, found {local}"))
        })?;
        Ok(card)
    }
}

impl Memory {
    /// Global memory of a card of `core_groups` groups that keep `local` each; `None` when a group has less.
    pub fn global_beside(&self, local: Bytes, core_groups: u32) -> Option<Bytes> {
        let rest = self.per_group.count().checked_sub(local.count())?;
        rest.checked_mul(core_groups.into()).map(Bytes)
    }

    /// Local memory of each of `core_groups` groups beside the Global memory that there is; `None` when that is more
    /// than all have, or no equal parts.
    pub fn local_beside(&self, core_groups: u32) -> Option<Bytes> {
        let global = self.global.count();
        let groups = u64::from(core_groups);
        let share = global.checked_div(groups).filter(|share| share * groups == global)?;
        self.per_group.count().checked_sub(share).map(Bytes)
    }

    fn check(&self, core_groups: u32) -> Result<(), BuildError> {
        let fail = |field: &str, reason: String| Err(BuildError::new(format!("memory.{field}"), reason));
        if self.page.count() == 0 {
            return fail("page", "more than nothing is expected, found 0 B".to_owned());
        }
        if self.segment.count() == 0 || !self.segment.count().is_multiple_of(self.page.count()) {
            return fail(
                "segment",
                format!("a multiple of the page of {} is expected, found {}", self.page, self.segment),
            );
        }
        if self.per_group.count() == 0 {
            return fail("per-group", "more than nothing is expected, found 0 B".to_owned());
        }
        let Some(global) = self.global_beside(self.local, core_groups) else {
            return fail(
                "local",
                format!("at most the {} of a group are expected, found {}", self.per_group, self.local),
            );
        };
        if global != self.global {
            let (per_group, local) = (self.per_group, self.local);
            return fail(
                "global",
                format!(
                    "{core_groups} x (per-group - local) = {core_groups} x ({per_group} - {local}) = {global} is expected, found {}",
                    self.global
                ),
            );
        }
        Ok(())
    }
}
