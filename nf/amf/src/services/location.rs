//! Namf_Location (TS 29.518, 5.5). An LMF determines the position; its messages to the UE arrive as
//! N1N2MessageTransfer.
use crate::Amf;
use crate::n2::Location;
use crate::ue::Event;
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::namf_location::{
    AmfLocation, LcsServiceAuth, LocationType, ProvideLocInfo, ProvidePosInfo, RequestLocInfo,
    RequestPosInfo,
};
use martlet_sbi_api::nlmf_location::{
    InputData, LmfLocationClient, UeLcsCapability, UeUpPositioningCapabilities,
};
use std::time::Duration;

/// Time for an LMF to determine a position, which waits for the UE several times: for its
/// connection, its capabilities, and each method. `sbi.timeout_ms` is too short for that.
const POSITIONING_TIMEOUT: Duration = Duration::from_secs(60);

/// Whether this AMF can serve a request: for a location now, and without a notification or
/// verification by the UE, which it does not send (TS 23.273, 6.1.2, steps 7 to 10). Otherwise the
/// UE would be located without the consent that the GMLC requires.
fn check(asked: &RequestPosInfo) -> Result<(), Problem> {
    let refused = |cause: &'static str, why: &str| Err(Problem::new(403, cause).detail(why));
    match &asked.lcs_location {
        LocationType::CurrentLocation | LocationType::CurrentOrLastKnownLocation => {}
        LocationType::NotificationVerificationOnly => {
            return refused("UNSPECIFIED", "the AMF does not notify UEs of location requests");
        }
        LocationType::DeferredLocation => {
            return refused("UNSPECIFIED", "the AMF does not support deferred location requests");
        }
        LocationType::Other(_) => {
            return refused("UNSPECIFIED", "the AMF does not support this lcsLocation");
        }
    }
    let Some(privacy) = &asked.ue_privacy_requirements else { return Ok(()) };
    if privacy.code_word_check == Some(true) {
        return refused("POSITIONING_DENIED", "the AMF cannot have the UE check the code word");
    }
    match &privacy.lcs_service_auth_info {
        None | Some(LcsServiceAuth::AllowedWithoutNotification) => Ok(()),
        Some(_) => refused(
            "POSITIONING_DENIED",
            "the AMF cannot notify the UE, as its privacy profile requires",
        ),
    }
}

impl AmfLocation for Amf {
    async fn provide_location_info(
        &self,
        ue_context_id: &str,
        body: RequestLocInfo,
    ) -> Result<ProvideLocInfo, Problem> {
        let unknown = || {
            Problem::new(404, "CONTEXT_NOT_FOUND")
                .detail(format!("the AMF does not know {ue_context_id}"))
        };
        let (answer, answered) = tokio::sync::oneshot::channel();
        let ue = self.find_in_set(ue_context_id).await?;
        ue.send(Event::Locate(body.into(), answer))?;
        answered.await.unwrap_or_else(|_| Err(unknown()))
    }

    async fn provide_positioning_info(
        &self,
        ue_context_id: &str,
        body: RequestPosInfo,
    ) -> Result<ProvidePosInfo, Problem> {
        check(&body)?;
        let unknown = || {
            Problem::new(403, "USER_UNKNOWN")
                .detail(format!("the AMF does not know {ue_context_id}"))
        };
        let handle = self.find_in_set(ue_context_id).await.map_err(|_| unknown())?;
        let ue = self.tables.summary(handle.number).ok_or_else(unknown)?;
        let Some(supi) = ue.supi.filter(|_| ue.registered) else {
            return Err(Problem::new(403, "DETACHED_USER")
                .detail(format!("{ue_context_id} is not registered")));
        };
        let shapes = body.lcs_supported_gad_shapes.into_iter();
        let shapes: Vec<_> =
            shapes.chain(body.additional_lcs_supp_gad_shapes.into_iter().flatten()).collect();
        let input = InputData {
            external_client_type: Some(body.lcs_client_type),
            amf_id: Some(self.instance_id.clone()),
            location_qos: body.lcs_qos,
            supported_gad_shapes: (!shapes.is_empty()).then_some(shapes),
            ncgi: ue.cell.map(Location::ncgi),
            ue_lcs_cap: Some(UeLcsCapability {
                lpp_support: Some(ue.lpp),
                ciot_optimisation: None,
            }),
            ue_up_pos_caps: ue.lcs_upp.then(|| vec![UeUpPositioningCapabilities::LcsUpp]),
            max_resp_time: body.max_resp_time,
            pei: body.pei,
            supi: Some(supi.clone()),
            ..Default::default()
        };
        let lmf = self.lmf(&supi).await?;
        let lmf = LmfLocationClient::new(lmf.peer().within(POSITIONING_TIMEOUT));
        let location = lmf.determine_location(Multipart::new(input)).await?;
        Ok(ProvidePosInfo {
            target_serving_node: Some(self.instance_id.clone()),
            ..location.into()
        })
    }
}
