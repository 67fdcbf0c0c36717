//! Authentication, NAS and user plane security (TS 33.501), and the SCAS test cases.
mod eap_aka_prime;
pub mod five_g_aka;
pub mod scas;
mod scas_ausf;
mod security_mode;
mod user_plane;
