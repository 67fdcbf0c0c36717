//! Back-off timers of congestion control: T3396 (TS 24.501, 6.2.7), T3584 and T3585 (6.2.8).
use super::config::Slice;
use martlet_nas::GsmCause;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What a back-off timer applies to; `None` where the network chose the slice or the DNN.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    /// T3396.
    Dnn(Option<String>),
    /// T3584.
    SliceAndDnn(Option<Slice>, Option<String>),
    /// T3585.
    Slice(Option<Slice>),
}

/// The running timers.
#[derive(Debug, Default)]
pub(crate) struct BackOff(BTreeMap<Scope, Instant>);

impl BackOff {
    /// Starts the timer of a rejection with this 5GSM cause.
    pub fn start(&mut self, cause: u8, slice: Option<Slice>, dnn: Option<String>, until: Instant) {
        let scope = match GsmCause::from_u8(cause) {
            Some(GsmCause::InsufficientResourcesForSpecificSliceAndDnn) => {
                Scope::SliceAndDnn(slice, dnn)
            }
            Some(GsmCause::InsufficientResourcesForSpecificSlice) => Scope::Slice(slice),
            _ => Scope::Dnn(dnn),
        };
        self.0.insert(scope, until);
    }

    /// The time that is left before such a session may be requested.
    pub fn remaining(
        &mut self,
        slice: Option<Slice>,
        dnn: Option<&str>,
        now: Instant,
    ) -> Option<Duration> {
        self.0.retain(|_, until| *until > now);
        let dnn = dnn.map(str::to_string);
        let scopes = [Scope::Dnn(dnn.clone()), Scope::SliceAndDnn(slice, dnn), Scope::Slice(slice)];
        scopes
            .iter()
            .filter_map(|scope| self.0.get(scope))
            .max()
            .map(|until| until.duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_starts_the_timer_of_its_scope() {
        let (one, two) = (Some(Slice { sst: 1, sd: None }), Some(Slice { sst: 2, sd: None }));
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let after = |cause, dnn: &str| {
            let mut back_off = BackOff::default();
            back_off.start(cause, one, Some(dnn.into()), now + second);
            let mut of = |slice, dnn| back_off.remaining(slice, Some(dnn), now).is_some();
            let seen = [of(one, "a"), of(one, "b"), of(two, "a"), of(two, "b")];
            assert!(back_off.remaining(one, Some("a"), now + second).is_none(), "it is over");
            seen
        };
        assert_eq!(after(26, "a"), [true, false, true, false]);
        assert_eq!(after(67, "a"), [true, false, false, false]);
        assert_eq!(after(69, "a"), [true, true, false, false]);
    }
}
