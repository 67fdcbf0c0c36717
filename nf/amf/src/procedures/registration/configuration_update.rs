//! Generic UE configuration update (TS 24.501, 5.4.4; TS 23.502, 4.2.4.2): the network's name, for
//! which no answer is asked, a new 5G-GUTI, and what has changed in the subscription of a UE that
//! is registered: its slices, and where it gets service.
use super::{guti_allocation, mobility_restrictions, slice_selection};
use crate::metrics::Procedure;
use crate::procedures::connection::ue_context_release;
use crate::ue::{Due, NasTimer, Protection, Stop, Ue};
use martlet_nas::{
    Nas5gmmMessage, Nas5gsMessage, NasConfigurationUpdateCommand, NasConfigurationUpdateIndication,
    NasFGsMobileIdentity, NasNetworkName, NasNetworkSlicingIndication, NasTimeZone, identifiers,
};
use martlet_ngap::ngap::{Cause, CauseNas};

/// Tells the UE the network's name and time zone, where there are such.
pub(crate) async fn run(ue: &mut Ue) -> Result<(), Stop> {
    let name = &ue.amf.config.network_name;
    let time_zone =
        name.quarter_hours().and_then(|quarters| NasTimeZone::from_quarter_hours(quarters).ok());
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
    ue.send_nas(&Nas5gsMessage::new_5gmm(command)).await
}

/// Gives the UE a new 5G-GUTI: one that was called in the clear is not used again (TS 33.501,
/// 6.12.3). A UE that does not confirm it has both.
pub(crate) async fn new_guti(ue: &mut Ue) -> Result<(), Stop> {
    let procedure = Procedure::start("configuration_update");
    guti_allocation::run(ue)?;
    let Some(guti) = ue.guti else { return Ok(()) };
    let mut command = NasConfigurationUpdateCommand::new();
    command.set_configuration_update_indication(NasConfigurationUpdateIndication::from_flags(
        true, false,
    ));
    command.set_fg_guti(NasFGsMobileIdentity::from_guti(guti));
    match confirmed(ue, command).await {
        Ok(()) => {
            ue.forget_old_guti();
            procedure.succeeded();
            Ok(())
        }
        Err(stop) => {
            procedure.failed(&stop.label());
            match stop {
                // Both are valid until the UE says which it has (5.4.4.6 b).
                Stop::NoAnswer(_) => Ok(()),
                stop => Err(stop),
            }
        }
    }
}

/// Sends a command until the UE has confirmed it.
async fn confirmed(ue: &mut Ue, command: NasConfigurationUpdateCommand) -> Result<(), Stop> {
    let timer = NasTimer { name: "T3555", duration: ue.amf.config.timers.t3555() };
    let command = Nas5gsMessage::new_5gmm(command);
    let answer =
        ue.exchange(&command, Protection::AsSecured, timer, |_, inbound| match &inbound.message {
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::ConfigurationUpdateComplete(_))
                if inbound.is_verified() =>
            {
                Some(())
            }
            _ => None,
        });
    answer.await
}

/// Tells the UE what is due. One that is idle hears it when it is connected again, and does not
/// have to be called for it.
pub(crate) async fn of_subscription(ue: &mut Ue) -> Result<(), Stop> {
    if ue.due == Due::default() || !ue.registered {
        return Ok(());
    }
    let procedure = Procedure::start("configuration_update");
    let (due, allowed) = (std::mem::take(&mut ue.due), slice_selection::still_allowed(ue));
    // With no slice left, the UE asks for others: it registers, with a connection of its own
    // (5.4.4.2).
    let anew = due.slices && allowed.is_empty();
    let command = command(ue, due, &allowed, anew).map_err(|error| {
        tracing::error!(supi = ue.label(), %error, "CONFIGURATION UPDATE COMMAND cannot be built");
        Stop::Abandoned("not_encodable")
    })?;
    match confirmed(ue, command).await {
        Ok(()) => {
            if due.slices && !anew {
                ue.allowed = allowed;
            }
            procedure.succeeded();
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                ?due,
                anew,
                "the UE knows of its changed subscription"
            );
            if anew {
                ue_context_release::run(ue, Cause::nas(CauseNas::normal_release));
            }
            Ok(())
        }
        Err(stop) => {
            ue.due = due;
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
    anew: bool,
) -> Result<NasConfigurationUpdateCommand, martlet_nas::ValueError> {
    let mut command = NasConfigurationUpdateCommand::new();
    command.set_configuration_update_indication(NasConfigurationUpdateIndication::from_flags(
        true, anew,
    ));
    if due.slices {
        command
            .set_network_slicing_indication(NasNetworkSlicingIndication::from_flags(true, false));
        let configured = slice_selection::configured(ue);
        if !configured.is_empty() {
            command.set_configured_nssai(identifiers::nssai(&configured)?);
        }
        if !anew && allowed != ue.allowed {
            command.set_allowed_nssai(identifiers::nssai(allowed)?);
        }
    }
    if let Some(areas) = mobility_restrictions::service_area_list(ue, true).filter(|_| due.areas) {
        command.set_service_area_list(areas);
    }
    Ok(command)
}
