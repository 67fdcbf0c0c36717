//! RAN status transfer at a handover (TS 38.413, 8.4.6 and 8.4.7): the source says from where the
//! target is to count the packets of each radio bearer. The simulated radio numbers no packets: the
//! source gives numbers of its own, and the target sees that they arrive.
use crate::gnb::Gnb;
use crate::gnb::ue_task::UeTask;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, aper, build_ngap, extract_ngap_ies};
use std::sync::atomic::Ordering;

/// Of a PDCP sequence number of 12 bits.
const NUMBERS: u16 = 1 << 12;

/// UPLINK RAN STATUS TRANSFER: one radio bearer for each session.
pub(crate) fn uplink(ue: &mut UeTask, sessions: &[u8]) -> Result<Vec<u8>, Error> {
    ue.ran_status.0 = (ue.ran_status.0 + 1) % NUMBERS;
    let number = ue.ran_status.0;
    let item = |psi: &u8| {
        let count =
            |number| COUNTValueForPDCPSN12::new(number % NUMBERS, psi.to_owned().into(), None);
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

/// DOWNLINK RAN STATUS TRANSFER. A UE that is quick comes before it.
pub(crate) fn downlink(ue: &mut UeTask, gnb: &Gnb, pdu: &NGAP_PDU) -> Result<(), Error> {
    extract_ngap_ies!(pdu, DownlinkRANStatusTransfer,
        req container: RANStatusTransferTransparentContainer = RANStatusTransfer_TransparentContainer(it) => it,
    );
    match ue.ran_status.1.take() {
        Some(sent) if sent == aper::encode(&container)? => {
            gnb.status_transfers().fetch_add(1, Ordering::Relaxed);
        }
        sent => tracing::warn!(
            supi = ue.supi(),
            gnb = gnb.name(),
            ?sent,
            "a RAN status that the source did not send"
        ),
    }
    Ok(())
}
