//! NG reset by a gNB (TS 38.413, 8.7.4.2) of all or some connections.
//!
//! ```text
//! gNB -> AMF  NG RESET
//! AMF -> gNB  NG RESET ACKNOWLEDGE
//! ```
use crate::Amf;
use crate::metrics::Procedure;
use crate::n2::{Gnb, Handled};
use martlet_ngap::inbound::Fault;
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, cause, extract_ngap_ies};
use std::sync::Arc;

/// Drops the connections and acknowledges.
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Arc<Gnb>, pdu: &NGAPPDU<'_>) -> Handled {
    let procedure = Procedure::start("ng_reset");
    let (why, reset) = read(pdu).map_err(|error| Fault::of(pdu, &error))?;
    let why = why.as_ref().map(cause::text).unwrap_or_default();
    let answer = match reset {
        ResetType::partOfNG_Interface(list) => {
            let lost = list.0.iter().filter(|item| {
                let (amf_id, ran_id) = (item.amf_ue_ngap_id.as_ref(), item.ran_ue_ngap_id.as_ref());
                amf.tables.drop_connection(gnb.number, amf_id.map(|id| id.0), ran_id.map(|id| id.0))
            });
            let connections = lost.count();
            if let Some(suppressed) = martlet_log_limit::line("ng_reset", gnb.address.ip()) {
                tracing::info!(
                    gnb = gnb.label(),
                    connections,
                    cause = why,
                    suppressed,
                    "NG RESET: connections dropped"
                );
            }
            // The list is returned unchanged (8.7.4.2.2).
            build_ngap!(
                SuccessfulOutcome,
                NGReset,
                NGResetAcknowledge,
                UEAssociatedLogicalNGConnectionList(list),
            )
        }
        _ => {
            let connections = amf.tables.drop_gnb(gnb.number);
            if let Some(suppressed) = martlet_log_limit::line("ng_reset", gnb.address.ip()) {
                tracing::info!(
                    gnb = gnb.label(),
                    connections,
                    cause = why,
                    suppressed,
                    "NG RESET: all connections dropped"
                );
            }
            build_ngap!(SuccessfulOutcome, NGReset, NGResetAcknowledge,)
        }
    };
    procedure.succeeded();
    Ok(answer.into_iter().collect())
}

fn read(pdu: &NGAPPDU<'_>) -> Result<(Option<Cause>, ResetType), martlet_ngap::Error> {
    extract_ngap_ies!(pdu, NGReset,
        lax why: Cause = Cause(why) => why,
        req reset: ResetType = ResetType(reset) => reset,
    );
    Ok((why, reset))
}
