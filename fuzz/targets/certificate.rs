//! Certificates of peers of the SBI (X.509 in DER), as their names and NF types are read.
#![no_main]

use martlet_sbi_http::PeerCertificate;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some(certificate) = PeerCertificate::parse(data) {
        let _ = (certificate.identity(), certificate.is_of_type("UDM"));
    }
});
