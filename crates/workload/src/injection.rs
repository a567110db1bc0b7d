//! Injection: when the sources of open-loop traffic make packets. One process per file, one line in the list.
//!
//! Draws are counter-based (run, source, number of the packet) and jump from packet to packet, so that the
//! cost is that of the packets, not of the cycles, and results depend on no order and on no threads.

pub mod bernoulli;
pub mod mixture;
pub mod on_off;
pub mod periodic;
pub mod poisson;

use stratasim_core::random::{Draws, Stream, Trials};
use stratasim_core::{BuildError, registry};

/// A process of injection as the user chose it.
pub trait Injection: std::fmt::Debug {
    /// Prepares it for `sources` sources with `rate` packets per cycle each; what is drawn once is drawn from
    /// `random`. Several lanes act on their own: their packets add up.
    ///
    /// # Errors
    /// A rate that the process cannot do, a parameter out of range.
    fn lanes(&self, rate: f64, sources: u32, random: &mut Stream) -> Result<Vec<Lane>, BuildError>;
}

/// One process and the sources that follow it.
#[derive(Debug)]
pub struct Lane {
    /// The process.
    pub process: Box<dyn Process>,
    /// Whether each source takes part; all do when `None`.
    pub sources: Option<Vec<bool>>,
}

impl Lane {
    /// A process for all sources.
    fn of(process: impl Process + 'static) -> Self {
        Self { process: Box::new(process), sources: None }
    }
}

/// When a source makes its next packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// The cycle of the next packet; [`Clock::NEVER`] when there is none.
    pub cycle: u64,
    /// The part of the cycle that has passed by then, of processes in continuous time.
    fraction: f64,
}

impl Clock {
    /// No cycle at all.
    pub const NEVER: u64 = u64::MAX;

    /// At the beginning of a cycle.
    const fn at(cycle: u64) -> Self {
        Self { cycle, fraction: 0.0 }
    }

    /// So many cycles later.
    #[inline]
    fn skip(&mut self, cycles: u64) {
        self.cycle = self.cycle.saturating_add(cycles);
    }

    /// So much later, in continuous time.
    fn wait(&mut self, cycles: f64) {
        let later = self.fraction + cycles;
        // no run is that long
        if later.is_nan() || later >= 9e15 {
            self.cycle = Self::NEVER;
            return;
        }
        self.skip(later as u64);
        self.fraction = later.fract();
    }
}

/// A process for one source.
pub trait Process: std::fmt::Debug + Send + Sync {
    /// The clock at the first packet.
    fn start(&self, draws: &mut Draws) -> Clock;

    /// Moves the clock from a packet to the next one. Several may fall into one cycle.
    fn next(&self, clock: &mut Clock, draws: &mut Draws);

    /// The trials that it is, where it is nothing else: a caller may go through them without a call for each packet.
    fn trials(&self) -> Option<&Trials> {
        None
    }
}

registry! {
    /// Every process of injection, by its `kind`.
    pub enum InjectionSpec: dyn Injection {
        "bernoulli" => Bernoulli(bernoulli::Bernoulli),
        "poisson" => Poisson(poisson::Poisson),
        "on-off" | "markov" | "bursty" => OnOff(on_off::OnOff),
        "periodic" | "constant" | "deterministic" | "cbr" => Periodic(periodic::Periodic),
        "mixture" => Mixture(mixture::Mixture),
    }
}

impl Default for InjectionSpec {
    fn default() -> Self {
        Self::Bernoulli(bernoulli::Bernoulli::default())
    }
}

/// Refuses a rate that is no rate, or above one packet per cycle where that is the most.
fn check_rate(process: &str, rate: f64, most: f64) -> Result<(), BuildError> {
    if rate.is_finite() && (0.0..=most).contains(&rate) {
        return Ok(());
    }
    let reason = format!("{process} makes 0 to {most} packets per cycle and source, not {rate}");
    Err(BuildError::new("", reason))
}
