//! The USIM: MILENAGE or TUAK with the subscriber's key, and the check of the sequence number (TS
//! 33.102, 6.3 and annex C).
use super::config::{OperatorKey, UeConfig};
use martlet_security::aka::{Response, SubscriberKey};
use martlet_security::tuak::{Bits, Tuak, TuakKey};
use martlet_security::{Autn, Rand, sqn};

/// Bits of a SQN that are the index IND into the array of sequence numbers (TS 33.102, C.1.1.1).
const IND_BITS: u32 = 5;
const ARRAY: usize = 1 << IND_BITS;
/// Largest jump of SEQ that the USIM accepts (TS 33.102, C.2.1: Δ).
const DELTA: u64 = 1 << 28;

/// The result of a challenge.
pub enum Challenge {
    /// The network is authentic and the challenge is fresh.
    Accepted(Box<Response>),
    /// MAC-A in AUTN is wrong.
    MacFailure,
    /// AUTN is authentic, but its sequence number is not fresh: AUTS, 14 bytes.
    SynchFailure([u8; 14]),
    /// AUTN is authentic, but the separation bit of its AMF field is 0 (TS 33.501, 6.1.3.2).
    NotFor5g,
}

/// A USIM.
pub struct Usim {
    key: SubscriberKey,
    /// SEQ_MS for each IND; `None` while the USIM has accepted none with that IND.
    seq: [Option<u64>; ARRAY],
    /// SQN_MS, the highest accepted.
    sqn_ms: u64,
}

impl Usim {
    /// The USIM of a configured UE.
    pub fn new(config: &UeConfig) -> Self {
        let short = TuakKey::Short(config.k);
        let key = match &config.operator_key {
            OperatorKey::Opc(opc) => SubscriberKey::new(&config.k, opc),
            OperatorKey::Op(op) => SubscriberKey::from_op(&config.k, op),
            OperatorKey::Topc(topc) => SubscriberKey::tuak(Tuak::new(short, topc, 1), Bits::B64),
            OperatorKey::Top(top) => SubscriberKey::tuak(Tuak::from_top(short, top, 1), Bits::B64),
        };
        let start = config.sqn & sqn::MAX;
        let seq = match start {
            0 => [None; ARRAY],
            sqn => [Some(sqn >> IND_BITS); ARRAY],
        };
        Usim { key, seq, sqn_ms: start }
    }

    /// SQN_MS: the highest sequence number that was accepted.
    pub fn sqn_ms(&self) -> u64 {
        self.sqn_ms
    }

    /// Checks AUTN and answers RAND. Only [`Challenge::Accepted`] uses the sequence number up.
    pub fn authenticate(&mut self, rand: &Rand, autn: &Autn) -> Challenge {
        let Ok(response) = self.key.check_autn(rand, autn) else { return Challenge::MacFailure };
        if !response.separation_bit() {
            return Challenge::NotFor5g;
        }
        let sqn = response.sqn;
        let (seq, index) = (sqn >> IND_BITS, (sqn as usize) & (ARRAY - 1));
        let highest = self.sqn_ms >> IND_BITS;
        let fresh =
            self.seq[index].is_none_or(|last| seq > last) && seq.saturating_sub(highest) <= DELTA;
        if !fresh {
            return Challenge::SynchFailure(self.key.auts(rand, self.sqn_ms));
        }
        self.seq[index] = Some(seq);
        self.sqn_ms = self.sqn_ms.max(sqn);
        Challenge::Accepted(Box::new(response))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_security::milenage::{Amf, Auts, K, Milenage, Op, Opc, Sqn};

    const KEY: [u8; 16] = [0x46; 16];
    const OPC: [u8; 16] = [0xcd; 16];

    fn config() -> UeConfig {
        UeConfig::new("001010000000001", 2, KEY, OperatorKey::Opc(OPC)).unwrap()
    }

    fn home() -> Milenage {
        Milenage::new(&K::new(&KEY), &Opc::new(&OPC))
    }

    fn autn(sqn: u64, amf: [u8; 2]) -> (Rand, Autn) {
        let rand = Rand::new(&[0x23; 16]);
        let vector =
            home().authentication_vector(&rand, &Sqn::try_from(sqn).unwrap(), &Amf::new(&amf));
        (rand, vector.autn().clone())
    }

    #[test]
    fn a_fresh_challenge_is_accepted_once() {
        let mut usim = Usim::new(&config());
        let (rand, autn) = autn(32, [0x80, 0]);
        assert!(matches!(usim.authenticate(&rand, &autn), Challenge::Accepted(_)));
        assert_eq!(usim.sqn_ms(), 32);
        let Challenge::SynchFailure(auts) = usim.authenticate(&rand, &autn) else {
            panic!("replayed AUTN accepted")
        };
        assert_eq!(home().verify_auts(&rand, &Auts::new(&auts)).unwrap().get(), 32);
    }

    #[test]
    fn an_older_number_with_another_index_is_accepted() {
        let mut usim = Usim::new(&config());
        let (rand, newer) = autn((7 << 5) | 1, [0x80, 0]);
        assert!(matches!(usim.authenticate(&rand, &newer), Challenge::Accepted(_)));
        let (rand, older) = autn((6 << 5) | 2, [0x80, 0]);
        assert!(matches!(usim.authenticate(&rand, &older), Challenge::Accepted(_)));
        assert_eq!(usim.sqn_ms(), (7 << 5) | 1);
    }

    #[test]
    fn a_number_behind_the_configured_one_needs_resynchronisation() {
        let mut config = config();
        config.sqn = 0x1000;
        let mut usim = Usim::new(&config);
        let (rand, autn) = autn(0x20, [0x80, 0]);
        let Challenge::SynchFailure(auts) = usim.authenticate(&rand, &autn) else {
            panic!("stale AUTN accepted")
        };
        assert_eq!(home().verify_auts(&rand, &Auts::new(&auts)).unwrap().get(), 0x1000);
    }

    #[test]
    fn a_wrong_mac_and_a_wrong_separation_bit_are_distinguished() {
        let mut usim = Usim::new(&config());
        let (rand, not_5g) = autn(64, [0, 0]);
        assert!(matches!(usim.authenticate(&rand, &not_5g), Challenge::NotFor5g));
        let mut wrong = *not_5g.as_octets();
        wrong[15] ^= 1;
        assert!(matches!(usim.authenticate(&rand, &Autn::new(&wrong)), Challenge::MacFailure));
        assert_eq!(usim.sqn_ms(), 0, "a refused challenge must not use up its number");
    }

    #[test]
    fn op_gives_the_same_subscriber_as_its_opc() {
        let op = [0x11; 16];
        let opc = *Opc::from_op(&K::new(&KEY), &Op::new(&op)).as_octets();
        let mut with_op = config();
        with_op.operator_key = OperatorKey::Op(op);
        let mut usim = Usim::new(&with_op);
        let rand = Rand::new(&[9; 16]);
        let vector = Milenage::new(&K::new(&KEY), &Opc::new(&opc)).authentication_vector(
            &rand,
            &Sqn::try_from(96).unwrap(),
            &Amf::new(&[0x80, 0]),
        );
        assert!(matches!(usim.authenticate(&rand, vector.autn()), Challenge::Accepted(_)));
    }
}
