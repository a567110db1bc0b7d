//! Recovery: which packet is sent next, and which are lost. One way per file, one line in the list.
//!
//! The sender's half is a state of its own per way. The receiver is one state machine that a way of recovery
//! configures with [`ReceiverRules`].

mod flight;
pub mod go_back_n;
pub mod irn;
pub mod none;
pub mod rltp;
mod round_trip;
pub mod sack;
mod sleek;
pub mod trimming;

use stratasim_core::{BuildError, Duration, Time, registry};

use self::flight::Flight;
use crate::congestion::LossCause;
use crate::messages::Messages;
use crate::packet::{Flags, Header};
use crate::profile::{PacketSizes, Path};
use crate::receiver::ReceiverRules;

/// A packet that may go next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Its number.
    pub sequence: u64,
    /// It was sent before.
    pub retransmission: bool,
    /// It may go even where the window is full: probes of a time-out, retransmissions of some ways.
    pub beyond_window: bool,
}

/// What a recovery may look at.
#[derive(Debug, Clone, Copy)]
pub struct Cx<'a> {
    /// Now.
    pub now: Time,
    /// Sizes of packets, and how many there are.
    pub messages: &'a Messages,
    /// Bytes that congestion control lets be under way.
    pub window_bytes: u64,
    /// The average wait in queues that congestion control has found, where it looks at that and the answer to a probe comes.
    pub queueing_delay: Option<Duration>,
    /// The number that chooses the path of the packet that is sent now; zero where none is.
    pub entropy: u16,
}

/// What an acknowledgement or a timer changed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Bytes, as windows count them, that are newly known to have arrived.
    pub bytes: u64,
    /// Round trip of the packet that caused the acknowledgement, where it can be told.
    pub rtt: Option<Duration>,
    /// What was found lost.
    pub loss: Option<Loss>,
}

impl Progress {
    /// What a report of a trimmed packet changed; nothing where that was known.
    fn trimmed(flight: &mut Flight, window: &mut LossWindow, cx: &Cx<'_>, header: &Header) -> Self {
        let bytes = flight.lose_trimmed(header, cx.messages);
        if bytes == 0 {
            return Self::default();
        }
        let cause = LossCause::Trimmed { last_hop: header.flags.has(Flags::LAST_HOP) };
        let again = window.was_sent_again(header);
        if again {
            window.begin(flight);
        }
        let first_of_window = again || window.begins(flight);
        Self { loss: Some(Loss { packets: 1, bytes, cause, first_of_window, again }), ..Self::default() }
    }
}

/// The window of data to which losses belong that are known: what had been sent when its first loss was found.
#[derive(Debug, Clone, Copy, Default)]
struct LossWindow {
    /// The first packet behind it.
    end: u64,
    /// The first transmission behind it.
    serial: u64,
}

impl LossWindow {
    /// Begins with everything that has been sent.
    fn begin(&mut self, flight: &Flight) {
        *self = Self { end: flight.next(), serial: flight.next_serial() };
    }

    /// Whether what has just been lost is the first of a window of data: everything of the last one has arrived. It begins
    /// then.
    fn begins(&mut self, flight: &Flight) -> bool {
        let first = flight.base() >= self.end;
        if first {
            self.begin(flight);
        }
        first
    }

    /// Whether the trimmed packet belongs to it and had been sent again since it began: the loss of a retransmission is a
    /// sign of congestion of its own (RFC 5681, section 4.3).
    fn was_sent_again(&self, trimmed: &Header) -> bool {
        trimmed.sequence < self.end && trimmed.serial >= self.serial
    }
}

/// Packets that were found lost.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// How many.
    pub packets: u32,
    /// Bytes, as windows count them.
    pub bytes: u64,
    /// Why.
    pub cause: LossCause,
    /// The first loss in a window of data, or that of a packet that was sent again.
    pub first_of_window: bool,
    /// It is that of a packet that was sent again.
    pub again: bool,
}

/// What a sender has sent, and what has become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Bytes under way, as windows count them.
    pub in_flight_bytes: u64,
    /// Every packet below has arrived.
    pub cumulative: u64,
    /// The first packet that was never sent.
    pub next_new: u64,
    /// Bytes that wait to be sent again, as windows count them.
    pub lost_bytes: u64,
    /// Transmissions so far: the number of the next.
    pub transmissions: u64,
}

/// The sender's half of a recovery.
pub trait SenderRecovery {
    /// The packet that goes next, if there is one; the same until it is sent or something else happens.
    fn next(&self, cx: &Cx<'_>) -> Option<Next>;

    /// The first packet that was never sent, where lost ones need not go before it.
    fn next_new(&self, cx: &Cx<'_>) -> Option<Next> {
        let _ = cx;
        None
    }

    /// `next` was sent; the number of this transmission.
    fn on_sent(&mut self, cx: &Cx<'_>, next: Next) -> u64;

    /// An acknowledgement, positive or negative, came. `sack` are words of packets that have arrived, bit 0 of
    /// the first being packet `cumulative + 1`; empty where the header's own word says all.
    fn on_feedback(&mut self, cx: &Cx<'_>, header: &Header, sack: &[u64]) -> Progress;

    /// The deadline has come; nothing happens when it is later by now.
    fn on_timer(&mut self, cx: &Cx<'_>) -> Progress;

    /// When [`SenderRecovery::on_timer`] is wanted; [`Time::MAX`] for never.
    fn deadline(&self) -> Time;

    /// What has been sent, and what has become of it.
    fn account(&self) -> Account;

    /// Asks for what of it lies elsewhere, without waiting: nothing depends on it but speed.
    fn prefetch(&self) {}

    /// The number that chose the path of the packet that is under way longest, where that is kept.
    fn oldest_entropy(&mut self) -> Option<u16> {
        None
    }

    /// What chose the paths of packets that were found lost since it was last emptied, where that is kept.
    fn lost_paths(&mut self) -> Option<&mut Vec<u16>> {
        None
    }

    /// Whether it has given up.
    fn has_failed(&self) -> bool {
        false
    }

    /// Whether the packet that is sent now asks for an acknowledgement lest others time out, where the next one comes `apart` later.
    fn asks_in_time(&self, now: Time, apart: Duration) -> bool {
        let _ = (now, apart);
        false
    }

    /// Whether a sender whose packet timed out asks what has arrived, where its window is too full to send the packet again.
    fn asks_when_full(&self) -> bool {
        false
    }

    /// Whether a probe asks for word of each packet that it may overtake, too: it tells where they end.
    fn asks_for_overtaken(&self) -> bool {
        false
    }

    /// Whether the last timer asked for a probe.
    fn wants_probe(&mut self) -> bool {
        false
    }

    /// The receiver has room for packets below `to`, and for no other; or for fewer, in old word that comes late.
    fn on_room(&mut self, to: u64) {
        let _ = to;
    }

    /// The receiver has no room for `sequence` and those behind it for now, whatever it said.
    fn on_not_ready(&mut self, sequence: u64) {
        let _ = sequence;
    }

    /// Whether a packet would go next, but for the room of the receiver.
    fn is_held(&self, cx: &Cx<'_>) -> bool {
        let _ = cx;
        false
    }

    /// The receiver is asked for room.
    fn on_ask_for_room(&mut self) {}

    /// The other end refuses: it gives up.
    fn fail(&mut self) {}
}

/// A recovery as the user chose it.
pub trait RecoveryKind {
    /// The state that every sender over `path` starts with, and the rules of receivers.
    ///
    /// # Errors
    /// Parameters out of range.
    fn build(&self, path: &Path, sizes: &PacketSizes) -> Result<(Recovery, ReceiverRules), BuildError>;

    /// Whether it sends again what was lost.
    fn repairs(&self) -> bool {
        true
    }

    /// The least time after which a sender that hears nothing gives up; none where it never does.
    fn gives_up_after(&self) -> Option<Duration> {
        None
    }
}

/// The list of specs, and the enum of states that dispatches without a virtual call.
macro_rules! recoveries {
    ($($kind:literal $(| $other:literal)* => $variant:ident($spec:ty, $state:ty)),+ $(,)?) => {
        registry! {
            /// Every way of recovery, by its `kind`.
            pub enum RecoverySpec: dyn RecoveryKind {
                $($kind $(| $other)* => $variant($spec)),+
            }
        }

        /// The sender's state of any way of recovery.
        #[derive(Debug, Clone)]
        #[allow(missing_docs, reason = "each is documented where it is defined")]
        pub enum Recovery {
            $($variant($state)),+
        }

        impl SenderRecovery for Recovery {
            #[inline]
            fn next(&self, cx: &Cx<'_>) -> Option<Next> {
                match self { $(Self::$variant(state) => state.next(cx)),+ }
            }
            fn next_new(&self, cx: &Cx<'_>) -> Option<Next> {
                match self { $(Self::$variant(state) => state.next_new(cx)),+ }
            }
            #[inline]
            fn on_sent(&mut self, cx: &Cx<'_>, next: Next) -> u64 {
                match self { $(Self::$variant(state) => state.on_sent(cx, next)),+ }
            }
            #[inline]
            fn on_feedback(&mut self, cx: &Cx<'_>, header: &Header, sack: &[u64]) -> Progress {
                match self { $(Self::$variant(state) => state.on_feedback(cx, header, sack)),+ }
            }
            #[inline]
            fn on_timer(&mut self, cx: &Cx<'_>) -> Progress {
                match self { $(Self::$variant(state) => state.on_timer(cx)),+ }
            }
            #[inline]
            fn deadline(&self) -> Time {
                match self { $(Self::$variant(state) => state.deadline()),+ }
            }
            #[inline]
            fn account(&self) -> Account {
                match self { $(Self::$variant(state) => state.account()),+ }
            }
            #[inline]
            fn prefetch(&self) {
                match self { $(Self::$variant(state) => state.prefetch()),+ }
            }
            fn oldest_entropy(&mut self) -> Option<u16> {
                match self { $(Self::$variant(state) => state.oldest_entropy()),+ }
            }
            fn lost_paths(&mut self) -> Option<&mut Vec<u16>> {
                match self { $(Self::$variant(state) => state.lost_paths()),+ }
            }
            fn has_failed(&self) -> bool {
                match self { $(Self::$variant(state) => state.has_failed()),+ }
            }
            #[inline]
            fn asks_in_time(&self, now: Time, apart: Duration) -> bool {
                match self { $(Self::$variant(state) => state.asks_in_time(now, apart)),+ }
            }
            fn asks_when_full(&self) -> bool {
                match self { $(Self::$variant(state) => state.asks_when_full()),+ }
            }
            fn asks_for_overtaken(&self) -> bool {
                match self { $(Self::$variant(state) => state.asks_for_overtaken()),+ }
            }
            fn wants_probe(&mut self) -> bool {
                match self { $(Self::$variant(state) => state.wants_probe()),+ }
            }
            fn on_room(&mut self, to: u64) {
                match self { $(Self::$variant(state) => state.on_room(to)),+ }
            }
            fn on_not_ready(&mut self, sequence: u64) {
                match self { $(Self::$variant(state) => state.on_not_ready(sequence)),+ }
            }
            fn is_held(&self, cx: &Cx<'_>) -> bool {
                match self { $(Self::$variant(state) => state.is_held(cx)),+ }
            }
            fn on_ask_for_room(&mut self) {
                match self { $(Self::$variant(state) => state.on_ask_for_room()),+ }
            }
            fn fail(&mut self) {
                match self { $(Self::$variant(state) => state.fail()),+ }
            }
        }
    };
}

// states that are larger than most lie elsewhere
recoveries! {
    "go-back-n" | "gbn" => GoBackN(go_back_n::GoBackN, go_back_n::State),
    "irn" | "selective-repeat" => Irn(irn::Irn, Box<irn::State>),
    "sack" | "tcp" | "selective-repeat" => Sack(sack::Sack, Box<sack::State>),
    "rltp" | "selective-repeat" => Rltp(rltp::Rltp, Box<rltp::State>),
    "trimming" | "trim" => Trimming(trimming::Trimming, trimming::State),
    "none" => None(none::NoRecovery, none::State),
}

impl Default for RecoverySpec {
    fn default() -> Self {
        Self::GoBackN(go_back_n::GoBackN::default())
    }
}

/// The longest time-out: several of them must fit into what dates can say.
const LONGEST_TIMEOUT: Duration = Duration::from_ns(86_400_000_000_000);

/// Refuses a time-out of zero, and one of more than a day; `field` as in files.
///
/// # Errors
/// What was found.
pub(crate) fn check_timeout(field: &str, timeout: Duration) -> Result<(), BuildError> {
    if timeout == Duration::ZERO {
        return Err(BuildError::new(field, "0 s; a time-out must be positive".to_owned()));
    }
    if timeout > LONGEST_TIMEOUT {
        return Err(BuildError::new(field, format!("{timeout}; at most a day is possible")));
    }
    Ok(())
}

/// The time-out that is given; forever where there is to be none, which excludes the other.
///
/// # Errors
/// One of zero or of more than a day, or both.
pub(crate) fn given_timeout(
    field: &str,
    given: Option<Duration>,
    without: bool,
) -> Result<Option<Duration>, BuildError> {
    match given {
        Some(timeout) if without => {
            let reason = format!("{timeout}, and `without-{field}` is true; give one of the two");
            Err(BuildError::new(field, reason))
        }
        Some(timeout) => check_timeout(field, timeout).map(|()| given),
        None => Ok(without.then_some(Duration::MAX)),
    }
}
