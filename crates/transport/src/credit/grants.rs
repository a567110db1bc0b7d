//! The receiver's half of credit: what its sender asks for, what it got, and when it has a turn.

use std::sync::Arc;

use stratasim_core::Time;

use super::{CreditRules, QuantaRules};
use crate::pacer::{Pacer, Turn};
use crate::packet::{Header, Kind};

/// Where a receiver stands in its pacer's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listed {
    No,
    /// Its sender asks for more than it got.
    Active,
    /// As active ones, but its sender is done: it takes turns while others do.
    Done,
    /// Its sender has all that it asked for.
    Idle,
}

impl Listed {
    /// Its sender asks for more: receiver `id` waits among the active ones, once.
    fn activate(&mut self, id: u32, pacer: &mut Pacer) {
        match std::mem::replace(self, Self::Active) {
            Self::Active => {}
            Self::Done => pacer.leave_done(),
            Self::No => pacer.join(id),
            Self::Idle => pacer.move_from_idle(id),
        }
    }
}

/// Whether an acknowledgement carries credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Released {
    /// No.
    Nothing,
    /// One more packet.
    APull,
}

impl Released {
    #[inline]
    pub(crate) const fn is_something(self) -> bool {
        matches!(self, Self::APull)
    }
}

/// The receiver's half.
#[derive(Debug, Clone)]
pub(crate) enum Grants {
    None,
    Packets {
        interval_ps: u64,
        waiting: u32,
        given: u32,
    },
    Quanta {
        rules: Arc<QuantaRules>,
        /// What the sender asks for, and what it got, quanta in all; it may get more than it asked for.
        target: u32,
        given: u32,
        listed: Listed,
        /// Its places in the lists of senders that have all they asked for, where it may have several.
        places: u32,
        /// Quanta for what was trimmed; while there are any, it waits among those that go before all others.
        repeats: u32,
    },
}

impl Grants {
    pub(crate) fn new(rules: &CreditRules) -> Self {
        match rules {
            CreditRules::None => Self::None,
            &CreditRules::Packets { interval_ps, .. } => Self::Packets { interval_ps, waiting: 0, given: 0 },
            CreditRules::Quanta(rules) => {
                let rules = Arc::clone(rules);
                Self::Quanta { rules, target: 0, given: 0, listed: Listed::No, places: 0, repeats: 0 }
            }
        }
    }

    /// Whether there is credit to give, which answers requests.
    pub(crate) const fn gives(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Credit given so far, in packets or quanta.
    #[inline]
    pub(crate) const fn given(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Packets { given, .. } | Self::Quanta { given, .. } => *given,
        }
    }

    /// Whether it will have turns although its sender is done.
    pub(crate) fn outlives_its_sender(&self) -> bool {
        match self {
            Self::Quanta { rules, listed, places, repeats, .. } => {
                let waits = *repeats > 0 || matches!(listed, Listed::Active | Listed::Done);
                rules.blind.is_some() && (*places > 0 || waits)
            }
            _ => false,
        }
    }

    /// A packet has come that may entitle its sender to more, or what is left of it; `complete` when nothing more is to come.
    #[inline]
    pub(crate) fn on_demand(
        &mut self,
        now: Time,
        id: u32,
        header: &Header,
        trimmed: bool,
        complete: bool,
        pacer: &mut Pacer,
    ) -> Released {
        match self {
            Self::None => Released::Nothing,
            Self::Packets { interval_ps, waiting, given } => {
                if header.kind != Kind::Data {
                    // the sender is idle: a pull got lost, or one was saved at the end of a message
                    if *waiting == 0 {
                        *waiting = 1;
                        pacer.join(id);
                    }
                    return Released::Nothing;
                }
                if complete {
                    return Released::Nothing;
                }
                if pacer.is_free(now) {
                    *given += 1;
                    pacer.charge(now, *interval_ps);
                    return Released::APull;
                }
                *waiting += 1;
                if *waiting == 1 {
                    pacer.join(id);
                }
                Released::Nothing
            }
            Self::Quanta { rules, target, given, listed, repeats, .. } => {
                // a blind one gives a turn to who asks for more than before, though it may have got that already
                let asks = header.pull > if rules.blind.is_some() { *target } else { *given };
                *target = (*target).max(header.pull);
                let goes_first = trimmed && rules.repeat_quanta > 0;
                // who has lost a packet, or asks without one, gets a turn in any case: it says what was given before, and
                // what is left over comes after it
                let lost = trimmed && !goes_first || header.kind == Kind::RequestToSend;
                // one that was done and goes on asks for no more than all it could ask for
                let goes_on = *listed == Listed::Done && !complete && !trimmed;
                if asks && *repeats == 0 || lost || goes_on {
                    listed.activate(id, pacer);
                }
                if goes_first {
                    if *repeats == 0 {
                        pacer.join_repeats(id);
                    }
                    *repeats = repeats.saturating_add(rules.repeat_quanta);
                }
                Released::Nothing
            }
        }
    }

    /// It is this receiver's turn; whether a pull goes out.
    pub(crate) fn on_turn(&mut self, now: Time, id: u32, complete: bool, pacer: &mut Pacer) -> bool {
        match self {
            Self::None => false,
            Self::Packets { interval_ps, waiting, given } => {
                if complete {
                    *waiting = 0;
                    return false;
                }
                *waiting -= 1;
                *given += 1;
                if *waiting > 0 {
                    pacer.join(id);
                }
                pacer.charge(now, *interval_ps);
                true
            }
            Self::Quanta { rules, target, given, listed, places, repeats } => {
                let of_idle = pacer.serves() == Turn::Idle;
                let blind = rules.blind.is_some();
                if pacer.serves() == Turn::Repeats {
                    // the sender may be done meanwhile, and this be another receiver of the same number
                    if *repeats == 0 || complete && !blind {
                        *repeats = 0;
                        return false;
                    }
                    *repeats = repeats.saturating_sub(rules.per_turn);
                    *given = given.saturating_add(rules.per_turn);
                    if *repeats > 0 {
                        pacer.join_repeats(id);
                    } else if *target > *given && *listed != Listed::Done {
                        listed.activate(id, pacer);
                    }
                    let bytes = u64::from(rules.per_turn) * u64::from(rules.quantum_bytes);
                    pacer.charge_slowed(now, bytes as f64 * rules.ps_per_byte);
                    return true;
                }
                if blind {
                    *places -= u32::from(of_idle);
                } else if of_idle != (*listed == Listed::Idle) || complete && of_idle {
                    return false;
                }
                if std::mem::replace(listed, Listed::No) == Listed::Done {
                    pacer.leave_done();
                }
                let asked = target.saturating_sub(*given);
                let all = of_idle || rules.whole_turns;
                let quanta = if all { rules.per_turn } else { asked.min(rules.per_turn) };
                *given = given.saturating_add(quanta);
                let room = rules.most_bytes / u64::from(rules.quantum_bytes);
                if *target > *given {
                    pacer.join(id);
                    // one that asks for more than it will ever get would keep its host awake for ever
                    *listed = if complete && *target == u32::MAX { Listed::Done } else { Listed::Active };
                    if *listed == Listed::Done {
                        pacer.enter_done();
                    }
                } else if (blind || !complete) && (!of_idle || u64::from(*given - *target) < room) {
                    if blind {
                        *places += 1;
                    } else {
                        *listed = Listed::Idle;
                    }
                    pacer.join_idle(id);
                }
                let bytes = match quanta {
                    0 => u64::from(rules.least_bytes),
                    _ => u64::from(quanta) * u64::from(rules.quantum_bytes),
                };
                pacer.charge_slowed(now, bytes as f64 * rules.ps_per_byte);
                true
            }
        }
    }
}
