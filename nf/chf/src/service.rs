//! Nchf_ConvergedCharging (TS 32.290, 6.2; TS 32.291, 5.2).
use crate::set::Server;
use crate::{Chf, Key, Record};
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::common::DateTime;
use martlet_sbi_api::nchf_converged_charging::{
    ChargingDataRequest, ChargingDataResponse, ChargingNotifyRequest, ChfConvergedCharging,
    FinalUnitAction, FinalUnitIndication, GrantedUnit, MultipleUnitInformation, NotificationType,
    ResultCode, UsedUnitContainer,
};
use martlet_sbi_api::nsmf_callback::SmfCallbackClient;

fn unknown(reference: &str) -> Problem {
    Problem::new(404, "CHARGING_SESSION_NOT_FOUND")
        .detail(format!("no charging session {reference}"))
}

impl Chf {
    /// Records the reported usage and grants the requested units.
    fn charge(&self, id: u64, request: &ChargingDataRequest) -> ChargingDataResponse {
        let mut accounts = self.accounts();
        let usages = request.multiple_unit_usage.as_deref().unwrap_or_default();
        let used = usages.iter().flat_map(|usage| {
            let containers = usage.used_unit_container.iter().flatten();
            containers.map(|container| {
                let (uplink, downlink) = volumes(container);
                (usage.rating_group, uplink, downlink)
            })
        });
        let used: Vec<_> = used.collect();
        let supi = accounts.record(id).map(|record| record.supi.clone()).unwrap_or_default();
        if !used.is_empty() {
            accounts.used(id, request.invocation_sequence_number, &used);
        }
        let mut answers = Vec::new();
        for usage in usages.iter().filter(|usage| usage.requested_unit.is_some()) {
            let mut answer =
                MultipleUnitInformation { rating_group: usage.rating_group, ..Default::default() };
            match accounts.grant(id, usage.rating_group) {
                None => answer.result_code = Some(ResultCode::QuotaLimitReached),
                Some(grant) => {
                    answer.result_code = Some(match grant.bytes {
                        Some(_) => ResultCode::Success,
                        None => ResultCode::QuotaManagementNotApplicable,
                    });
                    if let Some(octets) = grant.bytes {
                        answer.granted_unit =
                            Some(GrantedUnit { total_volume: Some(octets), ..Default::default() });
                        let left = octets / 100 * u64::from(self.config.threshold_percent);
                        answer.volume_quota_threshold = (!grant.last && left > 0).then_some(left);
                    }
                    answer.validity_time =
                        (self.config.validity_s > 0).then_some(self.config.validity_s);
                    answer.final_unit_indication = grant.last.then_some(FinalUnitIndication {
                        final_unit_action: FinalUnitAction::Terminate,
                    });
                }
            }
            answers.push(answer);
        }
        self.persist(&accounts, &[Key::Account(supi), Key::Record(id)]);
        ChargingDataResponse {
            invocation_time_stamp: DateTime::now(),
            invocation_sequence_number: request.invocation_sequence_number,
            multiple_unit_information: (!answers.is_empty()).then_some(answers),
            triggers: None,
        }
    }

    fn find(&self, reference: &str) -> Result<u64, Problem> {
        let id = reference.parse().map_err(|_| unknown(reference))?;
        let there = self.accounts().record(id).is_some_and(|record| record.ended.is_empty());
        if there { Ok(id) } else { Err(unknown(reference)) }
    }
}

/// The bytes from and to the UE. A container may have the sum alone, or one direction of it (TS
/// 32.291, 6.1.6.2): what has no direction counts as sent to the UE.
fn volumes(container: &UsedUnitContainer) -> (u64, u64) {
    let uplink = container.uplink_volume.unwrap_or(0);
    let downlink = container.downlink_volume.unwrap_or(0);
    let total = container.total_volume.unwrap_or(0);
    let rest = total.saturating_sub(uplink.saturating_add(downlink));
    (uplink, downlink.saturating_add(rest))
}

/// The record of a session that begins.
fn record(request: &ChargingDataRequest) -> Result<Record, Problem> {
    let missing = |name: &str| Problem::new(400, "MANDATORY_IE_MISSING").detail(name.to_string());
    let supi =
        request.subscriber_identifier.as_ref().ok_or_else(|| missing("subscriberIdentifier"))?;
    let about = request.pdu_session_charging_information.as_ref();
    let session = about.and_then(|about| about.pdu_session_information.as_ref());
    let session = session.ok_or_else(|| missing("pduSessionInformation"))?;
    let address = session.pdu_address.as_ref().map(|address| {
        let ipv4 = address.pdu_ipv4_address.map(|ip| ip.to_string());
        let ipv6 = address.pdu_ipv6_address_with_prefix.map(|ip| format!("{ip}/64"));
        ipv4.into_iter().chain(ipv6).collect::<Vec<_>>().join(", ")
    });
    Ok(Record {
        supi: supi.to_string(),
        session: session.pdu_session_id,
        charging_id: about.and_then(|about| about.smf_charging_id.clone()).unwrap_or_default(),
        dnn: session.dnn_id.to_string(),
        slice: session
            .network_slicing_info
            .as_ref()
            .map(|info| info.s_nssai.to_string())
            .unwrap_or_default(),
        address: address.unwrap_or_default(),
        started: request.invocation_time_stamp.to_string(),
        notify_uri: request.notify_uri.clone(),
        ..Record::default()
    })
}

/// Serves a request here, or at the member of the set that has the account or record: `$here`, or
/// the call `$call` of its client.
macro_rules! at_owner {
    ($chf:expr, $key:expr, $client:ident => $call:expr, $here:expr) => {{
        let key = $key;
        let mut attempts = 0;
        loop {
            match $chf.server_of(&key).await? {
                Server::Here => break $here,
                Server::Other(owner, $client) => match $call.await {
                    Err(problem) if martlet_nf::is_absence(&problem) && attempts < 2 => {
                        tracing::warn!(owner, %problem, "CHF of the set does not respond");
                        attempts += 1;
                        $chf.take_over(&owner).await?;
                    }
                    answer => break answer,
                },
            }
        }
    }};
}

impl Chf {
    async fn create(
        &self,
        record: Record,
        body: ChargingDataRequest,
    ) -> Result<Created<ChargingDataResponse>, Problem> {
        if let Some(uri) = &body.notify_uri {
            self.context.check_callback(uri).await?;
        }
        let id = {
            let mut accounts = self.accounts();
            let id = accounts.open(record).ok_or_else(|| {
                Problem::new(503, "NF_CONGESTION")
                    .detail("too many active sessions: raise chf.max_sessions")
            })?;
            let replaced = accounts.free_replaced(id);
            self.persist(&accounts, &replaced);
            id
        };
        let answer = self.charge(id, &body);
        let location =
            format!("{}/nchf-convergedcharging/v3/chargingdata/{id}", self.context.api_root());
        Ok(Created { location, body: answer })
    }

    async fn update(
        &self,
        reference: &str,
        body: ChargingDataRequest,
    ) -> Result<ChargingDataResponse, Problem> {
        let id = self.find(reference)?;
        if let Some(uri) = &body.notify_uri {
            match self.context.check_callback(uri).await {
                Ok(()) => self.accounts().set_notify_uri(id, uri.clone()),
                // The usage counts: an SMF need not report it again.
                Err(problem) => {
                    tracing::info!(session = id, %problem, "notification URI of update refused")
                }
            }
        }
        Ok(self.charge(id, &body))
    }

    fn release(&self, reference: &str, body: ChargingDataRequest) -> Result<(), Problem> {
        let id = self.find(reference)?;
        self.charge(id, &body);
        let mut accounts = self.accounts();
        let changed = accounts.close(id, body.invocation_time_stamp.to_string());
        self.persist(&accounts, &changed);
        Ok(())
    }
}

fn key(reference: &str) -> Result<Key, Problem> {
    reference.parse().map(Key::Record).map_err(|_| unknown(reference))
}

impl ChfConvergedCharging for Chf {
    async fn post_chargingdata(
        &self,
        body: ChargingDataRequest,
    ) -> Result<Created<ChargingDataResponse>, Problem> {
        let record = record(&body)?;
        at_owner!(self, Key::Account(record.supi.clone()),
            client => client.post_chargingdata(body.clone()),
            self.create(record, body).await)
    }

    async fn update_chargingdata(
        &self,
        charging_data_ref: &str,
        body: ChargingDataRequest,
    ) -> Result<ChargingDataResponse, Problem> {
        at_owner!(self, key(charging_data_ref)?,
            client => client.update_chargingdata(charging_data_ref, body.clone()),
            self.update(charging_data_ref, body).await)
    }

    async fn release_chargingdata(
        &self,
        charging_data_ref: &str,
        body: ChargingDataRequest,
    ) -> Result<(), Problem> {
        at_owner!(self, key(charging_data_ref)?,
            client => client.release_chargingdata(charging_data_ref, body.clone()),
            self.release(charging_data_ref, body))
    }
}

/// Requests reauthorization from the SMFs of sessions (TS 32.290, 5.4.2.5).
pub async fn reauthorize(chf: &Chf, sessions: &[u64]) {
    for id in sessions {
        let uri = chf.accounts().record(*id).and_then(|record| record.notify_uri.clone());
        let Some(uri) = uri else { continue };
        let body = ChargingNotifyRequest {
            notification_type: NotificationType::Reauthorization,
            reauthorization_details: None,
        };
        if let Err(problem) =
            SmfCallbackClient::new(chf.context.callback_peer()).charging_notify(&uri, body).await
        {
            tracing::info!(%problem, "reauthorization notification failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_without_direction_counts() {
        let of = |total_volume, uplink_volume, downlink_volume| {
            let container = UsedUnitContainer {
                total_volume,
                uplink_volume,
                downlink_volume,
                ..Default::default()
            };
            volumes(&container)
        };
        assert_eq!(of(Some(9), None, None), (0, 9));
        assert_eq!(of(Some(9), Some(4), None), (4, 5));
        assert_eq!(of(Some(9), Some(4), Some(5)), (4, 5));
        assert_eq!(of(None, Some(4), Some(5)), (4, 5));
        assert_eq!(of(Some(3), Some(4), Some(u64::MAX)), (4, u64::MAX));
    }
}
