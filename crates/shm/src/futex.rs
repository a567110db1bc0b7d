//! Words that processes wait on (Linux futex).
#![allow(unsafe_code, reason = "one system call, on words that live as long as the reference")]

use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

/// A counter that others wait for. Wrapping: only differences mean something.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Event {
    value: AtomicU32,
    waiters: AtomicU32,
}

impl Event {
    pub(crate) fn get(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    /// Another value; wakes who waits.
    pub(crate) fn set(&self, value: u32) {
        self.value.store(value, Ordering::Release);
        self.wake();
    }

    /// Counts one up; wakes who waits. The new value.
    pub(crate) fn increment(&self) -> u32 {
        let value = self.value.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        self.wake();
        value
    }

    /// Wakes all who wait.
    pub(crate) fn wake(&self) {
        // either we see the waiter, or it sees the value
        fence(Ordering::SeqCst);
        if self.waiters.load(Ordering::Relaxed) > 0 {
            // SAFETY: the word lives as long as `self`; FUTEX_WAKE reads nothing else.
            unsafe {
                libc::syscall(libc::SYS_futex, self.value.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
            }
        }
    }

    /// Sleeps until the value is not `seen`, or someone wakes us, or `most` has passed.
    pub(crate) fn sleep(&self, seen: u32, most: Duration) {
        let time = libc::timespec {
            tv_sec: most.as_secs() as libc::time_t,
            tv_nsec: most.subsec_nanos() as libc::c_long,
        };
        self.waiters.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        // SAFETY: the word and the time live during the call.
        unsafe {
            libc::syscall(libc::SYS_futex, self.value.as_ptr(), libc::FUTEX_WAIT, seen, &raw const time);
        }
        self.waiters.fetch_sub(1, Ordering::Relaxed);
    }
}
