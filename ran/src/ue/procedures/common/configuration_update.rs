//! Generic UE configuration update (TS 24.501, 5.4.4).
use crate::ue::action::Event;
use crate::ue::nas::UeNas;
use crate::ue::procedures::registration::initial_mobility_and_periodic::{
    slices_of, without_service,
};
use martlet_nas::{Nas5gsMessage, NasConfigurationUpdateCommand, NasConfigurationUpdateComplete};

impl UeNas {
    pub(crate) fn configuration_update_command(&mut self, command: &NasConfigurationUpdateCommand) {
        if !self.config.confirms_configuration {
            return self
                .discard("CONFIGURATION UPDATE COMMAND, which this UE ignores by configuration");
        }
        let guti = command.fg_guti.as_ref().and_then(|identity| identity.as_guti());
        if guti.is_some() && self.config.takes_new_guti {
            self.guti = guti;
        }
        if let Some(allowed) = &command.allowed_nssai {
            self.settings.allowed_nssai = slices_of(allowed);
        }
        if let Some(configured) = &command.configured_nssai {
            self.settings.configured_nssai = slices_of(configured);
        }
        if let Some(areas) = &command.service_area_list {
            self.settings.without_service = without_service(areas);
        }
        let name = command.full_name_for_network.as_ref().and_then(|name| name.name());
        self.settings.network_name = name.clone().or(self.settings.network_name.take());
        let time_zone = command.local_time_zone.as_ref().map(|zone| zone.quarter_hours());
        self.settings.time_zone = time_zone.or(self.settings.time_zone);
        let indication = command.configuration_update_indication.as_ref();
        // The UE registers after the network has released the connection (5.4.4.3).
        self.registration_requested |= indication.is_some_and(|i| i.red());
        if indication.is_some_and(|i| i.ack()) {
            self.send(&Nas5gsMessage::new_5gmm(NasConfigurationUpdateComplete::new()));
        }
        self.event(Event::ConfigurationUpdated {
            new_guti: guti.is_some(),
            registration_requested: indication.is_some_and(|i| i.red()),
            network_name: name,
        });
    }
}
