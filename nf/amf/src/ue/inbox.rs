//! How a procedure waits for the UE or its gNB, and what becomes of everything else that comes meanwhile.
use super::{Event, Stop, Ue, Work};
use crate::metrics;
use crate::n2::uplink::Uplink;
use crate::procedures::n1_n2_message_transfer;
use martlet_nas::inbound::Inbound;
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
    /// Nothing in time.
    Nothing,
}

impl Ue {
    /// The next thing that comes, until a time if there is one.
    pub(super) async fn next(&mut self, until: Option<Instant>) -> Came {
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
        tokio::select! {
            biased;
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
                    Came::Event(Event::Uplink { amf_id, message: Uplink::Nas { nas, location } })
                        if self.is_current(amf_id) =>
                    {
                        self.moved(location);
                        nas
                    }
                    Came::Event(event) => {
                        self.meanwhile(event)?;
                        continue;
                    }
                },
            };
            if let Some(inbound) = self.open(&nas).await {
                return Ok(Some(inbound));
            }
        }
    }

    /// The next message of the gNB that `pick` takes; `None` where none comes in time. NAS messages are set aside.
    pub async fn next_ngap<T>(
        &mut self,
        until: Instant,
        mut pick: impl FnMut(Uplink) -> Result<T, Uplink> + Send,
    ) -> Result<Option<T>, Stop> {
        loop {
            match self.next(Some(until)).await {
                Came::Nothing => return Ok(None),
                Came::Lost => return Err(Stop::ConnectionLost),
                Came::Event(Event::Uplink { amf_id, message }) if self.is_current(amf_id) => match pick(message) {
                    Ok(picked) => return Ok(Some(picked)),
                    Err(Uplink::Nas { nas, location }) => {
                        self.moved(location);
                        match self.set_aside.len() < self.amf.config.limits.ue_queue {
                            true => self.set_aside.push_back(nas),
                            false => metrics::dropped("nas"),
                        }
                    }
                    Err(message) => self.meanwhile(Event::Uplink { amf_id, message })?,
                },
                Came::Event(event) => self.meanwhile(event)?,
            }
        }
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

    /// Something that the procedure at work does not wait for: it ends the procedure, is kept for later, or is done now.
    pub(super) fn meanwhile(&mut self, event: Event) -> Result<(), Stop> {
        match event {
            Event::Uplink { amf_id, .. } if !self.is_current(amf_id) => Ok(()),
            Event::Uplink { message, amf_id } => match message {
                Uplink::ReleaseRequest { .. } => Err(Stop::Preempted(Work::Event(Event::Uplink { message, amf_id }))),
                other => self.note(other),
            },
            Event::Initial(_) | Event::Replaced(_) | Event::Evicted | Event::Deregister(_) => {
                Err(Stop::Preempted(Work::Event(event)))
            }
            Event::Transfer(mut transfer) if self.request.is_some() && transfer.answer.is_some() => {
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

    /// Keeps something until the procedure at work has ended.
    pub(super) fn later(&mut self, work: Work) {
        if self.waiting.len() < self.amf.config.limits.ue_queue {
            return self.waiting.push_back(work);
        }
        metrics::dropped("ue_event");
        tracing::warn!(supi = self.label(), gnb = self.gnb(), "too much waits for the UE");
        if let Work::Event(Event::Transfer(mut transfer)) = work {
            transfer.answer(Err(Problem::new(503, "NF_CONGESTION").detail("too much waits for the UE")));
        }
    }

    /// What a gNB may say at any time.
    pub(super) fn note(&mut self, message: Uplink) -> Result<(), Stop> {
        match message {
            Uplink::RadioCapability(capability) => self.radio_capability = Some(capability),
            Uplink::NotDelivered(why) => {
                let cause = cause::text(&why);
                tracing::debug!(supi = self.label(), gnb = self.gnb(), cause, "a NAS message was not delivered");
            }
            Uplink::Error(Some(Cause::radioNetwork(
                CauseRadioNetwork::unknown_local_UE_NGAP_ID | CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID,
            ))) => return Err(Stop::ConnectionLost),
            Uplink::Error(_) => {}
            other => {
                metrics::ngap_error("state");
                tracing::warn!(supi = self.label(), gnb = self.gnb(), "unexpected: {}", name(&other));
            }
        }
        Ok(())
    }
}

/// The name of a message, for logs.
fn name(message: &Uplink) -> &'static str {
    match message {
        Uplink::Nas { .. } => "UPLINK NAS TRANSPORT",
        Uplink::ContextSetUp(_) => "INITIAL CONTEXT SETUP RESPONSE",
        Uplink::ContextNotSetUp { .. } => "INITIAL CONTEXT SETUP FAILURE",
        Uplink::SessionsSetUp(_) => "PDU SESSION RESOURCE SETUP RESPONSE",
        Uplink::SessionsModified(_) => "PDU SESSION RESOURCE MODIFY RESPONSE",
        Uplink::SessionsReleased(_) => "PDU SESSION RESOURCE RELEASE RESPONSE",
        Uplink::SessionNotify { .. } => "PDU SESSION RESOURCE NOTIFY",
        Uplink::SessionModifyIndication(_) => "PDU SESSION RESOURCE MODIFY INDICATION",
        Uplink::ReleaseRequest { .. } => "UE CONTEXT RELEASE REQUEST",
        Uplink::Released => "UE CONTEXT RELEASE COMPLETE",
        Uplink::NotDelivered(_) => "NAS NON DELIVERY INDICATION",
        Uplink::RadioCapability(_) => "UE RADIO CAPABILITY INFO INDICATION",
        Uplink::Error(_) => "ERROR INDICATION",
    }
}
