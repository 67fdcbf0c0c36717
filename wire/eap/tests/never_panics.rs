//! Mutated packets are decoded or rejected, and never cause a panic.
use martlet_eap::fuzz;
use martlet_eap::packet::{Attribute, Code, Packet, Subtype};
use martlet_wire_testing::mutate;

#[test]
fn packets_are_read_or_refused() {
    let all = vec![
        Attribute::Rand([1; 16]),
        Attribute::Autn([2; 16]),
        Attribute::Kdf(1),
        Attribute::KdfInput(b"5G:mnc001.mcc001.3gppnetwork.org".to_vec()),
        Attribute::Mac([3; 16]),
    ];
    let seeds = [
        Packet::new(Code::Request, 1, Subtype::Challenge, all),
        Packet::new(
            Code::Response,
            1,
            Subtype::Challenge,
            vec![Attribute::Res(vec![1; 8]), Attribute::Mac([0; 16])],
        ),
        Packet::new(
            Code::Response,
            1,
            Subtype::SynchronizationFailure,
            vec![Attribute::Auts([1; 14]), Attribute::Kdf(1)],
        ),
        Packet::new(Code::Request, 1, Subtype::Notification, vec![Attribute::Notification(16384)]),
        Packet::new(Code::Response, 1, Subtype::ClientError, vec![Attribute::ClientErrorCode(0)]),
        Packet::end(Code::Failure, 1),
    ];
    mutate::run(9048, seeds.iter().map(Packet::encode).collect(), 5_000, fuzz::packet);
}
