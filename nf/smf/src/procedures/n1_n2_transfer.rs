//! Messages for the UE and the gNB through the AMF (TS 23.502, 4.3; TS 29.518, 5.2.2.3).
use crate::flows::Flow;
use crate::session::{QFI, Session, Updated, UpfSession};
use martlet_ngap::transfer::{
    Arp, FiveQi, GuaranteedBitRate, QosFlow, QosParameters, SessionType, SetupRequest,
};
use martlet_sbi::{Multipart, Problem, StatusReply, content_type};
use martlet_sbi_api::common::{
    PduSessionType, PreemptionCapability, PreemptionVulnerability, RefToBinaryData,
};
use martlet_sbi_api::namf_communication::{
    N1MessageClass, N1MessageContainer, N1N2MessageTransferReqData, N1N2MessageTransferRspData,
    N2InfoContainer, N2InfoContent, N2InformationClass, N2SmInformation, NgapIeType,
};
use martlet_sbi_api::nsmf_pdusession::SmContextUpdatedData;

/// Content identities of the binary parts.
pub const N1: &str = "n1";
pub const N2: &str = "n2";

/// A reference to a binary part.
pub fn reference(id: &str) -> RefToBinaryData {
    RefToBinaryData { content_id: id.into() }
}

/// An answer to the AMF with a NAS message for the UE.
pub fn n1_answer(octets: Vec<u8>) -> Updated {
    let data = SmContextUpdatedData { n1_sm_msg: Some(reference(N1)), ..Default::default() };
    Ok(Some(Multipart::new(data).part(N1, content_type::NAS, octets)))
}

/// For NGAP.
pub fn to_ngap(arp: &martlet_sbi_api::common::Arp) -> Arp {
    Arp {
        priority: arp.priority_level,
        may_preempt: arp.preempt_cap == PreemptionCapability::MayPreempt,
        preemptable: arp.preempt_vuln == PreemptionVulnerability::Preemptable,
    }
}

/// QoS of a flow for the gNB.
pub fn parameters(flow: &Flow) -> QosParameters {
    let gbr = flow.guaranteed.map(|guaranteed| {
        let most = flow.maximum.unwrap_or(guaranteed);
        GuaranteedBitRate {
            max_downlink: most.downlink,
            max_uplink: most.uplink,
            downlink: guaranteed.downlink,
            uplink: guaranteed.uplink,
            notify: false,
            max_loss_downlink: None,
            max_loss_uplink: None,
        }
    });
    QosParameters {
        five_qi: FiveQi::standard(flow.five_qi),
        arp: to_ngap(&flow.arp),
        gbr,
        reflective: false,
    }
}

impl Session {
    /// PDU Session Resource Setup Request Transfer; `None` while the UPF's tunnel is not known, or
    /// where it does not encode, which is logged.
    pub fn setup_request(&self) -> Option<Vec<u8>> {
        self.setup_request_to(self.upf?)
    }

    /// The same, with the tunnel of another UPF.
    pub fn setup_request_to(&self, upf: UpfSession) -> Option<Vec<u8>> {
        let mut flows = vec![QosFlow::standard(QFI, self.five_qi, to_ngap(&self.arp))];
        flows
            .extend(self.flows.iter().map(|flow| QosFlow { qfi: flow.qfi, qos: parameters(flow) }));
        let kind = match self.kind {
            PduSessionType::Ipv6 => SessionType::Ipv6,
            PduSessionType::Ipv4v6 => SessionType::Ipv4v6,
            PduSessionType::Ethernet => SessionType::Ethernet,
            PduSessionType::Unstructured => SessionType::Unstructured,
            _ => SessionType::Ipv4,
        };
        let request = SetupRequest::new(upf.n3(), kind, flows)
            .with_ambr(self.ambr.downlink.bps(), self.ambr.uplink.bps());
        let request = match self.protection {
            Some(policy) => request.with_security(policy.to_ngap()),
            None => request,
        };
        let encoded = request.encode();
        encoded.inspect_err(|error| tracing::error!(%error, "an N2 transfer does not encode")).ok()
    }

    /// Brings messages to the UE and its gNB.
    pub async fn transfer(
        &self,
        n1: Option<Vec<u8>>,
        n2: Option<(NgapIeType, Vec<u8>)>,
    ) -> Result<StatusReply<N1N2MessageTransferRspData>, Problem> {
        self.amf.n1_n2_message_transfer(&self.supi, self.transfer_body(n1, n2)).await
    }

    /// What `transfer` sends.
    pub fn transfer_body(
        &self,
        n1: Option<Vec<u8>>,
        n2: Option<(NgapIeType, Vec<u8>)>,
    ) -> Multipart<N1N2MessageTransferReqData> {
        let mut data =
            N1N2MessageTransferReqData { pdu_session_id: Some(self.id), ..Default::default() };
        let root = self.smf.context.api_root();
        data.n1n2_failure_txf_notif_uri =
            Some(format!("{root}/nsmf-callback/v1/n1-n2-transfer-failure/{}", self.reference));
        data.n1_message_container =
            n1.as_ref().map(|_| N1MessageContainer::new(N1MessageClass::Sm, reference(N1)));
        if let Some((kind, _)) = &n2 {
            let content = N2InfoContent {
                ngap_message_type: None,
                ngap_ie_type: Some(kind.clone()),
                ngap_data: reference(N2),
            };
            let mut container = N2InfoContainer::new(N2InformationClass::Sm);
            container.sm_info = Some(N2SmInformation {
                pdu_session_id: self.id,
                n2_info_content: Some(content),
                s_nssai: Some(self.slice),
                ..Default::default()
            });
            data.n2_info_container = Some(container);
            data.arp = Some(self.arp.clone());
            data.five_qi = Some(self.five_qi);
        }
        let mut body = Multipart::new(data);
        if let Some(n1) = n1 {
            body = body.part(N1, content_type::NAS, n1);
        }
        if let Some((_, n2)) = n2 {
            body = body.part(N2, content_type::NGAP, n2);
        }
        body
    }
}
