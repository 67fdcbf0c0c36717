//! Notifications to an SMF. The SMF chooses the paths, and includes the URIs in its subscriptions
//! and registrations.
use crate::namf_communication::N1N2MsgTxfrFailureNotification;
use crate::nchf_converged_charging::ChargingNotifyRequest;
use crate::npcf_sm_policy_control::{
    PartialSuccessReport, SmPolicyNotification, TerminationNotification,
};
use crate::nudm_sdm::ModificationNotification;
use crate::nudm_uecm::DeregistrationData;
use martlet_sbi::service;

service! {
    /// Notifications to an SMF.
    pub SmfCallback / SmfCallbackClient / NSMF_CALLBACK = "nsmf-callback" / "v1" {
        /// An AMF notifies that a transfer finally failed (TS 29.518, 5.2.2.3); its URI is
        /// `n1n2FailureTxfNotifURI`.
        callback n1_n2_transfer_failure_notify "N1N2TransferFailureNotification":
            POST "/n1-n2-transfer-failure/{smContextRef}",
            path(sm_context_ref), body(N1N2MsgTxfrFailureNotification), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A PCF changes a session's policy (TS 29.512, 4.2.3); its URI is `notificationUri` with
        /// `/update`. The response reports the parts that failed.
        callback sm_policy_update_notify "SmPolicyUpdateNotify":
            POST "/sm-policy/{smContextRef}/update",
            path(sm_context_ref), body(SmPolicyNotification),
            returns(Option<Vec<PartialSuccessReport>>),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A PCF ends a session's policy (TS 29.512, 4.2.3); its URI is `notificationUri` with
        /// `/terminate`.
        callback sm_policy_terminate_notify "SmPolicyTerminateNotify":
            POST "/sm-policy/{smContextRef}/terminate",
            path(sm_context_ref), body(TerminationNotification), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A UDM notifies that the SMF no longer serves the session (TS 29.503, 5.3.2.3); its URI
        /// is `deregCallbackUri`.
        callback deregistration_notify "DeregistrationNotify":
            POST "/deregistration/{smContextRef}",
            path(sm_context_ref), body(DeregistrationData), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A CHF requests reauthorization (TS 32.291, 5.2.2); its URI is `notifyUri`.
        callback charging_notify "ChargingNotify": POST "/charging/{smContextRef}",
            path(sm_context_ref), body(ChargingNotifyRequest), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// A UDM notifies of changed subscription data (TS 29.503, 5.2.2.5); its URI is
        /// `callbackReference`.
        callback sdm_change_notify "SdmChangeNotify": POST "/sdm-change/{supi}",
            path(supi), body(ModificationNotification), returns(()),
            errors[404 "CONTEXT_NOT_FOUND"];
    }
}
