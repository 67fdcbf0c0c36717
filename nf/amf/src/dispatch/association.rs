//! SCTP associations with gNBs: accept them, and read each one's messages in order until the gNB
//! or the AMF ends it.
use crate::n2::{Gnb, Link};
use crate::procedures::n2::amf_status_indication;
use crate::{Amf, metrics};
use bytes::Bytes;
use martlet_nf::Shutdown;
use martlet_sctp::{Association, Listener, PPID_NGAP, SctpError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Serves each gNB in a task of its own until the shutdown.
pub(crate) async fn accept(amf: Arc<Amf>, listener: Listener, shutdown: Shutdown) {
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(association) => {
                    tokio::spawn(serve_gnb(amf.clone(), association));
                }
                Err(error) => {
                    tracing::error!(%error, "association not accepted");
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
    let Some(gnb) = add_gnb(&amf, Link::Sctp(association.clone()), address) else {
        association.shutdown().await;
        return;
    };
    let shutdown = amf.context.shutdown();
    loop {
        tokio::select! {
            received = association.recv() => match received {
                Ok(Some(message)) if message.ppid == PPID_NGAP =>
                    handle(&amf, &gnb, message.data).await,
                Ok(Some(message)) => {
                    metrics::ngap_error("payload_protocol");
                    tracing::warn!(
                        gnb = gnb.label(), ppid = message.ppid,
                        "message dropped: not NGAP"
                    );
                }
                Ok(None) => {
                    tracing::info!(gnb = gnb.label(), "gNB closed its association");
                    break;
                }
                Err(error) => {
                    tracing::warn!(gnb = gnb.label(), %error, "association lost");
                    // The new association of a restarted gNB is accepted by the listener.
                    debug_assert!(!matches!(error, SctpError::NoSuchStream { .. }));
                    break;
                }
            },
            () = shutdown.wait() => {
                amf_status_indication::unavailable(&amf, &gnb).await;
                association.shutdown().await;
                break;
            }
        }
    }
    ended(&amf, &gnb);
}

/// Serves a gNB whose messages come through a channel.
#[cfg(test)]
pub(crate) async fn serve(
    amf: Arc<Amf>,
    link: Link,
    mut messages: tokio::sync::mpsc::Receiver<Bytes>,
) {
    let Some(gnb) = add_gnb(&amf, link, ([127, 0, 0, 1], 1).into()) else { return };
    while let Some(data) = messages.recv().await {
        handle(&amf, &gnb, data).await;
    }
    ended(&amf, &gnb);
}

fn add_gnb(amf: &Arc<Amf>, link: Link, address: SocketAddr) -> Option<Arc<Gnb>> {
    let gnb = Arc::new(Gnb::new(amf.tables.next_number(), address, link));
    if amf.gnbs.add(&gnb, amf.config.limits.max_gnbs) {
        tracing::debug!(%address, "association set up");
        return Some(gnb);
    }
    metrics::dropped("gnb");
    tracing::warn!(%address, "gNB rejected: limit reached; raise amf.limits.max_gnbs");
    None
}

async fn handle(amf: &Arc<Amf>, gnb: &Arc<Gnb>, data: Bytes) {
    for answer in amf.receive(gnb, &data) {
        gnb.send(0, &answer).await;
    }
}

/// The association has ended, and the connections of its UEs with it.
fn ended(amf: &Arc<Amf>, gnb: &Arc<Gnb>) {
    amf.gnbs.remove(gnb.number);
    let label = gnb.label();
    gnb.set_up(None);
    let connections = amf.tables.drop_gnb(gnb.number);
    if connections > 0 {
        tracing::info!(gnb = label, connections, "UE connections released: gNB lost");
    }
}
