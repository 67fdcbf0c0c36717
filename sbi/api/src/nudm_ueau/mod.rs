//! Nudm_UEAuthentication: vectors for the AUSF, and results of authentications (TS 29.503, 5.4 and
//! 6.3).
mod models;

pub use models::*;

use crate::common::{Hex, SecretHex};
use martlet_sbi::{Compact, Created, json_payload, service};
use serde::{Deserialize, Serialize};

/// RAND, 16 octets (TS 29.503, 6.3.6).
pub type Rand = Hex<16>;
/// AUTN, 16 octets (TS 29.503, 6.3.6).
pub type Autn = Hex<16>;
/// AUTS, 14 octets (TS 29.503, 6.3.6).
pub type Auts = Hex<14>;
/// XRES*, 16 octets (TS 29.503, 6.3.6).
pub type XresStar = SecretHex<16>;
/// K_AUSF, 32 octets (TS 29.503, 6.3.6).
pub type Kausf = SecretHex<32>;
/// CK', 16 octets (TS 29.503, 6.3.6).
pub type CkPrime = SecretHex<16>;
/// IK', 16 octets (TS 29.503, 6.3.6).
pub type IkPrime = SecretHex<16>;

/// An authentication vector (TS 29.503, 6.3.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(tag = "avType")]
pub enum AuthenticationVector {
    /// For 5G-AKA.
    #[serde(rename = "5G_HE_AKA")]
    FiveGHeAka(Av5GHeAka),
    /// For EAP-AKA'.
    #[serde(rename = "EAP_AKA_PRIME")]
    EapAkaPrime(AvEapAkaPrime),
}

json_payload!(AuthenticationInfoRequest, AuthenticationInfoResult, AuthEvent);

service! {
    /// Authentication data of subscribers (TS 29.503, 6.3.3).
    pub UdmUeAuthentication / UdmUeAuthenticationClient / NUDM_UEAU = "nudm-ueau" / "v1" {
        /// Generates an authentication vector; de-conceals a SUCI first.
        op generate_auth_data "GenerateAuthData":
            POST "/{supiOrSuci}/security-information/generate-auth-data",
            path(supi_or_suci), body(AuthenticationInfoRequest), returns(AuthenticationInfoResult),
            errors[
                403 "AUTHENTICATION_REJECTED", 403 "SERVING_NETWORK_NOT_AUTHORIZED",
                403 "INVALID_HN_PUBLIC_KEY_IDENTIFIER", 403 "INVALID_SCHEME_OUTPUT",
                404 "USER_NOT_FOUND", 501 "UNSUPPORTED_PROTECTION_SCHEME",
            ];
        /// Stores the result of an authentication.
        op confirm_auth "ConfirmAuth": POST "/{supi}/auth-events",
            path(supi), body(AuthEvent), returns(Created<AuthEvent>), errors[404 "USER_NOT_FOUND"];
        /// Deletes the outcome of an authentication.
        op delete_auth "DeleteAuth": PUT "/{supi}/auth-events/{authEventId}",
            path(supi, auth_event_id), body(AuthEvent), returns(()),
            errors[404 "USER_NOT_FOUND", 404 "DATA_NOT_FOUND"];
    }
}
