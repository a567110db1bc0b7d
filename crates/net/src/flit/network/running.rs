//! The network in action: a kernel that runs as far as the engine wants to know.

use std::sync::Arc;

use stratasim_core::model::{self, Invariant, NetworkDone, NetworkReport, NetworkRequest, Transfer};
use stratasim_core::observe::Event;
use stratasim_core::{BuildError, Cx, Duration, Model, NodeId, Time, Token};
use stratasim_topo::Topology;

use super::interfaces::Interfaces;
use super::programs::{Cut, Flight, Programs};
use super::zero_load::ZeroLoad;
use super::{Prepared, stall};
use crate::flit::fabric::End;
use crate::flit::kernel::Kernel;
use crate::outcomes::Outcomes;
use crate::{cables, checks};

/// Cycles between two looks whether the run is to stop, and fewer where there are many routers, which take longer for each: so many
/// times them, but not less than the least. Each look costs a kernel with threads a start of all of them.
const CHUNK: u64 = 4096;
const ROUTER_CYCLES: u64 = 1 << 22;
const LEAST_CHUNK: u64 = 256;

/// Programs on a kernel.
///
/// Cycle `c` lasts from `c * period` to `(c + 1) * period`. A message may enter in the first cycle that starts
/// when it is submitted or later; it is delivered at the end of the cycle in which its last flit arrives. With a limit
/// of its sender's, the end of each packet leaves when the limit allows all bytes up to there, not before.
pub(super) struct FlitNetwork<K> {
    topology: Arc<Topology>,
    prepared: Prepared,
    kernel: K,
    programs: Programs,
    zero_load: ZeroLoad,
    cut: Cut,
    now: Time,
    outcomes: Outcomes,
    /// Why nothing moves any more.
    stuck: Option<String>,
    patience: u64,
    /// Cycles between two looks whether the run is to stop, and the cycle of the last one.
    chunk: u64,
    looked: u64,
    messages: u64,
    interfaces: Interfaces,
}

impl<K: Kernel> FlitNetwork<K> {
    pub(super) fn new(
        topology: Arc<Topology>,
        prepared: Prepared,
        cut: Cut,
        kernel: K,
        nics: u32,
        in_order: bool,
    ) -> Self {
        let fabric = prepared.fabric.clone();
        Self {
            programs: Programs::new(fabric.clone(), prepared.clock, cut, in_order),
            zero_load: ZeroLoad::new(fabric.clone(), &prepared.router),
            patience: stall::patience(&fabric, &prepared.router),
            chunk: (ROUTER_CYCLES / fabric.router_count().max(1) as u64).clamp(LEAST_CHUNK, CHUNK),
            looked: 0,
            interfaces: Interfaces::new(topology.node_count(), nics, in_order),
            topology,
            prepared,
            kernel,
            cut,
            now: Time::ZERO,
            outcomes: Outcomes::default(),
            stuck: None,
            messages: 0,
        }
    }

    fn no_way(&self, src: NodeId, dst: NodeId) -> String {
        let [from, to] = [src, dst].map(|node| self.topology.node_name(node));
        format!(
            "no route from {from} to {to}: no chain of routers joins them{}",
            cables::hint(&self.topology)
        )
    }

    /// Gives up everything under way when nothing can move any more.
    fn look_for_stall(&mut self) {
        let since = self.kernel.last_progress().max(self.programs.last_ready);
        let stands = self.programs.under_way > 0 && self.kernel.now().saturating_sub(since) > self.patience;
        let waits_for_date = self.kernel.in_flight() == 0 && self.programs.next_ready().is_some();
        if !stands || waits_for_date {
            return;
        }
        let name =
            |router: u32| self.topology.node_name(self.prepared.wiring.nodes[router as usize]).to_owned();
        let text = stall::report(&self.prepared.fabric, &self.kernel.waiting(), since, &name);
        for token in self.programs.abandon() {
            self.outcomes.fail(token, text.clone());
        }
        self.stuck = Some(text);
    }

    /// Whether it is to stop, where it was time to ask: messages that end in every cycle make the engine ask rarely.
    fn is_to_stop(&mut self, cx: &mut Cx<'_, NetworkDone>) -> bool {
        if self.kernel.now() < self.looked.saturating_add(self.chunk) {
            return false;
        }
        self.looked = self.kernel.now();
        let at = self.now.max(self.prepared.clock.start(self.kernel.now()));
        cx.observer.on_event(&Event::Clock { at });
        cx.observer.wants_stop()
    }

    fn is_running(&self) -> bool {
        self.programs.under_way > 0 && self.stuck.is_none()
    }
}

impl<K: Kernel + Send> Model for FlitNetwork<K> {
    type Request = NetworkRequest;
    type Done = NetworkDone;

    fn submit(&mut self, now: Time, request: NetworkRequest) {
        let NetworkRequest::Transfer(transfer) = request else {
            unreachable!("the engine asks runs_pipelines first")
        };
        let Transfer { token, src, dst, bytes, rate_cap, nic, line, handshake, .. } = transfer;
        self.now = now;
        self.messages += 1;
        if let Some(stuck) = &self.stuck {
            let reason = stuck.clone();
            return self.outcomes.fail(token, reason);
        }
        let cap_ps_per_byte = rate_cap.map_or(0.0, |cap| 1e12 / cap.bytes_per_s());
        if src == dst {
            let flight = Flight::new(token, 0, 0, now, bytes, cap_ps_per_byte);
            return self.outcomes.deliver(flight.allowed(bytes), token);
        }
        match self.interfaces.next(&self.prepared, [src, dst], nic) {
            Some((from, to)) => {
                let flight = Flight::new(token, from, to, now, bytes, cap_ps_per_byte);
                self.programs.submit(if handshake { flight } else { flight.on_line(line) });
            }
            None => {
                let reason = self.no_way(src, dst);
                self.outcomes.fail(token, reason);
            }
        }
    }

    fn next_event(&mut self) -> Option<Time> {
        if self.outcomes.have_failures() {
            return Some(self.now);
        }
        let kernel = self.is_running().then(|| {
            // nothing arrives before the present cycle is over, or the one in which the next message starts
            let quiet = self.kernel.is_settled();
            let cycle = match self.programs.next_ready() {
                Some(cycle) if quiet && self.programs.is_quiet() => cycle.max(self.kernel.now()),
                _ => self.kernel.now(),
            };
            self.prepared.clock.start(cycle.saturating_add(1))
        });
        let next = self.outcomes.next().min(kernel.unwrap_or(Time::MAX));
        (next < Time::MAX).then(|| next.max(self.now))
    }

    fn advance(&mut self, until: Time, cx: &mut Cx<'_, NetworkDone>) -> Time {
        loop {
            if self.outcomes.have_failures() {
                self.outcomes.report_failures(cx);
                return self.now;
            }
            let late = self.outcomes.next();
            let over = self.prepared.clock.over_at(until.min(late));
            if self.is_running() && self.kernel.now() < over {
                let chunk = over.min(self.kernel.now().saturating_add(self.patience.min(self.chunk)));
                self.kernel.run(chunk, &mut self.programs);
                let nothing_came = self.programs.arrived.is_empty();
                if nothing_came {
                    self.look_for_stall();
                }
                let failed = self.outcomes.have_failures();
                let stops = !failed && self.is_to_stop(cx);
                if nothing_came && !failed && !stops {
                    continue;
                }
                self.now = self.now.max(self.prepared.clock.start(self.kernel.now()));
                if stops {
                    // what has come stays where it is
                    return self.now;
                }
                for slot in std::mem::take(&mut self.programs.arrived) {
                    let token = self.programs.flights[slot].token;
                    self.programs.flights.release(slot);
                    self.outcomes.deliver(self.now, token);
                }
            } else if late <= until {
                self.now = late;
            } else {
                self.now = until;
                return until;
            }
            self.outcomes.report_until(self.now, cx);
            if !cx.done.is_empty() {
                return self.now;
            }
        }
    }
}

impl<K: Kernel + Send> model::Network for FlitNetwork<K> {
    fn check_route(&mut self, src: NodeId, dst: NodeId) -> Result<(), BuildError> {
        if src == dst || self.interfaces.join(&self.prepared, [src, dst]) {
            return Ok(());
        }
        Err(BuildError::new("", self.no_way(src, dst)))
    }

    fn least_duration(&mut self, src: NodeId, dst: NodeId, bytes: u64) -> Duration {
        if src == dst {
            return Duration::ZERO;
        }
        let flits = self.cut.flits(bytes);
        // any NIC may carry it
        let wiring = self.prepared.wiring.clone();
        let mut least: Option<u64> = None;
        for &from in wiring.terminals(src) {
            for &to in wiring.terminals(dst).iter().filter(|&&to| self.prepared.joined(from, to)) {
                let cycles = self.zero_load.cycles(from, to, flits);
                least = least.into_iter().chain(cycles).min();
            }
        }
        least.map_or(Duration::ZERO, |cycles| self.prepared.clock.length(cycles.saturating_add(1)))
    }

    fn egress_bytes_per_s(&self, node: NodeId) -> f64 {
        let bytes_per_cycle: f64 = (self.prepared.wiring.terminals(node).iter())
            .map(|&terminal| f64::from(self.prepared.fabric.terminal(terminal).injection.spacing))
            .map(|spacing| f64::from(self.prepared.flit_bytes) * 256.0 / spacing)
            .sum();
        bytes_per_cycle * self.prepared.clock.hz()
    }

    fn failure(&mut self) -> Option<(Token, String)> {
        self.outcomes.failure()
    }

    fn report(&mut self, now: Time) -> NetworkReport {
        let links = self.topology.links();
        let mut link_bytes = vec![0.0; links.len()];
        let flit_bytes = f64::from(self.prepared.flit_bytes);
        let fabric = &self.prepared.fabric;
        let flits = self.kernel.channel_flits();
        for (channel, &flits) in fabric.channels().iter().zip(&flits) {
            if let (Some(link), true) = (channel.link, channel.end != End::Nothing) {
                link_bytes[link.index()] += flits as f64 * flit_bytes;
            }
        }
        for (terminal, &flits) in fabric.terminals().iter().zip(&self.programs.entered) {
            if let Some(link) = terminal.injection.link {
                link_bytes[link.index()] += flits as f64 * flit_bytes;
            }
        }
        let link_busy_s: Vec<f64> =
            link_bytes.iter().zip(links).map(|(bytes, link)| bytes / link.bandwidth.bytes_per_s()).collect();
        // flits count when they begin, those of both directions of a cable that has one for both
        let period_s = self.prepared.clock.period_s();
        let slack_s = |link: usize| 2.0 * (period_s + flit_bytes / links[link].bandwidth.bytes_per_s());
        let links_held = checks::links(&self.topology, &link_bytes, &link_busy_s, now, slack_s);
        let mut violations = self.kernel.violations();
        if self.programs.under_way == 0 && self.stuck.is_none() && self.kernel.in_flight() > 0 {
            violations.push(format!("{} flits are left in the network", self.kernel.in_flight()));
        }
        NetworkReport {
            link_bytes,
            link_busy_s,
            invariants: vec![
                links_held,
                Invariant {
                    name: "every flit arrived or is under way, in buffers that have room for it",
                    checked: self.programs.entered.iter().sum::<u64>() + fabric.channels().len() as u64,
                    violations,
                },
            ],
            memory_rates: Some(1.0),
            notes: self.prepared.notes.iter().cloned().chain(cables::note(&self.topology)).collect(),
            counters: vec![
                ("network.messages", self.messages),
                ("network.packets", self.programs.packets),
                ("network.flits", self.programs.entered.iter().sum()),
                ("network.flit_hops", self.programs.flit_hops),
                ("network.cycles", self.kernel.now()),
            ],
            ..NetworkReport::default()
        }
    }
}
