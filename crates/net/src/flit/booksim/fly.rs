//! Butterflies: k-ary n-flies with their only routing function.

use stratasim_core::BuildError;

use super::super::fabric::{Channel, End, Fabric};
use super::super::routing::{Candidate, FlitRouting, Head, Place, Surroundings};
use super::{check_size, entry};

/// A k-ary n-fly: `n` stages of `k^(n-1)` routers with `k` inputs and `k` outputs; terminals send into
/// stage 0 and receive from the last one.
///
/// Output `p` of router `a` of stage `s` leads to the router of stage `s + 1` whose digit `n - 2 - s` is `p`
/// and whose other digits are those of `a`, at the input that is `a`'s digit there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fly {
    k: u32,
    n: u32,
    width: u32,
}

impl Fly {
    /// A butterfly of arity `k` with `n` stages.
    ///
    /// # Errors
    /// Sizes that make no network.
    pub fn new(k: u32, n: u32) -> Result<Self, BuildError> {
        check_size(k, n)?;
        Ok(Self { k, n, width: k.pow(n - 1) })
    }

    /// Terminals.
    pub fn nodes(&self) -> u32 {
        self.width * self.k
    }

    /// The routers and channels, all of one cycle.
    pub fn fabric(&self) -> Fabric {
        let Self { k, n, width } = *self;
        let mut fabric = Fabric::new(vec![(k as u16, k as u16); (n * width) as usize]);
        for stage in 0..n - 1 {
            let unit = k.pow(n - 2 - stage);
            for address in 0..width {
                let digit = address / unit % k;
                for output in 0..k {
                    let to = (stage + 1) * width + address - digit * unit + output * unit;
                    let end = End::Router { router: to, port: digit as u16 };
                    let channel = Channel { end, ..Channel::default() };
                    fabric.connect((stage * width + address, output as u16), channel);
                }
            }
        }
        for node in 0..self.nodes() {
            let (router, port) = (node / k, (node % k) as u16);
            let exit = ((n - 1) * width + router, port);
            fabric.attach_apart((router, port), exit, Channel::default(), Channel::default(), None);
        }
        fabric
    }
}

/// `dest_tag`: each stage leaves by the digit of the destination that it settles.
#[derive(Debug, Clone)]
pub struct FlyRouting(pub Fly);

impl FlitRouting for FlyRouting {
    fn only(&self, place: Place, head: &mut Head, _: &mut dyn Surroundings) -> Candidate {
        let Fly { k, n, width } = self.0;
        let stage = place.router / width;
        entry((head.dest / k.pow(n - 1 - stage) % k) as u16, head.range)
    }

    fn draws(&self) -> bool {
        false
    }

    fn memory_bits(&self) -> u32 {
        0
    }

    fn knows_source(&self) -> bool {
        false
    }
}
