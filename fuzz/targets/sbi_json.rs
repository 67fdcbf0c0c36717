//! JSON of service operations: the first octet chooses the type.
#![no_main]

use martlet_sbi::{Encoded, decode_json};
use martlet_sbi_api as api;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    macro_rules! one_of {
        ($($kind:ty),* $(,)?) => {{
            let readers: &[fn(&[u8])] = &[$(|text| {
                let encoded = Encoded {
                    content_type: "application/json".into(),
                    bytes: bytes::Bytes::copy_from_slice(text),
                };
                if let Ok(value) = decode_json::<$kind>(Some(encoded)) {
                    serde_json::to_vec(&value).expect("a value that was read encodes");
                }
            }),*];
            readers[usize::from(*choice) % readers.len()](text);
        }};
    }
    one_of!(
        api::nnrf_nfmanagement::NfProfile,
        api::nnrf_nfdiscovery::SearchResult,
        api::nausf_ueauthentication::AuthenticationInfo,
        api::nudm_uecm::Amf3GppAccessRegistration,
        api::nudm_sdm::AccessAndMobilitySubscriptionData,
        api::nudm_sdm::SessionManagementSubscriptionData,
        api::nsmf_pdusession::SmContextCreateData,
        api::npcf_sm_policy_control::SmPolicyContextData,
        api::namf_communication::N1N2MessageTransferReqData,
    );
});
