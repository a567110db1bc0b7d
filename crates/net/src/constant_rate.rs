//! Constant rate: every message takes latency + bytes / rate, whoever else is under way.
//!
//! The simplest network there is: no topology, no sharing. It shows how a network is added, and
//! gives the time that a program would take on a network which is never the bottleneck.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::model::{self, NetworkDone, NetworkReport, NetworkRequest};
use stratasim_core::queue::IndexedQueue;
use stratasim_core::{Bandwidth, BuildError, Cx, Duration, Model, NodeId, Slots, Time, Token};

use crate::networks::{NetworkContext, NetworkKind};

/// Every message takes `latency` + bytes / `bandwidth`; nothing is shared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ConstantRate {
    /// Rate of every message.
    pub bandwidth: Bandwidth,
    /// Delay of every message.
    #[serde(default)]
    pub latency: Duration,
}

impl NetworkKind for ConstantRate {
    fn own_routing(&self) -> Option<&'static str> {
        Some("knows no ways")
    }

    fn build(&self, context: NetworkContext) -> Result<Box<dyn model::Network>, BuildError> {
        if self.bandwidth.bytes_per_s() <= 0.0 {
            return Err(BuildError::new("bandwidth", "a rate above zero is expected"));
        }
        Ok(Box::new(Constant {
            spec: self.clone(),
            links: context.topology.link_count(),
            now: Time::ZERO,
            queue: IndexedQueue::new(),
            tokens: Slots::default(),
            messages: 0,
        }))
    }
}

struct Constant {
    spec: ConstantRate,
    links: usize,
    now: Time,
    queue: IndexedQueue,
    tokens: Slots<Token>,
    messages: u64,
}

impl Constant {
    fn duration(&self, bytes: u64) -> Duration {
        self.spec.latency + Duration::from_secs_f64(bytes as f64 / self.spec.bandwidth.bytes_per_s())
    }
}

impl Model for Constant {
    type Request = NetworkRequest;
    type Done = NetworkDone;

    fn submit(&mut self, now: Time, request: NetworkRequest) {
        let NetworkRequest::Transfer(transfer) = request else {
            unreachable!("the engine asks runs_pipelines first")
        };
        self.now = now;
        self.messages += 1;
        let slot = self.tokens.insert(transfer.token);
        let cap = transfer.rate_cap.map_or(Duration::ZERO, |cap| {
            Duration::from_secs_f64(transfer.bytes as f64 / cap.bytes_per_s()) + self.spec.latency
        });
        self.queue.set(slot, now + self.duration(transfer.bytes).max(cap));
    }

    fn next_event(&mut self) -> Option<Time> {
        self.queue.peek().map(|(at, _)| at)
    }

    fn advance(&mut self, until: Time, cx: &mut Cx<'_, NetworkDone>) -> Time {
        match self.queue.peek() {
            Some((at, _)) if at <= until => self.now = at,
            _ => {
                self.now = until;
                return until;
            }
        }
        while let Some((at, slot)) = self.queue.peek()
            && at == self.now
        {
            self.queue.pop();
            self.tokens.release(slot);
            cx.done.push(NetworkDone::Delivered(self.tokens[slot]));
        }
        self.now
    }
}

impl model::Network for Constant {
    fn start_anew(&mut self) -> bool {
        (self.now, self.messages) = (Time::ZERO, 0);
        (self.queue, self.tokens) = (IndexedQueue::new(), Slots::default());
        true
    }

    fn check_route(&mut self, _: NodeId, _: NodeId) -> Result<(), BuildError> {
        Ok(())
    }

    fn least_duration(&mut self, _: NodeId, _: NodeId, bytes: u64) -> Duration {
        self.duration(bytes)
    }

    fn report(&mut self, _: Time) -> NetworkReport {
        NetworkReport {
            link_bytes: vec![0.0; self.links],
            link_busy_s: vec![0.0; self.links],
            counters: vec![("network.messages", self.messages)],
            ..NetworkReport::default()
        }
    }
}
