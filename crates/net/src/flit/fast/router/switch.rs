//! The allocator of the switches of a block: one iteration of iSLIP, output port by output port.
//!
//! What is ready is known by output port. So the input that an output lets through is found in its word, and of that
//! input the virtual channel that goes there: all of iSLIP where no input is let through by two outputs. Where one is, it
//! takes the first of them behind the last one, and the others let nobody through.

use super::{Count, Mask, Routers};
use crate::flit::fast::list::List;
use crate::flit::fast::ready::Ready;

impl<const P: usize, const VS: usize, const N: usize, M: Mask> Routers<P, VS, N, M> {
    /// Puts the input channels whose flit passes a switch now in an empty list, at most one for each input and output. They
    /// are not ready any more.
    #[inline(never)]
    pub(in crate::flit::fast) fn decide(&mut self, won: &mut List<P>) {
        let (mut count, mut places) = (0, [0_u16; 64]);
        for word in 0..P {
            let mut left = self.asked.word(word);
            if left == 0 {
                continue;
            }
            let ready = &mut self.ready.as_flattened_mut().as_chunks_mut::<64>().0[word];
            let input_last = &self.input_last.as_flattened().as_chunks::<64>().0[word];
            let outs = &self.outs.as_flattened().as_chunks::<VS>().0.as_chunks::<64>().0[word];
            let vc_last = &self.vc_last.as_flattened().as_chunks::<64>().0[word];
            // inputs of the same routers, by the same numbers as outputs, and where their winner stands
            let (mut seen, mut still) = (0_u64, left);
            while left != 0 {
                let port = left.trailing_zeros() as usize % 64;
                left &= left - 1;
                let first = port / P * P;
                let vc_last = |input: usize| usize::from(vc_last[(first + input) % 64]);
                let last = usize::from(input_last[port]) % N;
                let (channel, vc) = ready[port].next::<VS, N, M::Count>(&outs[port], last, vc_last);
                let input = first + channel / VS;
                let number = first * VS + channel;
                if seen >> input & 1 != 0 {
                    // of two outputs that would let it through an input takes the first one behind the last
                    let at = places[input].into();
                    let other = usize::from(won.get(at));
                    let given = usize::from(self.out.as_flattened()[other % Self::CHANNELS]);
                    let taken = given / VS % 64;
                    let last = usize::from(self.output_last.as_flattened().as_chunks::<64>().0[word][input]);
                    let distance = |port: usize| port.wrapping_sub(last + 1) % P;
                    if distance(port) < distance(taken) {
                        ready[taken].insert_if(other % N, given % VS, true);
                        still |= 1 << taken;
                        ready[port].remove(channel, vc);
                        still &= !(u64::from(ready[port].is_empty()) << port);
                        won.set(at, (word * 64 * VS + number) as u16);
                    }
                    continue;
                }
                seen |= 1 << input;
                places[input] = count as u16;
                won.set(count, (word * 64 * VS + number) as u16);
                count += 1;
                ready[port].remove(channel, vc);
                still &= !(u64::from(ready[port].is_empty()) << port);
            }
            *self.asked.word_mut(word) = still;
        }
        won.set_len(count);
    }

    /// A flit of an input channel goes to output channel `out` of `port`: pointers of the switch move on, a credit is used.
    /// Returns whether one is left.
    #[inline(always)]
    pub(in crate::flit::fast) fn pass(&mut self, number: usize, port: usize, out: usize) -> bool {
        let (input, port) = (number / VS % Self::PORTS, port % Self::PORTS);
        self.input_last.as_flattened_mut()[port] = ((number | (VS - 1)) % N) as u8;
        self.output_last.as_flattened_mut()[input] = (port % P) as u8;
        self.vc_last.as_flattened_mut()[input] = number as u8;
        self.sent.as_flattened_mut()[port] += 1;
        let out = self.channel_mut(out);
        out.credits.down();
        out.is_open()
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::super::BLOCK;
    use super::*;
    use crate::flit::fast::mask::{Shallow, Wide};

    /// The first of `wanted` behind `last`, going round.
    fn round_robin(last: Option<usize>, count: usize, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let start = last.map_or(0, |last| last + 1);
        (0..count).map(|step| (start + step) % count).find(|&index| wanted(index))
    }

    /// Some cycles of ready channels drawn anew beside iSLIP as it is written down, router by router.
    fn decides_like_islip<const P: usize, const VS: usize, const N: usize, M: Mask>() {
        let mut draws = Draws::new(1);
        let mut routers = Box::new(Routers::<P, VS, N, M>::new(VS as u8, 4));
        let mut won = List::<P>::default();
        let (mut inputs, mut outputs) = (vec![None; BLOCK * P], vec![None; BLOCK * P]);
        let mut vcs = vec![None; BLOCK * P];
        // few and many, one after the other
        for share in [20, 2, 1, 20, 3, 40, 1, 1, 400, 2] {
            let mut given = vec![0; BLOCK * P];
            let mut numbers: Vec<u16> = (0..(BLOCK * N) as u16).collect();
            numbers.retain(|&number| {
                let port = usize::from(number) / N * P + draws.below(P as u32) as usize;
                // each has a virtual channel of its own
                let is_ready = draws.below(share) == 0 && given[port] < VS;
                if is_ready {
                    let out = port * VS + given[port];
                    given[port] += 1;
                    routers.out.as_flattened_mut()[usize::from(number)] = out as u16;
                    routers.channel_mut(out).owner = (usize::from(number) % N) as u8;
                    routers.compete_if(number.into(), out, true);
                }
                is_ready
            });
            let asks = |input: usize, vc: usize, output: usize| {
                let number = input * VS + vc;
                numbers.contains(&(number as u16)) && routers.out(number) / VS == output
            };
            let asks_at_all = |input, output| (0..VS).any(|vc| asks(input, vc, output));
            let mut expected = Vec::new();
            for router in (0..BLOCK).map(|router| router * P) {
                let grant =
                    |output| round_robin(inputs[output], P, |input| asks_at_all(router + input, output));
                let grants: Vec<Option<usize>> = (router..router + P).map(grant).collect();
                for input in router..router + P {
                    let granted = |output: usize| grants[output] == Some(input % P);
                    let Some(output) = round_robin(outputs[input], P, granted) else { continue };
                    let wants = |vc| asks(input, vc, router + output);
                    let vc = round_robin(vcs[input], VS, wants).expect("it asked");
                    expected.push((input, vc, router + output));
                }
            }
            routers.decide(&mut won);
            let mut passing = won.items().to_vec();
            passing.sort_unstable();
            let number = |&(input, vc, _): &(usize, usize, usize)| (input * VS + vc) as u16;
            assert!(passing.iter().copied().eq(expected.iter().map(number)), "{passing:?}, {expected:?}");
            assert!(expected.len() >= numbers.len() / (P * VS), "somebody always passes");
            // the others are still ready, and nobody else
            for number in 0..(BLOCK * N) as u16 {
                let out = routers.out(number.into());
                let ready = &mut routers.ready.as_flattened_mut()[out / VS];
                let others = *ready;
                if numbers.contains(&number) {
                    ready.remove(usize::from(number) % N, out % VS);
                    assert_eq!(*ready != others, !passing.contains(&number));
                }
            }
            assert!(routers.ready.as_flattened().iter().all(|ready| ready.is_empty()));
            for word in 0..P {
                *routers.asked.word_mut(word) = 0;
            }
            for (input, vc, output) in expected {
                inputs[output] = Some(input % P);
                outputs[input] = Some(output % P);
                vcs[input] = Some(vc);
                let out = routers.out(input * VS + vc);
                assert_eq!(out / VS, output);
                routers.pass(input * VS + vc, output, out);
                routers.credit(out);
            }
        }
    }

    #[test]
    fn whoever_passes_is_whom_islip_chooses() {
        decides_like_islip::<4, 2, 8, u8>();
        decides_like_islip::<8, 4, 32, u32>();
        decides_like_islip::<4, 16, 64, u64>();
        decides_like_islip::<32, 2, 64, u64>();
        decides_like_islip::<32, 4, 128, Wide<2>>();
        decides_like_islip::<8, 4, 32, Shallow<u32>>();
        decides_like_islip::<32, 4, 128, Shallow<Wide<2>>>();
        decides_like_islip::<64, 4, 256, Wide<4>>();
    }
}
