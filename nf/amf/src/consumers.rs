//! Clients of the services that the AMF consumes. The producer is discovered at the NRF (TS 23.501,
//! 6.3).
use crate::Amf;
use martlet_interop::SbiQuirk;
use martlet_nf::Criteria;
use martlet_sbi::{Peer, Problem};
use martlet_sbi_api::Json;
use martlet_sbi_api::common::{Dnn, Snssai};
use martlet_sbi_api::nausf_ueauthentication::AusfUeAuthenticationClient;
use martlet_sbi_api::nlmf_location::LmfLocationClient;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnssf_ns_selection::NssfNsSelectionClient;
use martlet_sbi_api::npcf_am_policy_control::PcfAmPolicyControlClient;
use martlet_sbi_api::nudm_sdm::{
    AmDataQuery, DataSetsQuery, PlmnQuery, SubscriptionDataSets, UdmSubscriberDataManagementClient,
};
use martlet_sbi_api::nudm_uecm::UdmUeContextManagementClient;

impl Amf {
    async fn producer(
        &self,
        target: NfType,
        api: &'static str,
        about: &str,
    ) -> Result<Peer, Problem> {
        Ok(self.context.discover(target, api, &Criteria::default()).await?.about(about))
    }

    /// The AUSF.
    pub(crate) async fn ausf(&self, ue: &str) -> Result<AusfUeAuthenticationClient, Problem> {
        self.producer(NfType::Ausf, "nausf-auth", ue).await.map(AusfUeAuthenticationClient::new)
    }

    /// The UDM, for registrations.
    pub(crate) async fn uecm(&self, ue: &str) -> Result<UdmUeContextManagementClient, Problem> {
        self.producer(NfType::Udm, "nudm-uecm", ue).await.map(UdmUeContextManagementClient::new)
    }

    /// The UDM, for subscription data.
    pub(crate) async fn sdm(&self, ue: &str) -> Result<UdmSubscriberDataManagementClient, Problem> {
        self.producer(NfType::Udm, "nudm-sdm", ue).await.map(UdmSubscriberDataManagementClient::new)
    }

    /// Access and mobility data and SMF selection data: in one answer of the UDM, or in one each of
    /// a UDM that serves no requests for several data sets ([`SbiQuirk::SeparateDataSets`]).
    pub(crate) async fn data_sets(
        &self,
        supi: &str,
        query: DataSetsQuery,
    ) -> Result<SubscriptionDataSets, Problem> {
        let peer = self.producer(NfType::Udm, "nudm-sdm", supi).await?;
        let authority = peer.root().authority.clone();
        let udm = UdmSubscriberDataManagementClient::new(peer);
        let plmn_id = query.plmn_id.clone();
        match udm.get_data_sets(supi, query).await {
            Err(problem) if is_not_served(&problem) && !self.context.is_strict() => {}
            answer => return answer,
        }
        let of_access = AmDataQuery { plmn_id: plmn_id.clone(), ..Default::default() };
        let plmn_id = plmn_id.map(|Json(network)| Json(network.plmn_id));
        let of_sessions = PlmnQuery { plmn_id, ..Default::default() };
        let am_data = udm.get_am_data(supi, of_access).await?;
        let smf_sel_data = udm.get_smf_sel_data(supi, of_sessions).await?;
        // Counted now: the subscriber is known, so it was the request that was not.
        self.context.tolerates(SbiQuirk::SeparateDataSets, authority);
        Ok(SubscriptionDataSets {
            am_data: Some(am_data),
            smf_sel_data: Some(smf_sel_data),
            ..Default::default()
        })
    }

    /// The PCF.
    pub(crate) async fn pcf(&self, ue: &str) -> Result<PcfAmPolicyControlClient, Problem> {
        self.producer(NfType::Pcf, "npcf-am-policy-control", ue)
            .await
            .map(PcfAmPolicyControlClient::new)
    }

    /// The NSSF.
    pub(crate) async fn nssf(&self, ue: &str) -> Result<NssfNsSelectionClient, Problem> {
        self.producer(NfType::Nssf, "nnssf-nsselection", ue).await.map(NssfNsSelectionClient::new)
    }

    /// The LMF of a UE: the same one for all requests about the UE. It has the UE's user plane
    /// connection, and gets its messages.
    pub(crate) async fn lmf(&self, ue: &str) -> Result<LmfLocationClient, Problem> {
        let lmf = self.context.discover_for(ue, NfType::Lmf, "nlmf-loc").await?;
        Ok(LmfLocationClient::new(lmf.about(ue)))
    }

    /// An SMF for a slice and a data network (TS 23.501, 6.3.2).
    pub(crate) async fn smf(&self, ue: &str, slice: Snssai, dnn: &Dnn) -> Result<Peer, Problem> {
        let criteria =
            Criteria { snssai: Some(slice), dnn: Some(dnn.clone()), ..Default::default() };
        Ok(self.context.discover(NfType::Smf, "nsmf-pdusession", &criteria).await?.about(ue))
    }
}

/// Whether the UDM may not know a request, rather than the subscriber: Open5GS's answers 400.
fn is_not_served(problem: &Problem) -> bool {
    problem.transport.is_none()
        && matches!(problem.status(), 400 | 404 | 405 | 415 | 501)
        && !matches!(problem.cause(), "USER_NOT_FOUND" | "DATA_NOT_FOUND")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_request_is_no_unknown_subscriber() {
        let is_not_served = |status, cause| is_not_served(&Problem::new(status, cause));
        assert!(is_not_served(400, "") && is_not_served(404, "") && is_not_served(501, ""));
        assert!(is_not_served(404, "RESOURCE_URI_STRUCTURE_NOT_FOUND"));
        assert!(!is_not_served(404, "USER_NOT_FOUND") && !is_not_served(404, "DATA_NOT_FOUND"));
        assert!(!is_not_served(403, "ROAMING_NOT_ALLOWED") && !is_not_served(503, ""));
    }
}
