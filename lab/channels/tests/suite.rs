//! Runs the conformance suite over every kind of channel of this build. TLS over TCP is also tested
//! between each pair of libraries.

#[path = "../../../lcs/channel/tests/suite/conformance.rs"]
mod conformance;
#[path = "../../../lcs/channel/tests/suite/interop.rs"]
mod interop;
#[path = "../../../lcs/channel/tests/suite/messages.rs"]
mod messages;
#[path = "../../../lcs/channel/tests/suite/resumption.rs"]
mod resumption;

use channels::Kind;
use martlet_lab_channels as channels;

/// Whether the kind encrypts and authenticates.
fn is_secure(kind: Kind) -> bool {
    kind.is_secure()
}

/// Whether the kind can verify an IP address in a certificate.
fn verifies_addresses(kind: Kind) -> bool {
    kind.verifies_addresses()
}

/// Whether the kind resumes sessions.
fn resumes(kind: Kind) -> bool {
    kind.resumes()
}
