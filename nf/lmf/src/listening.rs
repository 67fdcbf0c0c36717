//! Who waits for LPP messages over NAS.
//!
//! The correlation identity goes through the UE, and another one can be guessed: so it counts only
//! for the UE of its session, which is the one that the AMF says the message is from.
use crate::owner::Supi;
use martlet_lcs_protocol::Payload;
use martlet_lcsupp::PayloadType;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Its procedure has it.
    Taken,
    /// Nobody waits for it, or its procedure does not read.
    Nobody,
    /// It is of another UE's session.
    Another,
}

/// By LCS correlation identity.
#[derive(Default)]
pub(crate) struct Listening(Mutex<HashMap<String, (Supi, mpsc::Sender<Payload>)>>);

impl Listening {
    fn all(&self) -> MutexGuard<'_, HashMap<String, (Supi, mpsc::Sender<Payload>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Messages of this UE with this correlation identity go here.
    pub(crate) fn listen(&self, ue: &Supi, correlation: &str, sink: mpsc::Sender<Payload>) {
        self.all().insert(correlation.into(), (ue.clone(), sink));
    }

    /// They go nowhere from now on.
    pub(crate) fn unlisten(&self, correlation: &str) {
        self.all().remove(correlation);
    }

    /// A message of a UE came.
    pub(crate) fn heard(&self, ue: &str, correlation: &str, octets: Vec<u8>) -> Heard {
        let payload = Payload {
            payload_type: PayloadType::Lpp,
            octets,
            session: correlation.as_bytes().to_vec(),
        };
        match self.all().get(correlation) {
            Some((of, _)) if **of != *ue => Heard::Another,
            Some((_, sink)) if sink.try_send(payload).is_ok() => Heard::Taken,
            _ => Heard::Nobody,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ue_answers_in_the_session_of_another() {
        let (listening, ue) = (Listening::default(), Supi::from("imsi-999700000000001"));
        let (sink, mut payloads) = mpsc::channel(1);
        listening.listen(&ue, "7", sink);
        assert_eq!(listening.heard("imsi-999700000000002", "7", vec![1]), Heard::Another);
        assert_eq!(listening.heard(&ue, "8", vec![2]), Heard::Nobody);
        assert!(payloads.try_recv().is_err());
        assert_eq!(listening.heard(&ue, "7", vec![3]), Heard::Taken);
        assert_eq!(payloads.try_recv().unwrap().octets, [3]);
        listening.unlisten("7");
        assert_eq!(listening.heard(&ue, "7", vec![4]), Heard::Nobody);
    }
}
