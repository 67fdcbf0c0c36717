//! Dispatch of LPP messages over NAS to sessions.
//!
//! A UE can guess the correlation identity of another UE's session. So a message is delivered only
//! if the AMF names the session's UE as its sender.
use crate::user_plane::Supi;
use martlet_lcs_protocol::Payload;
use martlet_lcsupp::PayloadType;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// The result of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// The session got the message.
    Delivered,
    /// There is no such session, or its queue is full.
    UnknownSession,
    /// The session is another UE's.
    WrongUe,
}

/// The sessions by LCS correlation identity.
#[derive(Default)]
pub(crate) struct ControlPlaneSessions(Mutex<HashMap<String, (Supi, mpsc::Sender<Payload>)>>);

impl ControlPlaneSessions {
    fn all(&self) -> MutexGuard<'_, HashMap<String, (Supi, mpsc::Sender<Payload>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a session: messages of this UE with this correlation identity go to the sink.
    pub(crate) fn register(&self, ue: &Supi, correlation: &str, sink: mpsc::Sender<Payload>) {
        self.all().insert(correlation.into(), (ue.clone(), sink));
    }

    /// Removes a session.
    pub(crate) fn remove(&self, correlation: &str) {
        self.all().remove(correlation);
    }

    /// Delivers a message of a UE to its session.
    pub(crate) fn deliver(&self, ue: &str, correlation: &str, bytes: Vec<u8>) -> Delivery {
        let payload = Payload {
            payload_type: PayloadType::Lpp,
            bytes,
            session: correlation.as_bytes().to_vec(),
        };
        match self.all().get(correlation) {
            Some((of, _)) if **of != *ue => Delivery::WrongUe,
            Some((_, sink)) if sink.try_send(payload).is_ok() => Delivery::Delivered,
            _ => Delivery::UnknownSession,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_delivered_only_to_a_session_of_its_sender() {
        let (control_plane, ue) =
            (ControlPlaneSessions::default(), Supi::from("imsi-999700000000001"));
        let (sink, mut payloads) = mpsc::channel(1);
        control_plane.register(&ue, "7", sink);
        assert_eq!(control_plane.deliver("imsi-999700000000002", "7", vec![1]), Delivery::WrongUe);
        assert_eq!(control_plane.deliver(&ue, "8", vec![2]), Delivery::UnknownSession);
        assert!(payloads.try_recv().is_err());
        assert_eq!(control_plane.deliver(&ue, "7", vec![3]), Delivery::Delivered);
        assert_eq!(payloads.try_recv().unwrap().bytes, [3]);
        control_plane.remove("7");
        assert_eq!(control_plane.deliver(&ue, "7", vec![4]), Delivery::UnknownSession);
    }
}
