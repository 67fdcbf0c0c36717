//! 5GMM status (TS 24.501, 5.4.6): reports a message that the receiver could not use.
use crate::ue::action::Event;
use crate::ue::nas::UeNas;
use martlet_nas::{GmmCause, Nas5gsMessage, NasFGmmCause, NasFGmmStatus};

impl UeNas {
    pub(crate) fn mm_status(&mut self, status: &NasFGmmStatus) {
        self.event(Event::Status { psi: None, cause: status.fgmm_cause.cause_raw() });
    }

    pub(crate) fn send_mm_status(&mut self, cause: GmmCause) {
        self.send(&Nas5gsMessage::new_5gmm(NasFGmmStatus::new(NasFGmmCause::from_cause(cause))));
    }
}
