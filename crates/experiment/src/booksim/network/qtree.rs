//! `qtree`.

use stratasim_net::flit::booksim::qtree::QuadTree;

use super::tree4::check_size;
use super::{Built, Config, TextError, function};

pub(super) fn build(config: &Config) -> Result<Built, TextError> {
    check_size(config)?;
    function(config, &[("nca", ())])?;
    Ok(Built { fabric: QuadTree::fabric(), routing: Box::new(QuadTree), least: 1 })
}
