//! What others have worked out about a topology.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustc_hash::FxHashMap;

/// Values by their types, as long as somebody has them. A copy of a topology begins without any.
#[derive(Default)]
pub(super) struct Derived(Mutex<FxHashMap<TypeId, Weak<dyn Any + Send + Sync>>>);

impl Derived {
    pub(super) fn get<T: Any + Send + Sync, E>(
        &self,
        fits: impl FnOnce(&T) -> bool,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        // who asks for the same at the same time waits for it; a failure leaves what was there
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.get(&TypeId::of::<T>()).and_then(Weak::upgrade);
        if let Some(value) = before.and_then(|value| value.downcast::<T>().ok()).filter(|value| fits(value)) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        let shared: Arc<dyn Any + Send + Sync> = value.clone();
        known.insert(TypeId::of::<T>(), Arc::downgrade(&shared));
        Ok(value)
    }
}

impl Clone for Derived {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Derived")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_made_once_while_somebody_has_it_and_it_fits() {
        let derived = Derived::default();
        let get = |value: u32, least: u32| {
            derived.get(|&known: &u32| known >= least, || if value > 0 { Ok(value) } else { Err("none") })
        };
        assert_eq!(get(0, 0), Err("none"));
        let first = get(7, 0).expect("it was made");
        assert_eq!(get(9, 5).as_deref(), Ok(&7), "it is the first one");
        // others have types of their own
        assert_eq!(derived.get(|_: &u64| true, || Ok::<_, ()>(3)).as_deref(), Ok(&3));
        assert_eq!(get(0, 8), Err("none"), "it does not fit");
        assert_eq!(get(9, 7).as_deref(), Ok(&7), "it is still there");
        let second = get(9, 8).expect("another was made");
        assert_eq!(get(1, 0).as_deref(), Ok(&9));
        drop((first, second));
        assert_eq!(get(1, 0).as_deref(), Ok(&1), "nobody had it any more");
        let _kept = get(4, 0);
        assert_eq!(derived.clone().get(|_: &u32| true, || Ok::<_, ()>(5)).as_deref(), Ok(&5));
    }
}
