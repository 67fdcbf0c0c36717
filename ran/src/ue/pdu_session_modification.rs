//! PDU session modification ordered by the network (TS 24.501, 6.3.2).
use super::action::Event;
use super::nas::UeNas;
use super::pdu_session_establishment::{take_flows, take_rules};
use martlet_nas::{GsmCause, Nas5gsMessage, NasPduSessionModificationCommand, NasPduSessionModificationComplete};

impl UeNas {
    pub(super) fn modification_command(&mut self, psi: u8, pti: u8, command: &NasPduSessionModificationCommand) {
        let Some(session) = self.session_mut(psi) else {
            self.discard(format!("PDU SESSION MODIFICATION COMMAND for session {psi}, which does not exist"));
            return self.send_sm_status(psi, pti, GsmCause::InvalidPduSessionIdentity);
        };
        if let Some(ambr) = &command.session_ambr {
            session.info.ambr_kbps = ambr.downlink_kbps().zip(ambr.uplink_kbps());
        }
        if let Some(rules) = &command.authorized_qos_rules {
            take_rules(&mut session.info, rules);
        }
        if let Some(descriptions) = &command.authorized_qos_flow_descriptions {
            take_flows(&mut session.info, descriptions);
        }
        if let Some(rules) = &command.authorized_qos_rules
            && let Some(qfi) = rules.rules().iter().find(|rule| rule.dqr).and_then(|rule| rule.qfi)
        {
            session.info.default_qfi = Some(qfi);
        }
        let complete = Nas5gsMessage::new_5gsm(NasPduSessionModificationComplete::new(), psi, pti);
        self.send_sm(&complete, psi);
        self.event(Event::SessionModified { psi });
    }
}
