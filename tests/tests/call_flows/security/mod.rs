//! Authentication, NAS and user plane security (TS 33.501), and the SCAS test cases.
pub mod eap_aka_prime;
pub mod five_g_aka;
pub mod rekeying;
pub mod scas;
pub mod scas_ausf;
pub mod security_mode;
pub mod user_plane;
