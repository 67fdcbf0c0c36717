//! Notifications to an AMF. The AMF chooses the paths, and includes the URIs in its subscriptions
//! and registrations.
use crate::namf_communication::{N1MessageNotification, N2InformationNotification};
use crate::npcf_am_policy_control::{AmRequestedValueRep, PolicyUpdate, TerminationNotification};
use crate::nsmf_pdusession::SmContextStatusNotification;
use crate::nudm_sdm::ModificationNotification;
use crate::nudm_uecm::DeregistrationData;
use martlet_sbi::{Multipart, service};

service! {
    /// Notifications to an AMF.
    pub AmfCallback / AmfCallbackClient / NAMF_CALLBACK = "namf-callback" / "v1" {
        /// An SMF reports the status of a session context (TS 29.502, 5.2.2.5); its URI is
        /// `smContextStatusUri`. The number distinguishes successive contexts of the same session
        /// ID.
        callback sm_context_status_notify "SmContextStatusNotify":
            POST "/sm-context-status/{supi}/{pduSessionId}/{number}",
            path(supi, pdu_session_id, number), body(SmContextStatusNotification), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A PCF changes an access and mobility policy (TS 29.507, 4.2.4); its URI is
        /// `notificationUri` with `/update`.
        callback am_policy_update_notify "AmPolicyUpdateNotify": POST "/am-policy/{supi}/update",
            path(supi), body(PolicyUpdate), returns(Option<AmRequestedValueRep>),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A PCF ends an access and mobility policy (TS 29.507, 4.2.4); its URI is
        /// `notificationUri` with `/terminate`.
        callback am_policy_terminate_notify "AmPolicyTerminateNotify":
            POST "/am-policy/{supi}/terminate",
            path(supi), body(TerminationNotification), returns(()), errors[404 "CONTEXT_NOT_FOUND"];
        /// A UDM notifies that the AMF no longer serves the UE (TS 29.503, 5.3.2.3); its URI is
        /// `deregCallbackUri`.
        callback deregistration_notify "DeregistrationNotify": POST "/deregistration/{supi}",
            path(supi), body(DeregistrationData), returns(()), errors[404 "CONTEXT_NOT_FOUND"];
        /// The target AMF of a handover notifies that the UE has arrived (TS 29.518, 5.2.2.2.3);
        /// its URI is `n2NotifyUri`.
        callback n2_info_notify "N2InfoNotifyHandoverComplete": POST "/n2-notify/{supi}",
            path(supi), body(Multipart<N2InformationNotification>), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// Another AMF transfers a registration (TS 29.518, 5.2.2.3.5); its URI is in the AMF's
        /// profile.
        callback n1_message_notify "N1MessageNotify": POST "/n1-message-notify",
            path(), body(Multipart<N1MessageNotification>), returns(()),
            errors[503 "NF_CONGESTION"];
        /// A UDM notifies of changed subscription data (TS 29.503, 5.2.2.5); its URI is
        /// `callbackReference`.
        callback sdm_change_notify "SdmChangeNotify": POST "/sdm-change/{supi}",
            path(supi), body(ModificationNotification), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
    }
}
