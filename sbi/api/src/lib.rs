//! The 3GPP services that Martlet's network functions offer each other: their data types (Release
//! 18) and the declaration of each operation.
//!
//! One module for each service, named after its OpenAPI file, [`nmartlet_status`] for the one that
//! 3GPP does not have, and [`common`] for the types of TS 29.571. Types have the members that our
//! network functions use or that other implementations commonly send; unknown members are ignored.
//! Enumerations that 3GPP may extend preserve unknown values in `Other`.
//!
//! A service's module declares its operations through [`martlet_sbi::service!`], which makes the
//! trait that producers implement, the client that consumers call, and the table of operations.
#![forbid(unsafe_code)]

pub mod common;
mod macros;
mod query;
mod text;

pub use query::{Json, Repeated, TextList};
pub mod namf_callback;
pub mod namf_communication;
pub mod namf_event_exposure;
pub mod namf_location;
pub mod nausf_ueauthentication;
pub mod nchf_converged_charging;
pub mod nlmf_callback;
pub mod nlmf_location;
pub mod nmartlet_status;
pub mod nnrf_nfdiscovery;
pub mod nnrf_nfmanagement;
pub mod nnrf_nfstatus_callback;
pub mod nnrf_oauth2;
pub mod nnssf_ns_selection;
pub mod npcf_am_policy_control;
pub mod npcf_sm_policy_control;
pub mod nsmf_callback;
pub mod nsmf_pdusession;
pub mod nudm_sdm;
pub mod nudm_ueau;
pub mod nudm_uecm;
pub mod nudr_callback;
pub mod nudr_dr;

/// The schema number: a hash of the source of the types. It is equal at both ends if their types
/// have the same compact encoding.
pub const MODEL: u64 = match u64::from_str_radix(env!("MARTLET_SBI_MODEL"), 10) {
    Ok(number) => number,
    Err(_) => panic!("the build script sets a number"),
};

/// Every operation of 3GPP's services.
pub fn operations() -> impl Iterator<Item = &'static martlet_sbi::OperationInfo> {
    let services = [
        nnrf_nfmanagement::NNRF_NFM::OPERATIONS,
        nnrf_nfdiscovery::NNRF_DISC::OPERATIONS,
        nnrf_nfstatus_callback::NNRF_NFSTATUS_CALLBACK::OPERATIONS,
        nausf_ueauthentication::NAUSF_AUTH::OPERATIONS,
        nudm_ueau::NUDM_UEAU::OPERATIONS,
        nudm_uecm::NUDM_UECM::OPERATIONS,
        nudm_sdm::NUDM_SDM::OPERATIONS,
        nudr_dr::NUDR_DR::OPERATIONS,
        nudr_callback::NUDR_DATA_CALLBACK::OPERATIONS,
        nudr_callback::NUDR_POLICY_CALLBACK::OPERATIONS,
        npcf_am_policy_control::NPCF_AM_POLICY_CONTROL::OPERATIONS,
        npcf_sm_policy_control::NPCF_SMPOLICYCONTROL::OPERATIONS,
        nnssf_ns_selection::NNSSF_NSSELECTION::OPERATIONS,
        nchf_converged_charging::NCHF_CONVERGEDCHARGING::OPERATIONS,
        nsmf_pdusession::NSMF_PDUSESSION::OPERATIONS,
        nsmf_callback::NSMF_CALLBACK::OPERATIONS,
        namf_communication::NAMF_COMM::OPERATIONS,
        namf_callback::NAMF_CALLBACK::OPERATIONS,
        namf_location::NAMF_LOC::OPERATIONS,
        namf_communication::NAMF_STATUS_CALLBACK::OPERATIONS,
        namf_event_exposure::NAMF_EVTS::OPERATIONS,
        namf_event_exposure::NAMF_EVTS_CALLBACK::OPERATIONS,
        nlmf_location::NLMF_LOC::OPERATIONS,
        nlmf_callback::NLMF_CALLBACK::OPERATIONS,
    ];
    services.into_iter().flatten().copied()
}
