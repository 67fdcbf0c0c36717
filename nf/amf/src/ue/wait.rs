//! How a procedure waits for the UE or its gNB, and what becomes of everything else that comes
//! meanwhile.
use super::{Event, Stop, Ue, Work};
use crate::metrics;
use crate::n2::uplink::Uplink;
use martlet_nas::inbound::Inbound;
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};
use martlet_sbi::Problem;
use std::future::pending;
use std::time::Instant;

/// What came.
pub(crate) enum Awaited {
    Event(Event),
    /// The connection has ended.
    Lost,
    /// The connection with the target gNB of a handover has ended.
    TargetLost,
    /// Nothing in time.
    Nothing,
}

/// What a procedure with two gNBs hears.
pub(crate) enum HandoverInput {
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
    pub(crate) async fn next(&mut self, until: Option<Instant>) -> Awaited {
        let came = self.next_of_any(until).await;
        if self.is_taken_over().await { Awaited::Lost } else { came }
    }

    async fn next_of_any(&mut self, until: Option<Instant>) -> Awaited {
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

    async fn come(&mut self, until: Option<Instant>) -> Awaited {
        let lost = self.connection.as_ref().map(|connection| connection.lost());
        let target = self.target.as_ref().map(|connection| connection.lost());
        tokio::select! {
            biased;
            () = async { match &target { Some(lost) => lost.notified().await, None => pending().await } } => Awaited::TargetLost,
            () = async { match &lost { Some(lost) => lost.notified().await, None => pending().await } } => Awaited::Lost,
            event = self.inbox.recv() => match event {
                Some(event) => Awaited::Event(event),
                // It holds a sender itself, so this does not happen.
                None => pending().await,
            },
            () = async { match until { Some(until) => tokio::time::sleep_until(until.into()).await, None => pending().await } } => {
                Awaited::Nothing
            }
        }
    }

    /// The next NAS message that may be acted on; `None` where none comes in time.
    pub async fn next_nas(&mut self, until: Instant) -> Result<Option<Inbound>, Stop> {
        loop {
            let nas = match self.set_aside.pop_front() {
                Some(nas) => nas,
                None => match self.next(Some(until)).await {
                    Awaited::Nothing => return Ok(None),
                    Awaited::Lost => return Err(Stop::ConnectionLost),
                    Awaited::TargetLost => continue,
                    Awaited::Event(Event::Uplink {
                        amf_id,
                        message: Uplink::Nas { nas, location },
                    }) if self.is_current(amf_id) => {
                        self.moved(location);
                        nas
                    }
                    Awaited::Event(event) => {
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
                Awaited::Nothing => return Ok(None),
                Awaited::Lost => return Err(Stop::ConnectionLost),
                Awaited::TargetLost => {}
                Awaited::Event(Event::Uplink { amf_id, message }) if self.is_current(amf_id) => {
                    match pick(message) {
                        Ok(picked) => return Ok(Some(picked)),
                        Err(Uplink::Nas { nas, location }) => {
                            self.moved(location);
                            self.set_aside_nas(nas);
                        }
                        Err(message) => self.meanwhile(Event::Uplink { amf_id, message }).await?,
                    }
                }
                Awaited::Event(event) => self.meanwhile(event).await?,
            }
        }
    }

    /// The next message of the gNB where the UE is, or of the one where it is to go.
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
                Awaited::Event(event) => self.meanwhile(event).await?,
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

    /// Keeps something until the procedure at work has ended.
    pub(crate) fn later(&mut self, work: Work) {
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
}
