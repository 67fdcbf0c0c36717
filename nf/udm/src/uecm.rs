//! Nudm_UEContextManagement: the AMF and SMFs that serve a UE (TS 29.503, 5.3).
use crate::Udm;
use martlet_nf::NfContext;
use martlet_sbi::{JsonPatch, MergePatch, PatchItem, Problem, StatusReply, path_segment, trace};
use martlet_sbi_api::common::{AccessType, PatchResult};
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::nudm_uecm::{
    Amf3GppAccessRegistration, Amf3GppAccessRegistrationModification, DeregistrationData,
    DeregistrationReason, FeaturesQuery, RegistrationDataSetName, RegistrationDataSets,
    RegistrationsQuery, SmfDeregistrationQuery, SmfRegistration, SmfRegistrationInfo,
    SmfRegistrationsQuery, UdmUeContextManagement,
};
use martlet_sbi_api::nudr_dr::{FieldsQuery, UdrDataRepositoryClient};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The name of the AMF's registration. Those of SMFs have the number of their PDU session.
const AMF_CONTEXT: &str = "amf-3gpp-access";

/// None if the subscriber has no such context.
pub(crate) fn if_found<T>(outcome: Result<T, Problem>) -> Result<Option<T>, Problem> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(problem) if problem.status() == 404 && problem.cause() != "USER_NOT_FOUND" => Ok(None),
        Err(problem) => Err(problem),
    }
}

impl UdmUeContextManagement for Udm {
    async fn get_registrations(
        &self,
        ue_id: &str,
        query: RegistrationsQuery,
    ) -> Result<RegistrationDataSets, Problem> {
        let Some(names) = query.registration_dataset_names else {
            return Err(Problem::new(400, "MANDATORY_QUERY_PARAM_MISSING")
                .detail("registration-dataset-names"));
        };
        let mut sets = RegistrationDataSets::default();
        if names.0.contains(&RegistrationDataSetName::Amf3gpp) {
            sets.amf3_gpp =
                if_found(self.get_3gpp_registration(ue_id, FeaturesQuery::default()).await)?;
        }
        if names.0.contains(&RegistrationDataSetName::SmfPduSessions) {
            let query = SmfRegistrationsQuery { single_nssai: query.single_nssai, dnn: query.dnn };
            sets.smf_registration = if_found(self.get_smf_registration(ue_id, query).await)?;
        }
        Ok(sets)
    }

    async fn registration_3gpp(
        &self,
        ue_id: &str,
        body: Amf3GppAccessRegistration,
    ) -> Result<StatusReply<Amf3GppAccessRegistration>, Problem> {
        self.context.check_callback(&body.dereg_callback_uri).await?;
        let udr = self.udr(ue_id).await?;
        let lock = self.locks.lock(ue_id, AMF_CONTEXT).await;
        let before = if_found(udr.query_amf_context_3gpp(ue_id, FieldsQuery::default()).await)?;
        // A restarted AMF has a new identity behind the same URI. It must not receive the
        // deregistration of its own UE.
        let is_other_amf = |old: &Amf3GppAccessRegistration| {
            old.amf_instance_id != body.amf_instance_id
                && old.dereg_callback_uri != body.dereg_callback_uri
        };
        let old = before.filter(|old| is_other_amf(old) && old.purge_flag != Some(true));
        // In a task of its own: the old AMF is notified of a stored registration even if the
        // consumer cancels the request.
        let (context, supi, new) = (self.context.clone(), ue_id.to_string(), body.clone());
        let (answer, stored) = tokio::sync::oneshot::channel();
        trace::spawn(trace::Origin::here(), async move {
            let _lock = lock;
            let initial = new.initial_registration_ind == Some(true);
            let reply = udr.create_amf_context_3gpp(&supi, new).await;
            if let (Ok(_), Some(old)) = (&reply, old) {
                notify_old_amf(&context, udr.clone(), &supi, old, initial);
            }
            let _ = answer.send(reply);
        });
        let mut reply = stored
            .await
            .map_err(|_| Problem::system_failure("the registration was not stored"))??;
        if reply.status == 201 {
            let root = self.context.api_root();
            let segment = path_segment(ue_id);
            reply = StatusReply::created(
                format!("{root}/nudm-uecm/v1/{segment}/registrations/amf-3gpp-access"),
                body,
            );
        }
        Ok(reply)
    }

    async fn update_3gpp_registration(
        &self,
        ue_id: &str,
        body: MergePatch<Amf3GppAccessRegistrationModification>,
    ) -> Result<Option<PatchResult>, Problem> {
        let udr = self.udr(ue_id).await?;
        let _lock = self.locks.lock(ue_id, AMF_CONTEXT).await;
        let registered = udr.query_amf_context_3gpp(ue_id, FieldsQuery::default()).await?;
        if registered.guami != body.0.guami {
            return Err(Problem::new(403, "INVALID_GUAMI").detail("another AMF is registered"));
        }
        let changes =
            serde_json::to_value(&body.0).map_err(|e| Problem::system_failure(e.to_string()))?;
        let items =
            changes.as_object().into_iter().flatten().filter(|(name, _)| *name != "guami").map(
                |(name, value)| {
                    // `add` sets a member whether it exists or not (RFC 6902, 4.1).
                    PatchItem {
                        op: "add".into(),
                        path: format!("/{name}"),
                        from: None,
                        value: Some(value.clone()),
                    }
                },
            );
        udr.amf_context_3gpp(ue_id, JsonPatch(items.collect())).await
    }

    async fn get_3gpp_registration(
        &self,
        ue_id: &str,
        _: FeaturesQuery,
    ) -> Result<Amf3GppAccessRegistration, Problem> {
        let registered =
            self.udr(ue_id).await?.query_amf_context_3gpp(ue_id, FieldsQuery::default()).await?;
        if registered.purge_flag == Some(true) {
            return Err(Problem::new(404, "CONTEXT_NOT_FOUND").detail("the UE was purged"));
        }
        Ok(registered)
    }

    async fn get_smf_registration(
        &self,
        ue_id: &str,
        query: SmfRegistrationsQuery,
    ) -> Result<SmfRegistrationInfo, Problem> {
        let mut list =
            self.udr(ue_id).await?.query_smf_reg_list(ue_id, FeaturesQuery::default()).await?;
        list.retain(|r| query.single_nssai.as_ref().is_none_or(|s| s.0 == r.single_nssai));
        list.retain(|r| query.dnn.is_none() || query.dnn == r.dnn);
        if list.is_empty() {
            return Err(
                Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("no SMF serves {ue_id}"))
            );
        }
        Ok(SmfRegistrationInfo { smf_registration_list: list })
    }

    async fn registration(
        &self,
        ue_id: &str,
        pdu_session_id: &str,
        body: SmfRegistration,
    ) -> Result<StatusReply<SmfRegistration>, Problem> {
        if pdu_session_id.parse() != Ok(body.pdu_session_id) {
            return Err(Problem::mandatory_ie_incorrect(
                "/pduSessionId",
                "it differs from the path's",
            ));
        }
        let udr = self.udr(ue_id).await?;
        let _lock = self.locks.lock(ue_id, pdu_session_id).await;
        let reply =
            udr.create_or_update_smf_registration(ue_id, pdu_session_id, body.clone()).await?;
        if reply.status != 201 {
            return Ok(reply);
        }
        let root = self.context.api_root();
        let segment = path_segment(ue_id);
        let location = format!(
            "{root}/nudm-uecm/v1/{segment}/registrations/smf-registrations/{pdu_session_id}"
        );
        Ok(StatusReply::created(location, body))
    }

    async fn smf_deregistration(
        &self,
        ue_id: &str,
        pdu_session_id: &str,
        query: SmfDeregistrationQuery,
    ) -> Result<(), Problem> {
        let udr = self.udr(ue_id).await?;
        // Another SMF may register for the session between the two requests.
        let _lock = self.locks.lock(ue_id, pdu_session_id).await;
        if let Some(asking) = query.smf_instance_id {
            let registered =
                udr.query_smf_registration(ue_id, pdu_session_id, FieldsQuery::default()).await?;
            if registered.smf_instance_id != asking {
                let detail = "another SMF serves the session";
                return Err(Problem::new(422, "UNPROCESSABLE_REQUEST").detail(detail));
            }
        }
        udr.delete_smf_registration(ue_id, pdu_session_id).await
    }

    async fn retrieve_smf_registration(
        &self,
        ue_id: &str,
        pdu_session_id: &str,
    ) -> Result<SmfRegistration, Problem> {
        self.udr(ue_id)
            .await?
            .query_smf_registration(ue_id, pdu_session_id, FieldsQuery::default())
            .await
    }
}

/// Pauses between attempts to notify the previous AMF: the first one, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
const NOTIFICATION_ATTEMPTS: u32 = 10;
/// Notifications that are repeated at the same time. Others are sent once.
const MAX_REPEATED: usize = 1000;
static REPEATED: Semaphore = Semaphore::const_new(MAX_REPEATED);

/// Nudm_UECM_DeregistrationNotification to the previous AMF (TS 23.502, 4.2.2.2.2, step 14d), in
/// the background. It is repeated while that AMF does not respond: otherwise it would keep the UE
/// registered.
fn notify_old_amf(
    context: &NfContext,
    udr: UdrDataRepositoryClient,
    supi: &str,
    old: Amf3GppAccessRegistration,
    initial: bool,
) {
    let reason = match initial {
        true => DeregistrationReason::UeInitialRegistration,
        false => DeregistrationReason::UeRegistrationAreaChange,
    };
    let mut body = DeregistrationData::new(reason);
    // Open5GS's AMF refuses a notification without it.
    body.access_type = Some(AccessType::ThreeGppAccess);
    let (peer, supi) = (context.callback_peer().about(supi), supi.to_string());
    let (uri, shutdown) = (old.dereg_callback_uri, context.shutdown());
    martlet_nf::spawn(async move {
        let amf = AmfCallbackClient::new(peer);
        let mut pause = FIRST_PAUSE;
        let mut permit = None;
        for attempt in 1.. {
            let Err(problem) = amf.deregistration_notify(&uri, body.clone()).await else { return };
            tracing::info!(
                %supi, %problem, attempt,
                "deregistration notification to the previous AMF failed"
            );
            let is_absent = problem.transport.is_some() || problem.status() >= 500;
            permit = permit.or_else(|| REPEATED.try_acquire().ok());
            if !is_absent || permit.is_none() || attempt == NOTIFICATION_ATTEMPTS {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = shutdown.wait() => return,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
            // The UE may have returned to that AMF.
            let now = udr.query_amf_context_3gpp(&supi, FieldsQuery::default()).await;
            if now.is_ok_and(|now| now.dereg_callback_uri == uri) {
                return;
            }
        }
    });
}
