//! Network-signalled congestion control of Ultra Ethernet (NSCC): marks and delay together choose what to do.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::{BuildError, Bytes, Duration, Time};

use super::{
    Acked, CongestionControl, CongestionKind, Control, LossCause, Lost, MOST_TIME, check_alone, check_range,
    given_or,
};
use crate::entropy::{EntropySpec, mixed::Mixed};
use crate::profile::{PacketSizes, Path};
use crate::recovery::{RecoverySpec, trimming::Trimming};

/// Ultra Ethernet's sender-side congestion control: a mark and the queueing delay choose between proportional
/// increase, fair increase, multiplicative decrease and no change; after heavy loss the window falls to what was
/// delivered in a round trip (quick adapt).
///
/// Sources: Ultra Ethernet Specification 1.0, NSCC; constants as uet-htsim scales them to the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Nscc {
    /// Queueing delay that is aimed at; `target-factor` round trips of the longest way when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_delay: Option<Duration>,
    /// The target in round trips of the longest way; when absent, 0.75 where queues trim, and 1 where they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_factor: Option<f64>,
    /// Strength of the decrease, 0 to 1.
    pub gamma: f64,
    /// Weight of a sample in the average of the delay, 0 to 1.
    pub delay_weight: f64,
    /// Windows of rate x round trip at the start and at most; up to 1, such a part of the packets that fill a round trip,
    /// rounded up.
    pub max_window_factor: f64,
    /// Starts from the round trip of the own path; otherwise from the longest of the network, until a
    /// shorter one is measured.
    pub own_base_rtt: bool,
}

impl Default for Nscc {
    fn default() -> Self {
        Self {
            target_delay: None,
            target_factor: None,
            gamma: 0.8,
            delay_weight: 0.0125,
            max_window_factor: 1.5,
            own_base_rtt: false,
        }
    }
}

/// What connections share. Times in picoseconds.
#[derive(Debug)]
struct Parameters {
    packet_bytes: f64,
    rate_bytes_per_ps: f64,
    network_rtt: f64,
    /// Round trip of a full packet on the own way, empty.
    least_rtt: f64,
    target: f64,
    /// Bytes per picosecond of room below the target.
    alpha: f64,
    fair_increase: f64,
    eta: f64,
    fast_scale: f64,
    gamma: f64,
    delay_weight: f64,
    max_window_factor: f64,
    adjust_bytes: f64,
    /// The receiver gives credit besides.
    has_credit: bool,
}

impl Parameters {
    /// The largest window where a round trip takes so many picoseconds: at least as many packets as are under way then, on
    /// short ways, too, or that part of them where less is wanted.
    fn max_window(&self, rtt: f64) -> f64 {
        let filled = rtt * self.rate_bytes_per_ps;
        let whole = (filled / self.packet_bytes).ceil().max(1.0) * self.packet_bytes;
        let least = (self.max_window_factor.min(1.0) * whole).max(self.packet_bytes);
        (self.max_window_factor * filled).max(least)
    }
}

/// Queueing delays below this are none, picoseconds.
const NO_QUEUE_PS: f64 = 1e6;

/// State of a connection.
#[derive(Debug, Clone)]
pub struct State {
    parameters: Arc<Parameters>,
    now: Dynamics,
}

/// What changes. Times in picoseconds, amounts in bytes.
#[derive(Debug, Clone, Copy)]
struct Dynamics {
    window: f64,
    max_window: f64,
    base_rtt: f64,
    average_delay: f64,
    increase: f64,
    received: f64,
    adjusted_at: Time,
    decreased_at: Time,
    // quick adapt
    achieved: f64,
    ignored: f64,
    to_ignore: f64,
    adapt_at: Time,
    triggered: bool,
    // fast increase
    fast_count: f64,
    fast: bool,
}

impl Dynamics {
    fn clamp(&mut self, p: &Parameters) {
        self.window = self.window.min(self.max_window).max(p.packet_bytes);
    }

    fn average(&mut self, p: &Parameters, delay: f64, ecn: bool) {
        let sample = if !ecn && delay > p.target { 0.25 * self.base_rtt } else { delay };
        self.average_delay += p.delay_weight * (sample - self.average_delay);
    }

    /// A round trip, of which the shortest so far is the base; picoseconds.
    fn sample(&mut self, p: &Parameters, rtt: Duration) -> f64 {
        // short packets and headers are faster than the full ones that the window is for
        let rtt = (rtt.as_ps() as f64).max(p.least_rtt);
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            self.max_window = p.max_window(rtt);
        }
        rtt
    }

    /// Whether bad news is still of packets that were under way when the window was set; if so, what was saved up is lost.
    fn ignores(&mut self) -> bool {
        let ignores = self.ignored < self.to_ignore;
        if ignores {
            (self.increase, self.received) = (0.0, 0.0);
        }
        ignores
    }

    /// Whether the window was set.
    fn quick_adapt(&mut self, p: &Parameters, now: Time, loss: bool, delay: f64, in_flight: f64) -> bool {
        if now <= self.adapt_at {
            return false;
        }
        let started = self.adapt_at != Time::ZERO;
        let bad = self.triggered || loss || delay > 4.0 * p.target;
        let acts = started && bad && self.achieved < self.max_window / 8.0;
        if acts {
            self.window = self.achieved.max(p.packet_bytes);
            self.to_ignore = in_flight;
            self.ignored = 0.0;
            self.triggered = false;
            (self.increase, self.received) = (0.0, 0.0);
        }
        self.achieved = 0.0;
        self.adapt_at = now + Duration::from_ps((self.base_rtt + p.target) as u64);
        acts
    }

    fn change(&mut self, p: &Parameters, now: Time, bytes: f64, ecn: bool, delay: f64) {
        match (ecn, delay >= p.target) {
            (false, true) => self.increase += p.fair_increase * bytes,
            (false, false) => {
                if delay < NO_QUEUE_PS {
                    self.fast_count += bytes;
                    if self.fast_count > self.window || self.fast {
                        self.window += bytes * p.fast_scale;
                        self.fast = true;
                        return;
                    }
                } else {
                    self.leave_fast();
                }
                self.increase += p.alpha * bytes * (p.target - delay);
            }
            (true, true) => {
                self.leave_fast();
                let rested = now.saturating_since(self.decreased_at).as_ps() as f64 > self.base_rtt;
                if self.average_delay > p.target && rested {
                    let excess = (self.average_delay - p.target) / self.average_delay;
                    self.window *= (1.0 - p.gamma * excess).max(0.5);
                    self.decreased_at = now;
                }
            }
            // another path is chosen, the window stays
            (true, false) => {}
        }
    }

    fn on_ack(&mut self, p: &Parameters, acked: &Acked<'_>) {
        let bytes = acked.bytes as f64;
        self.achieved += bytes;
        self.received += bytes;
        self.ignored += bytes;
        let delay = match acked.rtt {
            Some(rtt) => {
                let rtt = self.sample(p, rtt);
                self.average(p, rtt - self.base_rtt, acked.ecn);
                rtt - self.base_rtt
            }
            None => self.average_delay,
        };
        if acked.ecn && self.ignores() {
            return;
        }
        if self.quick_adapt(p, acked.now, false, delay, acked.in_flight as f64) {
            return;
        }
        self.change(p, acked.now, bytes, acked.ecn, delay);
        self.clamp(p);
        let since = acked.now.saturating_since(self.adjusted_at).as_ps() as f64;
        if self.received > p.adjust_bytes || since > p.network_rtt {
            self.window += self.increase / self.window;
            if since >= p.network_rtt {
                self.window += p.eta;
                self.adjusted_at = acked.now;
            }
            (self.increase, self.received) = (0.0, 0.0);
            self.clamp(p);
        }
    }

    fn on_loss(&mut self, p: &Parameters, lost: &Lost) {
        let bytes = lost.bytes as f64;
        // where packets are dropped, marks and delay tell how much is too much; the gap says what to send again
        if lost.cause == LossCause::Gap {
            return;
        }
        if let LossCause::Trimmed { last_hop } = lost.cause {
            self.ignored += bytes;
            // a header passes by the queue in which its payload was cut: it measures the way
            self.sample(p, lost.age);
            self.average(p, p.network_rtt, true);
            self.triggered = true;
            // what is reported of the time before the window was set says nothing new
            if self.ignores() || self.quick_adapt(p, lost.now, true, p.network_rtt, lost.in_flight as f64) {
                return;
            }
            // the receiver's credit sees to its own link
            if last_hop && p.has_credit {
                return;
            }
        }
        self.window -= bytes;
        self.clamp(p);
    }

    const fn leave_fast(&mut self) {
        self.fast_count = 0.0;
        self.fast = false;
    }
}

impl CongestionControl for State {
    #[inline]
    fn window_bytes(&self) -> u64 {
        self.now.window as u64
    }

    fn queueing_delay(&self) -> Option<Duration> {
        Some(Duration::from_ps(self.now.average_delay as u64))
    }

    fn on_ack(&mut self, acked: &Acked<'_>) {
        self.now.on_ack(&self.parameters, acked);
    }

    fn on_loss(&mut self, lost: &Lost) {
        self.now.on_loss(&self.parameters, lost);
    }

    fn on_rest(&mut self) {
        // the next answer begins a round trip of quick adapt
        (self.now.adapt_at, self.now.triggered) = (Time::ZERO, false);
    }
}

impl Nscc {
    fn parameters(
        &self,
        path: &Path,
        sizes: &PacketSizes,
        has_credit: bool,
    ) -> Result<Parameters, BuildError> {
        let factor = self.target_factor.unwrap_or(if path.trims { 0.75 } else { 1.0 });
        check_range("target-factor", factor, 0.001, 100.0)?;
        let is_given = self.target_delay.is_some() && self.target_factor.is_some();
        check_alone("target-factor", is_given, "`target-delay` says what the target is")?;
        check_range("gamma", self.gamma, 0.0, 1.0)?;
        check_range("delay-weight", self.delay_weight, 0.0, 1.0)?;
        check_range("max-window-factor", self.max_window_factor, 0.01, 100.0)?;
        let network_rtt = path.network_rtt.as_ps() as f64;
        let derived = Duration::from_ps((network_rtt * factor) as u64);
        let limits = (Duration::from_ps(1), MOST_TIME);
        let origin = "is the round trip of the longest way times `target-factor`";
        given_or("target-delay", self.target_delay, (derived, origin), limits)?;
        // what follows has fractions of picoseconds
        let target = self.target_delay.map_or(network_rtt * factor, |delay| delay.as_ps() as f64);
        // the published constants hold for 100 Gb/s and 12 us; they scale with the network
        let scale = path.bytes_in(path.network_rtt) / 150_000.0;
        let stretch = target / 12e6;
        let payload = f64::from(sizes.payload_bytes);
        Ok(Parameters {
            packet_bytes: sizes.packet_bytes() as f64,
            rate_bytes_per_ps: path.rate.bytes_per_s() * 1e-12,
            network_rtt,
            least_rtt: path.base_rtt.as_ps() as f64,
            target,
            alpha: 4.0 * payload * scale * stretch / target,
            fair_increase: 5.0 * payload * scale,
            eta: 0.15 * payload * scale,
            fast_scale: 0.25 * scale,
            gamma: self.gamma,
            delay_weight: self.delay_weight,
            max_window_factor: self.max_window_factor,
            adjust_bytes: 8.0 * sizes.packet_bytes() as f64,
            has_credit,
        })
    }
}

impl Nscc {
    /// The state that every connection starts with; `has_credit` where the receiver gives credit besides.
    pub(crate) fn state(
        &self,
        path: &Path,
        sizes: &PacketSizes,
        has_credit: bool,
    ) -> Result<Control, BuildError> {
        let parameters = Arc::new(self.parameters(path, sizes, has_credit)?);
        let base = if self.own_base_rtt { path.base_rtt } else { path.network_rtt };
        let base_rtt = base.as_ps() as f64;
        let max_window = parameters.max_window(base_rtt);
        let now = Dynamics {
            window: max_window,
            max_window,
            base_rtt,
            average_delay: 0.0,
            increase: 0.0,
            received: 0.0,
            adjusted_at: Time::ZERO,
            decreased_at: Time::ZERO,
            achieved: 0.0,
            ignored: 0.0,
            to_ignore: 0.0,
            adapt_at: Time::ZERO,
            triggered: false,
            fast_count: 0.0,
            fast: false,
        };
        Ok(Control::Nscc(State { parameters, now }))
    }
}

impl CongestionKind for Nscc {
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError> {
        self.state(path, sizes, false)
    }

    fn recovery(&self) -> RecoverySpec {
        RecoverySpec::Trimming(Trimming { acknowledge_every: Some(Bytes(16_384)), ..Trimming::default() })
    }

    fn entropy(&self) -> EntropySpec {
        EntropySpec::Mixed(Mixed::default())
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::Bandwidth;

    use super::*;

    /// Ultra Ethernet's target: three quarters of the round trip with trimming, all of it without.
    #[test]
    fn the_target_is_longer_where_nothing_trims() {
        let path = Path::of_equal_links(Duration::from_ns(12_000), Bandwidth(12.5e9), 6, 100_000);
        let target = |nscc: &Nscc, trims| {
            let path = Path { trims, ..path };
            nscc.parameters(&path, &PacketSizes::default(), false).unwrap().target
        };
        assert_eq!([true, false].map(|trims| target(&Nscc::default(), trims)), [9e6, 12e6]);
        let own = Nscc { target_factor: Some(0.5), ..Nscc::default() };
        assert_eq!([true, false].map(|trims| target(&own, trims)), [6e6, 6e6]);
    }
}
