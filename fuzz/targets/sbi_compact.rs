//! Bodies of service operations in compact form: the first octet chooses the type.
#![no_main]

use martlet_sbi::compact;
use martlet_sbi_api as api;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((choice, octets)) = data.split_first() else { return };
    macro_rules! one_of {
        ($($kind:ty),* $(,)?) => {{
            let readers: &[fn(&[u8])] = &[$(|octets| {
                let Ok(value) = compact::from_slice::<$kind>(octets) else { return };
                let mut written = Vec::new();
                compact::to_vec(&value, &mut written);
                let again: $kind = compact::from_slice(&written).expect("what was written can be read");
                let mut twice = Vec::new();
                compact::to_vec(&again, &mut twice);
                assert_eq!(written, twice);
            }),*];
            readers[usize::from(*choice) % readers.len()](octets);
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
