//! The criteria of a discovery request.
use martlet_sbi_api::common::{Dnn, Guami, NfInstanceId, PlmnId, Snssai, Supi, Tai};
use martlet_sbi_api::nnrf_nfdiscovery::SearchQuery;
use martlet_sbi_api::nnrf_nfmanagement::{NfType, ServiceName};
use martlet_sbi_api::{Json, TextList};

/// Feature 6, "Service-Map" (TS 29.510, 6.2.9).
pub(super) const SERVICE_MAP: &str = "20";

/// What a producer has to serve. An absent criterion matches everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Criteria {
    /// The slice.
    pub snssai: Option<Snssai>,
    /// The data network.
    pub dnn: Option<Dnn>,
    /// The AMF's identity.
    pub guami: Option<Guami>,
    /// The subscriber.
    pub supi: Option<Supi>,
    /// The network.
    pub plmn: Option<PlmnId>,
    /// The tracking area.
    pub tai: Option<Tai>,
    /// The routing indicator of the SUCI.
    pub routing_indicator: Option<String>,
    /// One instance.
    pub nf_instance_id: Option<NfInstanceId>,
    /// The NF set (TS 23.003, 28.12).
    pub nf_set_id: Option<String>,
    /// The AMF set: region and set, as the AMF's identity has them.
    pub amf_set: Option<(String, String)>,
}

impl Criteria {
    /// The query for producers of a service.
    pub(super) fn query(&self, target: NfType, requester: NfType, api: &str) -> SearchQuery {
        SearchQuery {
            target_nf_type: Some(target),
            requester_nf_type: Some(requester),
            service_names: Some(TextList(vec![ServiceName::from(api)])),
            requester_features: Some(SERVICE_MAP.into()),
            snssais: self.snssai.map(|s| Json(vec![s])),
            dnn: self.dnn.clone(),
            guami: self.guami.clone().map(Json),
            supi: self.supi.clone(),
            target_plmn_list: self.plmn.clone().map(|p| Json(vec![p])),
            tai: self.tai.clone().map(Json),
            routing_indicator: self.routing_indicator.clone(),
            target_nf_instance_id: self.nf_instance_id.clone(),
            target_nf_set_id: self.nf_set_id.clone(),
            amf_region_id: self.amf_set.as_ref().map(|(region, _)| region.clone()),
            amf_set_id: self.amf_set.as_ref().map(|(_, set)| set.clone()),
            ..Default::default()
        }
    }
}
