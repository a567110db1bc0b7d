//! `fly`.

use stratasim_net::flit::booksim::fly::{Fly, FlyRouting};

use super::{Built, Config, TextError, function, refused, sizes};

pub(super) fn build(config: &Config) -> Result<Built, TextError> {
    let (k, n) = sizes(config)?;
    let fly = Fly::new(k, n).map_err(|error| refused(config, &error))?;
    function(config, &[("dest_tag", ())])?;
    Ok(Built { fabric: fly.fabric(), routing: Box::new(FlyRouting(fly)), least: 1 })
}
