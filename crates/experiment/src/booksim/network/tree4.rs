//! `tree4`.

use stratasim_net::flit::booksim::tree4::TreeOfFour;

use super::{Built, Config, TextError, function, sizes};

pub(super) fn build(config: &Config) -> Result<Built, TextError> {
    check_size(config)?;
    let random = function(config, &[("nca", true), ("anca", false)])?;
    Ok(Built { fabric: TreeOfFour::fabric(), routing: Box::new(TreeOfFour::new(random)), least: 1 })
}

/// The small trees have one size.
pub(super) fn check_size(config: &Config) -> Result<(), TextError> {
    let topology = config.word("topology");
    match sizes(config)? {
        (4, 3) => Ok(()),
        (4, n) => Err(config.refuse("n", format!("found {n}; `{topology}` has k = 4 and n = 3 only"))),
        (k, _) => Err(config.refuse("k", format!("found {k}; `{topology}` has k = 4 and n = 3 only"))),
    }
}
