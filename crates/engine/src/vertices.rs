//! How long the tasks of each vertex took, and who waited for them.

use stratasim_core::observe::Activity;
use stratasim_core::{Duration, Rank, Time};
use stratasim_workload::program::VertexId;

use crate::instances::Instance;

/// How the tasks of a vertex fared, on all ranks and in all iterations together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VertexAccount {
    /// Tasks that ended.
    pub tasks: u64,
    /// From start to end, of all of them together, in picoseconds.
    pub total_ps: u128,
    /// The longest of them.
    pub longest: Duration,
    /// Exposed communication of all ranks together that is put down to it, in picoseconds: a moment in which a rank does nothing
    /// but communicate counts for that of its communications under way which began first.
    pub exposed_ps: u128,
}

/// The accounts in the making.
pub(crate) struct Vertices {
    accounts: Vec<VertexAccount>,
    /// When each instance that runs began.
    begun: Vec<Time>,
    /// Communications of each rank that are under way, in the order in which they began.
    open: Vec<Vec<VertexId>>,
}

impl Vertices {
    pub(crate) fn new(vertices: usize, instances: usize, ranks: usize) -> Self {
        Self {
            accounts: vec![VertexAccount::default(); vertices],
            begun: vec![Time::ZERO; instances],
            open: vec![Vec::new(); ranks],
        }
    }

    /// An instance starts.
    pub(crate) fn start(&mut self, instance: Instance, now: Time) {
        self.begun[instance as usize] = now;
    }

    /// An instance of `vertex` ended.
    pub(crate) fn complete(&mut self, vertex: VertexId, instance: Instance, now: Time) {
        let took = now.saturating_since(self.begun[instance as usize]);
        let account = &mut self.accounts[vertex as usize];
        account.tasks += 1;
        account.total_ps += u128::from(took.as_ps());
        account.longest = account.longest.max(took);
    }

    /// A rank begins a part of `vertex`, `exposed_ps` of exposed communication after what it began or ended last.
    pub(crate) fn begin(&mut self, rank: Rank, vertex: VertexId, activity: Activity, exposed_ps: u64) {
        self.pass(rank, exposed_ps);
        if activity == Activity::Communication {
            self.open[rank.index()].push(vertex);
        }
    }

    /// The same of a part that ends.
    pub(crate) fn end(&mut self, rank: Rank, vertex: VertexId, activity: Activity, exposed_ps: u64) {
        self.pass(rank, exposed_ps);
        let open = &mut self.open[rank.index()];
        if activity == Activity::Communication
            && let Some(at) = open.iter().position(|&other| other == vertex)
        {
            open.remove(at);
        }
    }

    fn pass(&mut self, rank: Rank, exposed_ps: u64) {
        if let Some(&first) = self.open[rank.index()].first() {
            self.accounts[first as usize].exposed_ps += u128::from(exposed_ps);
        }
    }

    pub(crate) fn close(self) -> Vec<VertexAccount> {
        self.accounts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exposed_counts_for_the_communication_that_began_first() {
        let (rank, comm) = (Rank(0), Activity::Communication);
        let mut vertices = Vertices::new(3, 3, 1);
        vertices.start(0, Time::from_ps(10));
        vertices.begin(rank, 0, comm, 0);
        vertices.start(1, Time::from_ps(15));
        vertices.begin(rank, 1, comm, 5);
        // computes from 20 to 30
        vertices.begin(rank, 2, Activity::Compute, 5);
        vertices.end(rank, 2, Activity::Compute, 0);
        vertices.end(rank, 0, comm, 7);
        vertices.complete(0, 0, Time::from_ps(37));
        vertices.end(rank, 1, comm, 3);
        vertices.complete(1, 1, Time::from_ps(40));
        let accounts = vertices.close();
        assert_eq!(accounts.iter().map(|it| it.exposed_ps).collect::<Vec<_>>(), [17, 3, 0]);
        assert_eq!(accounts.iter().map(|it| it.total_ps).collect::<Vec<_>>(), [27, 25, 0]);
        assert_eq!((accounts[0].longest.as_ps(), accounts[0].tasks), (27, 1));
    }
}
