//! Generic UE configuration update (TS 24.501, 5.4.4): the network's name, for which no answer is asked, and a new 5G-GUTI.
use super::registration_accept;
use crate::metrics::Procedure;
use crate::ue::{NasTimer, Protection, Stop, Ue};
use martlet_nas::{
    Nas5gmmMessage, Nas5gsMessage, NasConfigurationUpdateCommand, NasConfigurationUpdateIndication,
    NasFGsMobileIdentity, NasNetworkName,
};

/// Tells the UE the network's name, where there is one.
pub(crate) async fn run(ue: &mut Ue) -> Result<(), Stop> {
    let name = &ue.amf.config.network_name;
    if name.full.is_empty() && name.short.is_empty() {
        return Ok(());
    }
    let mut command = NasConfigurationUpdateCommand::new();
    if !name.full.is_empty() {
        command.set_full_name_for_network(NasNetworkName::from_name(&name.full, false));
    }
    if !name.short.is_empty() {
        command.set_short_name_for_network(NasNetworkName::from_name(&name.short, false));
    }
    ue.send_nas(&Nas5gsMessage::new_5gmm(command)).await
}

/// Gives the UE a new 5G-GUTI: one that was called in the clear is not used again (TS 33.501, 6.12.3). A UE that does not
/// confirm it has both.
pub(crate) async fn new_guti(ue: &mut Ue) -> Result<(), Stop> {
    let procedure = Procedure::start("configuration_update");
    registration_accept::new_guti(ue)?;
    let Some(guti) = ue.guti else { return Ok(()) };
    let mut command = NasConfigurationUpdateCommand::new();
    command.set_configuration_update_indication(NasConfigurationUpdateIndication::from_flags(true, false));
    command.set_fg_guti(NasFGsMobileIdentity::from_guti(guti));
    let timer = NasTimer { name: "T3555", duration: ue.amf.config.timers.t3555() };
    let command = Nas5gsMessage::new_5gmm(command);
    let answer = ue.exchange(&command, Protection::AsSecured, timer, |_, inbound| match &inbound.message {
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::ConfigurationUpdateComplete(_)) if inbound.is_verified() => Some(()),
        _ => None,
    });
    match answer.await {
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
