//! Npcf_AMPolicyControl (TS 29.507).
use crate::{Pcf, user_unknown};
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::npcf_am_policy_control::{
    PcfAmPolicyControl, PolicyAssociation, PolicyAssociationRequest, PolicyAssociationUpdateRequest, PolicyUpdate,
};
use martlet_sbi_api::nudr_dr::PolicyFeaturesQuery;

/// A UE's policy association.
#[derive(Debug, Clone)]
pub struct AmAssociation {
    request: PolicyAssociationRequest,
}

impl AmAssociation {
    /// The policy: what the AMF may do is what the subscription says.
    fn policy(&self) -> PolicyAssociation {
        let mut policy = PolicyAssociation { supp_feat: "0".into(), ..Default::default() };
        policy.rfsp = self.request.rfsp;
        policy.ue_ambr = self.request.ue_ambr.clone();
        policy
    }
}

fn unknown(id: &str) -> Problem {
    Problem::new(404, "POLICY_ASSOCIATION_NOT_FOUND").detail(format!("there is no policy association {id}"))
}

impl PcfAmPolicyControl for Pcf {
    async fn create_individual_am_policy_association(
        &self,
        body: PolicyAssociationRequest,
    ) -> Result<Created<PolicyAssociation>, Problem> {
        let supi = body.supi.clone();
        let udr = self.udr(&supi).await?;
        udr.read_access_and_mobility_policy_data(&supi, PolicyFeaturesQuery::default()).await.map_err(user_unknown)?;
        let association = AmAssociation { request: body };
        let policy = association.policy();
        let id = self.am.add(supi.to_string(), association).ok_or_else(|| {
            Problem::new(503, "NF_CONGESTION").detail("too many policy associations: raise pcf.max_am_policies")
        })?;
        let location = format!("{}/npcf-am-policy-control/v1/policies/{id}", self.context.api_root());
        Ok(Created { location, body: policy })
    }

    async fn read_individual_am_policy_association(&self, pol_asso_id: &str) -> Result<PolicyAssociation, Problem> {
        self.am.get(pol_asso_id).map(|association| association.policy()).ok_or_else(|| unknown(pol_asso_id))
    }

    async fn report_observed_event_triggers(
        &self,
        pol_asso_id: &str,
        body: PolicyAssociationUpdateRequest,
    ) -> Result<PolicyUpdate, Problem> {
        let uri = self.am.change(pol_asso_id, |association| {
            if let Some(uri) = body.notification_uri {
                association.request.notification_uri = uri;
            }
            if let Some(location) = body.user_loc {
                association.request.user_loc = Some(location);
            }
        });
        uri.ok_or_else(|| unknown(pol_asso_id))?;
        let resource = format!("{}/npcf-am-policy-control/v1/policies/{pol_asso_id}", self.context.api_root());
        Ok(PolicyUpdate { resource_uri: resource, ..Default::default() })
    }

    async fn delete_individual_am_policy_association(&self, pol_asso_id: &str) -> Result<(), Problem> {
        if self.am.remove(pol_asso_id) { Ok(()) } else { Err(unknown(pol_asso_id)) }
    }
}
