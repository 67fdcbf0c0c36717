//! Runs the conformance suite over every kind of channel. `lab/channels` runs the same files over
//! the channels of other TLS libraries.

mod conformance;
mod interop;
mod messages;
mod resumption;

use channels::Kind;
use martlet_lcs_channel as channels;

/// Whether the kind encrypts and authenticates.
fn is_secure(_: Kind) -> bool {
    true
}

/// Whether the kind can verify an IP address in a certificate.
fn verifies_addresses(_: Kind) -> bool {
    true
}

/// Whether the kind resumes sessions.
fn resumes(_: Kind) -> bool {
    true
}
