//! Members beyond a power of two fold into a neighbour.

/// The largest power of two of the members goes on; of the first `2 * folded` members the even ones
/// fold into the next one (as in Thakur, Rabenseifner and Gropp, 2005).
#[derive(Debug, Clone, Copy)]
pub(super) struct Folding {
    /// The largest power of two that is not above the number of members.
    pub(super) core: u32,
    /// Members beyond it.
    pub(super) folded: u32,
}

/// What a member is after folding.
pub(super) enum Role {
    /// It hands its part to the member after it and waits for the result.
    Folded,
    /// It has this index among those that go on.
    Core(u32),
}

impl Folding {
    pub(super) fn new(members: u32) -> Self {
        let core = 1 << members.ilog2();
        Self { core, folded: members - core }
    }

    pub(super) fn role(self, member: u32) -> Role {
        match member {
            m if m >= 2 * self.folded => Role::Core(m - self.folded),
            m if m.is_multiple_of(2) => Role::Folded,
            m => Role::Core(m / 2),
        }
    }

    /// The member that goes on with this index.
    pub(super) fn member(self, core: u32) -> u32 {
        if core < self.folded { 2 * core + 1 } else { core + self.folded }
    }
}
