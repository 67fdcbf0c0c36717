//! ERROR INDICATION (TS 38.413, 8.7.5, 9.2.6.11).

use oxirush_ngap::ngap::{
    Cause, CriticalityDiagnostics, ErrorIndication, NGAP_PDU, ProtocolIEContainer,
};
use oxirush_ngap::{Error, Message, build_ngap_ie};

use crate::ue_ids::UeIds;

/// An ERROR INDICATION with the identities that are known, and a cause, diagnostics or both.
pub fn error_indication(
    ue: UeIds,
    cause: Option<Cause>,
    diagnostics: Option<CriticalityDiagnostics>,
) -> Result<NGAP_PDU, Error> {
    let mut ies = Vec::with_capacity(4);
    if let Some(id) = ue.amf {
        ies.push(build_ngap_ie!(ErrorIndication, AMF_UE_NGAP_ID(id))?);
    }
    if let Some(id) = ue.ran {
        ies.push(build_ngap_ie!(ErrorIndication, RAN_UE_NGAP_ID(id))?);
    }
    if let Some(cause) = cause {
        ies.push(build_ngap_ie!(ErrorIndication, Cause(cause))?);
    }
    if let Some(diagnostics) = diagnostics {
        ies.push(build_ngap_ie!(ErrorIndication, CriticalityDiagnostics(diagnostics))?);
    }
    NGAP_PDU::of_message(
        &ErrorIndication::new(ProtocolIEContainer(ies)),
        ErrorIndication::CRITICALITY,
    )
}
