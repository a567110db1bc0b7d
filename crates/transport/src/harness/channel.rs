//! Impairments of a way: loss in singles and in bursts, corruption, duplication, reordering.

use stratasim_core::Duration;
use stratasim_core::random::{Draws, Streams};

/// What happens to packets on a way, each independently but for bursts of loss.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Impairment {
    /// Loss.
    pub loss: Loss,
    /// Probability that a packet is damaged; its checksum gives it away, and it is thrown away.
    pub corruption: f64,
    /// Probability that a packet comes twice.
    pub duplication: f64,
    /// Probability that a packet is late, so that later ones overtake it.
    pub reordering: f64,
    /// How late at most; each delay up to it is as likely.
    pub late: Duration,
}

/// Loss of packets.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each packet with this probability (Bernoulli).
    Bernoulli(f64),
    /// In two states, between which each packet may change (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of going from good to bad, per packet.
        to_bad: f64,
        /// Probability of going from bad to good, per packet.
        to_good: f64,
        /// Probability of loss in the good state.
        loss_good: f64,
        /// Probability of loss in the bad state.
        loss_bad: f64,
    },
    /// Exactly these packets, counted from 0 in the order in which they are sent; the others arrive.
    Listed(&'static [u64]),
}

impl Loss {
    /// Share of packets that are lost in the long run, for the random ones.
    pub fn rate(&self) -> f64 {
        match *self {
            Self::None | Self::Listed(_) => 0.0,
            Self::Bernoulli(probability) => probability,
            Self::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let bad = to_bad / (to_bad + to_good);
                loss_good * (1.0 - bad) + loss_bad * bad
            }
        }
    }
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It does not arrive.
    Lost,
    /// It arrives with a bit flipped, which this number chooses.
    Damaged(u64),
    /// It arrives.
    Arrives {
        /// Later than it should.
        late: Duration,
        /// And once more so much later.
        again: Option<Duration>,
    },
}

/// A way with its state; the n-th packet meets the same fate in every run of a seed.
#[derive(Debug, Clone)]
pub struct Channel {
    impairment: Impairment,
    draws: Draws,
    bad: bool,
    count: u64,
}

impl Channel {
    /// A way; `name` tells the two directions apart.
    pub fn new(impairment: &Impairment, seed: u64, name: &str) -> Self {
        let draws = Draws::new(Streams::new(seed).key(name));
        Self { impairment: impairment.clone(), draws, bad: false, count: 0 }
    }

    /// The fate of the next packet.
    pub fn fate(&mut self) -> Fate {
        let Impairment { loss, corruption, duplication, reordering, late } = self.impairment;
        let number = self.count;
        self.count += 1;
        let lost = match loss {
            Loss::None => false,
            Loss::Bernoulli(probability) => self.draws.happens(probability),
            Loss::GilbertElliott { to_bad, to_good, loss_good, loss_bad } => {
                let change = if self.bad { to_good } else { to_bad };
                self.bad ^= self.draws.happens(change);
                self.draws.happens(if self.bad { loss_bad } else { loss_good })
            }
            Loss::Listed(packets) => packets.contains(&number),
        };
        if lost {
            return Fate::Lost;
        }
        if self.draws.happens(corruption) {
            return Fate::Damaged(self.draws.bits());
        }
        let mut delay = |probability: f64| {
            let happens = self.draws.happens(probability);
            let ps = (late.as_ps() as f64 * self.draws.unit()) as u64;
            happens.then(|| Duration::from_ps(ps))
        };
        Fate::Arrives { late: delay(reordering).unwrap_or_default(), again: delay(duplication) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: Loss, packets: u32) -> Vec<bool> {
        let mut channel = Channel::new(&Impairment { loss, ..Impairment::default() }, 3, "test");
        (0..packets).map(|_| channel.fate() == Fate::Lost).collect()
    }

    #[test]
    fn bursts_have_the_rate_and_the_length_of_their_chain() {
        let loss = Loss::GilbertElliott { to_bad: 0.01, to_good: 0.2, loss_good: 0.0, loss_bad: 1.0 };
        let fates = lost(loss, 400_000);
        let losses = fates.iter().filter(|lost| **lost).count() as f64;
        let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // mean length of a burst is 1 / to_good; both within six standard errors
        assert!((losses / 400_000.0 / loss.rate() - 1.0).abs() < 0.15, "{losses}");
        assert!((losses / bursts - 5.0).abs() < 0.5, "{}", losses / bursts);
    }

    #[test]
    fn single_losses_have_their_rate() {
        let losses = lost(Loss::Bernoulli(0.1), 100_000).iter().filter(|lost| **lost).count() as f64;
        assert!((losses - 10_000.0).abs() < 6.0 * 95.0, "{losses}");
    }
}
