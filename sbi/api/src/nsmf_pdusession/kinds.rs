//! Enumerations of PDU session management (TS 29.502, 6.1.6.3).
use crate::macros::open_enum;

open_enum! {
    /// How a data network was chosen (TS 29.502, 6.1.6.3.14).
    pub enum DnnSelectionMode {
        Verified = "VERIFIED",
        UeDnnNotVerified = "UE_DNN_NOT_VERIFIED",
        NwDnnNotVerified = "NW_DNN_NOT_VERIFIED",
    }
}
