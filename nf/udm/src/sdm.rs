//! Nudm_SubscriberDataManagement (TS 29.503, 5.2).
use crate::Udm;
use crate::uecm::if_found;
use martlet_interop::{Quirk, SbiQuirk};
use martlet_sbi::{Created, Problem, path_segment};
use martlet_sbi_api::common::PlmnId;
use martlet_sbi_api::nudm_sdm::{
    AccessAndMobilitySubscriptionData, AcknowledgeInfo, AmDataQuery, AmfInfo, DataSetName,
    DataSetsQuery, IdTranslationQuery, IdTranslationResult, Nssai, PduSession, PlmnQuery,
    SdmSubscription, SmDataQuery, SmSubsData, SmfSelectionSubscriptionData, SubscriptionDataSets,
    UdmSubscriberDataManagement, UeContextInAmfData, UeContextInSmfData,
};
use martlet_sbi_api::nudm_uecm::{FeaturesQuery, UdmUeContextManagement};
use martlet_sbi_api::nudr_dr::{self, FieldsQuery, ProvisionedDataQuery, ProvisionedDataSets};
use martlet_sbi_api::{Json, TextList};
use std::collections::BTreeMap;

/// MCC and MNC as in the UDR's paths.
fn digits(plmn: &PlmnId) -> String {
    format!("{}{}", plmn.mcc(), plmn.mnc())
}

impl UdmSubscriberDataManagement for Udm {
    async fn get_data_sets(
        &self,
        supi: &str,
        query: DataSetsQuery,
    ) -> Result<SubscriptionDataSets, Problem> {
        let Some(names) = query.dataset_names.clone() else {
            return Err(Problem::new(400, "MANDATORY_QUERY_PARAM_MISSING").detail("dataset-names"));
        };
        let mut sets = SubscriptionDataSets::default();
        let provisioned = self.provisioned(supi, &names.0, &query).await?;
        if let Some(provisioned) = &provisioned {
            sets.am_data.clone_from(&provisioned.am_data);
            sets.smf_sel_data.clone_from(&provisioned.smf_sel_data);
        }
        let plmn_id = query.plmn_id.as_ref().map(|plmn| Json(plmn.0.plmn_id.clone()));
        for name in names.0 {
            match name {
                DataSetName::Am | DataSetName::SmfSel if provisioned.is_some() => {}
                DataSetName::Am => {
                    let plmn_id = query.plmn_id.clone();
                    let query = AmDataQuery { plmn_id, ..Default::default() };
                    sets.am_data = Some(self.get_am_data(supi, query).await?);
                }
                DataSetName::SmfSel => {
                    let query = PlmnQuery { plmn_id: plmn_id.clone(), ..Default::default() };
                    sets.smf_sel_data = Some(self.get_smf_sel_data(supi, query).await?);
                }
                DataSetName::Sm => {
                    let (single_nssai, dnn) = (query.single_nssai.clone(), query.dnn.clone());
                    let plmn_id = plmn_id.clone();
                    let query = SmDataQuery { single_nssai, dnn, plmn_id, ..Default::default() };
                    sets.sm_data = Some(self.get_sm_data(supi, query).await?);
                }
                DataSetName::UecSmf => {
                    sets.uec_smf_data =
                        Some(self.get_ue_ctx_in_smf_data(supi, FeaturesQuery::default()).await?);
                }
                DataSetName::UecAmf => {
                    let data = self.get_ue_ctx_in_amf_data(supi, FeaturesQuery::default()).await;
                    sets.uec_amf_data = if_found(data)?;
                }
                // Other data sets are empty (TS 29.503, 5.2.2.2.7).
                _ => {}
            }
        }
        Ok(sets)
    }

    async fn get_nssai(&self, supi: &str, query: PlmnQuery) -> Result<Nssai, Problem> {
        let plmn = self.serving_plmn(query.plmn_id.map(|p| digits(&p.0)).as_deref());
        let data = self.udr(supi).await?.query_am_data(supi, &plmn, FieldsQuery::default()).await?;
        data.nssai.ok_or_else(|| {
            Problem::new(404, "DATA_NOT_FOUND").detail("the subscriber has no slices")
        })
    }

    async fn get_ue_ctx_in_amf_data(
        &self,
        supi: &str,
        query: FeaturesQuery,
    ) -> Result<UeContextInAmfData, Problem> {
        let registered = self.get_3gpp_registration(supi, query).await?;
        let amf = AmfInfo::new(registered.amf_instance_id, registered.guami);
        Ok(UeContextInAmfData { amf_info: Some(vec![amf]), ..Default::default() })
    }

    async fn get_am_data(
        &self,
        supi: &str,
        query: AmDataQuery,
    ) -> Result<AccessAndMobilitySubscriptionData, Problem> {
        let plmn = query.plmn_id.map(|p| digits(&p.0.plmn_id));
        let plmn = self.serving_plmn(plmn.as_deref());
        self.udr(supi).await?.query_am_data(supi, &plmn, FieldsQuery::default()).await
    }

    async fn get_smf_sel_data(
        &self,
        supi: &str,
        query: PlmnQuery,
    ) -> Result<SmfSelectionSubscriptionData, Problem> {
        let plmn = self.serving_plmn(query.plmn_id.map(|p| digits(&p.0)).as_deref());
        self.udr(supi).await?.query_smf_select_data(supi, &plmn, FieldsQuery::default()).await
    }

    async fn get_ue_ctx_in_smf_data(
        &self,
        supi: &str,
        _: FeaturesQuery,
    ) -> Result<UeContextInSmfData, Problem> {
        let list =
            match self.udr(supi).await?.query_smf_reg_list(supi, FeaturesQuery::default()).await {
                Ok(list) => list,
                Err(problem) if problem.status() == 404 && problem.cause() != "USER_NOT_FOUND" => {
                    Vec::new()
                }
                Err(problem) => return Err(problem),
            };
        let mut sessions = BTreeMap::new();
        for registration in list {
            let Some(dnn) = registration.dnn else { continue };
            let mut session =
                PduSession::new(dnn, registration.smf_instance_id, registration.plmn_id);
            session.single_nssai = Some(registration.single_nssai);
            sessions.insert(registration.pdu_session_id.to_string(), session);
        }
        Ok(UeContextInSmfData {
            pdu_sessions: (!sessions.is_empty()).then_some(sessions),
            ..Default::default()
        })
    }

    async fn get_sm_data(&self, supi: &str, query: SmDataQuery) -> Result<SmSubsData, Problem> {
        let plmn = self.serving_plmn(query.plmn_id.map(|p| digits(&p.0)).as_deref());
        let (single_nssai, dnn) = (query.single_nssai, query.dnn);
        let query = nudr_dr::SmDataQuery { single_nssai, dnn, ..Default::default() };
        self.udr(supi).await?.query_sm_data(supi, &plmn, query).await
    }

    async fn subscribe(
        &self,
        ue_id: &str,
        body: SdmSubscription,
    ) -> Result<Created<SdmSubscription>, Problem> {
        let is_empty =
            body.monitored_resource_uris.is_empty() || body.callback_reference.is_empty();
        if is_empty && !self.config.empty_subscriptions {
            let missing = "monitoredResourceUris or callbackReference is empty";
            return Err(Problem::new(400, "MANDATORY_IE_INCORRECT").detail(missing));
        }
        if is_empty {
            SbiQuirk::EmptySubscription.met("udm", &body.nf_instance_id);
        }
        if !body.callback_reference.is_empty() {
            self.context.check_callback(&body.callback_reference).await?;
        }
        let created = self.udr(ue_id).await?.create_sdm_subscriptions(ue_id, body).await?;
        let mut body = created.body;
        let id = body
            .subscription_id
            .clone()
            .or_else(|| created.location.rsplit('/').next().map(str::to_string));
        let id = id.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| {
            Problem::system_failure("the UDR's answer has no subscription identity")
        })?;
        let segment = path_segment(ue_id);
        let location =
            format!("{}/nudm-sdm/v2/{segment}/sdm-subscriptions/{id}", self.context.api_root());
        body.subscription_id = Some(id);
        Ok(Created { location, body })
    }

    async fn unsubscribe(&self, ue_id: &str, subscription_id: &str) -> Result<(), Problem> {
        self.udr(ue_id).await?.remove_sdm_subscriptions(ue_id, subscription_id).await
    }

    async fn get_supi_or_gpsi(
        &self,
        ue_id: &str,
        _: IdTranslationQuery,
    ) -> Result<IdTranslationResult, Problem> {
        let identity = self.udr(ue_id).await?.get_identity_data(ue_id).await?;
        let supi = identity.supi_list.and_then(|list| list.into_iter().next());
        let mut result =
            IdTranslationResult::new(supi.ok_or_else(|| Problem::new(404, "USER_NOT_FOUND"))?);
        let mut gpsis = identity.gpsi_list.into_iter().flatten();
        result.gpsi = gpsis.next();
        let others: Vec<_> = gpsis.collect();
        result.additional_gpsis = (!others.is_empty()).then_some(others);
        Ok(result)
    }

    async fn sor_ack_info(&self, supi: &str, _: AcknowledgeInfo) -> Result<(), Problem> {
        self.acknowledged(supi, "steering of roaming").await
    }

    async fn upu_ack(&self, supi: &str, _: AcknowledgeInfo) -> Result<(), Problem> {
        self.acknowledged(supi, "a parameters update").await
    }

    async fn snssais_ack(&self, supi: &str, _: AcknowledgeInfo) -> Result<(), Problem> {
        self.acknowledged(supi, "changed slices").await
    }
}

/// The data sets of a registration, with their names at the UDR (TS 29.505, 5.2.2).
const REGISTRATION_DATA_SETS: [(DataSetName, &str); 2] =
    [(DataSetName::Am, "AM"), (DataSetName::SmfSel, "SMF_SEL")];

impl Udm {
    /// The data sets that an AMF requests with each registration, in one request to the UDR. None
    /// if not all are requested, or if the UDR only supports requests one by one.
    async fn provisioned(
        &self,
        supi: &str,
        names: &[DataSetName],
        query: &DataSetsQuery,
    ) -> Result<Option<ProvisionedDataSets>, Problem> {
        if !REGISTRATION_DATA_SETS.iter().all(|(name, _)| names.contains(name)) {
            return Ok(None);
        }
        let plmn =
            self.serving_plmn(query.plmn_id.as_ref().map(|p| digits(&p.0.plmn_id)).as_deref());
        let names = REGISTRATION_DATA_SETS.iter().map(|(_, name)| name.to_string()).collect();
        let asked =
            ProvisionedDataQuery { dataset_names: Some(TextList(names)), ..Default::default() };
        match self.udr(supi).await?.query_provisioned_data(supi, &plmn, asked).await {
            Ok(sets) if sets.am_data.is_some() && sets.smf_sel_data.is_some() => Ok(Some(sets)),
            Ok(_) => Ok(None),
            Err(problem) if problem.cause() == "USER_NOT_FOUND" || problem.transport.is_some() => {
                Err(problem)
            }
            Err(_) => Ok(None),
        }
    }

    /// Processes the UE's acknowledgement of data that the UDM sent.
    async fn acknowledged(&self, supi: &str, what: &str) -> Result<(), Problem> {
        self.udr(supi)
            .await?
            .query_am_data(supi, &self.config.home_plmn, FieldsQuery::default())
            .await?;
        tracing::info!(%supi, "acknowledged by the UE: {what}");
        Ok(())
    }
}
