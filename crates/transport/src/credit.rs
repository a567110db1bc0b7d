//! Credit that the receiver gives: pulls of whole packets (NDP) and credit in bytes (EQDS, RCCC).

mod grants;
pub(crate) mod slowdown;

use std::sync::Arc;

use stratasim_core::Duration;

pub(crate) use self::grants::{Grants, Released};
use crate::packet::{Flags, Header, Kind};

/// How a receiver gives credit.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum CreditRules {
    /// Not at all; senders go by their windows.
    #[default]
    None,
    /// A packet per pull (NDP).
    Packets {
        /// Packets that a sender may send unasked.
        initial: u32,
        /// Time between two pulls of a host, picoseconds.
        interval_ps: u64,
    },
    /// Bytes, in quanta, up to what senders ask for (EQDS, RCCC).
    Quanta(Arc<QuantaRules>),
}

impl QuantaRules {
    /// Bytes for which a sender may ask in all: half of what 32 bits of quanta count, as much may have to be sent again.
    pub const fn most_counted_bytes(&self) -> u64 {
        (self.quantum_bytes as u64) << 31
    }
}

/// Rules of credit in quanta.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantaRules {
    /// Bytes of a quantum.
    pub quantum_bytes: u32,
    /// Quanta per turn.
    pub per_turn: u32,
    /// Picoseconds per granted byte.
    pub ps_per_byte: f64,
    /// Every turn grants all of its quanta, whatever is asked for.
    pub whole_turns: bool,
    /// Quanta that a trimmed packet entitles its sender to before all others; 0 where it waits its turn.
    pub repeat_quanta: u32,
    /// A turn that grants nothing takes as long as this many bytes.
    pub least_bytes: u32,
    /// Bytes that a sender may send unasked, and credit that it may hold.
    pub most_bytes: u64,
    /// How marks and trimmed packets slow credit down; not at all when absent.
    pub slowdown: Option<SlowdownRules>,
    /// Neither end knows more than htsim's does.
    pub blind: Option<Blind>,
}

/// What htsim's ends do not know of each other.
///
/// A receiver does not know where a message ends: what is left over goes to senders that are done, too, until they hold all the
/// credit that they may. It enters a sender once more each time that one has all it asked for. A sender that has
/// spent its guess without being asked for more waits for what is left over, and a request repeats what was asked for last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blind {
    /// What is asked for is a number without a sign, and a sender asks for what it wants less what it holds: one that holds more
    /// than it wants, because its messages are shorter than its guess, asks for more than it will ever get.
    pub asks_without_sign: bool,
}

/// How marks and trimmed packets slow the credit of a host down: see `slowdown`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowdownRules {
    /// Least rate, in rates of the link.
    pub least_rate: f64,
    /// Mean time between two decisions.
    pub interval: Duration,
}

/// The sender's half.
#[derive(Debug, Clone)]
pub(crate) enum Credit {
    /// Nothing is asked for.
    Unlimited,
    /// Packets that may be sent.
    Packets {
        /// Unasked ones, and pulls that have come.
        allowed: u64,
        /// Sent so far.
        used: u64,
        /// The highest pull so far.
        pulled: u32,
        /// Packets of which the receiver has said that they came, with payload or without: each brings a pull.
        heard: u32,
        /// Unasked ones: so many are under way in a network that neither loses nor doubles any.
        initial: u32,
        /// Those of them that are left. What is sent again needs a pull in any case.
        unasked: u64,
    },
    /// Bytes that may be sent.
    Quanta {
        /// The rules.
        rules: Arc<QuantaRules>,
        /// Bytes left; may go below zero by less than a packet.
        bytes: i64,
        /// How many of these are a guess, with what was owed when it was made; they are spent first.
        guess: i64,
        /// The packet from which on they are, modulo 2^32.
        guessed_from: u32,
        /// Nothing was heard from the receiver of that packet or later ones.
        speculative: bool,
        /// The highest pull so far, quanta.
        pulled: u32,
        /// The highest target so far, quanta.
        target: u32,
    },
}

impl Credit {
    /// The credit of a sender that has not sent.
    pub(crate) fn new(rules: &CreditRules) -> Self {
        match rules {
            CreditRules::None => Self::Unlimited,
            CreditRules::Packets { initial, .. } => {
                let unasked = u64::from(*initial);
                Self::Packets { allowed: unasked, used: 0, pulled: 0, heard: 0, initial: *initial, unasked }
            }
            CreditRules::Quanta(rules) => Self::Quanta {
                rules: Arc::clone(rules),
                bytes: rules.most_bytes as i64,
                guess: rules.most_bytes as i64,
                guessed_from: 0,
                speculative: true,
                pulled: 0,
                target: 0,
            },
        }
    }

    /// The sender had nothing to send, and has something from packet `next` on: it guesses once more what it may send unasked, together
    /// with what is under way (EQDS, section 3: from idle to speculating). One that knows no more than htsim's lives on
    /// what was left over.
    pub(crate) fn guess(&mut self, next: u64, in_flight_bytes: u64) {
        let Self::Quanta { rules, bytes, guess, guessed_from, speculative, .. } = self else { return };
        let more = (rules.most_bytes.saturating_sub(in_flight_bytes) as i64 - *bytes).max(0);
        // what is left of an earlier guess is for these packets now: answers to others do not end it
        let is_left = *speculative && *guess > 0;
        if rules.blind.is_none() && (more > 0 || is_left) {
            *bytes += more;
            *guess += more;
            (*guessed_from, *speculative) = (next as u32, true);
        }
    }

    /// Whether it is that of an end that knows no more than htsim's.
    pub(crate) fn is_blind(&self) -> bool {
        matches!(self, Self::Quanta { rules, .. } if rules.blind.is_some())
    }

    /// Whether credit for what is lost is asked for with the rest. Otherwise the receiver gives it because a header has come.
    pub(crate) fn asks_for_repeats(&self) -> bool {
        !matches!(self, Self::Quanta { rules, .. } if rules.repeat_quanta > 0)
    }

    /// What was asked for last, in quanta, where a request repeats that.
    fn asked(&self) -> Option<u32> {
        match self {
            Self::Quanta { target, .. } if self.is_blind() => Some(*target),
            _ => None,
        }
    }

    /// Whether a packet may be sent, for the first time or again.
    #[inline]
    pub(crate) const fn allows(&self, again: bool) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Packets { allowed, used, unasked, .. } => {
                *used + if again { *unasked } else { 0 } < *allowed
            }
            Self::Quanta { bytes, .. } => *bytes > 0,
        }
    }

    /// Whether the packet that goes now is the last that credit allows.
    #[inline]
    pub(crate) const fn ends_with(&self, bytes: u64) -> bool {
        match self {
            Self::Unlimited => false,
            Self::Packets { allowed, used, .. } => *used + 1 >= *allowed,
            Self::Quanta { bytes: left, .. } => *left <= bytes as i64,
        }
    }

    /// A packet of so many bytes is sent while `backlog_bytes` wait behind it, by one of `sharing` connections
    /// of its host; the target to ask for.
    #[inline]
    pub(crate) fn spend(
        &mut self,
        bytes: u64,
        backlog_bytes: u64,
        limit_bytes: u64,
        packet_bytes: u64,
        sharing: u32,
    ) -> u32 {
        match self {
            Self::Unlimited => 0,
            Self::Packets { used, .. } => {
                *used += 1;
                0
            }
            Self::Quanta { bytes: left, guess, .. } => {
                *left -= bytes as i64;
                *guess = (*guess - bytes as i64).max(0);
                self.ask(backlog_bytes, limit_bytes, packet_bytes, sharing)
            }
        }
    }

    /// The packet that goes now goes for the first time: it takes one that may be sent unasked, while there are some.
    #[inline]
    pub(crate) const fn begin(&mut self) {
        if let Self::Packets { unasked, .. } = self {
            *unasked = unasked.saturating_sub(1);
        }
    }

    /// The target that a request without a packet asks for; `again` where the receiver has heard of all there is to send.
    pub(crate) fn request(
        &mut self,
        again: bool,
        backlog_bytes: u64,
        limit_bytes: u64,
        packet_bytes: u64,
        sharing: u32,
    ) -> u32 {
        self.asked()
            .filter(|_| again)
            .unwrap_or_else(|| self.ask(backlog_bytes, limit_bytes, packet_bytes, sharing))
    }

    /// The target to ask for, in quanta; never below an earlier one.
    fn ask(&mut self, backlog_bytes: u64, limit_bytes: u64, packet_bytes: u64, sharing: u32) -> u32 {
        let Self::Quanta { rules, bytes, speculative, pulled, target, .. } = self else { return 0 };
        let wanted = backlog_bytes.min(limit_bytes).min(rules.most_bytes) as i64;
        let quantum = i64::from(rules.quantum_bytes);
        if rules.blind.is_some_and(|blind| blind.asks_without_sign)
            && wanted - *bytes + i64::from(*pulled) * quantum <= -quantum
        {
            *target = u32::MAX;
        }
        let mut missing = (wanted - *bytes).max(0) as u64;
        // credit that is only guessed will be void: there must be something to go on with
        if *speculative && backlog_bytes > 0 {
            missing = missing.max(packet_bytes);
        }
        let quanta = missing.div_ceil(u64::from(sharing.max(1))).div_ceil(u64::from(rules.quantum_bytes));
        *target = (*target).max(pulled.saturating_add(u32::try_from(quanta).unwrap_or(u32::MAX)));
        *target
    }

    /// Packets vanished, and with them the pulls that their arrival would have brought; so many are still under way. Where
    /// those are as many as there can be, one has been taken for lost that is merely late, and brings its pull itself. None:
    /// nothing is taken for lost, and a probe asks, which goes beside all others.
    pub(crate) fn on_vanished(&mut self, packets: u32, in_flight_packets: u64) {
        if let Self::Packets { allowed, used, initial, .. } = self {
            let known = allowed.saturating_sub(*used).saturating_add(in_flight_packets);
            *allowed += match packets {
                0 => 1,
                _ => u64::from(packets).min(u64::from(*initial).saturating_sub(known)),
            };
        }
    }

    /// A packet came back, so that no pull will come for it, while so many others are under way. It goes again with the next pull
    /// for another one, or at once where none is to be expected: as an answer to each, what comes back would come for ever (NDP's return-to-sender).
    pub(crate) fn on_returned(&mut self, in_flight_packets: u64) {
        let is_stuck = in_flight_packets == 0 && !self.allows(true);
        if let Self::Packets { allowed, pulled, heard, .. } = self
            && is_stuck
            && *heard <= *pulled
        {
            *allowed += 1;
        }
    }

    /// Something came from the receiver while so many packets are under way.
    #[inline]
    pub(crate) fn on_feedback(&mut self, header: &Header, in_flight_packets: u64) {
        match self {
            Self::Unlimited => {}
            Self::Packets { allowed, used, pulled, heard, initial, .. } => {
                let is_of_a_packet =
                    matches!(header.kind, Kind::Ack | Kind::Nack) && !header.flags.has(Flags::PROBE);
                *heard = heard.saturating_add(u32::from(is_of_a_packet));
                if (header.kind == Kind::Pull || header.flags.has(Flags::PULL)) && header.pull > *pulled {
                    let granted = *allowed + u64::from(header.pull - *pulled);
                    *pulled = header.pull;
                    // packets that the network doubles are pulled for twice: without an end to it there would be more and
                    // more. A pull that overtakes the acknowledgements of as many packets as there can be loses nothing
                    let most = 2 * u64::from(*initial);
                    *allowed = granted.min(*used + most.saturating_sub(in_flight_packets)).max(*allowed);
                }
            }
            Self::Quanta { rules, bytes, guess, guessed_from, speculative, pulled, .. } => {
                let is_of_guess = match header.kind {
                    // later on than the very first, it may answer what was sent before
                    Kind::Pull => *guessed_from == 0 && *pulled == 0,
                    _ => (header.sequence as u32).wrapping_sub(*guessed_from) < 1 << 31,
                };
                if *speculative && is_of_guess {
                    *bytes -= std::mem::take(guess);
                    *speculative = false;
                }
                if header.kind == Kind::Pull && header.pull > *pulled {
                    let granted = i64::from(header.pull - *pulled) * i64::from(rules.quantum_bytes);
                    // on short ways a turn grants more than a sender may hold otherwise, and took its time at the pacer
                    let given = (*bytes - *guess + granted).min(granted.max(rules.most_bytes as i64));
                    *bytes = *guess + given;
                    *pulled = header.pull;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credit() -> Credit {
        Credit::new(&CreditRules::Quanta(Arc::new(QuantaRules {
            quantum_bytes: 100,
            per_turn: 8,
            ps_per_byte: 1.0,
            whole_turns: false,
            repeat_quanta: 0,
            least_bytes: 1,
            most_bytes: 10_000,
            slowdown: None,
            blind: None,
        })))
    }

    fn left(credit: &Credit) -> i64 {
        let Credit::Quanta { bytes, .. } = credit else { unreachable!() };
        *bytes
    }

    fn hear(credit: &mut Credit, kind: Kind, sequence: u64, pull: u32) {
        credit.on_feedback(&Header { kind, sequence, pull, ..Header::default() }, 0);
    }

    /// Packets of 1,000 bytes: two of a first message, then others while nothing was heard of these.
    #[test]
    fn a_guess_ends_with_the_first_word_of_what_it_was_made_for() {
        let mut credit = credit();
        (0..2).for_each(|_| _ = credit.spend(1000, 0, u64::MAX, 1000, 1));
        assert_eq!(left(&credit), 8000);
        credit.guess(2, 2000);
        assert_eq!(left(&credit), 8000, "with what is under way it is as much as ever");
        hear(&mut credit, Kind::Ack, 1, 0);
        assert_eq!(left(&credit), 8000, "that was of the first message");
        credit.spend(1000, 0, u64::MAX, 1000, 1);
        hear(&mut credit, Kind::Ack, 2, 0);
        assert_eq!(left(&credit), 0);
        // idle once more, with 500 bytes of real credit that count when the guess ends, and what comes for what was sent before
        hear(&mut credit, Kind::Pull, 0, 5);
        credit.guess(3, 0);
        assert_eq!(left(&credit), 10_000);
        hear(&mut credit, Kind::Pull, 0, 8);
        assert_eq!(left(&credit), 10_300);
        hear(&mut credit, Kind::Ack, 3, 0);
        assert_eq!(left(&credit), 800);
    }

    /// The last packet may take more than there was.
    #[test]
    fn what_is_owed_stays_owed_when_a_guess_ends() {
        let mut credit = credit();
        (0..7).for_each(|_| _ = credit.spend(1500, 0, u64::MAX, 1500, 1));
        assert_eq!(left(&credit), -500);
        hear(&mut credit, Kind::Ack, 0, 0);
        credit.guess(7, 0);
        assert_eq!(left(&credit), 10_000);
        hear(&mut credit, Kind::Ack, 7, 0);
        assert_eq!(left(&credit), -500);
    }
}
