//! A UE whose messages a case sees, and may change or withhold.
use super::unmet::{Unmet, failed};
use crate::ue::{Action, Event, RegistrationType, UeConfig, UeNas};
use martlet_security::Plmn;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// The identifiers of a UE-associated logical NG connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ids {
    pub amf: u64,
    pub ran: u32,
}

/// The UE.
pub(super) struct RawUe {
    /// Its NAS layer.
    pub nas: UeNas,
    pub ran_id: u32,
    pub amf_id: Option<u64>,
    /// What its NAS layer reported.
    pub events: Vec<Event>,
}

static NEXT_RAN_ID: AtomicU32 = AtomicU32::new(1);

impl RawUe {
    pub fn new(config: UeConfig, serving: Plmn) -> Result<RawUe, Unmet> {
        let ran_id = NEXT_RAN_ID.fetch_add(1, Ordering::Relaxed);
        Ok(RawUe { nas: UeNas::new(config, serving)?, ran_id, amf_id: None, events: Vec::new() })
    }

    /// The identifiers of its connection, once the AMF has assigned its own.
    pub fn ids(&self) -> Option<Ids> {
        Some(Ids { amf: self.amf_id?, ran: self.ran_id })
    }

    /// Starts a registration. Returns REGISTRATION REQUEST.
    pub fn registration_request(&mut self) -> Result<Vec<u8>, Unmet> {
        self.nas.register(RegistrationType::InitialRegistration, Instant::now())?;
        match self.take_sent().pop() {
            Some(nas) => Ok(nas),
            None => failed("the UE sends no REGISTRATION REQUEST"),
        }
    }

    /// Passes a downlink message to the UE. Returns the messages with which it answers.
    pub fn receive(&mut self, nas: &[u8]) -> Vec<Vec<u8>> {
        self.nas.receive(nas, Instant::now());
        self.take_sent()
    }

    /// The messages that the UE has to send.
    pub fn take_sent(&mut self) -> Vec<Vec<u8>> {
        let mut sent = Vec::new();
        while let Some(action) = self.nas.poll_action() {
            match action {
                Action::Send { nas, .. } => sent.push(nas),
                Action::Event(event) => self.events.push(event),
                Action::ReleaseConnection => {}
            }
        }
        sent
    }

    /// The AMF released the connection. The next one has another RAN UE NGAP ID.
    pub fn released(&mut self) {
        self.nas.connection_released(Instant::now());
        self.amf_id = None;
        self.ran_id = NEXT_RAN_ID.fetch_add(1, Ordering::Relaxed);
    }
}
