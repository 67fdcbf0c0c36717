//! NAS messages to and from the UE (TS 24.501, 4.4).
use super::{Security, Stop, Ue, Work, signalling, unverified};
use crate::metrics;
use crate::n2::signalling::Direction;
use bytes::Bytes;
use martlet_interop::{N1Quirk, Quirk};
use martlet_nas::inbound::{self, Inbound, Refusal};
use martlet_nas::{
    GmmCause, IntegrityAlgorithm, Nas5gmmMessage, Nas5gsMessage, NasCount, outbound, reaction,
};
use martlet_nf::capture;
use std::time::{Duration, Instant};

/// Protection of a downlink NAS message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Ciphered once secure exchange is established (TS 24.501, 4.4.2.5); plain before.
    AsSecured,
    /// Integrity protected with the context that it takes into use, not ciphered (SECURITY MODE
    /// COMMAND).
    NewContext,
}

/// A NAS timer; the message is repeated when it expires.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NasTimer {
    pub name: &'static str,
    pub duration: Duration,
}

impl Ue {
    /// Protects a message.
    pub fn protect(
        &mut self,
        message: &Nas5gsMessage,
        protection: Protection,
    ) -> Result<Vec<u8>, Stop> {
        let is_secure = self.is_exchange_secure();
        signalling::record(self, Direction::Downlink, message);
        if capture::wants(capture::Link::N1) {
            let gnb = self.connection.as_ref().map(|connection| connection.gnb.address);
            capture::record(capture::Link::N1, None, gnb, &message.encode().unwrap_or_default());
        }
        let protected = match (protection, self.security.as_mut()) {
            (Protection::NewContext, Some(security)) => {
                outbound::security_mode_command(&mut security.nas, message)
            }
            (_, Some(security)) if is_secure => outbound::to_ue(&mut security.nas, message),
            _ => message.encode(),
        };
        protected.map_err(|error| {
            metrics::nas_error("not_encodable");
            tracing::error!(
                supi = self.label(), gnb = self.gnb(), %error,
                "NAS message not encodable"
            );
            Stop::Abandoned("not_encodable")
        })
    }

    /// Sends a message to the UE.
    pub async fn send_nas(&mut self, message: &Nas5gsMessage) -> Result<(), Stop> {
        self.transmit(message, Protection::AsSecured).await
    }

    async fn transmit(
        &mut self,
        message: &Nas5gsMessage,
        protection: Protection,
    ) -> Result<(), Stop> {
        let nas = self.protect(message, protection)?;
        let Some(connection) = &self.connection else { return Err(Stop::ConnectionLost) };
        tracing::trace!(supi = self.label(), %message, "downlink NAS message");
        match connection.send_nas(nas).await {
            true => Ok(()),
            false => Err(Stop::ConnectionLost),
        }
    }

    /// Sends a request and waits for the response that `answer` accepts. Repeats the request each
    /// time that the timer expires, up to `amf.timers.nas_attempts` transmissions in all.
    pub async fn exchange<T>(
        &mut self,
        request: &Nas5gsMessage,
        protection: Protection,
        timer: NasTimer,
        answer: impl FnMut(&mut Ue, &Inbound) -> Option<T> + Send,
    ) -> Result<T, Stop> {
        self.transmit(request, protection).await?;
        self.await_answer(request, protection, timer, answer).await
    }

    /// Waits for the response to a request that was sent already.
    pub async fn await_answer<T>(
        &mut self,
        request: &Nas5gsMessage,
        protection: Protection,
        timer: NasTimer,
        mut answer: impl FnMut(&mut Ue, &Inbound) -> Option<T> + Send,
    ) -> Result<T, Stop> {
        for attempt in 1..=self.amf.config.timers.nas_attempts {
            if attempt > 1 {
                tracing::debug!(
                    supi = self.label(),
                    gnb = self.gnb(),
                    timer = timer.name,
                    attempt,
                    "NAS timer expired"
                );
                self.transmit(request, protection).await?;
            }
            let until = Instant::now() + timer.duration;
            while let Some(inbound) = self.next_nas(until).await? {
                if let Some(answer) = answer(self, &inbound) {
                    return Ok(answer);
                }
                self.unexpected(inbound).await?;
            }
        }
        Err(Stop::NoAnswer(timer.name))
    }

    /// Checks and deciphers an uplink NAS message. `None` if it is discarded; a due answer has been
    /// sent. Also a reject changes nothing here: the UE registers or requests service again.
    pub async fn open(&mut self, nas: &Bytes) -> Option<Inbound> {
        let is_secure = self.is_exchange_secure();
        let context = self.security.as_mut().map(|security| &mut security.nas);
        let opened = match inbound::from_ue(context, is_secure, nas) {
            Err(refused) if refused.reason == Refusal::Integrity => {
                self.open_with_previous(nas).ok_or(refused)
            }
            Ok(inbound) => {
                self.leave_previous_security(&inbound);
                Ok(inbound)
            }
            opened => opened,
        };
        match opened {
            Ok(inbound) => {
                if inbound.is_verified() {
                    self.secure_exchange();
                }
                tracing::trace!(
                    supi = self.label(), nas = %inbound.message,
                    "uplink NAS message"
                );
                signalling::record(self, Direction::Uplink, &inbound.message);
                if capture::wants(capture::Link::N1) {
                    let gnb = self.connection.as_ref().map(|connection| connection.gnb.address);
                    capture::record(
                        capture::Link::N1,
                        gnb,
                        None,
                        &inbound.message.encode().unwrap_or_default(),
                    );
                }
                Some(inbound)
            }
            Err(refused) => {
                let reason = refused.reason.label();
                metrics::nas_error(reason);
                if let Some(suppressed) = martlet_log_limit::line(reason, self.gnb_address()) {
                    tracing::warn!(
                        supi = self.label(), gnb = self.gnb(), %refused, reason, suppressed,
                        "NAS message discarded"
                    );
                }
                if let Some(answer) = refused.answer {
                    let _ = self.send_nas(&answer).await;
                }
                None
            }
        }
    }

    /// Opens a message with the context that was in use before the running security mode control:
    /// that of messages which the UE sent before it received SECURITY MODE COMMAND, and of
    /// SECURITY MODE REJECT (TS 24.501, 5.4.2.5). SECURITY MODE COMPLETE needs the new one
    /// (5.4.2.3).
    fn open_with_previous(&mut self, nas: &[u8]) -> Option<Inbound> {
        if !self.is_exchange_secure() {
            return None;
        }
        let previous = self.previous_security.as_deref_mut()?;
        let inbound = inbound::from_ue(Some(&mut previous.nas), true, nas).ok()?;
        let is_complete = matches!(
            inbound.message,
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::SecurityModeComplete(_))
        );
        (!is_complete).then_some(inbound)
    }

    /// A message under the context of the running security mode control shows that the UE has taken
    /// it into use, although SECURITY MODE COMPLETE may be lost. A failure does not restore the
    /// previous one then: the UE would discard what that protects. Null integrity shows nothing.
    pub fn leave_previous_security(&mut self, inbound: &Inbound) {
        let is_null = |security: &Security| security.integrity == IntegrityAlgorithm::NIA0;
        let is_reject =
            matches!(inbound.message, Nas5gsMessage::Gmm(_, Nas5gmmMessage::SecurityModeReject(_)));
        if inbound.is_verified() && !is_reject && !self.security.as_ref().is_none_or(is_null) {
            self.previous_security = None;
        }
    }

    /// Handles the queued NAS messages of a procedure that has sent no request to the UE.
    pub(super) async fn handle_queued_nas(&mut self) -> Result<(), Stop> {
        while let Some(nas) = self.nas_queues.received.pop_front() {
            if let Some(inbound) = self.open(&nas).await {
                self.unexpected(inbound).await?;
            }
        }
        Ok(())
    }

    /// A NAS message that the running procedure does not wait for.
    async fn unexpected(&mut self, inbound: Inbound) -> Result<(), Stop> {
        use Nas5gmmMessage::*;
        let Nas5gsMessage::Gmm(_, message) = &inbound.message else { return Ok(()) };
        let may_preempt = unverified::may_preempt(&inbound, self.is_exchange_secure());
        match message {
            // A repetition of the running request (TS 24.501, 5.5.1.2.8 e).
            RegistrationRequest(_) if self.is_running_request(&inbound.message) => Ok(()),
            RegistrationRequest(_) | DeregistrationRequestUeOriginating(_) if may_preempt => {
                Err(Stop::Preempted(Work::Nas(inbound.into())))
            }
            UlNasTransport(_) | ServiceRequest(_)
                if inbound.is_verified() && self.is_registered() =>
            {
                self.defer(Work::Nas(inbound.into()));
                Ok(())
            }
            FiveGmmStatus(status) => {
                self.log_5gmm_status(status.fgmm_cause.cause_raw());
                Ok(())
            }
            ConfigurationUpdateComplete(_)
                if inbound.is_verified() && self.is_registered() && self.tolerates_complete() =>
            {
                Ok(())
            }
            _ => {
                metrics::nas_error("state");
                let message = inbound.message.to_string();
                tracing::debug!(
                    supi = self.label(),
                    gnb = self.gnb(),
                    message,
                    "unexpected NAS message"
                );
                match inbound.is_verified() {
                    // The next wait reports a lost connection.
                    true => {
                        self.send_5gmm_status(
                            GmmCause::MessageTypeNotCompatibleWithTheProtocolState,
                        )
                        .await
                    }
                    false => Ok(()),
                }
            }
        }
    }

    /// Sends 5GMM STATUS (TS 24.501, 5.4.6).
    pub async fn send_5gmm_status(&mut self, cause: GmmCause) -> Result<(), Stop> {
        self.send_nas(&reaction::status(cause)).await
    }

    /// Whether CONFIGURATION UPDATE COMPLETE without a command is tolerated; it changes nothing.
    pub fn tolerates_complete(&self) -> bool {
        let tolerates = !self.amf.config.n1.strict;
        if tolerates {
            N1Quirk::UnrequestedConfigurationUpdateComplete.met("amf", self.gnb());
        }
        tolerates
    }

    /// 5GMM STATUS of the UE: logged, with no further action (TS 24.501, 5.4.6.2).
    pub fn log_5gmm_status(&self, cause: u8) {
        metrics::nas_error("log_5gmm_status");
        if let Some(suppressed) = martlet_log_limit::line("log_5gmm_status", self.gnb_address()) {
            tracing::info!(
                supi = self.label(),
                gnb = self.gnb(),
                cause,
                suppressed,
                "5GMM STATUS received"
            );
        }
    }
}

/// The uplink NAS COUNT of a message that passed the integrity check.
pub(crate) fn count(inbound: &Inbound) -> Option<NasCount> {
    match inbound.assurance {
        inbound::Assurance::Verified { count, .. } => Some(count),
        _ => None,
    }
}
