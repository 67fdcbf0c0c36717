//! Npcf_AMPolicyControl (TS 29.507).
use crate::reload::Absent;
use crate::{Pcf, user_unknown};
use martlet_sbi::{Compact, Created, Problem};
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::npcf_am_policy_control::{
    PcfAmPolicyControl, PolicyAssociation, PolicyAssociationRequest,
    PolicyAssociationUpdateRequest, PolicyUpdate, RequestTrigger,
};
use martlet_sbi_api::nudr_dr::PolicyFeaturesQuery;

/// An AM policy association (TS 29.507, 4.1): the last request of the AMF for the UE.
#[derive(Debug, Clone, Compact)]
pub struct AmAssociation {
    /// The last request of the AMF.
    pub request: PolicyAssociationRequest,
}

impl Pcf {
    /// The policy: as subscribed, except for a configured RFSP index. No area restrictions.
    fn am_policy(&self, request: &PolicyAssociationRequest) -> PolicyAssociation {
        PolicyAssociation {
            supp_feat: "0".into(),
            rfsp: self.config().default_rfsp.or(request.rfsp),
            ue_ambr: request.ue_ambr.clone(),
            ..Default::default()
        }
    }

    /// Npcf_AMPolicyControl_UpdateNotify: the RFSP index of now. Returns whether to repeat it. AMFs
    /// that are `absent` are not asked, and one that does not answer is added.
    pub(crate) async fn notify_rfsp(&self, id: &str, absent: &mut Absent) -> bool {
        let Some(AmAssociation { request }) = self.am.get(id) else { return false };
        if absent.contains(&request.notification_uri) {
            return true;
        }
        let Some(rfsp) = self.am_policy(&request).rfsp else { return false };
        let resource_uri = self.am_resource(id);
        let body = PolicyUpdate { resource_uri, rfsp: Some(rfsp), ..Default::default() };
        let amf = AmfCallbackClient::new(self.context.callback_peer().about(&request.supi));
        let uri = format!("{}/update", request.notification_uri);
        let Err(problem) = amf.am_policy_update_notify(&uri, body).await else { return false };
        tracing::warn!(supi = %request.supi, %problem, "policy update notification failed");
        absent.is_to_repeat(&request.notification_uri, &problem)
    }

    fn am_resource(&self, id: &str) -> String {
        format!("{}/npcf-am-policy-control/v1/policies/{id}", self.context.api_root())
    }
}

fn unknown(id: &str) -> Problem {
    Problem::new(404, "POLICY_ASSOCIATION_NOT_FOUND").detail(format!("no policy association {id}"))
}

impl PcfAmPolicyControl for Pcf {
    async fn create_individual_am_policy_association(
        &self,
        body: PolicyAssociationRequest,
    ) -> Result<Created<PolicyAssociation>, Problem> {
        self.context.check_callback(&body.notification_uri).await?;
        let supi = body.supi.clone();
        let udr = self.udr(&supi).await?;
        let policy_data =
            udr.read_access_and_mobility_policy_data(&supi, PolicyFeaturesQuery::default()).await;
        crate::if_found(policy_data).map_err(user_unknown)?;
        let policy = self.am_policy(&body);
        let id =
            self.am.add(supi.to_string(), AmAssociation { request: body }).ok_or_else(|| {
                Problem::new(503, "NF_CONGESTION")
                    .detail("too many policy associations: raise pcf.max_am_policies")
            })?;
        Ok(Created { location: self.am_resource(&id), body: policy })
    }

    async fn read_individual_am_policy_association(
        &self,
        pol_asso_id: &str,
    ) -> Result<PolicyAssociation, Problem> {
        let association = self.am.get(pol_asso_id).ok_or_else(|| unknown(pol_asso_id))?;
        let policy = self.am_policy(&association.request);
        Ok(PolicyAssociation { request: Some(association.request), ..policy })
    }

    async fn report_observed_event_triggers(
        &self,
        pol_asso_id: &str,
        body: PolicyAssociationUpdateRequest,
    ) -> Result<PolicyUpdate, Problem> {
        if let Some(uri) = &body.notification_uri {
            self.context.check_callback(uri).await?;
        }
        let met = body.triggers.clone().unwrap_or_default();
        let request = self.am.change(pol_asso_id, |association| {
            merge(&mut association.request, body);
            association.request.clone()
        });
        let policy = self.am_policy(&request.ok_or_else(|| unknown(pol_asso_id))?);
        // Decide again about what the triggers report (TS 29.507, 4.2.3.1).
        Ok(PolicyUpdate {
            resource_uri: self.am_resource(pol_asso_id),
            rfsp: policy.rfsp.filter(|_| met.contains(&RequestTrigger::RfspCh)),
            ue_ambr: policy.ue_ambr.filter(|_| met.contains(&RequestTrigger::UeAmbrCh)),
            ..Default::default()
        })
    }

    async fn delete_individual_am_policy_association(
        &self,
        pol_asso_id: &str,
    ) -> Result<(), Problem> {
        if self.am.remove(pol_asso_id) { Ok(()) } else { Err(unknown(pol_asso_id)) }
    }
}

/// Merges an update into the request: present members replace the earlier ones.
fn merge(request: &mut PolicyAssociationRequest, update: PolicyAssociationUpdateRequest) {
    if let Some(uri) = update.notification_uri {
        request.notification_uri = uri;
    }
    request.user_loc = update.user_loc.or(request.user_loc.take());
    request.rfsp = update.rfsp.or(request.rfsp);
    request.ue_ambr = update.ue_ambr.or(request.ue_ambr.take());
    request.serv_area_res = update.serv_area_res.or(request.serv_area_res.take());
    request.allowed_snssais = update.allowed_snssais.or(request.allowed_snssais.take());
    request.access_types = update.access_types.or(request.access_types.take());
    request.rat_types = update.rat_types.or(request.rat_types.take());
    request.guami = update.guami.or(request.guami.take());
}
