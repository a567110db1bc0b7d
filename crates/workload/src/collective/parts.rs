//! Parts of the members: how the data of a gather, scatter, all-gather or all-to-all is cut.

use std::ops::Range;

use rand::Rng;
use stratasim_core::BuildError;
use stratasim_core::random::Streams;

use super::bytes_of;

/// The part of each member, in bytes: what member `i` gives to a gather or an all-gather, what it gets
/// from a scatter, and what it gets from every member in an all-to-all (where rows may differ).
///
/// Holds nothing for equal parts, 8 bytes per member otherwise (per pair where rows differ, which only
/// a matrix that somebody wrote down does).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    members: u32,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// A vector of that many bytes, cut as equally as whole bytes allow.
    Equal(u64),
    /// Where each part of the vector ends.
    Listed(Vec<u64>),
    /// The same over the vectors of all members, one after the other.
    Rows(Vec<u64>),
}

/// Running sums of `sizes`.
fn ends(sizes: impl Iterator<Item = u64>) -> Result<Vec<u64>, BuildError> {
    let mut end = 0_u64;
    sizes
        .map(|size| {
            // twice the sum for every member must be countable, see `check`
            end = end.checked_add(size).filter(|end| *end < 1 << 60)?;
            Some(end)
        })
        .collect::<Option<_>>()
        .ok_or_else(|| BuildError::new("sizes", "the sizes add up to more than 2^60 bytes"))
}

impl Parts {
    /// `bytes` in as many parts as members, as equal as whole bytes allow ([`bytes_of`]).
    pub const fn equal(members: u32, bytes: u64) -> Self {
        Self { members, form: Form::Equal(bytes) }
    }

    /// One part per member.
    ///
    /// # Errors
    /// More bytes than can be counted.
    pub fn listed(sizes: &[u64]) -> Result<Self, BuildError> {
        Ok(Self { members: sizes.len() as u32, form: Form::Listed(ends(sizes.iter().copied())?) })
    }

    /// `rows[i][j]` bytes from member `i` to member `j`, for an all-to-all.
    ///
    /// # Errors
    /// A row that has not as many sizes as there are rows; more bytes than can be counted.
    pub fn rows(rows: &[Vec<u64>]) -> Result<Self, BuildError> {
        if let Some(row) = rows.iter().position(|row| row.len() != rows.len()) {
            let (found, expected) = (rows[row].len(), rows.len());
            let reason = format!("row {row} has {found} sizes; {expected} rows need {expected} sizes each");
            return Err(BuildError::new("matrix", reason));
        }
        let form = Form::Rows(ends(rows.iter().flatten().copied())?);
        Ok(Self { members: rows.len() as u32, form })
    }

    /// `bytes` in parts of random size, of which the largest is at most about `skew` times the
    /// smallest: weights are drawn evenly between 1 and `skew`, and the parts have exactly `bytes`
    /// together. Equal seeds draw equal parts.
    ///
    /// # Errors
    /// A skew below 1 or above a million.
    pub fn skewed(members: u32, bytes: u64, skew: f64, seed: u64) -> Result<Self, BuildError> {
        if !(1.0..=1e6).contains(&skew) {
            let reason = format!("largest over smallest part must lie between 1 and 1000000, got {skew}");
            return Err(BuildError::new("skew", reason));
        }
        let mut stream = Streams::new(seed).stream("parts of a collective");
        // whole numbers, so that every machine draws the same; all weights together are below 2^71
        let unit = f64::from(1 << 20);
        let span = ((skew - 1.0) * unit) as u64;
        let mut weight = 0_u128;
        let mut weights = Vec::with_capacity(members as usize);
        for _ in 0..members {
            weight +=
                u128::from(1_u64 << 20) + ((u128::from(stream.next_u64()) * u128::from(span + 1)) >> 64);
            weights.push(weight);
        }
        // a part ends at a fraction of the vector, in units of 2^-48
        let ends = weights.into_iter().map(|before| {
            let fraction = (before << 48) / weight;
            ((u128::from(bytes) * fraction) >> 48) as u64
        });
        Ok(Self { members, form: Form::Listed(ends.collect()) })
    }

    /// Number of members.
    pub const fn members(&self) -> u32 {
        self.members
    }

    /// Whether all parts are as equal as whole bytes allow.
    pub const fn is_equal(&self) -> bool {
        matches!(self.form, Form::Equal(_))
    }

    /// Whether members cut their vectors differently.
    pub const fn has_rows(&self) -> bool {
        matches!(self.form, Form::Rows(_))
    }

    /// Bytes of the parts `parts` of the vector.
    #[inline]
    pub fn bytes(&self, parts: Range<u32>) -> u64 {
        self.bytes_from(0, parts)
    }

    /// Bytes of the parts `parts` of the vector of `member`; all have the same one unless rows differ.
    #[inline]
    pub fn bytes_from(&self, member: u32, parts: Range<u32>) -> u64 {
        let (ends, first) = match &self.form {
            Form::Equal(bytes) => return bytes_of(*bytes, self.members, parts),
            Form::Listed(ends) => (ends, 0),
            Form::Rows(ends) => (ends, member as usize * self.members as usize),
        };
        let before = |part: u32| (first + part as usize).checked_sub(1).map_or(0, |last| ends[last]);
        before(parts.end) - before(parts.start)
    }

    /// Bytes of the parts from `first` on, `count` of them, with part 0 after the last one.
    #[inline]
    pub fn bytes_around(&self, first: u32, count: u32) -> u64 {
        let to_end = count.min(self.members - first);
        self.bytes(first..first + to_end) + self.bytes(0..count - to_end)
    }

    /// Bytes of the vector; of the average one where rows differ.
    pub fn total(&self) -> u64 {
        match &self.form {
            Form::Equal(bytes) => *bytes,
            Form::Listed(ends) => ends.last().copied().unwrap_or(0),
            Form::Rows(ends) => ends.last().copied().unwrap_or(0) / u64::from(self.members.max(1)),
        }
    }

    /// Bytes that all members of an all-to-all send to others.
    pub fn exchanged(&self) -> u64 {
        let Form::Rows(ends) = &self.form else {
            return u64::from(self.members.saturating_sub(1)) * self.total();
        };
        let own: u64 = (0..self.members).map(|member| self.bytes_from(member, member..member + 1)).sum();
        ends.last().copied().unwrap_or(0) - own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_whatever_their_form() {
        let listed = Parts::listed(&[5, 0, 7, 1]).unwrap();
        assert_eq!((listed.bytes(1..3), listed.total(), listed.exchanged()), (7, 13, 39));
        assert_eq!((listed.bytes_around(3, 2), listed.bytes_around(2, 4)), (6, 13));
        let rows = Parts::rows(&[vec![1, 2], vec![30, 40]]).unwrap();
        assert_eq!((rows.bytes_from(1, 0..1), rows.exchanged()), (30, 32));
        let equal = Parts::equal(3, 10);
        assert_eq!((0..3).map(|part| equal.bytes(part..part + 1)).collect::<Vec<_>>(), [4, 3, 3]);
    }

    #[test]
    fn skewed_parts_have_all_bytes_and_keep_their_ratio() {
        for bytes in [0, 1, 1 << 20, 1 << 59] {
            for (members, skew) in [(1, 1.0), (7, 1.0), (64, 4.0), (1000, 100.0)] {
                let parts = Parts::skewed(members, bytes, skew, 3).unwrap();
                assert_eq!(parts.total(), bytes);
                let sizes: Vec<_> = (0..members).map(|part| parts.bytes(part..part + 1)).collect();
                let (least, most) = (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap());
                if bytes == 1 << 59 {
                    assert!(most as f64 / least as f64 <= skew * 1.001, "{most} over {least}");
                    assert!(members < 1000 || most as f64 / least as f64 > skew / 2.0);
                }
            }
        }
        let draw = |seed| Parts::skewed(20, 1 << 30, 4.0, seed).unwrap();
        assert_eq!(draw(5), draw(5));
        assert_ne!(draw(5), draw(6));
    }

    #[test]
    fn sizes_that_cannot_be_used_are_refused() {
        assert!(Parts::skewed(4, 1, 0.5, 0).unwrap_err().to_string().contains("got 0.5"));
        assert!(Parts::skewed(4, 1, f64::NAN, 0).is_err());
        assert!(Parts::listed(&[1 << 59, 1 << 59, 1]).is_err());
        let error = Parts::rows(&[vec![1, 2], vec![1]]).unwrap_err().to_string();
        assert!(error.contains("row 1 has 1 sizes; 2 rows need 2 sizes each"), "{error}");
    }
}
