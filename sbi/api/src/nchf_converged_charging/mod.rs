//! Nchf_ConvergedCharging: reported usage and granted quotas of PDU sessions (TS 32.291, 6.1).
mod models;

pub use models::*;

use martlet_sbi::{Created, json_payload, service};

json_payload!(ChargingDataRequest, ChargingDataResponse, ChargingNotifyRequest);

service! {
    /// Charging of PDU sessions (TS 32.291, 6.1).
    pub ChfConvergedCharging / ChfConvergedChargingClient / NCHF_CONVERGEDCHARGING
        = "nchf-convergedcharging" / "v3" {
        /// Starts charging of a session and returns its quotas.
        op post_chargingdata "Create": POST "/chargingdata",
            path(), body(ChargingDataRequest), returns(Created<ChargingDataResponse>),
            errors[400 "CHARGING_FAILED", 403 "END_USER_REQUEST_DENIED", 404 "USER_UNKNOWN"];
        /// Reports usage of a session and returns further quotas.
        op update_chargingdata "Update": POST "/chargingdata/{ChargingDataRef}/update",
            path(charging_data_ref), body(ChargingDataRequest), returns(ChargingDataResponse),
            errors[404 "CHARGING_SESSION_NOT_FOUND"];
        /// Reports the final usage of a session.
        op release_chargingdata "Release": POST "/chargingdata/{ChargingDataRef}/release",
            path(charging_data_ref), body(ChargingDataRequest), returns(()),
            errors[404 "CHARGING_SESSION_NOT_FOUND"];
    }
}
