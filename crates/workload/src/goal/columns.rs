//! Whole ranks at once: how `.strata` fills a schedule.

use super::schedule::Schedule;

/// Operations of a group of ranks that is copied in one piece; enough that the calls do not count, few enough
/// that the group is still in a near cache when it is copied again.
const GROUP: usize = 1 << 12;

impl Schedule {
    /// A schedule without ranks, to which whole ranks are appended.
    pub(super) fn without_ranks() -> Self {
        Self { first: vec![0], first_edge: vec![0], ..Self::default() }
    }

    /// Takes all ranks out and keeps their memory.
    pub(super) fn clear_ranks(&mut self) {
        self.first.truncate(1);
        self.first_edge.truncate(1);
        self.shape_of.clear();
        self.edges.clear();
        self.labels.ends.clear();
        self.labels.text.clear();
    }

    /// Operations and dependencies of the `count` last ranks.
    pub(super) fn tail(&self, count: usize) -> (usize, usize) {
        let first = self.first[self.first.len() - 1 - count] as usize;
        (self.shape_of.len() - first, self.edges.len() - self.first_edge[first] as usize)
    }

    /// Ends a rank whose operations and dependencies were appended.
    pub(super) fn end_rank(&mut self) {
        self.first.push(self.shape_of.len() as u32);
    }

    /// Appends `count` ranks, each equal to the one `distance` before it.
    pub(super) fn repeat_ranks(&mut self, distance: usize, mut count: usize) {
        let mut group = distance;
        while count > 0 {
            let ranks = self.first.len() - 1;
            let piece = group.min(count);
            let from = ranks - group;
            let (start, end) = (self.first[from] as usize, self.first[from + piece] as usize);
            append_shifted(&mut self.first, from + 1..from + piece + 1, self.shape_of.len() - start);
            self.shape_of.extend_from_within(start..end);
            self.repeat_edges(start, end);
            count -= piece;
            // two groups in a row are a group as well
            if piece == group && end - start < GROUP && group < GROUP {
                group *= 2;
            }
        }
    }

    /// Appends the dependencies of operations `start..end`, for as many operations at the end.
    pub(super) fn repeat_edges(&mut self, start: usize, end: usize) {
        let (first, last) = (self.first_edge[start] as usize, self.first_edge[end] as usize);
        append_shifted(&mut self.first_edge, start + 1..end + 1, self.edges.len() - first);
        self.edges.extend_from_within(first..last);
    }

    /// Makes room for the ranks, operations and dependencies of a block. A column that has no room doubles, but
    /// takes no more than `whole`, what the file says it will hold, so that nothing has to be given back.
    pub(super) fn make_room(&mut self, block: [usize; 3], whole: [usize; 3]) {
        let [ranks, operations, edges] = block;
        grow(&mut self.first, ranks, whole[0] + 1);
        grow(&mut self.shape_of, operations, whole[1]);
        grow(&mut self.first_edge, operations, whole[1] + 1);
        grow(&mut self.edges, edges, whole[2]);
    }
}

fn grow<T>(column: &mut Vec<T>, more: usize, whole: usize) {
    let len = column.len();
    if column.capacity() - len < more {
        column.reserve_exact((2 * len).min(whole).max(len + more) - len);
    }
}

/// Appends a part of a column with `shift` added.
fn append_shifted(column: &mut Vec<u32>, part: std::ops::Range<usize>, shift: usize) {
    let at = column.len();
    column.extend_from_within(part);
    for value in &mut column[at..] {
        *value += shift as u32;
    }
}
