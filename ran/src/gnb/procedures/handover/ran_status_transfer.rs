//! Uplink and downlink RAN status transfer (TS 38.413, 8.4.6 and 8.4.7). The simulated radio has no
//! PDCP, so the source sends made-up sequence numbers and the target checks that they arrive.
use crate::gnb::node::Gnb;
use crate::gnb::ue::context::UeContext;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, aper, build_ngap, extract_ngap_ies};

/// Range of a 12-bit PDCP sequence number.
const SEQUENCE_NUMBERS: u16 = 1 << 12;

/// UPLINK RAN STATUS TRANSFER with one radio bearer for each session.
pub(crate) fn uplink(ue: &mut UeContext, sessions: &[u8]) -> Result<Vec<u8>, Error> {
    ue.ran_status.0 = (ue.ran_status.0 + 1) % SEQUENCE_NUMBERS;
    let number = ue.ran_status.0;
    let item = |psi: &u8| {
        let count = |number| {
            COUNTValueForPDCPSN12::new(number % SEQUENCE_NUMBERS, psi.to_owned().into(), None)
        };
        let uplink = DRBStatusUL::dRBStatusUL12(DRBStatusUL12::new(count(number), None, None));
        let downlink = DRBStatusDL::dRBStatusDL12(DRBStatusDL12::new(count(number + 7), None));
        DRBsSubjectToStatusTransferItem::new(DRBID((*psi).into()), uplink, downlink, None)
    };
    let list = DRBsSubjectToStatusTransferList(sessions.iter().map(item).collect());
    let container = RANStatusTransferTransparentContainer::new(list, None);
    ue.ran_status.1 = Some(aper::encode(&container)?);
    let (amf_id, ran_id) = ue.ids().unwrap_or_default();
    build_ngap!(
        InitiatingMessage,
        UplinkRANStatusTransfer,
        UplinkRANStatusTransfer,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        RANStatusTransfer_TransparentContainer(container),
    )?
    .encode()
}

/// DOWNLINK RAN STATUS TRANSFER. It may arrive after the UE.
pub(crate) fn downlink(ue: &mut UeContext, gnb: &Gnb, pdu: &NGAP_PDU) -> Result<(), Error> {
    extract_ngap_ies!(pdu, DownlinkRANStatusTransfer,
        req container: RANStatusTransferTransparentContainer =
            RANStatusTransfer_TransparentContainer(it) => it,
    );
    match ue.ran_status.1.take() {
        Some(sent) if sent == aper::encode(&container)? => {
            gnb.count_status_transfer();
        }
        sent => tracing::warn!(
            supi = ue.supi(),
            gnb = gnb.name(),
            ?sent,
            "RAN status differs from what the source sent"
        ),
    }
    Ok(())
}
