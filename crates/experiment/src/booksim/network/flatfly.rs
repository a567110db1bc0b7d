//! `flatfly`.

use stratasim_net::flit::booksim::flatfly::FlattenedButterfly;
use stratasim_net::flit::booksim::flatfly_routing::{ButterflyFunction as F, ButterflyRouting};

use super::{Built, Config, TextError, concentration, function, refused, sizes};

pub(super) fn build(config: &Config) -> Result<Built, TextError> {
    let (k, n) = sizes(config)?;
    let (row, side) = concentration(config)?;
    let butterfly = FlattenedButterfly::new(k, n, side, row).map_err(|error| refused(config, &error))?;
    let functions = [
        ("ran_min", F::Minimal),
        ("xyyx", F::XyYx),
        ("adaptive_xyyx", F::AdaptiveXyYx),
        ("valiant", F::Valiant),
        ("ugal", F::Ugal),
        ("ugal_xyyx", F::UgalXyYx),
        ("ugal_pni", F::UgalPartlyNonInterfering),
    ];
    let function = function(config, &functions)?;
    if function == F::UgalPartlyNonInterfering && k != side * side {
        let reason =
            format!("found {}; `ugal_pni` needs as many terminals per router as `k`, {k}", side * side);
        return Err(config.refuse("c", reason));
    }
    let fabric = butterfly.fabric(config.flag("use_noc_latency")?);
    let least = function.least_channels(k);
    Ok(Built { fabric, routing: Box::new(ButterflyRouting::new(butterfly, function)), least })
}
