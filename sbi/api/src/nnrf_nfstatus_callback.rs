//! Notifications of the NRF to subscribers (TS 29.510, 5.2.2).
use crate::nnrf_nfmanagement::NotificationData;
use martlet_sbi::service;

service! {
    /// Notifications of the NRF to a subscriber.
    pub NfStatusCallback / NfStatusCallbackClient / NNRF_NFSTATUS_CALLBACK
        = "nnrf-nfstatus-callback" / "v1" {
        /// An NF instance was registered, changed or deregistered (TS 29.510, 6.1.5).
        callback nf_status_notify "NFStatusNotify": POST "/nf-status",
            path(), body(NotificationData), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
    }
}
