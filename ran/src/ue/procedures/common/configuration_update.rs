//! Generic UE configuration update (TS 24.501, 5.4.4).
use crate::ue::action::Event;
use crate::ue::nas::UeNas;
use crate::ue::procedures::registration::initial_and_mobility::{slices_of, without_service};
use martlet_nas::{Nas5gsMessage, NasConfigurationUpdateCommand, NasConfigurationUpdateComplete};

impl UeNas {
    pub(crate) fn configuration_update_command(&mut self, command: &NasConfigurationUpdateCommand) {
        if !self.config.confirms_configuration {
            return self.discard("CONFIGURATION UPDATE COMMAND, which this UE does not hear");
        }
        let guti = command.fg_guti.as_ref().and_then(|identity| identity.as_guti());
        if let Some(guti) = guti {
            self.guti = Some(guti);
        }
        if let Some(allowed) = &command.allowed_nssai {
            self.given.allowed_nssai = slices_of(allowed);
        }
        if let Some(configured) = &command.configured_nssai {
            self.given.configured_nssai = slices_of(configured);
        }
        if let Some(areas) = &command.service_area_list {
            self.given.without_service = without_service(areas);
        }
        let name = command.full_name_for_network.as_ref().and_then(|name| name.name());
        self.given.network_name = name.clone().or(self.given.network_name.take());
        let time_zone = command.local_time_zone.as_ref().map(|zone| zone.quarter_hours());
        self.given.time_zone = time_zone.or(self.given.time_zone);
        let indication = command.configuration_update_indication.as_ref();
        // It registers once the network has released the connection (5.4.4.3).
        self.registration_wanted |= indication.is_some_and(|i| i.red());
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
