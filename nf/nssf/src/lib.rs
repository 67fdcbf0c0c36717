//! The NSSF: selects the slices and slice instances of a UE (TS 23.501, 6.2.14; TS 29.531).
#![forbid(unsafe_code)]

mod config;
mod selection;

pub use config::{AmfSetConfig, AreaConfig, InstanceConfig, NssfConfig};

use martlet_interop::SbiQuirk;
use martlet_nf::{NetworkFunction, NfContext, StartError};
use martlet_sbi::{Problem, QueryValue, Route, invalid_query_parameter};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnssf_ns_selection::{
    AuthorizedNetworkSliceInfo, NNSSF_NSSELECTION, NsSelectionQuery, NssfNsSelection,
};
use std::sync::Arc;

/// The NSSF.
pub struct Nssf {
    config: NssfConfig,
    context: Arc<NfContext>,
}

impl NetworkFunction for Nssf {
    const TYPE: NfType = NfType::Nssf;
    type Config = NssfConfig;

    async fn create(config: NssfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        Ok(Arc::new(Nssf { config, context }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        NNSSF_NSSELECTION.routes(self.clone())
    }

    fn status(&self) -> serde_json::Value {
        serde_json::json!({
            "slices": self.config.slices.len(),
            "restricted tracking areas": self.config.areas.len(),
        })
    }
}

impl NssfNsSelection for Nssf {
    async fn ns_selection_get(
        &self,
        query: NsSelectionQuery,
    ) -> Result<AuthorizedNetworkSliceInfo, Problem> {
        let (Some(_), Some(consumer)) = (&query.nf_type, &query.nf_id) else {
            return Err(
                Problem::new(400, "MANDATORY_QUERY_PARAM_MISSING").detail("nf-type and nf-id")
            );
        };
        let tai = query.tai.as_ref();
        if let Some(tai) = tai.filter(|tai| tai.is_decimal)
            && !self.context.tolerates(SbiQuirk::DecimalTac, consumer)
        {
            return Err(invalid_query_parameter("tai", &tai.to_text()));
        }
        let supported = self.config.supported(tai.map(|tai| &tai.tai));
        match (query.slice_info_request_for_registration, query.slice_info_request_for_pdu_session)
        {
            (Some(request), None) => {
                let mut info =
                    selection::for_registration(&request.0, supported, &self.config.slices)?;
                let lists = info
                    .allowed_nssai_list
                    .iter()
                    .flatten()
                    .flat_map(|list| &list.allowed_snssai_list);
                let allowed: Vec<_> = lists.map(|allowed| allowed.allowed_snssai).collect();
                info.target_amf_set = self.config.amf_set(&allowed);
                Ok(info)
            }
            (None, Some(request)) => selection::for_session(
                &request.0,
                supported,
                &self.config.instances,
                self.context.nrf().root(),
            ),
            _ => {
                let detail = "exactly one of the slice-info-request parameters for registration \
                              and PDU session";
                Err(Problem::new(400, "MANDATORY_QUERY_PARAM_MISSING").detail(detail))
            }
        }
    }
}
