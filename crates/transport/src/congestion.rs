//! Congestion control: how much may be under way, and how fast. One algorithm per file, one line in the list.

pub mod aimd;
pub mod constant_rate;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod eqds;
pub mod fixed_window;
pub mod hpcc;
pub mod mprdma;
pub mod ndp;
pub mod nscc;
pub mod power_tcp;
pub mod rccc;
pub mod swift;
#[cfg(test)]
mod testing;
pub mod timely;

use std::fmt::Display;

use stratasim_core::{BuildError, Duration, Time, registry};

use crate::credit::CreditRules;
use crate::entropy::EntropySpec;
use crate::packet::Telemetry;
use crate::profile::{PacketSizes, Path};
use crate::recovery::RecoverySpec;

/// An acknowledgement, as congestion control sees it.
#[derive(Debug, Clone, Copy)]
pub struct Acked<'a> {
    /// When it came.
    pub now: Time,
    /// Bytes, as windows count them, that it says have arrived and that none before it said.
    pub bytes: u64,
    /// The packet that caused it was marked.
    pub ecn: bool,
    /// Round trip of the packet that caused it; absent where the recovery cannot tell.
    pub rtt: Option<Duration>,
    /// Time since that packet was sent, also where nothing new is known of it.
    pub age: Duration,
    /// The part of both that the packet waited in the receiving host before it was acknowledged.
    pub endpoint_delay: Duration,
    /// Bytes under way after it.
    pub in_flight: u64,
    /// Number of the packet that caused it.
    pub sequence: u64,
    /// Every packet below has arrived.
    pub cumulative: u64,
    /// The first packet that was never sent.
    pub next: u64,
    /// What the switches recorded on the way of the packet that caused it.
    pub telemetry: Option<&'a Telemetry>,
}

impl Acked<'_> {
    /// Whether the sender had about as much under way as a window of so many bytes allows, or half of it in slow start, which
    /// doubles it in a round trip. A window that is not used says nothing of the network, and does not grow (RFC 9438,
    /// section 5.8; RFC 7661).
    #[inline]
    pub(crate) fn uses(&self, window_bytes: f64, packet_bytes: f64, slow_start: bool) -> bool {
        let used = (self.in_flight + self.bytes) as f64;
        if slow_start { used >= window_bytes / 2.0 } else { used + 2.0 * packet_bytes >= window_bytes }
    }
}

/// Why a packet is taken for lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossCause {
    /// Its header came without payload.
    Trimmed {
        /// It was cut in the last switch.
        last_hop: bool,
    },
    /// Later ones have arrived.
    Gap,
    /// Nothing was heard of it for too long.
    Timeout,
    /// It is not: nothing was heard for long, and a probe asks, which may still wait for its turn; `first_of_window` where it
    /// does not. Windows stay as they are.
    Silence,
}

/// Packets that were found lost, as congestion control sees them.
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    /// When that was found.
    pub now: Time,
    /// Bytes, as windows count them.
    pub bytes: u64,
    /// Why.
    pub cause: LossCause,
    /// The loss belongs to none that was known before: a new window of data is hit.
    pub first_of_window: bool,
    /// What was lost had been sent again since a window of data was hit last, which is so once more.
    pub again: bool,
    /// Every packet below has arrived; the first lost one is not below.
    pub cumulative: u64,
    /// The first packet that was never sent.
    pub next: u64,
    /// Bytes under way, the lost ones included.
    pub in_flight: u64,
    /// Time since the packet was sent of which a report came; what was found without one has none.
    pub age: Duration,
}

/// A congestion control, per connection: a small state that is told what happens and asked for its limits.
/// Windows never fall to zero: one packet may always be under way.
pub trait CongestionControl {
    /// Bytes that may be under way.
    fn window_bytes(&self) -> u64;

    /// The average wait of packets in queues that it has found; none where it does not look at that.
    fn queueing_delay(&self) -> Option<Duration> {
        None
    }

    /// Time from the start of a packet of `bytes` to the start of the next; zero where only the window and
    /// the link limit.
    fn gap(&self, bytes: u64) -> Duration {
        let _ = bytes;
        Duration::ZERO
    }

    /// A packet of `bytes` was sent.
    fn on_sent(&mut self, now: Time, bytes: u64) {
        let _ = (now, bytes);
    }

    /// An acknowledgement came.
    fn on_ack(&mut self, acked: &Acked<'_>) {
        let _ = acked;
    }

    /// Packets were lost.
    fn on_loss(&mut self, lost: &Lost) {
        let _ = lost;
    }

    /// There is something to send again, after everything before had arrived: what was measured of the time since says nothing.
    fn on_rest(&mut self) {}

    /// The receiver saw marks (DCQCN).
    fn on_notification(&mut self, now: Time) {
        let _ = now;
    }

    /// When [`CongestionControl::on_timer`] is wanted; [`Time::MAX`] for never.
    fn deadline(&self) -> Time {
        Time::MAX
    }

    /// The deadline has come.
    fn on_timer(&mut self, now: Time) {
        let _ = now;
    }
}

/// A congestion control as the user chose it.
pub trait CongestionKind {
    /// The state that every connection over `path` starts with.
    ///
    /// # Errors
    /// Parameters out of range.
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<Control, BuildError>;

    /// How the receiver gives credit, where it does.
    ///
    /// # Errors
    /// Parameters out of range.
    fn credit(&self, path: &Path, sizes: &PacketSizes) -> Result<CreditRules, BuildError> {
        let _ = (path, sizes);
        Ok(CreditRules::None)
    }

    /// The recovery that goes with it.
    fn recovery(&self) -> RecoverySpec;

    /// The choice of paths that goes with it.
    fn entropy(&self) -> EntropySpec {
        EntropySpec::default()
    }

    /// Whether it needs the records of the switches.
    fn needs_telemetry(&self) -> bool {
        false
    }

    /// Whether what the window lets go is handed to the host's link at once, with its time stamp: it waits there, where a
    /// window that shrinks cannot call it back.
    fn hands_over(&self) -> bool {
        false
    }

    /// Whether a packet may go as long as anything of the window is free; otherwise where all of it fits.
    fn fills_up(&self) -> bool {
        false
    }

    /// Bytes of payload that a sender may send at once because its receiver has said so; 0 where none ever does.
    fn burst_bytes(&self, sizes: &PacketSizes) -> u64 {
        let _ = sizes;
        0
    }

    /// Whether senders go by what receivers give, at the rate of the links to these: marks there say nothing of paths.
    fn is_receiver_driven(&self) -> bool {
        false
    }

    /// The longest wait in queues that it lets stand where many meet, over ways of so many links and such a round trip: default
    /// buffers hold it. Zero where the bytes in flight on an idle way are room enough.
    fn standing_wait(&self, rtt: Duration, links: u32) -> Duration {
        let _ = (rtt, links);
        Duration::ZERO
    }

    /// Least time between two congestion notifications of a receiver, where it sends any.
    fn notification_interval(&self) -> Option<Duration> {
        None
    }
}

/// The list of specs, and the enum of states that dispatches without a virtual call.
macro_rules! congestion_controls {
    ($($kind:literal $(| $other:literal)* => $variant:ident($spec:ty, $state:ty)),+ $(,)?) => {
        registry! {
            /// Every congestion control, by its `kind`.
            pub enum CongestionSpec: dyn CongestionKind {
                $($kind $(| $other)* => $variant($spec)),+
            }
        }

        /// The state of any congestion control.
        #[derive(Debug, Clone)]
        #[allow(missing_docs, reason = "each is documented where it is defined")]
        pub enum Control {
            $($variant($state)),+
        }

        impl CongestionControl for Control {
            #[inline]
            fn window_bytes(&self) -> u64 {
                match self { $(Self::$variant(state) => state.window_bytes()),+ }
            }
            fn queueing_delay(&self) -> Option<Duration> {
                match self { $(Self::$variant(state) => state.queueing_delay()),+ }
            }
            #[inline]
            fn gap(&self, bytes: u64) -> Duration {
                match self { $(Self::$variant(state) => state.gap(bytes)),+ }
            }
            #[inline]
            fn on_sent(&mut self, now: Time, bytes: u64) {
                match self { $(Self::$variant(state) => state.on_sent(now, bytes)),+ }
            }
            #[inline]
            fn on_ack(&mut self, acked: &Acked<'_>) {
                match self { $(Self::$variant(state) => state.on_ack(acked)),+ }
            }
            #[inline]
            fn on_loss(&mut self, lost: &Lost) {
                match self { $(Self::$variant(state) => state.on_loss(lost)),+ }
            }
            fn on_rest(&mut self) {
                match self { $(Self::$variant(state) => state.on_rest()),+ }
            }
            #[inline]
            fn on_notification(&mut self, now: Time) {
                match self { $(Self::$variant(state) => state.on_notification(now)),+ }
            }
            #[inline]
            fn deadline(&self) -> Time {
                match self { $(Self::$variant(state) => state.deadline()),+ }
            }
            #[inline]
            fn on_timer(&mut self, now: Time) {
                match self { $(Self::$variant(state) => state.on_timer(now)),+ }
            }
        }
    };
}

congestion_controls! {
    "fixed-window" | "none" => FixedWindow(fixed_window::FixedWindow, fixed_window::State),
    "constant-rate" | "roce" | "none" => ConstantRate(constant_rate::ConstantRate, constant_rate::State),
    "dctcp" => Dctcp(dctcp::Dctcp, dctcp::State),
    "mprdma" => Mprdma(mprdma::Mprdma, mprdma::State),
    "swift" => Swift(swift::Swift, swift::State),
    "timely" => Timely(timely::Timely, timely::State),
    "dcqcn" | "roce" | "rocev2" => Dcqcn(dcqcn::Dcqcn, dcqcn::State),
    "hpcc" => Hpcc(hpcc::Hpcc, hpcc::State),
    "power-tcp" => PowerTcp(power_tcp::PowerTcp, power_tcp::State),
    "nscc" | "uec" | "ultra-ethernet" => Nscc(nscc::Nscc, nscc::State),
    "rccc" | "uec" | "ultra-ethernet" => Rccc(rccc::Rccc, fixed_window::State),
    "ndp" => Ndp(ndp::Ndp, fixed_window::State),
    "eqds" => Eqds(eqds::Eqds, fixed_window::State),
    "cubic" | "tcp" => Cubic(cubic::Cubic, cubic::State),
    "aimd" | "tcp" | "reno" | "newreno" => Aimd(aimd::Aimd, aimd::State),
}

impl Default for CongestionSpec {
    fn default() -> Self {
        Self::FixedWindow(fixed_window::FixedWindow::default())
    }
}

/// No time of a rule is longer.
pub(crate) const MOST_TIME: Duration = Duration::from_ps(1_000_000_000_000_000);

/// Refuses a value outside of a range; `field` as in files.
///
/// # Errors
/// What was found and what is possible.
pub(crate) fn check_range<T: PartialOrd + Display>(
    field: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), BuildError> {
    if (&least..=&most).contains(&&value) {
        return Ok(());
    }
    let mut found = value.to_string();
    // a number of hundreds of digits is better read with an exponent
    if found.len() > 20
        && let Ok(number) = found.parse::<f64>()
    {
        found = format!("{number:e}");
    }
    Err(BuildError::new(field, format!("{found}; {least} to {most} are possible")))
}

/// Refuses ways with more switches than a packet records, for a `kind` that must hear of all of them.
///
/// # Errors
/// The links of the way, and how many are possible.
pub(crate) fn check_recorded(kind: &str, path: &Path) -> Result<(), BuildError> {
    if path.hops <= Telemetry::MOST_LINKS {
        return Ok(());
    }
    let reason = format!(
        "`{kind}` on ways of {} links; its packets record {} switches, as the count in their header has four bits, so that ways of at most {} \
         links are possible",
        path.hops,
        Telemetry::HOPS - 1,
        Telemetry::MOST_LINKS
    );
    Err(BuildError::new("kind", reason))
}

/// Refuses a key that would say nothing beside another: one that `differs` from what it is when nobody gives it; `field` as in
/// files, and `because` of what.
///
/// # Errors
/// Both.
pub(crate) fn check_alone(field: &str, differs: bool, because: &str) -> Result<(), BuildError> {
    if !differs {
        return Ok(());
    }
    Err(BuildError::new(field, format!("given, though {because}; leave out one of the two")))
}

/// The value that is `given`, or else the one that follows from the network, of which `origin` says how.
///
/// # Errors
/// One outside of a range; who gave none is asked to.
pub(crate) fn given_or<T: PartialOrd + Display + Copy>(
    field: &str,
    given: Option<T>,
    (derived, origin): (T, &str),
    (least, most): (T, T),
) -> Result<T, BuildError> {
    if let Some(given) = given {
        return check_range(field, given, least, most).map(|()| given);
    }
    if (least..=most).contains(&derived) {
        return Ok(derived);
    }
    let reason =
        format!("absent, and {derived} {origin}; {least} to {most} are possible, so give one of these");
    Err(BuildError::new(field, reason))
}

/// The round trip that everything is measured by: `base-rtt` where it is `given`, or else that of the longest way.
///
/// # Errors
/// One outside of 1 ps to the longest time that is possible.
pub(crate) fn given_or_longest_rtt(given: Option<Duration>, path: &Path) -> Result<Duration, BuildError> {
    let derived = (path.network_rtt, "is the round trip of the longest way");
    given_or("base-rtt", given, derived, (Duration::from_ps(1), MOST_TIME))
}
