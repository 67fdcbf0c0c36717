//! Notifications of the UDR to UDM and PCF (TS 29.504, 5.2.2.8).
use crate::nudr_dr::{DataChangeNotify, PolicyDataChangeNotification, TrafficInfluDataNotif};
use martlet_sbi::service;

service! {
    /// Notifications of the UDR to a UDM.
    pub UdrDataCallback / UdrDataCallbackClient / NUDR_DATA_CALLBACK = "nudr-data-callback" / "v1" {
        /// Subscription data have changed (TS 29.505, 5.2).
        callback on_data_change "DataChangeNotify": POST "/data-change",
            path(), body(DataChangeNotify), returns(()), errors[404 "SUBSCRIPTION_NOT_FOUND"];
    }
}

service! {
    /// Notifications of the UDR to a PCF.
    pub UdrPolicyCallback / UdrPolicyCallbackClient / NUDR_POLICY_CALLBACK
        = "nudr-policy-callback" / "v1" {
        /// Policy data have changed (TS 29.519, 5.2).
        callback policy_data_change_notification "PolicyDataChangeNotification":
            POST "/policy-data-change",
            path(), body(Vec<PolicyDataChangeNotification>), returns(()),
            errors[404 "SUBSCRIPTION_NOT_FOUND"];
        /// Influence data have changed (TS 29.519, 6.2).
        callback influence_data_change_notification "InfluenceDataChangeNotification":
            POST "/influence-data-change",
            path(), body(Vec<TrafficInfluDataNotif>), returns(()),
            errors[404 "SUBSCRIPTION_NOT_FOUND"];
    }
}
