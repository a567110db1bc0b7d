//! How messages of different tenants are kept apart.
//!
//! Tenants of a node are numbered from 0, its slots. On one pair of nodes the pair of slots, sender's and
//! receiver's, says which two ranks of which job a message belongs to. A tag becomes
//!
//! `(sender's slot * slots + receiver's slot) * tags + tag`
//!
//! where `slots` is the largest number of tenants of a node and `tags` is larger than every tag; if that
//! does not fit into 32 bits, the place of the tag among all tags in use stands for it. Messages
//! between first tenants keep their tags, so nothing changes where no node is shared.
//!
//! A wildcard is kept only where it cannot match another tenant's message. From any source: all ranks of
//! the job have the same slot, so the code is known. Any tag: the receiver has its node to itself, and
//! the sender's node holds no other rank of the job (or any source is meant).

use std::collections::BTreeSet;

use stratasim_core::BuildError;

use super::{Job, Settled};
use crate::goal::{ANY, Operation, OperationKind};

/// Codes of tags.
#[derive(Debug)]
pub(super) struct Tags {
    slots: u64,
    /// Larger than every tag, or than the number of them where they are numbered.
    width: u64,
    /// Ascending, where tags are numbered.
    numbered: Option<Vec<u32>>,
    /// The slot of all ranks of a job, where they have the same.
    common_slot: Vec<Option<u32>>,
}

impl Tags {
    /// Chooses codes, and refuses wildcards that could match another tenant's message.
    pub(super) fn choose(jobs: &[Job<'_>], tenants: &[Vec<Settled>], nodes: u32) -> Result<Self, BuildError> {
        let mut on_node = vec![0_u32; nodes as usize];
        for settled in tenants.iter().flatten() {
            on_node[settled.tenant.node as usize] += 1;
        }
        let slots = u64::from(on_node.iter().copied().max().unwrap_or(0)).max(1);
        let common_slot = |job: &Vec<Settled>| {
            let slot = job.first()?.slot;
            job.iter().all(|settled| settled.slot == slot).then_some(slot)
        };
        let common_slot = tenants.iter().map(common_slot).collect();
        let mut tags = Self { slots, width: 1, numbered: None, common_slot };
        if slots == 1 {
            return Ok(tags);
        }
        let mut used = BTreeSet::new();
        for job in jobs {
            let messages = job.schedule.shapes().iter().map(|shape| shape.operation);
            used.extend(
                messages.filter(|of| of.kind != OperationKind::Calc && of.tag != ANY).map(|of| of.tag),
            );
        }
        tags.width = u64::from(used.last().copied().unwrap_or(0)) + 1;
        // the largest code stays below the wildcard
        let fits = |width: u64| {
            slots
                .checked_mul(slots)
                .and_then(|pairs| pairs.checked_mul(width))
                .is_some_and(|all| all <= u64::from(ANY))
        };
        if !fits(tags.width) {
            tags.width = used.len() as u64;
            if !fits(tags.width) {
                let reason = format!(
                    "{} different tags between nodes with up to {slots} tenants need more than 2^32 tags to be kept apart",
                    used.len()
                );
                return Err(BuildError::new("nodes", reason));
            }
            tags.numbered = Some(used.into_iter().collect());
        }
        for (number, job) in jobs.iter().enumerate() {
            tags.check_wildcards(job, &tenants[number], number, &on_node)?;
        }
        Ok(tags)
    }

    fn check_wildcards(
        &self,
        job: &Job<'_>,
        own: &[Settled],
        number: usize,
        on_node: &[u32],
    ) -> Result<(), BuildError> {
        let wild = |of: &Operation| of.kind != OperationKind::Calc && (of.peer == ANY || of.tag == ANY);
        if !job.schedule.shapes().iter().any(|shape| wild(&shape.operation)) {
            return Ok(());
        }
        let mut of_job = vec![0_u32; on_node.len()];
        own.iter().for_each(|settled| of_job[settled.tenant.node as usize] += 1);
        for (rank, settled) in (0..).zip(own) {
            for number_of in job.schedule.of_rank(rank) {
                let operation = job.schedule.operation(rank, number_of);
                if !wild(&operation) {
                    continue;
                }
                let peer = own.get(operation.peer as usize);
                let (from, to) = match operation.kind {
                    OperationKind::Send => (Some(settled), peer),
                    _ => (peer, Some(settled)),
                };
                let alone = |at: Option<&Settled>| {
                    at.is_none_or(|settled| on_node[settled.tenant.node as usize] == 1)
                };
                let only_one = from.is_none_or(|settled| of_job[settled.tenant.node as usize] == 1);
                let source_known = operation.peer != ANY || self.common_slot[number].is_some();
                let fine = if operation.tag == ANY { alone(to) && only_one } else { source_known };
                if !fine {
                    let reason = format!(
                        "job `{}`, rank {rank}: operation {} takes any {}, which on a shared node could match a message of another rank",
                        job.name,
                        job.schedule.label(rank, number_of),
                        if operation.tag == ANY { "tag" } else { "source" }
                    );
                    return Err(BuildError::new("schedule", reason));
                }
            }
        }
        Ok(())
    }

    /// The tag of a message of the rank in `slot` of a job; `peer` is the other side's slot.
    #[inline]
    pub(super) fn of(&self, operation: &Operation, slot: u32, peer: Option<u32>, job: u32) -> u32 {
        if self.slots == 1 || operation.tag == ANY {
            return operation.tag;
        }
        // a receive from anybody is refused unless all ranks of the job have one slot
        let peer = peer.or(self.common_slot[job as usize]).unwrap_or(0);
        let (from, to) = match operation.kind {
            OperationKind::Send => (slot, peer),
            _ => (peer, slot),
        };
        let tag = match &self.numbered {
            Some(tags) => tags.partition_point(|&tag| tag < operation.tag) as u64,
            None => operation.tag.into(),
        };
        ((u64::from(from) * self.slots + u64::from(to)) * self.width + tag) as u32
    }
}
