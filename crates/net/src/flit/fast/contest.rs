//! Who passes the switches: one iteration of iSLIP in all routers of a block.
//!
//! Step by step through the list of requests, whatever each of them does: every round of these loops is the same, so
//! that nothing has to be predicted, and none waits for another.

use super::list::List;
use super::mask::Mask;
use super::router::Routers;
use super::wheel::BLOCK;

/// The requests of a cycle; nothing between two. Words of type `W` have a bit for each port of a router, and for each
/// virtual channel of a port.
#[derive(Debug)]
pub(super) struct Contest<const P: usize, const N: usize, W> {
    /// Inputs of the router that ask for each output port.
    asking: [[W; P]; BLOCK],
    /// Output ports that would let each input through.
    granted: [[W; P]; BLOCK],
    /// Virtual channels of each input that want the output that it takes.
    wanting: [[W; P]; BLOCK],
    /// Who was chosen by each port.
    chosen: [[W; P]; BLOCK],
    /// The output port of each request, in their order.
    ports: [[u16; N]; BLOCK],
}

/// Who comes behind the one that passed a switch last, by port of a block.
#[derive(Debug, Clone)]
pub(super) struct Behind<const P: usize, W> {
    /// Inputs, by output port,
    inputs: [[W; P]; BLOCK],
    /// outputs, by input port,
    outputs: [[W; P]; BLOCK],
    /// and virtual channels.
    vcs: [[W; P]; BLOCK],
}

impl<const P: usize, W: Mask> Behind<P, W> {
    /// Ports of a block.
    const PORTS: usize = BLOCK * P;

    /// Nobody has passed: behind the last one comes the first.
    pub(super) fn new() -> Self {
        let nobody = [[W::default(); P]; BLOCK];
        Self { inputs: nobody, outputs: nobody, vcs: nobody }
    }

    /// A flit goes from virtual channel `vc` of port `input` to port `output`, by their numbers in the block.
    #[inline(always)]
    pub(super) fn pass(&mut self, input: usize, vc: usize, output: usize) {
        self.inputs.as_flattened_mut()[output % Self::PORTS] = W::all_behind(input % P);
        self.outputs.as_flattened_mut()[input % Self::PORTS] = W::all_behind(output % P);
        self.vcs.as_flattened_mut()[input % Self::PORTS] = W::all_behind(vc);
    }
}

impl<const P: usize, const N: usize, W: Mask> Contest<P, N, W> {
    /// Ports of a block.
    const PORTS: usize = BLOCK * P;

    /// No requests.
    pub(super) fn new() -> Self {
        let nobody = [[W::default(); P]; BLOCK];
        Self { asking: nobody, granted: nobody, wanting: nobody, chosen: nobody, ports: [[0; N]; BLOCK] }
    }

    /// Moves ready channels that pass the switch to an empty list, at most one for each input and output.
    #[inline(never)]
    pub(super) fn decide<const VS: usize, M: Mask>(
        &mut self,
        routers: &Routers<P, VS, N, M, W>,
        ready: &mut List<N>,
        won: &mut List<N>,
    ) {
        let [asking, granted, wanting, chosen] =
            [&mut self.asking, &mut self.granted, &mut self.wanting, &mut self.chosen]
                .map(|words| words.as_flattened_mut());
        let behind = routers.behind();
        let ports = &mut self.ports.as_flattened_mut()[..ready.items().len()];
        // all ports at once, many in one instruction, or those that are asked
        let many = ports.len() >= Self::PORTS / 16;
        for (&number, place) in ready.items().iter().zip(&mut *ports) {
            let number = usize::from(number);
            let port = routers.vc(number).port;
            *place = port;
            asking[usize::from(port) % Self::PORTS] |= W::bit(number / VS % P);
        }
        let input = |number: u16| usize::from(number) / VS % Self::PORTS;
        let port = |port: u16| usize::from(port) % Self::PORTS;
        // an output lets through the first input behind the last one
        let requests = || ready.items().iter().zip(&*ports).map(|(&number, &port)| (number, port));
        choose(asking, behind.inputs.as_flattened(), chosen, many, requests().map(|(_, to)| port(to)));
        for (number, to) in requests() {
            granted[input(number)] |= W::bit_if(port(to) % P, chosen[port(to)].has(input(number) % P));
        }
        // an input takes the first output behind the last one
        choose(
            granted,
            behind.outputs.as_flattened(),
            chosen,
            many,
            requests().map(|(number, _)| input(number)),
        );
        for (number, to) in requests() {
            wanting[input(number)] |=
                W::bit_if(usize::from(number) % VS, chosen[input(number)].has(port(to) % P));
        }
        // and of its virtual channels that want it the first one behind the last one
        choose(wanting, behind.vcs.as_flattened(), chosen, many, requests().map(|(number, _)| input(number)));
        if many {
            for words in [&mut *asking, granted, wanting] {
                words.fill(W::default());
            }
        } else {
            for (number, to) in requests() {
                asking[port(to)] = W::default();
                granted[input(number)] = W::default();
                wanting[input(number)] = W::default();
            }
        }
        ready.give(won, |number| chosen[input(number)].has(usize::from(number) % VS));
    }
}

/// Of the requests to each port the first one behind the last one; where there is none, the first of all. At all ports, or
/// at those that are `asked`.
#[inline(always)]
fn choose<W: Mask>(
    requests: &[W],
    behind: &[W],
    chosen: &mut [W],
    all: bool,
    asked: impl Iterator<Item = usize>,
) {
    if all {
        for ((&requests, &behind), chosen) in requests.iter().zip(behind).zip(chosen) {
            *chosen = requests.first_of(behind);
        }
    } else {
        asked.for_each(|port| chosen[port] = requests[port].first_of(behind[port]));
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    /// The first of `wanted` behind `last`, going round.
    fn round_robin(last: Option<usize>, count: usize, wanted: impl Fn(usize) -> bool) -> Option<usize> {
        let start = last.map_or(0, |last| last + 1);
        (0..count).map(|step| (start + step) % count).find(|&index| wanted(index))
    }

    /// Some cycles of ready channels drawn anew beside iSLIP as it is written down, router by router.
    fn decides_like_islip<const P: usize, const VS: usize, const N: usize, W: Mask>() {
        let mut draws = Draws::new(1);
        let mut routers = Box::new(Routers::<P, VS, N, u64, W>::new(VS as u8, 4));
        let mut contest = Contest::<P, N, W>::new();
        let [mut ready, mut won] = [(); 2].map(|()| List::<N>::default());
        let (mut inputs, mut outputs) = (vec![None; BLOCK * P], vec![None; BLOCK * P]);
        let mut vcs = vec![None; BLOCK * P];
        // few and many, one after the other
        for share in [20, 2, 1, 20, 3, 40, 1, 1, 400, 2] {
            let numbers: Vec<u16> = (0..(BLOCK * N) as u16).filter(|_| draws.below(share) == 0).collect();
            for &number in &numbers {
                let port = number / N as u16 * P as u16 + draws.below(P as u32) as u16;
                routers.vc_mut(number.into()).port = port;
                ready.push(number);
            }
            let asks = |input: usize, vc: usize, output: usize| {
                let number = input * VS + vc;
                numbers.contains(&(number as u16)) && usize::from(routers.vc(number).port) == output
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
            contest.decide(&routers, &mut ready, &mut won);
            let number = |&(input, vc, _): &(usize, usize, usize)| (input * VS + vc) as u16;
            let (passing, waiting): (Vec<u16>, Vec<u16>) =
                numbers.iter().partition(|&own| expected.iter().any(|other| number(other) == *own));
            assert_eq!((won.items(), ready.items()), (&passing[..], &waiting[..]));
            assert!(expected.len() >= numbers.len() / (P * VS), "somebody always passes");
            for (input, vc, output) in expected {
                inputs[output] = Some(input % P);
                outputs[input] = Some(output % P);
                vcs[input] = Some(vc);
                routers.pass(input * VS + vc, output, output * VS);
                routers.credit(output * VS);
            }
            ready.clear();
            won.clear();
        }
    }

    #[test]
    fn whoever_passes_is_whom_islip_chooses() {
        decides_like_islip::<4, 2, 8, u8>();
        decides_like_islip::<8, 4, 32, u8>();
        decides_like_islip::<4, 16, 64, u16>();
        decides_like_islip::<32, 2, 64, u32>();
    }
}
