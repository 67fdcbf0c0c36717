//! Notifications of AMFs to an LMF. The LMF chooses the paths, and includes the URIs in its
//! subscriptions.
use crate::namf_communication::{N1MessageNotification, N2InformationNotification};
use martlet_sbi::{Multipart, service};

service! {
    /// Notifications of AMFs to an LMF.
    pub LmfCallback / LmfCallbackClient / NLMF_CALLBACK = "nlmf-callback" / "v1" {
        /// A UE has a message for the LMF (TS 29.518, 5.2.2.3.5); its URI is `n1NotifyCallbackUri`.
        callback n1_message_notify "N1MessageNotify": POST "/n1-messages/{supi}",
            path(supi), body(Multipart<N1MessageNotification>), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A UE's gNB has a message for the LMF (TS 29.518, 5.2.2.3.6); its URI is
        /// `n2NotifyCallbackUri`.
        callback n2_info_notify "N2InfoNotify": POST "/n2-messages/{supi}",
            path(supi), body(Multipart<N2InformationNotification>), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A gNB has a message for the LMF that is about no UE (TS 29.518, 5.2.2.4.4); its URI is
        /// `n2NotifyCallbackUri`.
        callback non_ue_n2_info_notify "NonUeN2InfoNotify": POST "/n2-messages",
            path(), body(Multipart<N2InformationNotification>), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
    }
}
