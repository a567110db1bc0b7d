//! Flits that may go by an output port, and which one does: the two pointers of iSLIP that a port and an input have.
//!
//! A port goes round the inputs of its router, from the one behind that which it let through last; an input goes round its
//! virtual channels. What is ready stands in the form in which that is found soonest.

use std::fmt::Debug;
use std::hint::select_unpredictable as select;

use super::mask::{Count, Single};
use super::router::Out;

/// Of an output port: who is ready to send by it. Each of those has a virtual channel of the port with a credit.
pub(super) trait Ready: Copy + Debug + Default + PartialEq + Send + Sync + 'static {
    /// Input channel `input` of the router, which has virtual channel `vc` of the port, is ready where it `may`.
    fn insert_if(&mut self, input: usize, vc: usize, may: bool);

    /// It is no more.
    fn remove(&mut self, input: usize, vc: usize);

    /// Whether nobody is.
    fn is_empty(self) -> bool;

    /// Which input channel goes, and by which virtual channel of the port, as far as [`Ready::remove`] asks; some are ready. `outs`
    /// are the virtual channels of the port, `last` is the last channel of the input that passed last, and `vc_last` says which
    /// virtual channel of an input did.
    fn next<const VS: usize, const N: usize, C: Count>(
        self,
        outs: &[Out<C>; VS],
        last: usize,
        vc_last: impl Fn(usize) -> usize,
    ) -> (usize, usize);
}

/// Input channels as a set: for small routers, whose set is a word.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Channels<M>(M);

impl<M: Single> Ready for Channels<M> {
    #[inline(always)]
    fn insert_if(&mut self, input: usize, _: usize, may: bool) {
        self.0.insert_if(input, may);
    }

    #[inline(always)]
    fn remove(&mut self, input: usize, _: usize) {
        self.0.remove(input);
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    #[inline(always)]
    fn next<const VS: usize, const N: usize, C: Count>(
        self,
        _: &[Out<C>; VS],
        last: usize,
        vc_last: impl Fn(usize) -> usize,
    ) -> (usize, usize) {
        let input = self.0.first_behind(last) / VS;
        let channels = self.0.part(input * VS, VS);
        let after = channels & (u32::MAX << 1 << (vc_last(input) % VS));
        let vc = if after == 0 { channels } else { after }.trailing_zeros() as usize % VS;
        (input * VS + vc, 0)
    }
}

/// Virtual channels of the port as a set: for large routers, which have many more input channels than that.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Vcs(u16);

impl Ready for Vcs {
    #[inline(always)]
    fn insert_if(&mut self, _: usize, vc: usize, may: bool) {
        self.0 |= u16::from(may) << vc;
    }

    #[inline(always)]
    fn remove(&mut self, _: usize, vc: usize) {
        self.0 &= !(1 << vc);
    }

    #[inline(always)]
    fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    fn next<const VS: usize, const N: usize, C: Count>(
        self,
        outs: &[Out<C>; VS],
        last: usize,
        vc_last: impl Fn(usize) -> usize,
    ) -> (usize, usize) {
        let mut vc = self.0.trailing_zeros() as usize % VS;
        // mostly one
        if self.0 & (self.0 - 1) != 0 {
            let keys = (0..VS).map(|vc| {
                let owner = usize::from(outs[vc].owner);
                let behind = (owner + N - 1 - last) % N / VS * VS;
                let next = (owner + VS - 1 - vc_last(owner / VS) % VS) % VS;
                let is_ready = self.0 >> vc & 1 != 0;
                select(is_ready, ((behind + next) * VS + vc) as u16, u16::MAX)
            });
            vc = usize::from(keys.fold(u16::MAX, u16::min)) % VS;
        }
        (usize::from(outs[vc].owner) % N, vc)
    }
}
