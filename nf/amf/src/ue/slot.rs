//! Concurrency slots: a procedure waits until it may run.
use super::{Awaited, Reject, Stop, Ue};
use crate::concurrency::{Full, Kind};
use martlet_nas::GmmCause;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;

impl Ue {
    /// Waits for a concurrency slot. The procedure holds it until [`Ue::release_slot`], or until
    /// the slot timeout passes while it waits for the UE.
    ///
    /// NAS messages that arrive meanwhile are handled at once: no request of the AMF is open that
    /// one of them could answer. So a UE that deregisters leaves the queue.
    ///
    /// # Errors
    ///
    /// `Reject` with #22 if the queue is full (TS 24.501, 5.5.1.2.5), or the `Stop` of another
    /// event.
    pub async fn acquire_slot(&mut self, kind: Kind) -> Result<(), Stop> {
        let amf = self.amf.clone();
        // A deferred request of a connection that has ended does not wait.
        let Some(connection) = &self.connection else { return Err(Stop::ConnectionLost) };
        // The verified UEs of a gNB have a share of their own: a radio without keys delays only UEs
        // that, like itself, begin without a security context.
        let share = connection.gnb.number << 1 | u64::from(self.is_exchange_secure());
        let mut slot = pin!(amf.concurrency.of(kind).enter(share));
        loop {
            let awaited = tokio::select! {
                biased;
                acquired = &mut slot => {
                    self.task.slot = Some(acquired.map_err(|Full| self.gnb_congested())?);
                    return Ok(());
                }
                // Cancelled by the slot: nothing may be awaited here after the event is taken.
                awaited = self.receive_unless_queued() => awaited,
            };
            if self.is_taken_over().await {
                return Err(Stop::ConnectionLost);
            }
            match awaited {
                Awaited::Event(event) => self.unsolicited(event).await?,
                Awaited::Lost => return Err(Stop::ConnectionLost),
                Awaited::Nothing | Awaited::TargetLost => {}
            }
            self.handle_queued_nas().await?;
        }
    }

    /// The next event; nothing if NAS messages are queued.
    async fn receive_unless_queued(&mut self) -> Awaited {
        match self.nas_queues.received.is_empty() {
            true => self.receive(None).await,
            false => Awaited::Nothing,
        }
    }

    /// Gives the concurrency slot back.
    pub fn release_slot(&mut self) {
        self.task.slot = None;
    }

    /// Counts a congestion of the AMF and returns the reject with its back-off time.
    pub fn congested(&self) -> Stop {
        self.amf.congestion_rejects.fetch_add(1, Relaxed);
        self.congestion_reject()
    }

    /// Counts a congestion by the UEs of this gNB and returns the reject with its back-off time.
    pub fn gnb_congested(&self) -> Stop {
        if let Some(connection) = &self.connection {
            connection.gnb.congestion_rejects.fetch_add(1, Relaxed);
        }
        self.congestion_reject()
    }

    fn congestion_reject(&self) -> Stop {
        let back_off = Some(self.amf.config.limits.back_off_s);
        Stop::Reject(Reject { back_off, ..GmmCause::Congestion.into() })
    }
}
