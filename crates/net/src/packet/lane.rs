//! Classes of packets at a port: what is held for the other end, and who may go.

/// One of a thing for each class. The first lies in place, so that with one class there is nothing else to look at.
#[derive(Debug, Clone)]
pub(super) struct PerClass<T> {
    first: T,
    rest: Box<[T]>,
}

impl<T> PerClass<T> {
    /// For so many classes, at least one.
    pub(super) fn new(classes: u8, make: impl Fn() -> T) -> Self {
        Self { first: make(), rest: (1..classes).map(|_| make()).collect() }
    }

    #[inline]
    pub(super) const fn get(&self, class: u8) -> &T {
        if class == 0 { &self.first } else { &self.rest[class as usize - 1] }
    }

    #[inline]
    pub(super) const fn get_mut(&mut self, class: u8) -> &mut T {
        if class == 0 { &mut self.first } else { &mut self.rest[class as usize - 1] }
    }

    /// Whether `what` holds for any of them.
    #[inline]
    pub(super) fn any(&self, what: impl Fn(&T) -> bool) -> bool {
        what(&self.first) || self.rest.iter().any(what)
    }

    /// All of them, by class.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.first).chain(&self.rest)
    }

    /// All of them, by class.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.first).chain(&mut self.rest)
    }
}

/// A class at a port.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    /// Bytes that came by this link and have not left the switch behind it (lossless networks).
    pub(super) held_bytes: u64,
    /// Bytes for which the other end has said that it has room; `u64::MAX` where nobody asks, nothing while it is paused.
    pub(super) credit_bytes: u64,
    /// The other end has asked it to stop, and not yet to go on.
    pub(super) pausing: bool,
}

impl Lane {
    pub(super) const fn new() -> Self {
        Self { held_bytes: 0, credit_bytes: u64::MAX, pausing: false }
    }

    /// Whether a packet of so many bytes may go.
    #[inline]
    pub(super) const fn lets(&self, bytes: u32) -> bool {
        self.credit_bytes >= bytes as u64
    }
}
