//! `anynet`.

use stratasim_net::flit::booksim::anynet::{AnyNet, AnyNetRouting};

use super::{Built, Config, TextError, function, refused};

pub(super) fn build(config: &Config) -> Result<Built, TextError> {
    let net = AnyNet::read(&config.network_file()?).map_err(|error| refused(config, &error))?;
    function(config, &[("min", ())])?;
    Ok(Built { fabric: net.fabric(), routing: Box::new(AnyNetRouting::new(net)), least: 1 })
}
