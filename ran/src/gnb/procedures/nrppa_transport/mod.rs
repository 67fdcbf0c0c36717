//! NRPPa transport (TS 38.413, 8.10) and the NRPPa procedures of the gNB (TS 38.455).
//!
//! | file | procedures of TS 38.455 |
//! | --- | --- |
//! | `ecid_measurement` | 8.2.1 to 8.2.4, E-CID measurement |
//! | `positioning_information` | 8.4, positioning information, activation and deactivation |
//! | `measurement` | 8.5.1, measurement of the gNB Rx-Tx time difference |
//! | `trp_information` | 8.5.6, TRP information exchange |
mod ecid_measurement;
mod lmf_address;
mod measurement;
mod messages;
pub(crate) mod non_ue_associated;
mod positioning_information;
mod trp_information;
pub(crate) mod ue_associated;
