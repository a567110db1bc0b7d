//! Rules of routers with which packets can stand still although no circle is in the graph of channels.

use stratasim_core::BuildError;

use crate::flit::router::{Guess, Precedence, RouterSpec, Stages};
use crate::flit::routing::FlitRouting;

/// Refuses them; fields are those of the router.
pub(super) fn check(router: &RouterSpec, routing: &dyn FlitRouting) -> Result<(), BuildError> {
    let rules = &router.requests;
    if rules.combined_allocation && router.stages == Stages::Batches && !routing.single() {
        let reason = "`batches` as in BookSim2, where a head that may not ask for one of its outputs hears no answer \
                      from the others, and routing with several: it would never reach the escape channels. Use \
                      `stages = \"pipelined\"`";
        return Err(BuildError::new("requests.combined-allocation", reason));
    }
    if wins_without_channel(router) && rules.precedence.lasts() {
        let reason = "a head that gets the switch without a virtual channel to take gets it again in every cycle, \
                      since nobody comes before it, and those that it waits for never do. Use `guess = \"credit\"`, \
                      or `precedence = \"given\"`";
        return Err(BuildError::new("requests.guess", reason));
    }
    if !router.channels_have_own_places() {
        let reason = "some virtual channel has no place of its own, so that packets in others can take all of the \
                      buffer and wait for it; give each a part with a place, or set `deadlock-check = false`";
        return Err(BuildError::new("shared-buffer.parts", reason));
    }
    Ok(())
}

/// Whether a head can get the switch without a virtual channel to take: who has precedence over others for good then gets it
/// in every cycle, and those that it waits for never do.
fn wins_without_channel(router: &RouterSpec) -> bool {
    let rules = &router.requests;
    rules.combined_allocation && matches!(rules.guess, Guess::Always | Guess::Free)
}

/// Whether packets of different priorities can stand still in such routers although no circle is in the graph of channels.
pub fn forbids_priorities(router: &RouterSpec) -> bool {
    wins_without_channel(router) && router.requests.precedence == Precedence::Given
}
