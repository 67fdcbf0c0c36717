//! A procedure waits until it may be at work.
use super::{Awaited, Reject, Stop, Ue};
use crate::concurrency::{Full, Kind};
use martlet_nas::GmmCause;
use std::pin::pin;

impl Ue {
    /// Waits for the turn of a procedure of a kind. Until [`Ue::done`] it is at work, or until its
    /// UE keeps it waiting for too long.
    ///
    /// # Errors
    /// Too many wait, which the UE is told (TS 24.501, 5.5.1.2.5, #22); or something else comes
    /// first.
    pub async fn enter(&mut self, kind: Kind) -> Result<(), Stop> {
        let amf = self.amf.clone();
        let mut turn = pin!(amf.concurrency.of(kind).enter());
        loop {
            tokio::select! {
                biased;
                entered = &mut turn => {
                    self.slot = Some(entered.map_err(|Full| self.congested())?);
                    return Ok(());
                }
                came = self.next(None) => match came {
                    Awaited::Event(event) => self.meanwhile(event).await?,
                    Awaited::Lost => return Err(Stop::ConnectionLost),
                    Awaited::Nothing | Awaited::TargetLost => {}
                },
            }
        }
    }

    /// The procedure at work has ended.
    pub fn done(&mut self) {
        self.slot = None;
    }

    /// The UE is told to come back later.
    pub fn congested(&self) -> Stop {
        self.amf.turned_away.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let back_off = Some(self.amf.config.limits.back_off_s);
        Stop::Reject(Reject { back_off, ..GmmCause::Congestion.into() })
    }
}
