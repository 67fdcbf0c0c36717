//! The RAN simulator: gNBs and UEs that drive a 5G core over real NGAP, NAS and GTP-U.
pub mod ue;
