//! `cmesh`.

use stratasim_net::flit::booksim::cmesh::{
    ConcentratedMesh, ConcentratedMeshFunction as F, ConcentratedMeshRouting,
};

use super::{Built, Config, TextError, concentration, function, refused, sizes};

pub(super) fn build(config: &Config) -> Result<Built, TextError> {
    let (k, n) = sizes(config)?;
    let (_, side) = concentration(config)?;
    if n != 2 {
        return Err(config.refuse("n", format!("found {n}; `cmesh` has two dimensions")));
    }
    if side != 2 {
        return Err(config.refuse("c", format!("found {}; `cmesh` has 4 terminals per router", side * side)));
    }
    let mesh = ConcentratedMesh::new(k).map_err(|error| refused(config, &error))?;
    let functions = [
        ("dor", (F::DimensionOrder, 1)),
        ("dor_no_express", (F::DimensionOrderWithoutExpress, 1)),
        ("xy_yx", (F::XyYx, 2)),
        ("xy_yx_no_express", (F::XyYxWithoutExpress, 2)),
    ];
    let (function, least) = function(config, &functions)?;
    let fabric = mesh.fabric(config.flag("use_noc_latency")?);
    Ok(Built { fabric, routing: Box::new(ConcentratedMeshRouting::new(mesh, function)), least })
}
