//! Nlmf_Location: where a UE is, by an LMF (TS 29.572, 5.2 and 6.1).
mod area;
mod models;

pub use area::*;
pub use models::*;

use martlet_sbi::{Multipart, json_payload, service};

json_payload!(LocationData, UpConfig);

service! {
    /// Services of an LMF (TS 29.572, 6.1.3).
    pub LmfLocation / LmfLocationClient / NLMF_LOC = "nlmf-loc" / "v1" {
        /// Determines where a UE is.
        op determine_location "DetermineLocation": POST "/determine-location",
            path(), body(Multipart<InputData>), returns(LocationData),
            errors[
                403 "UNSPECIFIED", 403 "POSITIONING_DENIED", 403 "INSUFFICIENT_RESOURCES",
                404 "CONTEXT_NOT_FOUND",
                500 "POSITIONING_FAILED", 504 "UNREACHABLE_USER", 504 "PEER_NOT_RESPONDING",
            ];
        /// Establishes or releases the user plane connection of a UE, because the UE requested it
        /// or its AMF changes.
        op up_config "UpConfig": POST "/up-configure",
            path(), body(UpConfig), returns(()), errors[403 "UNSPECIFIED", 404 "CONTEXT_NOT_FOUND"];
    }
}
