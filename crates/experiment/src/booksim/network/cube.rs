//! `mesh` and `torus`.

use stratasim_net::flit::booksim::cube::Cube;
use stratasim_net::flit::booksim::mesh::{MeshFunction, MeshRouting};
use stratasim_net::flit::booksim::torus::{TorusFunction, TorusRouting};

use super::{Built, Config, TextError, function, refused, sizes};

fn cube(config: &Config) -> Result<Cube, TextError> {
    let (k, n) = sizes(config)?;
    Cube::new(k, n).map_err(|error| refused(config, &error))
}

pub(super) fn mesh(config: &Config) -> Result<Built, TextError> {
    use MeshFunction as F;
    let cube = cube(config)?;
    let functions = [
        ("dor", (F::DimensionOrder, 1)),
        ("dim_order", (F::DimensionOrder, 1)),
        ("dim_order_ni", (F::NonInterfering, cube.nodes())),
        ("dim_order_pni", (F::PartlyNonInterfering, cube.k())),
        ("xy_yx", (F::XyYx, 2)),
        ("adaptive_xy_yx", (F::AdaptiveXyYx, 2)),
        ("romm", (F::Romm, 2)),
        ("romm_ni", (F::RommNonInterfering, cube.nodes())),
        ("valiant", (F::Valiant, 2)),
        ("min_adapt", (F::MinimalAdaptive, 1)),
        ("planar_adapt", (F::PlanarAdaptive, 3)),
        ("chaos", (F::Chaos, 1)),
    ];
    let (function, least) = function(config, &functions)?;
    let fabric = cube.fabric(false, 1);
    Ok(Built { fabric, routing: Box::new(MeshRouting::new(cube, function)), least })
}

pub(super) fn torus(config: &Config) -> Result<Built, TextError> {
    use TorusFunction as F;
    let cube = cube(config)?;
    let functions = [
        ("dim_order", (F::DimensionOrder, 2)),
        ("dim_order_ni", (F::NonInterfering, cube.nodes())),
        ("dim_order_bal", (F::Balanced, 2)),
        ("min_adapt", (F::MinimalAdaptive, 4)),
        ("valiant", (F::Valiant, 4)),
        ("chaos", (F::Chaos, 1)),
    ];
    let (function, least) = function(config, &functions)?;
    let latency = if config.flag("use_noc_latency")? { 2 } else { 1 };
    let fabric = cube.fabric(true, latency);
    Ok(Built { fabric, routing: Box::new(TorusRouting::new(cube, function)), least })
}
