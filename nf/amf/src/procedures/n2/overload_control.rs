//! Overload control (TS 38.413, 8.7.7 and 8.7.8; TS 23.501, 5.19.5.2): while UEs are rejected with
//! #22, gNBs admit only mobile-terminated and emergency access.
//!
//! ```text
//! AMF -> gNBs  OVERLOAD START, at the first reject
//! AMF -> gNBs  OVERLOAD STOP, amf.limits.overload_ms after the last reject
//! ```
//!
//! A gNB whose UEs have used its share gets them alone; all gNBs get them at the context limit.
use crate::Amf;
use crate::metrics;
use crate::n2::{Encoded, Gnb};
use martlet_nf::Shutdown;
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Interval between two checks.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// The congestion rejects of a gNB's UEs.
#[derive(Default)]
struct Watched {
    rejects: u64,
    /// The last check with new rejects.
    since: Option<Instant>,
    /// Whether the gNB has got OVERLOAD START.
    notified: bool,
}

impl Watched {
    /// Whether a reject is not older than `hold`.
    fn is_overloaded(&mut self, rejects: u64, hold: Duration) -> bool {
        if rejects != self.rejects {
            (self.rejects, self.since) = (rejects, Some(Instant::now()));
        }
        self.since.is_some_and(|since| since.elapsed() < hold)
    }
}

/// Sends OVERLOAD START and OVERLOAD STOP until the shutdown.
pub(crate) async fn watch(amf: Arc<Amf>, shutdown: Shutdown) {
    let hold = Duration::from_millis(amf.config.limits.overload_ms.into());
    let mut all = Watched::default();
    let mut gnbs: BTreeMap<u64, Watched> = BTreeMap::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(CHECK_INTERVAL.min(hold)) => {}
            () = shutdown.wait() => return,
        }
        let of_all = all.is_overloaded(amf.congestion_rejects.load(Ordering::Relaxed), hold);
        let present = amf.gnbs.all();
        gnbs.retain(|number, _| present.iter().any(|gnb| gnb.number == *number));
        for gnb in present.iter().filter(|gnb| gnb.setup().is_some()) {
            let watched = gnbs.entry(gnb.number).or_default();
            let rejects = gnb.congestion_rejects.load(Ordering::Relaxed);
            let overloaded = watched.is_overloaded(rejects, hold) || of_all;
            if overloaded != watched.notified && report(gnb, overloaded) {
                watched.notified = overloaded;
            }
        }
    }
}

/// Sends OVERLOAD START to a gNB, if it reads.
pub(crate) fn start(gnb: &Gnb) {
    if let Ok(message) = message(true) {
        gnb.try_send(&message);
    }
}

/// OVERLOAD START or OVERLOAD STOP.
fn message(overloaded: bool) -> Result<Encoded, martlet_ngap::Error> {
    let response = OverloadResponse::overloadAction(OverloadAction::reject_rrc_cr_signalling);
    let message = match overloaded {
        true => build_ngap!(
            InitiatingMessage,
            OverloadStart,
            OverloadStart,
            AMFOverloadResponse(response)
        ),
        false => build_ngap!(InitiatingMessage, OverloadStop, OverloadStop,),
    };
    Encoded::of(&message?)
}

/// Sends OVERLOAD START or OVERLOAD STOP to a gNB. Returns false if it has to be sent later.
fn report(gnb: &Gnb, overloaded: bool) -> bool {
    let Ok(message) = message(overloaded) else { return true };
    if !gnb.try_send(&message) {
        return false;
    }
    let unverified_ues = gnb.unverified();
    if overloaded {
        metrics::overloads();
        tracing::warn!(
            gnb = gnb.label(),
            unverified_ues,
            "overload started: UEs rejected with #22; OVERLOAD START sent"
        );
    } else {
        tracing::info!(gnb = gnb.label(), unverified_ues, "overload ended; OVERLOAD STOP sent");
    }
    true
}
