//! Authentication of UEs (TS 33.501, 6.1; TS 24.501, 5.4.1).
pub mod eap_aka_prime;
pub mod five_g_aka;
