//! Authentication, NAS and user plane security (TS 33.501), the SCAS test cases, and attacks by
//! those who reach an interface.
pub mod attack_callbacks;
pub mod attack_flood;
pub mod attack_initial_message;
pub mod attack_n3;
pub mod attack_n4;
pub mod attack_n6;
pub mod attack_ng_setup;
pub mod attack_nrf;
pub mod attack_path_switch;
pub mod attack_sbi;
pub mod eap_aka_prime;
pub mod five_g_aka;
pub mod scas;
pub mod scas_ausf;
pub mod user_plane;
