//! For how long a UE asks for no session that there is no room for (TS 24.501, 6.2.7 and 6.2.8).
use crate::ue::Slice;
use martlet_nas::GsmCause;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What the network has no room for; `None` where the UE leaves the slice or the data network to
/// it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// T3396.
    Dnn(Option<String>),
    /// T3584.
    SliceAndDnn(Option<Slice>, Option<String>),
    /// T3585.
    Slice(Option<Slice>),
}

/// Timers that run.
#[derive(Debug, Default)]
pub(crate) struct BackOff(BTreeMap<Kind, Instant>);

impl BackOff {
    /// A refusal with this cause has a back-off timer, until then.
    pub fn begin(&mut self, cause: u8, slice: Option<Slice>, dnn: Option<String>, until: Instant) {
        let kind = match GsmCause::from_u8(cause) {
            Some(GsmCause::InsufficientResourcesForSpecificSliceAndDnn) => {
                Kind::SliceAndDnn(slice, dnn)
            }
            Some(GsmCause::InsufficientResourcesForSpecificSlice) => Kind::Slice(slice),
            _ => Kind::Dnn(dnn),
        };
        self.0.insert(kind, until);
    }

    /// How long such a session is not asked for.
    pub fn of(
        &mut self,
        slice: Option<Slice>,
        dnn: Option<&str>,
        now: Instant,
    ) -> Option<Duration> {
        self.0.retain(|_, until| *until > now);
        let dnn = dnn.map(str::to_string);
        let kinds = [Kind::Dnn(dnn.clone()), Kind::SliceAndDnn(slice, dnn), Kind::Slice(slice)];
        kinds
            .iter()
            .filter_map(|kind| self.0.get(kind))
            .max()
            .map(|until| until.duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_stops_its_kind_of_sessions_for_a_while() {
        let (one, two) = (Some(Slice { sst: 1, sd: None }), Some(Slice { sst: 2, sd: None }));
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let after = |cause, dnn: &str| {
            let mut back_off = BackOff::default();
            back_off.begin(cause, one, Some(dnn.into()), now + second);
            let mut of = |slice, dnn| back_off.of(slice, Some(dnn), now).is_some();
            let seen = [of(one, "a"), of(one, "b"), of(two, "a"), of(two, "b")];
            assert!(back_off.of(one, Some("a"), now + second).is_none(), "it is over");
            seen
        };
        assert_eq!(after(26, "a"), [true, false, true, false]);
        assert_eq!(after(67, "a"), [true, false, false, false]);
        assert_eq!(after(69, "a"), [true, true, false, false]);
    }
}
