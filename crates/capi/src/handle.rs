//! Objects behind pointers. A panic breaks its object and ends at the border.

use std::panic::{AssertUnwindSafe, catch_unwind};

use airbound_senders::stream::{StreamReceiver, StreamSender};

use crate::status::airbound_status::{self, *};
use crate::status::tell;

/// The sending end. Made by airbound_sender_new(), released by airbound_sender_free().
#[expect(non_camel_case_types, reason = "a name of C")]
#[derive(Debug)]
pub struct airbound_sender(pub(crate) Object<StreamSender>);

/// The receiving end. Made by airbound_receiver_new(), released by airbound_receiver_free().
#[expect(non_camel_case_types, reason = "a name of C")]
#[derive(Debug)]
pub struct airbound_receiver(pub(crate) Object<StreamReceiver>);

/// An object that works until a call of it panics.
#[derive(Debug)]
pub(crate) struct Object<T> {
    inner: T,
    broken: bool,
}

impl<T> Object<T> {
    pub(crate) const fn new(inner: T) -> Self {
        Self { inner, broken: false }
    }

    /// Calls `act` with the object unless it is broken.
    pub(crate) fn call(&mut self, act: impl FnOnce(&mut T) -> airbound_status) -> airbound_status {
        if self.broken {
            return broken();
        }
        let inner = &mut self.inner;
        guarded(|| act(inner)).unwrap_or_else(|| {
            self.broken = true;
            broken()
        })
    }
}

/// Calls `act`; `None` if it panicked.
pub(crate) fn guarded<R>(act: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(act)).ok()
}

pub(crate) fn broken() -> airbound_status {
    tell(AIRBOUND_BROKEN, "a fault of the library broke this object: release it, and report the fault")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_breaks_one_object_and_no_other() {
        let (mut one, mut other) = (Object::new(1), Object::new(2));
        assert_eq!(one.call(|_| AIRBOUND_OK), AIRBOUND_OK);
        assert_eq!(one.call(|_| panic!("a fault")), AIRBOUND_BROKEN);
        assert_eq!(one.call(|_| AIRBOUND_OK), AIRBOUND_BROKEN);
        assert_eq!(other.call(|_| AIRBOUND_OK), AIRBOUND_OK);
    }
}
