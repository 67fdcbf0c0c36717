//! Generic UE configuration update (TS 24.501, 5.4.4; TS 23.502, 4.2.4.2): network name and time,
//! without acknowledgement, a new 5G-GUTI, and changed slices or service area.
//!
//! ```text
//! AMF -> UE  CONFIGURATION UPDATE COMMAND
//! UE -> AMF  CONFIGURATION UPDATE COMPLETE, if requested
//! ```
use super::{guti_allocation, mobility_restrictions, slice_selection};
use crate::metrics::Procedure;
use crate::procedures::connection::ue_context_release;
use crate::ue::{Due, NasTimer, Protection, Stop, Ue};
use martlet_nas::{
    Nas5gmmMessage, Nas5gsMessage, NasConfigurationUpdateCommand, NasConfigurationUpdateIndication,
    NasFGsMobileIdentity, NasNetworkName, NasNetworkSlicingIndication, NasTimeZone,
    NasTimeZoneAndTime, identifiers,
};
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_sbi_api::common::DateTime;

/// Years before this one are those of a clock that was never set.
const FIRST_YEAR: &str = "2025";

/// Sends the network name, and time and time zone, if configured.
pub(crate) async fn run(ue: &mut Ue) -> Result<(), Stop> {
    let name = &ue.amf.config.network_name;
    let quarters = name.quarter_hours();
    let time_zone = quarters.and_then(|quarters| NasTimeZone::from_quarter_hours(quarters).ok());
    if name.full.is_empty() && name.short.is_empty() && time_zone.is_none() {
        return Ok(());
    }
    let mut command = NasConfigurationUpdateCommand::new();
    if !name.full.is_empty() {
        command.set_full_name_for_network(NasNetworkName::from_name(&name.full, false));
    }
    if !name.short.is_empty() {
        command.set_short_name_for_network(NasNetworkName::from_name(&name.short, false));
    }
    if let Some(time_zone) = time_zone {
        command.set_local_time_zone(time_zone);
    }
    if let Some(time) = quarters.and_then(|quarters| universal_time(&DateTime::now(), quarters)) {
        command.set_universal_time_and_local_time_zone(time);
    }
    ue.send_nas(&Nas5gsMessage::new_5gmm(command)).await
}

/// The time in UTC, with the time zone (TS 24.008, 10.5.3.9). Many UEs set their clock by it, and
/// not by the time zone alone.
fn universal_time(now: &str, quarters: i8) -> Option<NasTimeZoneAndTime> {
    if now.get(..4)? < FIRST_YEAR {
        return None;
    }
    // Of 2024-01-31T12:00:00Z.
    let number = |at: usize| now.get(at..at + 2)?.parse::<u8>().ok();
    let time = NasTimeZoneAndTime::default()
        .with_year(number(2)?)
        .with_month(number(5)?)
        .with_day(number(8)?)
        .with_hour(number(11)?)
        .with_minute(number(14)?)
        .with_second(number(17)?);
    time.with_timezone_quarter_hours(quarters).ok()
}

/// Allocates a new 5G-GUTI after paging, since the old one was sent unprotected (TS 33.501,
/// 6.12.3). The old one is retained until the UE uses the new one, since some UEs confirm it and
/// keep the old one; in `strict` mode it is released when the UE confirms.
pub(crate) async fn new_guti(ue: &mut Ue) -> Result<(), Stop> {
    guti_allocation::run(ue)?;
    let retains_old = !ue.amf.config.n1.strict;
    send_guti(ue, retains_old).await
}

/// Sends the 5G-GUTI that was assigned. The previous one is released when the UE confirms.
pub(crate) async fn confirm_guti(ue: &mut Ue) -> Result<(), Stop> {
    send_guti(ue, false).await
}

async fn send_guti(ue: &mut Ue, retains_old: bool) -> Result<(), Stop> {
    let procedure = Procedure::start("configuration_update");
    let Some(guti) = ue.identity.guti else { return Ok(()) };
    let mut command = NasConfigurationUpdateCommand::new();
    command.set_configuration_update_indication(NasConfigurationUpdateIndication::from_flags(
        true, false,
    ));
    command.set_fg_guti(NasFGsMobileIdentity::from_guti(guti));
    match confirmed(ue, command).await {
        Ok(()) => {
            match retains_old {
                true => ue.identity.old_guti_is_retained = ue.identity.old_guti.is_some(),
                false => ue.release_old_guti(),
            }
            procedure.succeeded();
            Ok(())
        }
        Err(stop) => {
            procedure.failed(&stop.label());
            match stop {
                // Both stay valid (5.4.4.6 b).
                Stop::NoAnswer(_) => Ok(()),
                stop => Err(stop),
            }
        }
    }
}

/// Sends the command and waits for the acknowledgement.
async fn confirmed(ue: &mut Ue, command: NasConfigurationUpdateCommand) -> Result<(), Stop> {
    let timer = NasTimer { name: "T3555", duration: ue.amf.config.timers.t3555() };
    let command = Nas5gsMessage::new_5gmm(command);
    ue.start_configuration_update();
    let answer =
        ue.exchange(&command, Protection::AsSecured, timer, |_, inbound| match &inbound.message {
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::ConfigurationUpdateComplete(_))
                if inbound.is_verified() =>
            {
                Some(())
            }
            _ => None,
        });
    let confirmed = answer.await;
    ue.end_configuration_update();
    confirmed
}

/// Sends pending subscription changes. An idle UE is not paged for them; it gets them at its next
/// connection.
pub(crate) async fn of_subscription(ue: &mut Ue) -> Result<(), Stop> {
    if ue.registration.due == Due::default() || !ue.is_registered() {
        return Ok(());
    }
    let procedure = Procedure::start("configuration_update");
    let (due, allowed) =
        (std::mem::take(&mut ue.registration.due), slice_selection::still_allowed(ue));
    // Without an allowed slice the UE has to register again, on a new connection (5.4.4.2).
    let register_again = due.slices && allowed.is_empty();
    let command = command(ue, due, &allowed, register_again).map_err(|error| {
        tracing::error!(supi = ue.label(), %error, "CONFIGURATION UPDATE COMMAND not encodable");
        Stop::Abandoned("not_encodable")
    })?;
    match confirmed(ue, command).await {
        Ok(()) => {
            if due.slices && !register_again {
                ue.registration.allowed = allowed;
            }
            procedure.succeeded();
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                ?due,
                register_again,
                "UE configuration updated"
            );
            if register_again {
                ue.deactivate_all(None).await;
                ue_context_release::run(ue, Cause::nas(CauseNas::normal_release));
            }
            Ok(())
        }
        Err(stop) => {
            ue.registration.due = due;
            procedure.failed(&stop.label());
            match stop {
                Stop::NoAnswer(_) => Ok(()),
                stop => Err(stop),
            }
        }
    }
}

fn command(
    ue: &Ue,
    due: Due,
    allowed: &[identifiers::Slice],
    register_again: bool,
) -> Result<NasConfigurationUpdateCommand, martlet_nas::ValueError> {
    let mut command = NasConfigurationUpdateCommand::new();
    command.set_configuration_update_indication(NasConfigurationUpdateIndication::from_flags(
        true,
        register_again,
    ));
    if due.slices {
        command
            .set_network_slicing_indication(NasNetworkSlicingIndication::from_flags(true, false));
        let configured = slice_selection::configured(ue);
        if !configured.is_empty() {
            command.set_configured_nssai(identifiers::nssai(&configured)?);
        }
        if !register_again && allowed != ue.registration.allowed {
            command.set_allowed_nssai(identifiers::nssai(allowed)?);
        }
    }
    if let Some(areas) = mobility_restrictions::service_area_list(ue, true).filter(|_| due.areas) {
        command.set_service_area_list(areas);
    }
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ue_gets_the_time_in_utc_with_its_time_zone() {
        let time = universal_time("2026-11-30T19:48:37.25Z", -14).unwrap();
        assert_eq!((time.year(), time.month(), time.day()), (26, 11, 30));
        assert_eq!((time.hour(), time.minute(), time.second()), (19, 48, 37));
        assert_eq!(time.timezone_quarter_hours(), -14);
        // Digits are swapped in each octet.
        assert_eq!(hex::encode(&time.value[..6]), "621103918473");
        assert!(time.is_well_formed());
        assert!(universal_time(&DateTime::now(), 79).is_some_and(|time| time.is_well_formed()));
        assert!(universal_time("1970-01-01T00:00:09Z", 0).is_none());
    }
}
