//! The two exchanges of a three-dimensional FFT.

use rand::seq::SliceRandom as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stratasim_core::BuildError;
use stratasim_core::random::{Draws, Stream};

use super::{Destinations, Layout, Pattern, at_least_two};

/// A phase of the three-dimensional FFT with its data split two ways: the processes are a matrix, row by
/// row, and a process sends to the others of its row (first exchange) or of its column (second), each as
/// often.
///
/// Source: Hu, Chen, Wang, Jiang (2011), equations 2 and 3.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Fft {
    /// Which exchange.
    pub phase: Phase,
    /// Processes per row (P_col), a divisor of the number of ranks; when absent the one that makes the matrix
    /// squarest, at least as wide as high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<u32>,
    /// Which process runs on which rank: `identity` has process `i` on rank `i`, row by row; `row-blocks` cuts the matrix into
    /// tiles of `rows` x `columns` processes and puts tile after tile on ranks that follow each other, each row by row (as on a
    /// machine whose nodes hold a tile each); `column-blocks` does so column by column; `random` draws them once per run; `list`
    /// has in `ranks` the rank of each process.
    pub mapping: Mapping,
}

/// The exchanges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The first: within rows.
    #[default]
    Rows,
    /// The second: within columns.
    Columns,
}

/// Which process runs on which rank.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Mapping {
    /// Process `i` on rank `i`: row by row.
    #[default]
    Identity,
    /// Tiles of the matrix on ranks that follow each other; tiles, and processes within a tile, row by row.
    RowBlocks {
        /// Rows of a tile.
        rows: u32,
        /// Columns of a tile.
        columns: u32,
    },
    /// The same, column by column; one tile of everything is the matrix column by column.
    ColumnBlocks {
        /// Rows of a tile.
        rows: u32,
        /// Columns of a tile.
        columns: u32,
    },
    /// At random, drawn once per run.
    Random,
    /// By list.
    List {
        /// The rank of each process.
        ranks: Vec<u32>,
    },
}

impl Pattern for Fft {
    fn destinations(
        &self,
        layout: &Layout,
        random: &mut Stream,
    ) -> Result<Box<dyn Destinations>, BuildError> {
        let ranks = layout.ranks;
        at_least_two(ranks)?;
        let squarest = || {
            (ranks.isqrt().max(1)..=ranks).find(|wide| ranks.is_multiple_of(*wide) && wide * wide >= ranks)
        };
        let columns = self.columns.or_else(squarest).unwrap_or(ranks);
        if columns == 0 || !ranks.is_multiple_of(columns) {
            let reason = format!("{ranks} processes do not make rows of {columns}");
            return Err(BuildError::new("columns", reason));
        }
        let rows = ranks / columns;
        let (partners, wanted) = match self.phase {
            Phase::Rows => (columns, "columns"),
            Phase::Columns => (rows, "rows"),
        };
        if partners < 2 {
            let reason = format!(
                "a matrix of {rows} x {columns} processes has one of the {wanted}: nobody to send to"
            );
            return Err(BuildError::new("columns", reason));
        }
        let rank_of = self.mapping.ranks(rows, columns, random).map_err(|error| error.within("mapping"))?;
        let mut process_of = vec![0; ranks as usize];
        for (process, &rank) in rank_of.iter().enumerate() {
            process_of[rank as usize] = process as u32;
        }
        Ok(Box::new(Exchange { columns, rows, phase: self.phase, rank_of, process_of }))
    }
}

impl Mapping {
    /// The rank of each process of a matrix.
    fn ranks(&self, rows: u32, columns: u32, random: &mut Stream) -> Result<Vec<u32>, BuildError> {
        let processes = rows * columns;
        let tiled = |tile_rows: u32, tile_columns: u32, by_row: bool| {
            if tile_rows == 0
                || tile_columns == 0
                || !rows.is_multiple_of(tile_rows)
                || !columns.is_multiple_of(tile_columns)
            {
                let reason = format!(
                    "tiles of {tile_rows} x {tile_columns} do not cover a matrix of {rows} x {columns} processes"
                );
                return Err(BuildError::new("", reason));
            }
            let order = |row: u32, column: u32, rows: u32, columns: u32| {
                if by_row { row * columns + column } else { column * rows + row }
            };
            let place = |process: u32| {
                let (row, column) = (process / columns, process % columns);
                let tile =
                    order(row / tile_rows, column / tile_columns, rows / tile_rows, columns / tile_columns);
                let inside = order(row % tile_rows, column % tile_columns, tile_rows, tile_columns);
                tile * tile_rows * tile_columns + inside
            };
            Ok((0..processes).map(place).collect())
        };
        match self {
            Self::Identity => Ok((0..processes).collect()),
            Self::RowBlocks { rows, columns } => tiled(*rows, *columns, true),
            Self::ColumnBlocks { rows, columns } => tiled(*rows, *columns, false),
            Self::Random => {
                let mut ranks: Vec<u32> = (0..processes).collect();
                ranks.shuffle(random);
                Ok(ranks)
            }
            Self::List { ranks } => {
                let mut sorted = ranks.clone();
                sorted.sort_unstable();
                if sorted.iter().copied().eq(0..processes) {
                    return Ok(ranks.clone());
                }
                let reason = format!(
                    "each of the ranks 0 to {} is needed once, got {} ranks",
                    processes - 1,
                    ranks.len()
                );
                Err(BuildError::new("ranks", reason))
            }
        }
    }
}

#[derive(Debug)]
struct Exchange {
    columns: u32,
    rows: u32,
    phase: Phase,
    rank_of: Vec<u32>,
    process_of: Vec<u32>,
}

impl Destinations for Exchange {
    fn destination(&self, source: u32, _: bool, draws: &mut Draws) -> Option<u32> {
        let process = self.process_of[source as usize];
        let (row, column) = (process / self.columns, process % self.columns);
        let other = |own: u32, count: u32, draws: &mut Draws| {
            let drawn = draws.below(count - 1);
            drawn + u32::from(drawn >= own)
        };
        let partner = match self.phase {
            Phase::Rows => row * self.columns + other(column, self.columns, draws),
            Phase::Columns => other(row, self.rows, draws) * self.columns + column,
        };
        Some(self.rank_of[partner as usize])
    }
}
