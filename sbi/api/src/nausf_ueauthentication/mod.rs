//! Nausf_UEAuthentication: authenticates a UE for an AMF (TS 29.509, 5.2 and 6.1).
mod models;

pub use models::*;

use crate::common::{Base64, Hex, SecretHex};
use crate::macros::hal_payload;
use martlet_sbi::{Compact, Created, json_payload, service};
use serde::{Deserialize, Serialize};

/// RES*, 16 octets (TS 29.509, 6.1.6).
pub type ResStar = SecretHex<16>;
/// HXRES*, 16 octets (TS 29.509, 6.1.6).
pub type HxresStar = Hex<16>;
/// K_SEAF, 32 octets (TS 29.509, 6.1.6).
pub type Kseaf = SecretHex<32>;

/// Relation of the link to which a 5G-AKA response is sent (TS 29.509, 6.1.6).
pub const LINK_5G_AKA: &str = "5g-aka";
/// Relation of the link to which an EAP response is sent (TS 29.509, 6.1.6).
pub const LINK_EAP_SESSION: &str = "eap-session";

/// The challenge of an authentication (TS 29.509, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(untagged)]
pub enum AuthData {
    /// 5G-AKA.
    FiveGAka(Av5gAka),
    /// An EAP packet.
    Eap(Base64),
}

json_payload!(AuthenticationInfo, ConfirmationData, ConfirmationDataResponse, EapSession);
hal_payload!(UeAuthenticationCtx);

service! {
    /// Authentication of UEs (TS 29.509, 6.1.3).
    pub AusfUeAuthentication / AusfUeAuthenticationClient / NAUSF_AUTH = "nausf-auth" / "v1" {
        /// Begins an authentication.
        op ue_authentications_post "Authenticate": POST "/ue-authentications",
            path(), body(AuthenticationInfo), returns(Created<UeAuthenticationCtx>),
            errors[
                403 "AUTHENTICATION_REJECTED", 403 "SERVING_NETWORK_NOT_AUTHORIZED",
                403 "INVALID_HN_PUBLIC_KEY_IDENTIFIER", 403 "INVALID_SCHEME_OUTPUT",
                404 "USER_NOT_FOUND", 500 "AV_GENERATION_PROBLEM",
                501 "UNSUPPORTED_PROTECTION_SCHEME",
                504 "UPSTREAM_SERVER_ERROR", 504 "NETWORK_FAILURE",
            ];
        /// Checks the UE's response to a 5G-AKA challenge.
        op confirm_5g_aka "Confirm5gAka": PUT "/ue-authentications/{authCtxId}/5g-aka-confirmation",
            path(auth_ctx_id), body(ConfirmationData), returns(ConfirmationDataResponse),
            errors[404 "CONTEXT_NOT_FOUND", 504 "UPSTREAM_SERVER_ERROR"];
        /// Processes the UE's EAP response; returns the next EAP request or the result.
        op eap_auth_method "EapAuthMethod": POST "/ue-authentications/{authCtxId}/eap-session",
            path(auth_ctx_id), body(EapSession), returns(EapSession),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// Deletes the outcome of an EAP authentication.
        op delete_eap_authentication_result "DeleteEapAuthenticationResult":
            DELETE "/ue-authentications/{authCtxId}/eap-session",
            path(auth_ctx_id), returns(()), errors[404 "CONTEXT_NOT_FOUND"];
        /// Deletes the outcome of a 5G-AKA authentication.
        op delete_5g_aka_authentication_result "Delete5gAkaAuthenticationResult":
            DELETE "/ue-authentications/{authCtxId}/5g-aka-confirmation",
            path(auth_ctx_id), returns(()), errors[404 "CONTEXT_NOT_FOUND"];
    }
}
