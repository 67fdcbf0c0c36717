//! The reader of one association: messages in their order, until the gNB or the AMF ends it.
use super::{Gnb, Link};
use crate::procedures::n2::amf_status_indication;
use crate::{Amf, metrics};
use bytes::Bytes;
use martlet_sctp::{Association, PPID_NGAP, SctpError};
use std::net::SocketAddr;
use std::sync::Arc;

/// Serves a gNB until its association ends.
pub(crate) async fn run(amf: Arc<Amf>, association: Association) {
    let address = association.peer_addr();
    let Some(gnb) = accept(&amf, Link::Sctp(association.clone()), address) else {
        association.shutdown().await;
        return;
    };
    let shutdown = amf.context.shutdown();
    loop {
        tokio::select! {
            received = association.recv() => match received {
                Ok(Some(message)) if message.ppid == PPID_NGAP => handle(&amf, &gnb, message.data).await,
                Ok(Some(message)) => {
                    metrics::ngap_error("payload_protocol");
                    tracing::warn!(gnb = gnb.label(), ppid = message.ppid, "a message that is not NGAP was dropped");
                }
                Ok(None) => {
                    tracing::info!(gnb = gnb.label(), "the gNB closed its association");
                    break;
                }
                Err(error) => {
                    tracing::warn!(gnb = gnb.label(), %error, "the gNB is lost");
                    // The new association of a gNB that restarted waits to be accepted.
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
    let Some(gnb) = accept(&amf, link, ([127, 0, 0, 1], 1).into()) else { return };
    while let Some(data) = messages.recv().await {
        handle(&amf, &gnb, data).await;
    }
    ended(&amf, &gnb);
}

fn accept(amf: &Arc<Amf>, link: Link, address: SocketAddr) -> Option<Arc<Gnb>> {
    let gnb = Arc::new(Gnb::new(amf.tables.next_number(), address, link));
    if amf.gnbs.add(&gnb, amf.config.limits.max_gnbs) {
        tracing::debug!(%address, "an association is set up");
        return Some(gnb);
    }
    metrics::dropped("gnb");
    tracing::warn!(%address, "there are as many gNBs as amf.limits.max_gnbs allows; this one is closed");
    None
}

async fn handle(amf: &Arc<Amf>, gnb: &Arc<Gnb>, data: Bytes) {
    for answer in amf.receive(gnb, &data) {
        gnb.send(0, &answer).await;
    }
}

/// The association is gone, and with it the connections of its UEs.
fn ended(amf: &Arc<Amf>, gnb: &Arc<Gnb>) {
    amf.gnbs.remove(gnb.number);
    let label = gnb.label();
    gnb.set_up(None);
    let connections = amf.tables.lose_gnb(gnb.number);
    if connections > 0 {
        tracing::info!(
            gnb = label,
            connections,
            "the connections of the gNB's UEs have ended with it"
        );
    }
}
