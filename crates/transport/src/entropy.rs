//! Entropy: a number in every packet by which switches choose its path. One way to choose it per file, one line in
//! the list.

pub mod bitmap;
pub mod fixed;
pub mod mixed;
pub mod mprdma;
pub mod oblivious;
pub mod permutation;
pub mod random;
pub mod reps;
pub mod round_robin;
pub mod scoreboard;
mod walk;

use stratasim_core::{BuildError, Time, registry};

/// What became of a packet on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathFeedback {
    /// It arrived, not marked.
    Good,
    /// It was marked.
    Marked,
    /// It was trimmed, not in the last switch.
    Trimmed,
}

/// A choice of paths, per connection.
pub trait SenderEntropy {
    /// The number of the packet that is sent now.
    fn choose(&mut self, now: Time) -> u16;

    /// A packet with this number has met its fate.
    fn on_feedback(&mut self, now: Time, entropy: u16, feedback: PathFeedback) {
        let _ = (now, entropy, feedback);
    }

    /// Nothing was heard of a packet with this number for too long; none where it is not known.
    fn on_timeout(&mut self, now: Time, entropy: Option<u16>) {
        let _ = (now, entropy);
    }

    /// Later packets have overtaken one with this number: it is lost.
    fn on_loss(&mut self, now: Time, entropy: u16) {
        let _ = (now, entropy);
    }

    /// Asks for what of it lies elsewhere, without waiting: nothing depends on it but speed.
    fn prefetch(&self) {}

    /// The number of all packets, where they have the same.
    fn only(&self) -> Option<u16> {
        None
    }

    /// The state of a connection that starts; `key` names its draws.
    #[must_use]
    fn started(&self, key: u64) -> Self;
}

/// A choice of paths as the user chose it.
pub trait EntropyKind {
    /// The state that connections start from.
    ///
    /// # Errors
    /// Parameters out of range.
    fn build(&self) -> Result<Entropy, BuildError>;
}

/// The list of specs, and the enum of states that dispatches without a virtual call.
macro_rules! entropies {
    ($($kind:literal $(| $other:literal)* => $variant:ident($spec:ty, $state:ty)),+ $(,)?) => {
        registry! {
            /// Every choice of paths by the sender, by its `kind`.
            pub enum EntropySpec: dyn EntropyKind {
                $($kind $(| $other)* => $variant($spec)),+
            }
        }

        /// The state of any choice of paths.
        #[derive(Debug, Clone)]
        #[allow(missing_docs, reason = "each is documented where it is defined")]
        pub enum Entropy {
            $($variant($state)),+
        }

        impl SenderEntropy for Entropy {
            #[inline]
            fn choose(&mut self, now: Time) -> u16 {
                match self { $(Self::$variant(state) => state.choose(now)),+ }
            }
            #[inline]
            fn on_feedback(&mut self, now: Time, entropy: u16, feedback: PathFeedback) {
                match self { $(Self::$variant(state) => state.on_feedback(now, entropy, feedback)),+ }
            }
            fn on_timeout(&mut self, now: Time, entropy: Option<u16>) {
                match self { $(Self::$variant(state) => state.on_timeout(now, entropy)),+ }
            }
            fn on_loss(&mut self, now: Time, entropy: u16) {
                match self { $(Self::$variant(state) => state.on_loss(now, entropy)),+ }
            }
            #[inline]
            fn prefetch(&self) {
                match self { $(Self::$variant(state) => state.prefetch()),+ }
            }
            fn only(&self) -> Option<u16> {
                match self { $(Self::$variant(state) => state.only()),+ }
            }
            fn started(&self, key: u64) -> Self {
                match self { $(Self::$variant(state) => Self::$variant(state.started(key))),+ }
            }
        }
    };
}

entropies! {
    "fixed" | "ecmp" => Fixed(fixed::Fixed, fixed::State),
    "random" | "spray" | "per-packet" => Random(random::Random, random::State),
    "round-robin" => RoundRobin(round_robin::RoundRobin, round_robin::State),
    "permutation" => Permutation(permutation::Permutation, permutation::State),
    "oblivious" => Oblivious(oblivious::Oblivious, oblivious::State),
    "bitmap" => Bitmap(bitmap::Bitmap, bitmap::State),
    "reps" => Reps(reps::Reps, reps::State),
    "mixed" => Mixed(mixed::Mixed, mixed::State),
    "mprdma" => Mprdma(mprdma::Mprdma, mprdma::State),
    "scoreboard" => Scoreboard(scoreboard::Scoreboard, scoreboard::State),
}

impl Default for EntropySpec {
    fn default() -> Self {
        Self::Fixed(fixed::Fixed::default())
    }
}

/// Refuses a number of paths that is no power of two, which the walks need.
///
/// # Errors
/// What was found.
pub(crate) fn check_paths(paths: u32) -> Result<u32, BuildError> {
    if paths.is_power_of_two() && paths <= 65_536 {
        return Ok(paths);
    }
    Err(BuildError::new("paths", format!("{paths} paths; a power of two up to 65,536 is needed")))
}
