//! Access and mobility policy association with the PCF (TS 23.502, 4.16.1 to 4.16.3).
//!
//! ```text
//! AMF -> PCF  Npcf_AMPolicyControl_Create
//! PCF -> AMF  Npcf_AMPolicyControl_UpdateNotify, at any time
//! AMF -> PCF  Npcf_AMPolicyControl_Delete, at the deregistration
//! ```
use crate::served::{plmn_to_sbi, slice_to_sbi};
use crate::ue::{AmPolicy, Ue};
use martlet_sbi::{ApiRoot, Created, Problem, path_segment};
use martlet_sbi_api::common::{AccessType, RatType};
use martlet_sbi_api::npcf_am_policy_control::{
    PcfAmPolicyControlClient, PolicyAssociation, PolicyAssociationRequest, PolicyUpdate,
};

/// Creates the association. Without a PCF, the subscription alone applies.
pub(crate) async fn create(ue: &mut Ue) {
    match request(ue).await {
        Ok(created) => {
            let Some((pcf, id)) = resource(&created.location) else {
                tracing::warn!(
                    supi = ue.label(),
                    location = created.location,
                    "policy association without a usable location"
                );
                return;
            };
            let PolicyAssociation { rfsp, ue_ambr, .. } = created.body;
            ue.registration.policy = Some(AmPolicy { pcf, id, rfsp, ambr: ue_ambr });
        }
        Err(problem) => {
            tracing::warn!(
                supi = ue.label(), gnb = ue.gnb(), %problem,
                "policy association not created"
            );
        }
    }
}

async fn request(ue: &Ue) -> Result<Created<PolicyAssociation>, Problem> {
    let Some(supi) = ue.identity.supi.clone() else {
        return Err(Problem::system_failure("the UE has no SUPI"));
    };
    let root = ue.amf.context.api_root();
    let uri = format!("{root}/namf-callback/v1/am-policy/{}", path_segment(&supi));
    let mut request = PolicyAssociationRequest::new(uri, supi.clone(), "0".into());
    let access = ue.registration.subscription.as_ref().map(|subscription| &subscription.access);
    request.gpsi = access.and_then(|access| access.gpsis.as_ref()?.first().cloned());
    let groups = access.and_then(|access| access.internal_group_ids.clone());
    request.group_ids = groups.filter(|groups| !groups.is_empty());
    request.access_type = Some(AccessType::ThreeGppAccess);
    request.pei = ue.identity.pei.clone();
    request.user_loc = ue.connection.as_ref().map(|connection| connection.location.to_sbi());
    request.time_zone = ue.amf.config.network_name.time_zone.clone();
    request.serving_plmn = Some(plmn_to_sbi(ue.guami().plmn).into());
    request.rat_type = Some(RatType::Nr);
    request.serv_area_res = access.and_then(|access| access.service_area_restriction.clone());
    request.rfsp = access.and_then(|access| access.rfsp_index);
    request.ue_ambr = access.and_then(|access| access.subscribed_ue_ambr.clone());
    request.allowed_snssais =
        Some(ue.registration.allowed.iter().map(|slice| slice_to_sbi(*slice)).collect());
    request.guami = Some(ue.guami().sbi.clone());
    ue.amf.pcf(&supi).await?.create_individual_am_policy_association(request).await
}

/// Root and identity from the association's `Location`.
fn resource(location: &str) -> Option<(ApiRoot, String)> {
    let (mut root, path) = ApiRoot::split(location)?;
    let (before, rest) = path.split_once("/npcf-am-policy-control/")?;
    root.prefix = before.to_string();
    let id = rest.split('/').nth(2).filter(|id| !id.is_empty())?;
    Some((root, id.to_string()))
}

/// Deletes the association.
pub(crate) async fn delete(ue: &mut Ue) {
    deletion(ue).await;
}

/// The deletion of the association, which the UE no longer has. It runs beside what the caller does
/// with the UE.
pub(crate) fn deletion(ue: &mut Ue) -> impl Future<Output = ()> + use<> {
    let policy = ue.registration.policy.take();
    let (context, supi) = (ue.amf.context.clone(), ue.label());
    async move {
        let Some(policy) = policy else { return };
        let pcf = PcfAmPolicyControlClient::new(context.peer_at(policy.pcf).about(&supi));
        if let Err(problem) = pcf.delete_individual_am_policy_association(&policy.id).await {
            tracing::warn!(supi, %problem, "policy association not deleted at the PCF");
        }
    }
}

impl Ue {
    /// Stores a policy update. It applies from the next context setup on.
    pub(crate) fn policy_updated(&mut self, update: PolicyUpdate) {
        tracing::info!(supi = self.label(), gnb = self.gnb(), "AM policy updated");
        if let Some(policy) = &mut self.registration.policy {
            policy.rfsp = update.rfsp.or(policy.rfsp);
            policy.ambr = update.ue_ambr.or(policy.ambr.take());
        }
    }

    /// Deletes the association at the PCF's request (TS 29.507, 4.2.4.3).
    pub(crate) async fn policy_terminated(&mut self) {
        tracing::info!(supi = self.label(), gnb = self.gnb(), "AM policy terminated by the PCF");
        delete(self).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_association_identity_is_read_from_its_location() {
        let (root, id) =
            resource("http://127.0.0.14:7777/npcf-am-policy-control/v1/policies/7").unwrap();
        assert_eq!((root.to_string(), id), ("http://127.0.0.14:7777".into(), "7".into()));
        assert!(resource("http://pcf/npcf-am-policy-control/v1/policies/").is_none());
        assert!(resource("/npcf-am-policy-control/v1/policies/7").is_none());
    }
}
