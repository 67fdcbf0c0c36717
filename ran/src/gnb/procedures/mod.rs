//! The gNB's procedures: one file for each procedure of TS 38.413, in folders by its groups.
//!
//! | folder | TS 38.413 |
//! | --- | --- |
//! | `pdu_session` | 8.2, PDU session management |
//! | `ue_context` | 8.3, UE context management |
//! | `handover` | 8.4, UE mobility management |
//! | `paging` | 8.5 |
//! | `nas_transport` | 8.6 |
//! | `interface_management` | 8.7 |
//! | `nrppa_transport` | 8.10, with NRPPa (TS 38.455) |
//! | `location_reporting` | 8.12 |
//! | `ue_radio_capability_info_indication` | 8.14.1 |
pub(crate) mod handover;
pub(crate) mod interface_management;
pub(crate) mod location_reporting;
pub(crate) mod nas_transport;
pub(crate) mod nrppa_transport;
pub(crate) mod paging;
pub(crate) mod pdu_session;
pub(crate) mod ue_context;
pub(crate) mod ue_radio_capability_info_indication;
