//! NRPPa with gNBs through the AMF (TS 38.455): transactions, and reports of running measurements.
mod e_cid_measurement;
mod multi_rtt;
mod transactions;
mod trp_information_exchange;
mod trp_table;

pub(crate) use e_cid_measurement::e_cid_measurement;
pub(crate) use multi_rtt::MultiRtt;
pub(crate) use transactions::Nrppa;
use transactions::{QUEUE, Received};

use crate::deadline::Deadline;
use crate::user_plane::Supi;
use crate::{Shared, metrics};
use martlet_nrppa::{Cause, Message, Pdu};
use martlet_sbi::{Multipart, Problem, content_type, path_segment};
use martlet_sbi_api::common::{GlobalRanNodeId, NfInstanceId, RefToBinaryData};
use martlet_sbi_api::namf_communication::{
    N1N2MessageTransferReqData, N2InfoContainer, N2InfoContent, N2InformationClass,
    N2InformationTransferReqData, NgapIeType, NonUeN2InfoSubscriptionCreateData, NrppaInformation,
    UeN1N2InfoSubscriptionCreateData,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The problem for a failure message of a gNB.
pub(crate) fn gnb_failure(what: &str, cause: &Cause) -> Problem {
    Problem::new(500, "POSITIONING_FAILED").detail(format!("the gNB cannot {what}: {cause:?}"))
}

/// Whether a gNB's answer counts: the first one of a gNB that was asked, so that one gNB answers
/// for no other and takes no other's answer. `earlier` are the gNBs of the earlier answers, `asked`
/// those that were asked, if not all. An AMF may not name the gNB.
fn is_counted<'a>(
    gnb: Option<&GlobalRanNodeId>,
    mut earlier: impl Iterator<Item = Option<&'a GlobalRanNodeId>>,
    asked: Option<&[GlobalRanNodeId]>,
) -> bool {
    gnb.is_none()
        || earlier.all(|other| other != gnb)
            && gnb.is_none_or(|gnb| asked.is_none_or(|asked| asked.contains(gnb)))
}

/// The problem for a message that is not a response to the request.
fn unexpected_message(what: &str, message: &Message) -> Problem {
    let why = match message {
        Message::ErrorIndication(it) => format!("the gNB cannot {what}: {:?}", it.cause),
        _ => format!("unexpected answer from the gNB to the request to {what}"),
    };
    Problem::new(500, "POSITIONING_FAILED").detail(why)
}

impl Shared {
    fn own_id(&self) -> Result<NfInstanceId, Problem> {
        let id = self.context.instance_id().parse();
        id.map_err(|_| {
            Problem::new(500, "SYSTEM_FAILURE").detail("the LMF's nfInstanceId is not a UUID")
        })
    }

    fn container(&self) -> Result<N2InfoContainer, Problem> {
        let ngap_data = RefToBinaryData { content_id: "n2".into() };
        let content = N2InfoContent {
            ngap_ie_type: Some(NgapIeType::NrppaPdu),
            ngap_data,
            ..Default::default()
        };
        let mut container = N2InfoContainer::new(N2InformationClass::NRPPa);
        container.nrppa_info = Some(NrppaInformation::new(self.own_id()?, content));
        Ok(container)
    }

    /// The time limit for a gNB's answer.
    pub(crate) fn nrppa_timeout(&self) -> Duration {
        Duration::from_millis(self.config.nrppa_timeout_ms.into())
    }

    /// Namf_Communication_N1N2MessageSubscribe: subscribes to UE-associated NRPPa messages.
    pub(crate) async fn subscribe_to_gnb_of(&self, ue: &Supi) -> Result<(), Problem> {
        let data = UeN1N2InfoSubscriptionCreateData {
            n2_information_class: Some(N2InformationClass::NRPPa),
            n2_notify_callback_uri: Some(format!(
                "{}/nlmf-callback/v1/n2-messages/{}",
                self.context.api_root(),
                path_segment(ue)
            )),
            nf_id: Some(self.own_id()?),
            ..Default::default()
        };
        self.amf(ue).await?.n1_n2_message_subscribe(ue, data).await.map(|_| ())
    }

    /// Namf_Communication_NonUeN2InfoSubscribe: subscribes to non-UE-associated NRPPa messages at
    /// the UE's AMF.
    async fn subscribe_to_gnbs(&self, ue: &Supi) -> Result<(), Problem> {
        let uri = format!("{}/nlmf-callback/v1/n2-messages", self.context.api_root());
        let mut data = NonUeN2InfoSubscriptionCreateData::new(N2InformationClass::NRPPa, uri);
        data.nf_id = Some(self.own_id()?);
        self.amf_of_gnbs(ue).await?.non_ue_n2_info_subscribe(data).await.map(|_| ())
    }

    /// Sends a UE-associated message to the UE's gNB.
    async fn send_to_gnb_of(&self, ue: &Supi, correlation: &str, pdu: &Pdu) -> Result<(), Problem> {
        let bytes = pdu
            .encode()
            .map_err(|error| Problem::new(500, "SYSTEM_FAILURE").detail(error.to_string()))?;
        let request = N1N2MessageTransferReqData {
            nf_id: Some(self.own_id()?),
            n2_info_container: Some(self.container()?),
            lcs_correlation_id: Some(correlation.into()),
            ..Default::default()
        };
        let body = Multipart::new(request).part("n2", content_type::NGAP, bytes);
        self.amf(ue).await?.n1_n2_message_transfer(ue, body).await.map(|_| ())
    }

    /// Sends a UE-associated request to the UE's gNB and returns the response.
    async fn request_from_gnb_of(
        self: &Arc<Self>,
        ue: &Supi,
        correlation: &str,
        message: Message,
    ) -> Result<Message, Problem> {
        let (transaction, mut pending) = self.nrppa.begin_transaction(Some(ue.clone()))?;
        self.send_to_gnb_of(ue, correlation, &Pdu { transaction, message }).await?;
        let mut deadline = Deadline::new(Instant::now() + self.nrppa_timeout());
        Ok(pending.next(&mut deadline).await?.message)
    }

    /// Sends a non-UE-associated request to these gNBs of the UE's AMF, or to all. Returns the
    /// responses that arrive within `limit`, at most `answers`.
    async fn request_from_gnbs(
        self: &Arc<Self>,
        ue: &Supi,
        gnbs: Option<Vec<GlobalRanNodeId>>,
        message: Message,
        answers: usize,
        limit: Duration,
    ) -> Result<Vec<Received>, Problem> {
        let (transaction, mut pending) = self.nrppa.begin_transaction(None)?;
        let pdu = Pdu { transaction, message };
        let bytes = pdu
            .encode()
            .map_err(|error| Problem::new(500, "SYSTEM_FAILURE").detail(error.to_string()))?;
        let mut request = N2InformationTransferReqData::new(self.container()?);
        request.global_ran_node_list.clone_from(&gnbs);
        let body = Multipart::new(request).part("n2", content_type::NGAP, bytes);
        self.amf_of_gnbs(ue).await?.non_ue_n2_message_transfer(body).await?;
        let (mut received, mut deadline) = (Vec::new(), Deadline::new(Instant::now() + limit));
        while received.len() < answers {
            match pending.next(&mut deadline).await {
                Ok(answer) => {
                    let earlier = received.iter().map(|it: &Received| it.gnb.as_ref());
                    match is_counted(answer.gnb.as_ref(), earlier, gnbs.as_deref()) {
                        true => received.push(answer),
                        false => metrics::rejected("nrppa_other_gnb"),
                    }
                }
                Err(problem) if received.is_empty() => return Err(problem),
                Err(_) => break,
            }
        }
        Ok(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::{GNbId, PlmnId};

    #[test]
    fn attack_a_gnb_answers_for_others() {
        let gnb = |value: &str| {
            let id = GNbId { bit_length: 24, gnb_value: value.into() };
            let plmn = PlmnId::new("001", "01").unwrap();
            GlobalRanNodeId { g_nb_id: Some(id), ..GlobalRanNodeId::new(plmn) }
        };
        let [first, second] = ["000001", "000002"].map(gnb);
        let none = std::iter::empty;
        assert!(is_counted(Some(&first), none(), None));
        assert!(is_counted(Some(&second), [Some(&first)].into_iter(), None));
        assert!(!is_counted(Some(&first), [Some(&second), Some(&first)].into_iter(), None));
        // Another gNB guesses the transaction.
        let asked = [first.clone()];
        assert!(is_counted(Some(&first), none(), Some(&asked)));
        assert!(!is_counted(Some(&second), none(), Some(&asked)));
        // An AMF that does not name gNBs.
        assert!(is_counted(None, [None].into_iter(), Some(&asked)));
    }
}
