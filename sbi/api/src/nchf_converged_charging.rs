//! Nchf_ConvergedCharging: what PDU sessions use, and what they may use (TS 32.291, 6.1).
mod models;

pub use models::*;

use martlet_sbi::{Created, json_payload, service};

json_payload!(ChargingDataRequest, ChargingDataResponse, ChargingNotifyRequest);

service! {
    /// Charging of PDU sessions (TS 32.291, 6.1).
    pub ChfConvergedCharging / ChfConvergedChargingClient / NCHF_CONVERGEDCHARGING
        = "nchf-convergedcharging" / "v3" {
        /// A session begins: what it may use.
        op post_chargingdata "Create": POST "/chargingdata",
            path(), body(ChargingDataRequest), returns(Created<ChargingDataResponse>),
            errors[400 "CHARGING_FAILED", 403 "END_USER_REQUEST_DENIED", 404 "USER_UNKNOWN"];
        /// What a session has used, and what it may use further.
        op update_chargingdata "Update": POST "/chargingdata/{ChargingDataRef}/update",
            path(charging_data_ref), body(ChargingDataRequest), returns(ChargingDataResponse),
            errors[404 "CHARGING_SESSION_NOT_FOUND"];
        /// A session has ended: what it has used.
        op release_chargingdata "Release": POST "/chargingdata/{ChargingDataRef}/release",
            path(charging_data_ref), body(ChargingDataRequest), returns(()),
            errors[404 "CHARGING_SESSION_NOT_FOUND"];
    }
}
