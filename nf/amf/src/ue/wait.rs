//! The waiting operations of a procedure: the next NAS message, NGAP message, or handover input.
use super::{Event, ProcedureLayer, Stop, Ue, Work};
use crate::metrics;
use crate::n2::uplink::Uplink;
use martlet_nas::inbound::Inbound;
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_sbi::Problem;
use std::future::pending;
use std::time::Instant;

/// What a UE task waits for.
pub(crate) enum Awaited {
    Event(Event),
    /// The UE-associated connection is lost.
    Lost,
    /// The connection with the target gNB of a handover is lost.
    TargetLost,
    /// The time limit has passed.
    Nothing,
}

/// Input of a handover, which has two gNBs.
pub(crate) enum HandoverInput {
    /// From the source gNB.
    Source(Uplink),
    /// From the target gNB.
    Target(Uplink),
    /// The connection with the target gNB of a handover is lost.
    TargetLost,
    /// The time limit has passed.
    Nothing,
}

impl Ue {
    /// The next event, or the end of the wait at `until`.
    pub(crate) async fn next(&mut self, until: Option<Instant>) -> Awaited {
        // Boxed, because the task of an idle UE has no slot and stays small.
        let awaited = match self.task.slot.is_some() {
            true => Box::pin(self.next_with_slot(until)).await,
            false => self.receive(until).await,
        };
        if self.is_taken_over().await { Awaited::Lost } else { awaited }
    }

    async fn next_with_slot(&mut self, until: Option<Instant>) -> Awaited {
        let Some(slot) = &self.task.slot else { return self.receive(until).await };
        // Meanwhile the slot may go to a procedure of another gNB.
        slot.set_idle(true);
        // A slow UE gives up its concurrency slot after the slot timeout.
        let timeout = self.amf.concurrency.slot_timeout;
        match tokio::time::timeout(timeout, self.receive(until)).await {
            Ok(awaited) => {
                if let Some(slot) = &self.task.slot {
                    slot.set_idle(false);
                }
                awaited
            }
            Err(_) => {
                self.task.slot = None;
                self.receive(until).await
            }
        }
    }

    /// The next event. Loses none when it is cancelled.
    pub(super) async fn receive(&mut self, until: Option<Instant>) -> Awaited {
        let lost = self.connection.as_ref().map(|connection| connection.lost());
        // Boxed, because few UEs have a target.
        let target = self.target.as_ref().map(|connection| {
            let lost = connection.lost();
            Box::pin(async move { lost.notified().await })
        });
        tokio::select! {
            biased;
            () = async { match target { Some(lost) => lost.await, None => pending().await } } => {
                Awaited::TargetLost
            }
            () = async { match &lost { Some(lost) => lost.notified().await, None =>
                pending().await } } => Awaited::Lost,
            event = self.task.inbox.recv() => match event {
                Some(event) => Awaited::Event(event),
                // The task holds a sender, so the channel never closes.
                None => pending().await,
            },
            () = async { match until { Some(until) =>
                tokio::time::sleep_until(until.into()).await, None => pending().await } } => {
                Awaited::Nothing
            }
        }
    }

    /// The next NAS message that passes the security check; `None` at the time limit. Transfers do
    /// not wait for the confirmation of a configuration update (TS 24.501, 5.4.4.6).
    pub async fn next_nas(&mut self, until: Instant) -> Result<Option<Inbound>, Stop> {
        loop {
            if self.is_updating_configuration() {
                self.deliver_transfers().await?;
            }
            let nas = match self.nas_queues.received.pop_front() {
                Some(nas) => nas,
                None => match self.next(Some(until)).await {
                    Awaited::Nothing => return Ok(None),
                    Awaited::Lost => return Err(Stop::ConnectionLost),
                    Awaited::TargetLost => continue,
                    Awaited::Event(Event::Uplink {
                        amf_id,
                        message: Uplink::Nas { nas, location },
                    }) if self.is_current(amf_id) => {
                        self.update_location(location);
                        nas
                    }
                    Awaited::Event(event) => {
                        self.unsolicited(event).await?;
                        continue;
                    }
                },
            };
            if let Some(inbound) = self.open(&nas).await {
                return Ok(Some(inbound));
            }
        }
    }

    /// The next NGAP message that `pick` accepts; `None` at the time limit. NAS messages are
    /// queued.
    pub async fn next_ngap<T>(
        &mut self,
        until: Instant,
        mut pick: impl FnMut(Uplink) -> Result<T, Uplink> + Send,
    ) -> Result<Option<T>, Stop> {
        loop {
            match self.next(Some(until)).await {
                Awaited::Nothing => return Ok(None),
                Awaited::Lost => return Err(Stop::ConnectionLost),
                Awaited::TargetLost => {}
                Awaited::Event(Event::Uplink { amf_id, message }) if self.is_current(amf_id) => {
                    match pick(message) {
                        Ok(picked) => return Ok(Some(picked)),
                        Err(message) => self.unsolicited(Event::Uplink { amf_id, message }).await?,
                    }
                }
                Awaited::Event(event) => self.unsolicited(event).await?,
            }
        }
    }

    /// The next NGAP message from the source or the target gNB.
    pub async fn next_handover_input(&mut self, until: Instant) -> Result<HandoverInput, Stop> {
        loop {
            match self.next(Some(until)).await {
                Awaited::Nothing => return Ok(HandoverInput::Nothing),
                Awaited::Lost => return Err(Stop::ConnectionLost),
                Awaited::TargetLost => return Ok(HandoverInput::TargetLost),
                Awaited::Event(Event::Uplink { amf_id, message }) if self.is_current(amf_id) => {
                    return Ok(HandoverInput::Source(message));
                }
                Awaited::Event(Event::Uplink { amf_id, message })
                    if self.target.as_ref().is_some_and(|target| target.amf_id == amf_id) =>
                {
                    return Ok(HandoverInput::Target(message));
                }
                Awaited::Event(event) => self.unsolicited(event).await?,
            }
        }
    }

    /// Handles an event that the running procedure does not wait for.
    pub(super) async fn unsolicited(&mut self, event: Event) -> Result<(), Stop> {
        match self.handle_unsolicited(event)? {
            Some(procedure) => procedure.await,
            None => Ok(()),
        }
    }

    /// Queues an uplink NAS message for the next procedure.
    pub fn queue_nas(&mut self, nas: bytes::Bytes) {
        match self.nas_queues.received.len() < self.amf.config.limits.ue_queue {
            true => self.nas_queues.received.push_back(nas),
            false => metrics::dropped("nas"),
        }
    }

    /// Takes a DEREGISTRATION REQUEST from the queued NAS messages, if there is one.
    pub async fn take_deregistration_request(&mut self) -> Option<Inbound> {
        while let Some(nas) = self.nas_queues.received.pop_front() {
            let Some(inbound) = self.open(&nas).await else { continue };
            if let Nas5gsMessage::Gmm(_, Nas5gmmMessage::DeregistrationRequestUeOriginating(_)) =
                &inbound.message
            {
                return Some(inbound);
            }
        }
        None
    }

    /// Whether a message belongs to the UE's current connection.
    pub fn is_current(&self, amf_id: u64) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.amf_id == amf_id)
    }

    /// Drops the queued NAS messages of a connection that has ended.
    pub fn leave_connection(&mut self) {
        self.nas_queues.received.clear();
    }

    /// Stores the user location that a message carries.
    pub fn update_location(&mut self, location: Option<crate::n2::Location>) {
        if let (Some(connection), Some(location)) = (&mut self.connection, location) {
            connection.set_location(location);
        }
    }

    /// A message of the current connection, for the task to handle once the running procedure has
    /// ended.
    pub(crate) fn later(&self, message: Uplink) -> Work {
        let amf_id = self.connection.as_ref().map_or(0, |connection| connection.amf_id);
        Work::Event(Event::Uplink { amf_id, message })
    }

    /// Queues work until the running procedure has ended.
    pub(crate) fn defer(&mut self, work: Work) {
        if self.task.deferred.len() < self.amf.config.limits.ue_queue {
            return self.task.deferred.push_back(work);
        }
        metrics::dropped("ue_event");
        if let Some(suppressed) = martlet_log_limit::line("ue_event", self.gnb_address()) {
            tracing::warn!(supi = self.label(), gnb = self.gnb(), suppressed, "UE queue full");
        }
        if let Work::Event(Event::Transfer(mut transfer)) = work {
            transfer.answer(Err(Problem::new(503, "NF_CONGESTION").detail("UE queue full")));
        }
    }
}
