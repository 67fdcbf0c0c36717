//! RAN status at a handover between AMFs (TS 23.502, 4.9.1.3.3, steps 2a to 2c; TS 29.518,
//! 5.2.2.3.1): the source AMF brings what the source gNB says of its packets to the target AMF, and
//! that one to the target gNB.
use crate::n2::handover_downlink;
use crate::ue::{Transfer, Ue};
use bytes::Bytes;
use martlet_ngap::aper;
use martlet_ngap::ngap::RANStatusTransferTransparentContainer;
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::{RefToBinaryData, Supi};
use martlet_sbi_api::namf_communication::*;

const CONTAINER: &str = "ran-status";

/// Where the container of a request is; `None` for a request that is about something else.
pub(crate) fn content(request: &N1N2MessageTransferReqData) -> Option<&RefToBinaryData> {
    let n2 = request
        .n2_info_container
        .as_ref()
        .filter(|n2| n2.n2_information_class == N2InformationClass::Ran)?;
    let content = &n2.ran_info.as_ref()?.n2_info_content;
    (content.ngap_ie_type == Some(NgapIeType::RanStatusTransContainer))
        .then_some(&content.ngap_data)
}

/// To the AMF where the UE goes (step 2b). Without it the target counts from zero, and the handover
/// goes on.
pub(crate) async fn to_other_amf(
    ue: &Ue,
    amf: &AmfCommunicationClient,
    supi: &Supi,
    status: &RANStatusTransferTransparentContainer<'_>,
) {
    let Ok(octets) = aper::encode(status) else {
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
    let request =
        N1N2MessageTransferReqData { n2_info_container: Some(container), ..Default::default() };
    let body = Multipart::new(request).part(CONTAINER, content_type::NGAP, Bytes::from(octets));
    if let Err(problem) = amf.n1_n2_message_transfer(supi, body).await {
        tracing::warn!(supi = ue.label(), %problem, "the other AMF does not take the RAN status of a handover");
    }
}

/// To the gNB where the UE comes (step 2c), or is already.
pub(crate) async fn downlink(ue: &mut Ue, mut transfer: Transfer) {
    let Some(octets) = transfer.n2.take() else {
        return transfer.answer(Err(Problem::invalid_message(
            "a binary part that the request names is missing",
        )));
    };
    let status: RANStatusTransferTransparentContainer<'_> = match aper::decode(&octets) {
        Ok(status) => status,
        Err(error) => {
            crate::metrics::ngap_error("container");
            return transfer
                .answer(Err(Problem::invalid_message(format!("the RAN status: {error}"))));
        }
    };
    let Some(to) = ue.target.as_ref().or(ue.connection.as_ref()) else {
        let gone = Problem::new(404, "CONTEXT_NOT_FOUND")
            .detail("the UE is at no gNB, nor on its way to one");
        return transfer.answer(Err(gone));
    };
    to.send(handover_downlink::ran_status_transfer(to, status)).await;
    transfer.answer(Transfer::initiated());
}
