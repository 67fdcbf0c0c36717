//! Another AMF concludes the transfer of a UE context that it has not requested.
use super::scas::peer;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_sbi_api::namf_communication::{
    AmfCommunicationClient, UeContextTransferStatus, UeRegStatusUpdateReqData,
};
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};

#[test]
fn attack_amf_ends_a_registration_with_a_transfer_that_was_not_requested() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let update = UeRegStatusUpdateReqData::new(UeContextTransferStatus::Transferred);
        let amf = AmfCommunicationClient::new(peer(17)?);
        let answer = amf.registration_status_update("imsi-001010000000001", update).await;
        let is_refused = answer.as_ref().is_err_and(|problem| problem.status() == 403);
        ensure!(is_refused, "403 expected, not {answer:?}");
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
