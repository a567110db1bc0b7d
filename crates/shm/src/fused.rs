//! Layer normalisation, CSC all-gather and a matrix product, one after the other and fused (SW-IntraCC, equations 9 and
//! 10), for real.
//!
//! Unfused, every step reads and writes Local memory: normalise the own rows, put them into Global, get the others' rows,
//! multiply. Fused, the rows are normalised into Global at once, and the product reads them there. Both do the same
//! arithmetic in the same order, so results are equal to the last bit.

use std::time::Duration;

use crate::algorithm::{Algorithm, Operation};
use crate::error::ShmError;
use crate::exchange::Through;
use crate::group::Group;
use crate::measure::now;
use crate::view::View;

/// Added to the variance, as usual.
const EPSILON: f32 = 1e-5;

/// The sizes: every rank has `rows` rows of `hidden` numbers, and multiplies the rows of all ranks with a matrix of its
/// own with `columns` columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NormGatherMultiply {
    /// Rows of each rank.
    pub rows: usize,
    /// Numbers of a row.
    pub hidden: usize,
    /// Columns of the matrix.
    pub columns: usize,
}

/// How long the parts took, on this rank's clock. What is fused counts as one part, the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phases {
    /// Layer normalisation.
    pub normalise: Duration,
    /// All-gather, waiting for others included.
    pub gather: Duration,
    /// The product.
    pub multiply: Duration,
}

impl Phases {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.normalise + self.gather + self.multiply
    }
}

impl NormGatherMultiply {
    /// Bytes of the rows of all ranks: the vector of the all-gather.
    pub const fn bytes(&self, ranks: u32) -> usize {
        self.rows * self.hidden * 4 * ranks as usize
    }

    /// Runs it with this rank's rows `x` and its matrix `weights`, stored by columns; `output` gets the rows of all ranks
    /// with `columns` numbers each. The unfused form keeps the gathered rows in `gathered`.
    ///
    /// # Errors
    /// [`ShmError::Argument`] when lengths do not fit, or the fused form's rows do not fit in half of the staging area;
    /// otherwise as the collectives.
    pub fn run(
        &self,
        group: &mut Group,
        x: &[f32],
        weights: &[f32],
        gathered: Option<&mut [f32]>,
        output: &mut [f32],
    ) -> Result<Phases, ShmError> {
        let ranks = group.ranks() as usize;
        let own = self.rows * self.hidden;
        for (what, found, wanted) in [
            ("rows", x.len(), own),
            ("weights", weights.len(), self.hidden * self.columns),
            ("output", output.len(), ranks * self.rows * self.columns),
            ("gathered", gathered.as_ref().map_or(ranks * own, |rows| rows.len()), ranks * own),
        ] {
            if found != wanted {
                let text = format!("{what}: {wanted} numbers are expected, found {found}");
                return Err(ShmError::Argument(text));
            }
        }
        match gathered {
            Some(gathered) => self.one_by_one(group, x, weights, gathered, output),
            None => self.fused(group, x, weights, output),
        }
    }

    fn one_by_one(
        &self,
        group: &mut Group,
        x: &[f32],
        weights: &[f32],
        gathered: &mut [f32],
        output: &mut [f32],
    ) -> Result<Phases, ShmError> {
        let own = self.rows * self.hidden;
        let rank = group.rank() as usize;
        let started = now();
        let mut normalised = vec![0.0; own];
        self.normalise(x, &mut normalised);
        let after_normalise = now();
        group.all_gather(
            View::of_numbers(&normalised).bytes(),
            View::of_numbers_mut(gathered).bytes_mut(),
            Algorithm::Csc,
        )?;
        let after_gather = now();
        // the own rows first, as the fused form does
        for steps in 0..group.ranks() as usize {
            let other = (rank + steps) % group.ranks() as usize;
            self.multiply(&gathered[other * own..(other + 1) * own], weights, self.rows_of(output, other));
        }
        Ok(Phases {
            normalise: after_normalise - started,
            gather: after_gather - after_normalise,
            multiply: after_gather.elapsed(),
        })
    }

    fn fused(
        &self,
        group: &mut Group,
        x: &[f32],
        weights: &[f32],
        output: &mut [f32],
    ) -> Result<Phases, ShmError> {
        let own_bytes = self.rows * self.hidden * 4;
        if own_bytes > group.half_bytes() {
            let text = format!(
                "the rows of a rank, {own_bytes} B, do not fit in half of the staging area, {} B",
                group.half_bytes()
            );
            return Err(ShmError::Argument(text));
        }
        let started = now();
        group.guarded(|group| {
            let length = own_bytes * group.ranks() as usize;
            let call = group.begin(Operation::AllGather, Some(Algorithm::Csc), (0, 0), 0, true, length, None);
            let number = group.next_piece();
            let global =
                |group: &Group, rank: u32| group.staging(Through::Global, rank, number).part(0..own_bytes);
            self.normalise(x, global(group, group.rank()).numbers_mut());
            group.synchronise(&call)?;
            for steps in 0..group.ranks() {
                let other = group.after(steps);
                let rows = global(group, other).numbers();
                self.multiply(rows, weights, self.rows_of(output, other as usize));
            }
            Ok(())
        })?;
        Ok(Phases { normalise: Duration::ZERO, gather: Duration::ZERO, multiply: started.elapsed() })
    }

    /// The part of the output that belongs to the rows of `rank`.
    fn rows_of<'a>(&self, output: &'a mut [f32], rank: usize) -> &'a mut [f32] {
        let each = self.rows * self.columns;
        &mut output[rank * each..(rank + 1) * each]
    }

    fn normalise(&self, x: &[f32], into: &mut [f32]) {
        for (row, into) in x.chunks_exact(self.hidden).zip(into.chunks_exact_mut(self.hidden)) {
            let mean = sum(row, |value| value) / self.hidden as f32;
            let variance = sum(row, |value| (value - mean) * (value - mean)) / self.hidden as f32;
            let scale = 1.0 / (variance + EPSILON).sqrt();
            for (into, value) in into.iter_mut().zip(row) {
                *into = (value - mean) * scale;
            }
        }
    }

    fn multiply(&self, rows: &[f32], weights: &[f32], into: &mut [f32]) {
        for (row, into) in rows.chunks_exact(self.hidden).zip(into.chunks_exact_mut(self.columns)) {
            for (into, column) in into.iter_mut().zip(weights.chunks_exact(self.hidden)) {
                let mut sums = [0.0_f32; LANES];
                for (a, b) in row.chunks(LANES).zip(column.chunks(LANES)) {
                    for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
                        *sum += a * b;
                    }
                }
                *into = sums.iter().sum();
            }
        }
    }
}

/// Sums side by side, so that a processor adds several at a time.
const LANES: usize = 16;

fn sum(row: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0_f32; LANES];
    for chunk in row.chunks(LANES) {
        for (sum, &value) in sums.iter_mut().zip(chunk) {
            *sum += of(value);
        }
    }
    sums.iter().sum()
}
