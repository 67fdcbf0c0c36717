//! RAN status transfer between AMFs (TS 23.502, 4.9.1.3.3, steps 2a to 2c; TS 29.518, 5.2.2.3.1; TS
//! 38.413, 8.4.6 and 8.4.7).
//!
//! ```text
//! source gNB -> source AMF  UPLINK RAN STATUS TRANSFER
//! source AMF -> target AMF  N1N2MessageTransfer (RAN status container)
//! target AMF -> target gNB  DOWNLINK RAN STATUS TRANSFER
//! ```
use crate::n2::handover_downlink;
use crate::ue::{Transfer, Ue};
use bytes::Bytes;
use martlet_ngap::aper;
use martlet_ngap::ngap::RANStatusTransferTransparentContainer;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::{RefToBinaryData, Supi};
use martlet_sbi_api::namf_communication::*;

const CONTAINER: &str = "ran-status";

/// The container of a RAN status transfer; `None` for any other transfer.
pub(crate) fn content(request: &N1N2MessageTransferReqData) -> Option<&RefToBinaryData> {
    let n2 = request
        .n2_info_container
        .as_ref()
        .filter(|n2| n2.n2_information_class == N2InformationClass::Ran)?;
    let content = &n2.ran_info.as_ref()?.n2_info_content;
    (content.ngap_ie_type == Some(NgapIeType::RanStatusTransContainer))
        .then_some(&content.ngap_data)
}

/// Source AMF: forwards the container (step 2b). If that fails, the target starts with new PDCP
/// counts and the handover continues.
pub(crate) async fn to_other_amf(
    ue: &Ue,
    amf: &AmfCommunicationClient,
    supi: &Supi,
    status: &RANStatusTransferTransparentContainer<'_>,
) {
    let Ok(encoded) = aper::encode(status) else {
        return crate::metrics::ngap_error("not_encodable");
    };
    let mut container = N2InfoContainer::new(N2InformationClass::Ran);
    container.ran_info = Some(N2RanInformation {
        n2_info_content: N2InfoContent {
            ngap_ie_type: Some(NgapIeType::RanStatusTransContainer),
            ngap_data: RefToBinaryData { content_id: CONTAINER.into() },
            ..Default::default()
        },
    });
    let request = N1N2MessageTransferReqData {
        nf_id: Some(ue.amf.instance_id.clone()),
        n2_info_container: Some(container),
        ..Default::default()
    };
    let body = Multipart::new(request).part(CONTAINER, content_type::NGAP, Bytes::from(encoded));
    if let Err(problem) = amf.n1_n2_message_transfer(supi, body).await {
        tracing::warn!(supi = ue.label(), %problem, "RAN status transfer to the target AMF failed");
    }
}

/// Target AMF: forwards the container to the target gNB (step 2c), also after the handover.
pub(crate) async fn downlink(ue: &mut Ue, mut transfer: Transfer) {
    let Some(encoded) = transfer.n2.take() else {
        return transfer
            .answer(Err(Problem::invalid_message("a referenced binary part is missing")));
    };
    let status: RANStatusTransferTransparentContainer<'_> = match aper::decode(&encoded) {
        Ok(status) => status,
        Err(error) => {
            crate::metrics::ngap_error("container");
            return transfer
                .answer(Err(Problem::invalid_message(format!("the RAN status: {error}"))));
        }
    };
    let Some(to) = ue.target.as_deref().or(ue.connection.as_ref()) else {
        let gone = Problem::new(404, "CONTEXT_NOT_FOUND").detail("the UE has no connection");
        return transfer.answer(Err(gone));
    };
    to.send(handover_downlink::ran_status_transfer(to, status)).await;
    transfer.answer(Transfer::initiated());
}
