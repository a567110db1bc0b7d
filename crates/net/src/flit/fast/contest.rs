//! Who competes for a switch: the requests of a cycle, counted by input and output.

use super::list::List;
use super::mask::Mask;
use super::router::Routers;
use super::wheel::BLOCK;

/// Counts of a block; nothing between two cycles.
#[derive(Debug)]
pub(super) struct Contest<const P: usize, const N: usize> {
    /// Requests by input port: at most one for each virtual channel.
    inputs: [[u8; P]; BLOCK],
    /// Requests by output port: at most one for each input channel.
    outputs: [[u8; P]; BLOCK],
    /// The output port of each request, in their order.
    ports: [[u16; N]; BLOCK],
}

impl<const P: usize, const N: usize> Contest<P, N> {
    /// No requests.
    pub(super) fn new() -> Self {
        Self { inputs: [[0; P]; BLOCK], outputs: [[0; P]; BLOCK], ports: [[0; N]; BLOCK] }
    }

    /// Moves ready channels to two empty lists: to `alone` those whose request is the only one of its input and
    /// of its output, which pass whatever the others do, and to `shared` the others.
    #[inline(always)]
    pub(super) fn divide<const VS: usize, M: Mask>(
        &mut self,
        routers: &Routers<P, VS, N, M>,
        ready: &mut List<N>,
        alone: &mut List<N>,
        shared: &mut List<N>,
    ) {
        let (inputs, outputs) = (self.inputs.as_flattened_mut(), self.outputs.as_flattened_mut());
        let ports = self.ports.as_flattened_mut();
        for (&number, place) in ready.items().iter().zip(&mut *ports) {
            let number = usize::from(number);
            let port = routers.vc(number).port;
            *place = port;
            outputs[usize::from(port) % (BLOCK * P)] += 1;
            inputs[number / VS % (BLOCK * P)] += 1;
        }
        ready.divide(alone, shared, |at, number| {
            let port = usize::from(ports[at % (BLOCK * N)]) % (BLOCK * P);
            inputs[usize::from(number) / VS % (BLOCK * P)] + outputs[port] == 2
        });
        // a few are taken back one by one
        let count = alone.items().len() + shared.items().len();
        if count < BLOCK * P / 16 {
            for &port in &ports[..count] {
                outputs[usize::from(port) % (BLOCK * P)] = 0;
            }
            for &number in alone.items().iter().chain(shared.items()) {
                inputs[usize::from(number) / VS % (BLOCK * P)] = 0;
            }
        } else {
            outputs.fill(0);
            inputs.fill(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use stratasim_core::random::Draws;

    use super::*;

    const P: usize = 4;
    const VS: usize = 2;
    const N: usize = P * VS;

    #[test]
    fn alone_is_whoever_shares_neither_input_nor_output() {
        let mut draws = Draws::new(1);
        let mut routers = Box::new(Routers::<P, VS, N, u32>::new(VS as u8, 4));
        let mut contest = Contest::<P, N>::new();
        let [mut ready, mut alone, mut shared] = [(); 3].map(|()| List::<N>::default());
        // few and many, one after the other
        for share in [20, 2, 1, 20, 3, 40, 1] {
            let numbers: Vec<u16> = (0..(BLOCK * N) as u16).filter(|_| draws.below(share) == 0).collect();
            for &number in &numbers {
                routers.vc_mut(number.into()).port =
                    number / N as u16 * P as u16 + draws.below(P as u32) as u16;
                ready.push(number);
            }
            let place = |number: u16| (number / VS as u16, routers.vc(number.into()).port);
            let is_alone = |number: &u16| {
                let own = place(*number);
                let shares = |&&other: &&u16| place(other).0 == own.0 || place(other).1 == own.1;
                numbers.iter().filter(shares).count() == 1
            };
            let (one, other): (Vec<u16>, Vec<u16>) = numbers.iter().partition(|number| is_alone(number));
            contest.divide(&routers, &mut ready, &mut alone, &mut shared);
            assert!(ready.is_empty());
            assert_eq!((alone.items(), shared.items()), (&one[..], &other[..]));
            alone.clear();
            shared.clear();
        }
    }
}
