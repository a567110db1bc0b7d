//! NDP's packet spraying: all paths but those that stand out as bad.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::memory::prefetch;
use stratasim_core::{BuildError, Time};

use super::walk::Walk;
use super::{Entropy, EntropyKind, PathFeedback, SenderEntropy, check_paths};
use crate::congestion::check_range;

/// All paths in turn, each cycle in another order. Acknowledgements, trimmed packets and losses are counted per path, and a path with far more
/// bad news than the mean of all is left out for some cycles, after which it is counted anew. Not more than half of them are out at once.
///
/// Source: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance", SIGCOMM 2017, section 3.2.3. How
/// far is far, and for how long, is ours: the paper names neither. Trimming in the last switch says nothing of a path and counts for none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Scoreboard {
    /// How many, a power of two.
    pub paths: u32,
    /// A path is left out that has two pieces of bad news more than so many times its share of those of all paths, 1 to 100. A loss counts as
    /// three: where everything is trimmed that finds no room, only what is broken loses packets.
    pub outlier_factor: f64,
    /// Cycles for which it is left out, 1 to 255.
    pub cycles_out: u8,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self { paths: 128, outlier_factor: 2.0, cycles_out: 16 }
    }
}

/// Bad news that a loss is worth.
const LOSS: u8 = 3;
/// Bad news beyond its share that any path may have.
const SLACK: f64 = 2.0;
/// News of a path after which its older ones count half.
const REMEMBERED: u8 = 64;

/// What is known of a path.
#[derive(Debug, Clone, Copy, Default)]
struct Score {
    news: u8,
    bad: u8,
    /// Cycles for which it stays out.
    out: u8,
}

/// The walk and the scores.
#[derive(Debug, Clone)]
pub struct State {
    walk: Walk,
    scores: Box<[Score]>,
    left_out: u32,
    /// Steps of the walk until its cycle ends.
    until_judged: u32,
    outlier_factor: f64,
    cycles_out: u8,
}

impl State {
    fn count(&mut self, entropy: u16, bad: u8) {
        let score = &mut self.scores[self.walk.path(entropy) as usize];
        // what was on its way when it was left out is old
        if score.out > 0 {
            return;
        }
        if score.news >= REMEMBERED {
            (score.news, score.bad) = (score.news / 2, score.bad / 2);
        }
        score.news += bad.max(1);
        score.bad += bad;
    }

    /// A cycle is over: paths that stand out are left out, and those that have been out for long come back.
    fn judge(&mut self) {
        self.until_judged = self.walk.paths();
        let sum = |of: fn(&Score) -> u8| self.scores.iter().map(|score| f64::from(of(score))).sum::<f64>();
        let mean = sum(|score| score.bad) / sum(|score| score.news).max(1.0);
        for score in &mut self.scores {
            if score.out > 0 {
                score.out -= 1;
                self.left_out -= u32::from(score.out == 0);
                continue;
            }
            let share = mean * f64::from(score.news);
            let stands_out = f64::from(score.bad) > self.outlier_factor * share + SLACK;
            if stands_out && 2 * (self.left_out + 1) <= self.walk.paths() {
                *score = Score { out: self.cycles_out, ..Score::default() };
                self.left_out += 1;
            }
        }
    }
}

impl SenderEntropy for State {
    #[inline]
    fn choose(&mut self, _: Time) -> u16 {
        loop {
            if self.until_judged == 0 {
                self.judge();
            }
            self.until_judged -= 1;
            let path = self.walk.next();
            // at least half of them are in
            if self.left_out == 0 || self.scores[path as usize].out == 0 {
                return self.walk.entropy(path);
            }
        }
    }

    #[inline]
    fn prefetch(&self) {
        self.scores.first().into_iter().for_each(prefetch);
    }

    #[inline]
    fn on_feedback(&mut self, _: Time, entropy: u16, feedback: PathFeedback) {
        self.count(entropy, u8::from(feedback == PathFeedback::Trimmed));
    }

    fn on_timeout(&mut self, now: Time, entropy: Option<u16>) {
        if let Some(entropy) = entropy {
            self.on_loss(now, entropy);
        }
    }

    fn on_loss(&mut self, _: Time, entropy: u16) {
        self.count(entropy, LOSS);
    }

    fn started(&self, key: u64) -> Self {
        Self { walk: Walk::new(self.walk.paths(), key), ..self.clone() }
    }
}

impl EntropyKind for Scoreboard {
    fn build(&self) -> Result<Entropy, BuildError> {
        let paths = check_paths(self.paths)?;
        check_range("outlier-factor", self.outlier_factor, 1.0, 100.0)?;
        check_range("cycles-out", f64::from(self.cycles_out), 1.0, 255.0)?;
        Ok(Entropy::Scoreboard(State {
            walk: Walk::new(paths, 0),
            scores: vec![Score::default(); paths as usize].into(),
            left_out: 0,
            until_judged: paths,
            outlier_factor: self.outlier_factor,
            cycles_out: self.cycles_out,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(spec: &Scoreboard) -> State {
        let Ok(Entropy::Scoreboard(state)) = spec.build() else { unreachable!() };
        state.started(9)
    }

    /// How often each path is used in so many packets, of which those for which `is_bad` says so are trimmed.
    fn uses(state: &mut State, packets: u32, mut is_bad: impl FnMut(u32, u16) -> bool) -> Vec<u32> {
        let mut uses = vec![0; state.walk.paths() as usize];
        for packet in 0..packets {
            let entropy = state.choose(Time::ZERO);
            let path = state.walk.path(entropy);
            uses[path as usize] += 1;
            let feedback = if is_bad(packet, path) { PathFeedback::Trimmed } else { PathFeedback::Good };
            state.on_feedback(Time::ZERO, entropy, feedback);
        }
        uses
    }

    #[test]
    fn without_outliers_every_cycle_has_every_path_once() {
        // everything is as bad as everything else
        for period in [1, 2, 3] {
            let mut state = state(&Scoreboard { paths: 16, ..Scoreboard::default() });
            for cycle in 0..200 {
                let used = uses(&mut state, 16, |_, _| cycle % period == 0);
                assert!(used.iter().all(|count| *count == 1), "{used:?}");
            }
        }
    }

    #[test]
    fn a_path_that_stands_out_is_left_out_for_a_while_and_tried_again() {
        let mut state = state(&Scoreboard { paths: 16, ..Scoreboard::default() });
        let mut uses_of_it = Vec::new();
        let used = uses(&mut state, 3000, |packet, path| {
            if path == 5 {
                uses_of_it.push(packet);
            }
            path == 5
        });
        let others = || used.iter().enumerate().filter(|(path, _)| *path != 5).map(|(_, count)| *count);
        assert!(others().max().unwrap() - others().min().unwrap() <= 1, "{used:?}");
        // three of three are two more than its share, and after sixteen cycles of fifteen the same again
        assert!(uses_of_it.len() > 20, "{uses_of_it:?}");
        for (index, pair) in uses_of_it.windows(2).enumerate() {
            let wanted = if index % 3 == 2 { 15 * 16..15 * 16 + 31 } else { 1..32 };
            assert!(wanted.contains(&(pair[1] - pair[0])), "{index}: {uses_of_it:?}");
        }
    }

    #[test]
    fn one_loss_is_enough_and_half_of_the_paths_stay() {
        let mut state = state(&Scoreboard { paths: 8, ..Scoreboard::default() });
        uses(&mut state, 8 * 20, |_, _| false);
        state.on_timeout(Time::ZERO, Some(3));
        let used = uses(&mut state, 8 * 4, |_, _| false);
        assert!(used[3] == 0 && used[4] >= 4, "{used:?}");
        // five of eight lose packets: four are out, and the walk goes on
        let mut state = self::state(&Scoreboard { paths: 8, outlier_factor: 1.0, ..Scoreboard::default() });
        uses(&mut state, 8 * 40, |_, path| path < 5);
        assert!(state.left_out <= 4, "{}", state.left_out);
        uses(&mut state, 8 * 100, |packet, path| packet.is_multiple_of(3) || path < 5);
        assert!((1..=4).contains(&state.left_out), "{}", state.left_out);
    }
}
