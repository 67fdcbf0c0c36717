//! How a procedure waits for the UE or its gNB, and what becomes of everything else that comes
//! meanwhile.
use super::{Event, Stop, Ue, Work};
use crate::metrics;
use crate::n2::uplink::Uplink;
use crate::procedures::connection::n1_n2_message_transfer;
use crate::procedures::handover::{n2_handover, ran_status_transfer, xn_handover};
use crate::procedures::positioning::nrppa_transport;
use martlet_nas::inbound::Inbound;
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_ngap::cause;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_sbi::Problem;
use std::future::pending;
use std::time::Instant;

/// What came.
pub(super) enum Came {
    Event(Event),
    /// The connection has ended.
    Lost,
    /// The connection with the target gNB of a handover has ended.
    TargetLost,
    /// Nothing in time.
    Nothing,
}

/// What a procedure with two gNBs hears.
pub(crate) enum Heard {
    /// Of the gNB where the UE is.
    Source(Uplink),
    /// Of the gNB where it is to go.
    Target(Uplink),
    /// The connection with the target has ended.
    TargetLost,
    /// Nothing in time.
    Nothing,
}

impl Ue {
    /// The next thing that comes, until a time if there is one.
    pub(super) async fn next(&mut self, until: Option<Instant>) -> Came {
        let came = self.next_of_any(until).await;
        if self.is_lost_to_another().await { Came::Lost } else { came }
    }

    async fn next_of_any(&mut self, until: Option<Instant>) -> Came {
        if self.slot.is_none() {
            return self.come(until).await;
        }
        // A UE that takes its time does not keep others from theirs.
        let patience = self.amf.concurrency.patience;
        match tokio::time::timeout(patience, self.come(until)).await {
            Ok(came) => came,
            Err(_) => {
                self.slot = None;
                self.come(until).await
            }
        }
    }

    async fn come(&mut self, until: Option<Instant>) -> Came {
        let lost = self.connection.as_ref().map(|connection| connection.lost());
        let target = self.target.as_ref().map(|connection| connection.lost());
        tokio::select! {
            biased;
            () = async { match &target { Some(lost) => lost.notified().await, None => pending().await } } => Came::TargetLost,
            () = async { match &lost { Some(lost) => lost.notified().await, None => pending().await } } => Came::Lost,
            event = self.inbox.recv() => match event {
                Some(event) => Came::Event(event),
                // It holds a sender itself, so this does not happen.
                None => pending().await,
            },
            () = async { match until { Some(until) => tokio::time::sleep_until(until.into()).await, None => pending().await } } => {
                Came::Nothing
            }
        }
    }

    /// The next NAS message that may be acted on; `None` where none comes in time.
    pub async fn next_nas(&mut self, until: Instant) -> Result<Option<Inbound>, Stop> {
        loop {
            let nas = match self.set_aside.pop_front() {
                Some(nas) => nas,
                None => match self.next(Some(until)).await {
                    Came::Nothing => return Ok(None),
                    Came::Lost => return Err(Stop::ConnectionLost),
                    Came::TargetLost => continue,
                    Came::Event(Event::Uplink {
                        amf_id,
                        message: Uplink::Nas { nas, location },
                    }) if self.is_current(amf_id) => {
                        self.moved(location);
                        nas
                    }
                    Came::Event(event) => {
                        self.meanwhile(event).await?;
                        continue;
                    }
                },
            };
            if let Some(inbound) = self.open(&nas).await {
                return Ok(Some(inbound));
            }
        }
    }

    /// The next message of the gNB that `pick` takes; `None` where none comes in time. NAS messages
    /// are set aside.
    pub async fn next_ngap<T>(
        &mut self,
        until: Instant,
        mut pick: impl FnMut(Uplink) -> Result<T, Uplink> + Send,
    ) -> Result<Option<T>, Stop> {
        loop {
            match self.next(Some(until)).await {
                Came::Nothing => return Ok(None),
                Came::Lost => return Err(Stop::ConnectionLost),
                Came::TargetLost => {}
                Came::Event(Event::Uplink { amf_id, message }) if self.is_current(amf_id) => {
                    match pick(message) {
                        Ok(picked) => return Ok(Some(picked)),
                        Err(Uplink::Nas { nas, location }) => {
                            self.moved(location);
                            self.set_aside_nas(nas);
                        }
                        Err(message) => self.meanwhile(Event::Uplink { amf_id, message }).await?,
                    }
                }
                Came::Event(event) => self.meanwhile(event).await?,
            }
        }
    }

    /// The next message of the gNB where the UE is, or of the one where it is to go.
    pub async fn hear(&mut self, until: Instant) -> Result<Heard, Stop> {
        loop {
            match self.next(Some(until)).await {
                Came::Nothing => return Ok(Heard::Nothing),
                Came::Lost => return Err(Stop::ConnectionLost),
                Came::TargetLost => return Ok(Heard::TargetLost),
                Came::Event(Event::Uplink { amf_id, message }) if self.is_current(amf_id) => {
                    return Ok(Heard::Source(message));
                }
                Came::Event(Event::Uplink { amf_id, message })
                    if self.target.as_ref().is_some_and(|target| target.amf_id == amf_id) =>
                {
                    return Ok(Heard::Target(message));
                }
                Came::Event(event) => self.meanwhile(event).await?,
            }
        }
    }

    /// The UE is at another gNB: it gets there what the one before did not deliver.
    pub async fn send_undelivered(&mut self) {
        for nas in std::mem::take(&mut self.undelivered) {
            if let Some(connection) = &self.connection {
                connection.send_nas(nas.to_vec()).await;
            }
        }
    }

    /// Keeps a NAS message until its turn comes.
    pub fn set_aside_nas(&mut self, nas: bytes::Bytes) {
        match self.set_aside.len() < self.amf.config.limits.ue_queue {
            true => self.set_aside.push_back(nas),
            false => metrics::dropped("nas"),
        }
    }

    /// A deregistration that the UE has asked for while another procedure was at work.
    pub async fn asked_to_leave(&mut self) -> Option<Inbound> {
        while let Some(nas) = self.set_aside.pop_front() {
            let Some(inbound) = self.open(&nas).await else { continue };
            if let Nas5gsMessage::Gmm(_, Nas5gmmMessage::DeregistrationRequestUeOriginating(_)) =
                &inbound.message
            {
                return Some(inbound);
            }
        }
        None
    }

    /// Whether a message is about the connection that the UE has, and not about one that has ended.
    pub fn is_current(&self, amf_id: u64) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.amf_id == amf_id)
    }

    /// The connection has ended: what came on it is void.
    pub fn leave_connection(&mut self) {
        self.set_aside.clear();
    }

    /// The UE is somewhere else.
    pub fn moved(&mut self, location: Option<crate::n2::Location>) {
        if let (Some(connection), Some(location)) = (&mut self.connection, location) {
            connection.location = location;
        }
    }

    /// Something that the procedure at work does not wait for: it ends the procedure, is kept for
    /// later, or is done now.
    pub(super) async fn meanwhile(&mut self, event: Event) -> Result<(), Stop> {
        match event {
            // The UE is there already, and what the procedure at work has for it goes there, too.
            Event::PathSwitch(gnb, request) => {
                Box::pin(xn_handover::run(self, gnb, *request)).await;
                Ok(())
            }
            Event::Uplink { amf_id, .. } if !self.is_current(amf_id) => Ok(()),
            Event::Uplink { message, amf_id } => match message {
                Uplink::ReleaseRequest { .. } => {
                    Err(Stop::Preempted(Work::Event(Event::Uplink { message, amf_id })))
                }
                // The procedure at work ends first, unless it waits for the handover; the gNB gives
                // up where that takes too long for the UE.
                Uplink::HandoverRequired(_) => {
                    self.later(Work::Event(Event::Uplink { message, amf_id }));
                    self.let_the_handover_go_first().await
                }
                Uplink::NotDelivered { .. } => {
                    self.note(message)?;
                    self.let_the_handover_go_first().await
                }
                Uplink::HandoverCancel(_) => {
                    self.waiting.retain(|work| !is_handover(work));
                    n2_handover::acknowledge_cancel(self).await;
                    Ok(())
                }
                other => self.note(other),
            },
            Event::Initial(_) | Event::Replaced(_) | Event::Evicted | Event::Deregister(_) => {
                Err(Stop::Preempted(Work::Event(event)))
            }
            Event::Arrived if self.leaving => Err(Stop::Arrived),
            Event::HandoverGivenUp if self.target.is_some() => {
                Err(Stop::Abandoned("handover_given_up"))
            }
            Event::Arrived | Event::HandoverGivenUp | Event::Watched | Event::Taken => Ok(()),
            Event::Transfer(transfer)
                if ran_status_transfer::content(&transfer.request).is_some() =>
            {
                ran_status_transfer::downlink(self, *transfer).await;
                Ok(())
            }
            Event::Transfer(mut transfer)
                if self.request.is_some() && transfer.answer.is_some() =>
            {
                transfer.answer(Err(n1_n2_message_transfer::registering()));
                Ok(())
            }
            Event::Transfer(transfer) if self.paging => {
                n1_n2_message_transfer::queue(self, *transfer);
                Ok(())
            }
            event => {
                self.later(Work::Event(event));
                Ok(())
            }
        }
    }

    /// What the procedure at work has sent does not get to a UE that is on its way: the handover
    /// does not wait for it, and what was not delivered comes after it (TS 24.501, 5.4.4.6).
    /// With another AMF the procedure is over.
    async fn let_the_handover_go_first(&mut self) -> Result<(), Stop> {
        if self.undelivered.is_empty() || self.request.is_some() {
            return Ok(());
        }
        let Some(work) =
            self.waiting.iter().position(is_handover).and_then(|at| self.waiting.remove(at))
        else {
            return Ok(());
        };
        match work {
            Work::Event(Event::Uplink { message: Uplink::HandoverRequired(required), .. })
                if n2_handover::stays_here(self, &required) =>
            {
                n2_handover::beside(self, *required).await;
                Ok(())
            }
            work => Err(Stop::Preempted(work)),
        }
    }

    /// Keeps something until the procedure at work has ended.
    pub(super) fn later(&mut self, work: Work) {
        if self.waiting.len() < self.amf.config.limits.ue_queue {
            return self.waiting.push_back(work);
        }
        metrics::dropped("ue_event");
        tracing::warn!(supi = self.label(), gnb = self.gnb(), "too much waits for the UE");
        if let Work::Event(Event::Transfer(mut transfer)) = work {
            transfer.answer(Err(
                Problem::new(503, "NF_CONGESTION").detail("too much waits for the UE")
            ));
        }
    }

    /// What a gNB may say at any time.
    pub(crate) fn note(&mut self, message: Uplink) -> Result<(), Stop> {
        match message {
            Uplink::RadioCapability(capability) => self.radio_capability = Some(capability),
            Uplink::NotDelivered { cause: why, nas } => {
                let cause = cause::text(&why);
                tracing::debug!(
                    supi = self.label(),
                    gnb = self.gnb(),
                    cause,
                    "a NAS message was not delivered"
                );
                // A UE on its way to another gNB gets it there (TS 38.413, 8.6.4); else its timer
                // repeats it.
                let few = self.undelivered.len() < self.amf.config.limits.ue_queue;
                if let Some(nas) = nas.filter(|_| few && is_moving(&why)) {
                    self.undelivered.push(nas);
                }
            }
            Uplink::Location(location) => self.moved(location),
            Uplink::Nrppa { routing, message } => nrppa_transport::uplink(self, &routing, message),
            Uplink::Error(Some(Cause::radioNetwork(
                CauseRadioNetwork::unknown_local_UE_NGAP_ID
                | CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID,
            ))) => return Err(Stop::ConnectionLost),
            Uplink::Error(_) => {}
            other => {
                metrics::ngap_error("state");
                tracing::warn!(
                    supi = self.label(),
                    gnb = self.gnb(),
                    "unexpected: {}",
                    other.name()
                );
            }
        }
        Ok(())
    }
}

/// Whether something that waits is a handover.
fn is_handover(work: &Work) -> bool {
    matches!(work, Work::Event(Event::Uplink { message: Uplink::HandoverRequired(_), .. }))
}

/// Whether a NAS message was not delivered because its UE changes to another gNB.
fn is_moving(cause: &Cause) -> bool {
    use CauseRadioNetwork as Radio;
    let Cause::radioNetwork(cause) = cause else { return false };
    matches!(
        cause,
        Radio::ng_intra_system_handover_triggered
            | Radio::ng_inter_system_handover_triggered
            | Radio::xn_handover_triggered
    )
}
