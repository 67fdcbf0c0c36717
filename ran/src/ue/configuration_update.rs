//! Generic UE configuration update (TS 24.501, 5.4.4).
use super::action::Event;
use super::nas::UeNas;
use martlet_nas::{Nas5gsMessage, NasConfigurationUpdateCommand, NasConfigurationUpdateComplete};

impl UeNas {
    pub(super) fn configuration_update_command(&mut self, command: &NasConfigurationUpdateCommand) {
        if !self.config.confirms_configuration {
            return self.discard("CONFIGURATION UPDATE COMMAND, which this UE does not hear");
        }
        let guti = command.fg_guti.as_ref().and_then(|identity| identity.as_guti());
        if let Some(guti) = guti {
            self.guti = Some(guti);
        }
        let indication = command.configuration_update_indication.as_ref();
        if indication.is_some_and(|i| i.ack()) {
            self.send(&Nas5gsMessage::new_5gmm(NasConfigurationUpdateComplete::new()));
        }
        self.event(Event::ConfigurationUpdated {
            new_guti: guti.is_some(),
            registration_requested: indication.is_some_and(|i| i.red()),
            network_name: command.full_name_for_network.as_ref().and_then(|name| name.name()),
        });
    }
}
