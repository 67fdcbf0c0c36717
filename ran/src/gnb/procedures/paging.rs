//! Paging (TS 38.413, 8.5.1).
use crate::gnb::node::{Gnb, UeInput};
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, extract_ngap_ies};
use std::time::Instant;

/// Pages the idle UE with the 5G-S-TMSI, if the gNB's tracking area is in the list.
pub(crate) fn run(gnb: &Gnb, pdu: &NGAP_PDU, at: Instant) -> Result<(), Error> {
    extract_ngap_ies!(pdu, Paging,
        req identity: UEPagingIdentity = UEPagingIdentity(identity) => identity,
        req areas: TAIListForPaging = TAIListForPaging(list) => list,
    );
    let here = gnb.identity();
    if !areas.0.iter().any(|item| item.tai.plmn_identity == here.plmn && item.tai.tac.0 == here.tac)
    {
        tracing::debug!(gnb = gnb.name(), "paging for other tracking areas");
        return Ok(());
    }
    let UEPagingIdentity::fiveG_S_TMSI(s_tmsi) = identity else { return Ok(()) };
    let set = s_tmsi.amf_set_id.0.value() & 0x3ff;
    let pointer = match gnb.config().deviations.zero_amf_pointer {
        true => 0,
        false => s_tmsi.amf_pointer.0.value() & 0x3f,
    };
    let key = (set << 38) | (pointer << 32) | u64::from(u32::from_be_bytes(s_tmsi.five_g_tmsi.0));
    match gnb.idle_ue(key) {
        Some(inbox) => gnb.deliver(&inbox, UeInput::Paged { at }),
        None => {
            tracing::debug!(
                gnb = gnb.name(),
                s_tmsi = format_args!("{key:012x}"),
                "paging of an unknown UE"
            )
        }
    }
    Ok(())
}
