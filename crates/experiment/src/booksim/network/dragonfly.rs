//! `dragonflynew`.

use stratasim_net::flit::booksim::dragonfly::{Dragonfly, DragonflyFunction as F, DragonflyRouting};

use super::{Built, Config, TextError, function, refused, sizes};

pub(super) fn build(config: &Config) -> Result<Built, TextError> {
    let (p, n) = sizes(config)?;
    if n != 1 {
        return Err(config.refuse("n", format!("found {n}; groups of `dragonflynew` have one dimension: 1")));
    }
    let dragonfly = Dragonfly::new(p).map_err(|error| refused(config, &error))?;
    let function = function(config, &[("min", F::Minimal), ("ugal", F::Ugal)])?;
    // channels are numbered by phase, whatever the message is
    let channels = config.integer("num_vcs", 1, 32)? as u8;
    match (function, channels) {
        (F::Minimal, 2..) | (F::Ugal, 3) => {}
        (F::Minimal, _) => return Err(config.refuse("num_vcs", "`min` needs 2 virtual channels, there is 1")),
        (F::Ugal, _) => {
            let reason = format!("`ugal` needs exactly 3 virtual channels, there are {channels}");
            return Err(config.refuse("num_vcs", reason));
        }
    }
    let routing = DragonflyRouting::new(dragonfly, function, channels);
    Ok(Built { fabric: dragonfly.fabric(), routing: Box::new(routing), least: 1 })
}
