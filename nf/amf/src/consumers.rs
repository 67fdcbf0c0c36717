//! Clients of the services that the AMF consumes. The producer is discovered at the NRF (TS 23.501,
//! 6.3).
use crate::Amf;
use martlet_nf::Criteria;
use martlet_sbi::{Peer, Problem};
use martlet_sbi_api::common::{Dnn, Snssai};
use martlet_sbi_api::nausf_ueauthentication::AusfUeAuthenticationClient;
use martlet_sbi_api::nlmf_location::LmfLocationClient;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnssf_ns_selection::NssfNsSelectionClient;
use martlet_sbi_api::npcf_am_policy_control::PcfAmPolicyControlClient;
use martlet_sbi_api::nudm_sdm::UdmSubscriberDataManagementClient;
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
