//! Registration at the UDM and subscription retrieval (TS 23.502, 4.2.2.2.2, steps 14a to 14c).
//!
//! ```text
//! AMF -> UDM  Nudm_SDM_Get, concurrent with security mode control after an authentication
//! AMF -> UDM  Nudm_UECM_Registration, concurrent with Nudm_SDM_Get, NSSF and PCF
//! AMF -> UDM  Nudm_SDM_Subscribe, concurrent with what follows
//! ```
use crate::served::{Tai, plmn_to_sbi};
use crate::ue::{Reject, Stop, Ue};
use martlet_nas::GmmCause;
use martlet_sbi::{Problem, path_segment, trace};
use martlet_sbi_api::common::{CoreNetworkType, DateTime, RatType};
use martlet_sbi_api::nudm_sdm::{
    DataSetName, DataSetsQuery, SdmSubscription, SubscriptionDataSets,
};
use martlet_sbi_api::nudm_uecm::{Amf3GppAccessRegistration, ImsVoPs};
use martlet_sbi_api::{Json, TextList};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// The age up to which subscription data that were read during security mode control are used.
/// There is no subscription to their changes yet, and a UE may answer late.
const MAX_AGE: Duration = Duration::from_secs(2);

/// Registers the AMF and reads the subscription, concurrently. [`subscribe`] follows.
async fn run(ue: &mut Ue) -> Result<(), Stop> {
    let registering = register(ue, false)?;
    let former = forget(ue);
    let data = read(ue).await;
    registered(ue, registering).await?;
    store(ue, data, former)
}

/// Reads the subscription: waits for the request that [`begin_reading`] has sent, or sends one.
pub(crate) async fn retrieve(ue: &mut Ue, reading: Option<Reading>) -> Result<(), Stop> {
    let former = forget(ue);
    let data = match reading.filter(|reading| reading.started.elapsed() < MAX_AGE) {
        Some(reading) => reading.finish().await,
        None => read(ue).await,
    };
    store(ue, data, former)
}

/// Removes the subscription data. Returns the identity of the subscription to their changes.
fn forget(ue: &mut Ue) -> Option<String> {
    let former = ue.registration.subscription.take();
    former.and_then(|former| former.sdm_subscription.clone())
}

fn store(
    ue: &mut Ue,
    data: Result<SubscriptionDataSets, Problem>,
    sdm_subscription: Option<String>,
) -> Result<(), Stop> {
    let data = data.map_err(|problem| refused(ue, &problem, "subscription data request failed"))?;
    let Some(access) = data.am_data else {
        return Err(Stop::reject(GmmCause::FiveGsServicesNotAllowed));
    };
    ue.registration.t3512 = access.subs_reg_timer.unwrap_or(ue.amf.config.timers.t3512_s);
    let smf_selection = data.smf_sel_data.unwrap_or_default();
    let subscription = ue.amf.subscriptions.subscription(access, smf_selection, sdm_subscription);
    ue.registration.subscription = Some(Arc::new(subscription));
    Ok(())
}

/// Registers this AMF in place of the one that served the UE before, reads the subscription and
/// subscribes to its changes. If the UDM fails, the UE keeps the subscription that it had.
pub(crate) async fn of_new_amf(ue: &mut Ue) {
    // The former AMF's subscription to changes notifies that AMF.
    let former = ue.registration.subscription.take();
    if let Err(stop) = run(ue).await {
        tracing::warn!(supi = ue.label(), why = stop.label(), "registration at the UDM failed");
        ue.registration.subscription = former;
    }
    let subscribing = subscribe(ue);
    subscribed(ue, subscribing).await;
}

/// A Nudm_UECM_Registration in progress.
pub(crate) struct Registering(JoinHandle<Result<(), Problem>>);

/// Begins Nudm_UECM_Registration. [`registered`] waits for its end.
pub(crate) fn register(ue: &Ue, initial: bool) -> Result<Registering, Stop> {
    let Some(supi) = ue.identity.supi.clone() else { return Err(Stop::Abandoned("no_supi")) };
    let root = ue.amf.context.api_root();
    let mut registration = Amf3GppAccessRegistration::new(
        ue.amf.instance_id.clone(),
        format!("{root}/namf-callback/v1/deregistration/{}", path_segment(&supi)),
        ue.guami().sbi.clone(),
        RatType::Nr,
    );
    registration.initial_registration_ind = Some(initial);
    registration.pei = ue.identity.pei.clone();
    registration.ims_vo_ps = Some(match ue.amf.config.ims_voice {
        true => ImsVoPs::HomogeneousSupport,
        false => ImsVoPs::HomogeneousNonSupport,
    });
    registration.registration_time = Some(DateTime::now());
    registration.supi = Some(supi.clone());
    let amf = ue.amf.clone();
    Ok(Registering(trace::spawn(trace::Origin::here(), async move {
        amf.uecm(&supi).await?.registration_3gpp(&supi, registration).await.map(|_| ())
    })))
}

/// Waits for the end of Nudm_UECM_Registration.
pub(crate) async fn registered(ue: &Ue, mut registering: Registering) -> Result<(), Stop> {
    finished(&mut registering.0)
        .await
        .map_err(|problem| refused(ue, &problem, "registration at the UDM failed"))
}

async fn finished<T>(task: &mut JoinHandle<Result<T, Problem>>) -> Result<T, Problem> {
    task.await.unwrap_or_else(|error| Err(Problem::system_failure(error.to_string())))
}

/// Access and mobility data and SMF selection data in one Nudm_SDM_Get.
async fn read(ue: &Ue) -> Result<SubscriptionDataSets, Problem> {
    let Some(supi) = &ue.identity.supi else {
        return Err(Problem::system_failure("the UE has no SUPI"));
    };
    ue.amf.data_sets(supi, data_sets(ue)).await
}

/// The query of [`read`].
fn data_sets(ue: &Ue) -> DataSetsQuery {
    let plmn = plmn_to_sbi(ue.guami().plmn);
    DataSetsQuery {
        dataset_names: Some(TextList(vec![DataSetName::Am, DataSetName::SmfSel])),
        plmn_id: Some(Json(plmn.into())),
        ..Default::default()
    }
}

/// A Nudm_SDM_Get in progress. A drop cancels it.
pub(crate) struct Reading {
    task: JoinHandle<Result<SubscriptionDataSets, Problem>>,
    started: Instant,
}

impl Reading {
    async fn finish(mut self) -> Result<SubscriptionDataSets, Problem> {
        finished(&mut self.task).await
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Begins Nudm_SDM_Get for an authenticated SUPI (TS 33.501, 6.1.3.2), for [`retrieve`]. It only
/// reads: Nudm_UECM_Registration follows security mode control (TS 23.502, 4.2.2.2.2, steps 9 and
/// 14a). `None` for a UE that the context limit will reject.
pub(crate) fn begin_reading(ue: &Ue) -> Option<Reading> {
    let supi = ue.identity.supi.clone().filter(|_| !ue.admission.over_limit)?;
    let (amf, query) = (ue.amf.clone(), data_sets(ue));
    let task =
        trace::spawn(trace::Origin::here(), async move { amf.data_sets(&supi, query).await });
    Some(Reading { task, started: Instant::now() })
}

/// A Nudm_SDM_Subscribe in progress.
pub(crate) struct Subscribing(JoinHandle<Option<String>>);

/// Begins Nudm_SDM_Subscribe unless there is a subscription. The UE does not wait for it: it
/// follows Nudm_SDM_Get, and REGISTRATION ACCEPT contains nothing of it (TS 23.502, 4.2.2.2.2,
/// steps 14c and 21).
pub(crate) fn subscribe(ue: &Ue) -> Option<Subscribing> {
    let supi = ue.identity.supi.clone()?;
    let subscription = ue.registration.subscription.as_ref()?;
    if subscription.sdm_subscription.is_some() {
        return None;
    }
    let root = ue.amf.context.api_root();
    let segment = path_segment(&supi);
    let mut subscription = SdmSubscription::new(
        ue.amf.instance_id.clone(),
        format!("{root}/namf-callback/v1/sdm-change/{segment}"),
        vec![
            format!("nudm-sdm/v2/{segment}/am-data"),
            format!("nudm-sdm/v2/{segment}/smf-select-data"),
        ],
    );
    subscription.implicit_unsubscribe = Some(true);
    subscription.plmn_id = Some(plmn_to_sbi(ue.guami().plmn));
    let (amf, gnb) = (ue.amf.clone(), ue.gnb());
    Some(Subscribing(trace::spawn(trace::Origin::here(), async move {
        let made = async { amf.sdm(&supi).await?.subscribe(&supi, subscription).await };
        match made.await {
            Ok(created) => {
                let id = created.body.subscription_id;
                id.or_else(|| created.location.rsplit('/').next().map(str::to_string))
                    .filter(|id| !id.is_empty())
            }
            Err(problem) => {
                tracing::warn!(%supi, gnb, %problem, "SDM subscription failed");
                None
            }
        }
    })))
}

/// Stores the identity of the subscription. A failure does not affect the registration.
pub(crate) async fn subscribed(ue: &mut Ue, subscribing: Option<Subscribing>) {
    let Some(Subscribing(task)) = subscribing else { return };
    let id = task.await.ok().flatten();
    if let Some(subscription) = &mut ue.registration.subscription {
        Arc::make_mut(subscription).sdm_subscription = id;
    }
}

/// The reject after a failed request to the UDM (TS 29.524, 5.2.2.3).
fn refused(ue: &Ue, problem: &Problem, what: &str) -> Stop {
    if let Some(suppressed) = martlet_log_limit::line("subscription", ue.label()) {
        tracing::warn!(
            supi = ue.label(), gnb = ue.gnb(), %problem, suppressed,
            "{what}"
        );
    }
    match (problem.status(), problem.cause()) {
        (403, "ROAMING_NOT_ALLOWED") => Stop::reject(GmmCause::PlmnNotAllowed),
        (403, "RAT_NOT_ALLOWED" | "ACCESS_NOT_ALLOWED") => Stop::reject(GmmCause::N1ModeNotAllowed),
        (404, "USER_NOT_FOUND") => Stop::reject(GmmCause::IllegalUe),
        (403 | 404, _) => Stop::reject(GmmCause::FiveGsServicesNotAllowed),
        _ => {
            let back_off = Some(ue.amf.config.limits.back_off_s);
            Stop::Reject(Reject { back_off, ..GmmCause::Congestion.into() })
        }
    }
}

/// Checks RAT, core network and forbidden area restrictions (TS 23.501, 5.3.4.1.1).
pub(crate) fn check_area(ue: &Ue) -> Result<(), Stop> {
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    let Some(subscription) = &ue.registration.subscription else { return Ok(()) };
    let access = &subscription.access;
    let tai = connection.location.tai;
    let barred = |list: &Option<Vec<CoreNetworkType>>| {
        list.as_ref().is_some_and(|list| list.contains(&CoreNetworkType::FiveGc))
    };
    if access.rat_restrictions.as_ref().is_some_and(|list| list.contains(&RatType::Nr))
        || barred(&access.core_network_type_restrictions)
    {
        return Err(Stop::reject(GmmCause::N1ModeNotAllowed));
    }
    match is_forbidden(ue, tai) {
        true => Err(Stop::reject(GmmCause::TrackingAreaNotAllowed)),
        false => Ok(()),
    }
}

/// Whether a tracking area is forbidden.
pub(crate) fn is_forbidden(ue: &Ue, tai: Tai) -> bool {
    let areas = ue
        .registration
        .subscription
        .iter()
        .flat_map(|subscription| subscription.access.forbidden_areas.iter().flatten());
    areas.flat_map(|area| area.tacs.iter().flatten()).any(|forbidden| forbidden.to_u32() == tai.tac)
}
