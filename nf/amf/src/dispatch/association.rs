//! SCTP associations with gNBs: accept them, and read each one's messages in order until the gNB
//! or the AMF ends it.
use crate::n2::{Gnb, Link};
use crate::procedures::n2::{amf_status_indication, overload_control};
use crate::{Amf, former_associations, metrics};
use bytes::Bytes;
use martlet_interop::{N2Quirk, Quirk};
use martlet_log_limit as log_limit;
use martlet_nf::Shutdown;
use martlet_sctp::{Association, Listener, PPID_NGAP, SctpError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Time for a gNB to confirm the end of its association.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1);

/// Messages of one gNB that are handled before other tasks run. A pause after each one would poll
/// the kernel each time, and the answers to the UEs of one packet would leave in a packet each,
/// with a transaction of the database each.
const BATCH: u32 = 32;

/// Accepts gNBs until the shutdown, and serves each in a task of its own.
pub(crate) async fn accept(amf: Arc<Amf>, listener: &Listener, shutdown: Shutdown) {
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(association) => {
                    martlet_nf::spawn(serve_gnb(amf.clone(), association));
                }
                Err(error) => {
                    if let Some(suppressed) = log_limit::line("accept", 0) {
                        tracing::error!(
                            %error, suppressed,
                            "association not accepted"
                        );
                    }
                    // The system lacks a resource: retry after a pause, not in a busy loop.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            () = shutdown.wait() => return,
        }
    }
}

/// Serves a gNB until its association ends.
async fn serve_gnb(amf: Arc<Amf>, association: Association) {
    let address = association.peer_addr();
    if !amf.config.n2.admits_address(address.ip()) {
        refused("not_allowed", address, "gNB address refused: add it to amf.n2.allow");
        return association.abort();
    }
    if amf.cut_off.is_set() {
        refused("cut_off", address, "association refused: the database of the set is unreachable");
        return association.abort();
    }
    if association.omits_checksums() {
        N2Quirk::OffloadedChecksum.met("amf", address.ip());
    }
    let gnb = add_gnb(&amf, Link::Sctp(association.clone()), address);
    let _ended = EndedByPanic { amf: &amf, gnb: &gnb };
    let mut deadline = tokio::time::Instant::now() + amf.config.n2.setup_timeout();
    let mut timed = true;
    let (mut is_stored, mut handled) = (false, 0);
    loop {
        tokio::select! {
            received = association.recv() => match received {
                Ok(Some(message)) if is_ngap(&amf, address, message.ppid) => {
                    handle(&amf, &gnb, message.data).await;
                    if !is_stored && gnb.setup().is_some() {
                        is_stored = true;
                        former_associations::persist(&amf.contexts, gnb.number, &association);
                    }
                    handled = (handled + 1) % BATCH;
                    // The gNBs take turns, so that a flood of one does not delay the others.
                    if handled == 0 {
                        tokio::task::yield_now().await;
                    }
                }
                Ok(Some(message)) => {
                    metrics::ngap_error("payload_protocol");
                    if let Some(suppressed) = log_limit::line("payload_protocol", address.ip()) {
                        tracing::warn!(
                            gnb = gnb.label(), ppid = message.ppid, suppressed,
                            "message dropped: not NGAP"
                        );
                    }
                }
                Ok(None) => {
                    if let Some(suppressed) = log_limit::line("closed", address.ip()) {
                        tracing::info!(
                            gnb = gnb.label(), suppressed,
                            "gNB closed its association"
                        );
                    }
                    break;
                }
                // Refused, or replaced by another association.
                Err(SctpError::Closed) => break,
                Err(error) => {
                    if let Some(suppressed) = log_limit::line("association", address.ip()) {
                        tracing::warn!(gnb = gnb.label(), %error, suppressed, "association lost");
                    }
                    // The new association of a restarted gNB is accepted by the listener.
                    debug_assert!(!matches!(error, SctpError::NoSuchStream { .. }));
                    break;
                }
            },
            () = tokio::time::sleep_until(deadline), if timed => {
                timed = gnb.setup().is_none();
                let now = tokio::time::Instant::now();
                let retry_at = gnb.claim.retry_at().map(tokio::time::Instant::from_std);
                if gnb.claim.is_running() {
                    deadline = now + amf.config.n2.probe_timeout();
                } else if let Some(at) = retry_at.map(|at| at + amf.config.n2.setup_timeout())
                    && at > now
                {
                    // NG SETUP FAILURE contained a time to wait.
                    deadline = at;
                } else if timed {
                    refused("setup_timeout", address, "association aborted: no NG SETUP in time");
                    association.abort();
                    break;
                }
            }
            () = amf.cut_off.until_set() => {
                amf_status_indication::unavailable(&amf, &gnb).await;
                overload_control::start(&gnb);
                // A gNB that does not confirm the end must not keep it open.
                let ended = association.shutdown();
                if tokio::time::timeout(SHUTDOWN_LIMIT, ended).await.is_err() {
                    association.abort();
                }
                break;
            }
            // After the AMF STATUS INDICATION.
            () = amf.procedures_ended.until_set() => {
                association.shutdown().await;
                break;
            }
        }
    }
    if is_stored {
        former_associations::remove(&amf.contexts, gnb.number);
    }
    ended(&amf, &gnb);
}

/// Whether a message is NGAP, by its payload protocol identifier. Some gNBs set none, or one whose
/// bytes are reversed.
fn is_ngap(amf: &Amf, address: SocketAddr, ppid: u32) -> bool {
    if ppid == PPID_NGAP {
        return true;
    }
    let is_tolerated = !amf.config.n2.strict && matches!(ppid.swap_bytes(), 0 | PPID_NGAP);
    if is_tolerated {
        N2Quirk::PayloadProtocol.met("amf", address.ip());
    }
    is_tolerated
}

/// Counts an association that the AMF ends, and logs it.
fn refused(reason: &'static str, address: SocketAddr, text: &str) {
    metrics::association_refused(reason);
    if let Some(suppressed) = log_limit::line(reason, address.ip()) {
        tracing::warn!(%address, reason, suppressed, "{text}");
    }
}

/// Serves a gNB whose messages come through a channel.
#[cfg(test)]
pub(crate) async fn serve(
    amf: Arc<Amf>,
    link: Link,
    mut messages: tokio::sync::mpsc::Receiver<Bytes>,
) {
    let gnb = add_gnb(&amf, link, ([127, 0, 0, 1], 1).into());
    while let Some(data) = messages.recv().await {
        handle(&amf, &gnb, data).await;
    }
    ended(&amf, &gnb);
}

/// Adds an association. At the limit, one without NG setup ends to make room.
fn add_gnb(amf: &Arc<Amf>, link: Link, address: SocketAddr) -> Arc<Gnb> {
    let gnb = Arc::new(Gnb::new(amf.tables.next_number(), address, link));
    let limits = &amf.config.limits;
    let surplus = amf.gnbs.add(&gnb, amf.config.n2.max_pending_per_address, limits.max_gnbs);
    tracing::debug!(%address, "association set up");
    if let Some(surplus) = surplus {
        refused("pending", surplus.address, "association aborted: too many without NG SETUP");
        surplus.abort();
    }
    gnb
}

async fn handle(amf: &Arc<Amf>, gnb: &Arc<Gnb>, data: Bytes) {
    gnb.count_received();
    for answer in amf.receive(gnb, &data) {
        gnb.send(gnb.stream_of(&answer), &answer).await;
    }
}

/// Ends an association whose task panics.
struct EndedByPanic<'a> {
    amf: &'a Arc<Amf>,
    gnb: &'a Arc<Gnb>,
}

impl Drop for EndedByPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            ended(self.amf, self.gnb);
        }
    }
}

/// The association has ended, and the connections of its UEs with it.
fn ended(amf: &Arc<Amf>, gnb: &Arc<Gnb>) {
    amf.gnbs.remove(gnb);
    let label = gnb.label();
    let connections = amf.tables.drop_gnb(gnb.number);
    if connections > 0
        && let Some(suppressed) = log_limit::line("gnb_lost", gnb.address.ip())
    {
        tracing::info!(gnb = label, connections, suppressed, "UE connections released: gNB lost");
    }
}
