//! Generic UE configuration update (TS 24.501, 5.4.4): the network's name. No answer is asked for.
use crate::ue::{Stop, Ue};
use martlet_nas::{Nas5gsMessage, NasConfigurationUpdateCommand, NasNetworkName};

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
