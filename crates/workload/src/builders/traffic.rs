//! Synthetic traffic: independent messages with drawn sizes and arrival times.

pub mod arrivals;
pub mod sizes;

use rand::RngExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::words::{rounded, thousands};
use stratasim_core::{Bandwidth, BuildError, Bytes, Duration, Rank};

use self::arrivals::ArrivalSpec;
use self::sizes::SizeSpec;
use super::{WorkloadContext, WorkloadGenerator};
use crate::pattern::PatternSpec;
use crate::program::{Op, Peer, Program, ProgramBuilder, Scope, Stream};

/// Independent messages between ranks: who sends to whom (`pattern`), how much (`size`), and when
/// (`arrivals`).
///
/// Pairs, sizes and arrival times come from three random streams of the run's seed, so that another
/// size distribution leaves pairs and times as they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TrafficWorkload {
    /// Who sends to whom; `uniform-random` when absent. With `burst` arrivals the messages go
    /// through a regular pattern in order, again and again; with random arrivals each message takes
    /// one of its pairs at random.
    #[serde(default)]
    pub pattern: PatternSpec,
    /// Number of messages.
    pub flows: u32,
    /// Bytes per message: a size, where all have the same, or a distribution.
    #[serde(deserialize_with = "sizes::size_or_distribution")]
    #[schemars(schema_with = "sizes::size_or_distribution_schema")]
    pub size: SizeSpec,
    /// When messages are sent; all at the beginning (`burst`) when absent.
    #[serde(default)]
    pub arrivals: ArrivalSpec,
    /// Limit of the sender for each message, unlimited when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_cap: Option<Bandwidth>,
}

/// More messages than this are refused before anything is allocated.
const MOST_FLOWS: u32 = 1 << 24;

impl WorkloadGenerator for TrafficWorkload {
    fn build(&self, context: &WorkloadContext<'_>) -> Result<Program, BuildError> {
        if !(1..=MOST_FLOWS).contains(&self.flows) {
            let reason = format!("{} messages; give 1 to {MOST_FLOWS}", self.flows);
            return Err(BuildError::new("flows", reason));
        }
        if self.rate_cap.is_some_and(|cap| cap.bytes_per_s() <= 0.0) {
            return Err(BuildError::new(
                "rate-cap",
                "a message with a limit of 0 never arrives; leave it out",
            ));
        }
        let mut pairs_random = context.streams.stream("traffic.pairs");
        let mut sizes_random = context.streams.stream("traffic.sizes");
        let mut arrivals_random = context.streams.stream("traffic.arrivals");

        let pattern = self.pattern.plugin();
        let pairs =
            pattern.over(&context.layout, &mut pairs_random).map_err(|error| error.within("pattern"))?;
        let size = self.size.plugin().sizes(&context.base).map_err(|error| error.within("size"))?;
        let mut clock = self
            .arrivals
            .plugin()
            .clock(pairs.senders(), size.mean_bytes())
            .map_err(|error| error.within("arrivals"))?;

        let mut builder = ProgramBuilder::new(context.ranks);
        builder.reserve(self.flows as usize);
        let turns = pairs.turns();
        let in_order = clock.is_burst();
        let (mut total, mut last) = (0_u64, Duration::ZERO);
        for flow in 0..self.flows {
            let turn = match turns {
                1 => 0,
                _ if in_order => u64::from(flow) % turns,
                _ => pairs_random.random_range(0..turns),
            };
            let (from, to) = pairs.pair(turn, &mut pairs_random);
            let bytes = size.draw(&mut sizes_random);
            last = clock.next(&mut arrivals_random);
            total = total.saturating_add(bytes);
            let transfer = Op::Transfer { to: Peer::Rank(Rank(to)), bytes, rate_cap: self.rate_cap };
            let vertex =
                builder.vertex(format_args!("flow-{flow}"), Scope::One(Rank(from)), Stream::NONE, transfer);
            builder.vertex_mut(vertex).not_before = last;
        }
        if last == Duration::MAX {
            return Err(BuildError::new("arrivals", "the last message arrives after more than 213 days"));
        }
        let flows = thousands(&self.flows.to_string());
        let mut note = format!("{flows} messages, {}", Bytes(rounded(total)));
        if last > Duration::ZERO {
            note += &format!(", the last one sent at {}", Duration::from_ps(rounded(last.as_ps())));
        }
        builder.summary().notes.push(note);
        builder.build()
    }
}
