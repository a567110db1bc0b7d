//! `fattree`.

use stratasim_net::flit::booksim::tree::{FatTree, TreeRouting};

use super::{Built, Config, TextError, function, refused, sizes};

pub(super) fn build(config: &Config) -> Result<Built, TextError> {
    let (k, n) = sizes(config)?;
    let tree = FatTree::new(k, n).map_err(|error| refused(config, &error))?;
    let adaptive = function(config, &[("nca", false), ("anca", true)])?;
    Ok(Built { fabric: tree.fabric(), routing: Box::new(TreeRouting::new(tree, adaptive)), least: 1 })
}
