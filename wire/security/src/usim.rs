//! The USIM and the ME's part of 5G-AKA (TS 33.501, 6.1.3.2; TS 33.102, 6.3.3).

use crate::aka::{self, SubscriberKey};
use crate::nas_5gs::{KAmf, KAusf, ResStar};
use crate::sqn::Accepted;
use crate::{Autn, Rand, SecurityError};

/// A USIM: its key and its accepted sequence numbers.
#[derive(Debug, Clone)]
pub struct Usim {
    key: SubscriberKey,
    accepted: Accepted,
}

/// The result of a challenge.
pub enum Challenge {
    /// Send AUTHENTICATION RESPONSE.
    Accepted(Box<Answer>),
    /// AUTHENTICATION FAILURE #20: the token is not from the home network.
    MacFailure,
    /// AUTHENTICATION FAILURE #26: the separation bit is not set, so the vector is not for 5G (TS
    /// 33.501, 6.1.3.3.1).
    NotForFiveG,
    /// AUTHENTICATION FAILURE #21 with this AUTS: the sequence number is not fresh.
    SyncFailure([u8; 14]),
}

/// The answer to a challenge.
pub struct Answer {
    /// RES*, for AUTHENTICATION RESPONSE.
    pub res_star: ResStar,
    /// K_AUSF, which the home network derived too.
    pub k_ausf: KAusf,
}

impl Answer {
    /// K_AMF, which the serving network derived too (TS 33.501, A.6 and A.7).
    pub fn k_amf(&self, serving_network: &str, supi: &str) -> Result<KAmf, SecurityError> {
        aka::k_amf(&aka::k_seaf(&self.k_ausf, serving_network)?, supi)
    }
}

impl Usim {
    /// A USIM that has accepted no sequence number yet.
    pub fn new(key: SubscriberKey) -> Self {
        Self::at(key, 0)
    }

    /// A USIM with this highest accepted sequence number.
    pub fn at(key: SubscriberKey, sqn: u64) -> Self {
        Self { key, accepted: Accepted::at(sqn) }
    }

    /// SQN_MS: the highest accepted sequence number.
    pub fn sqn(&self) -> u64 {
        self.accepted.highest()
    }

    /// Checks a challenge and makes the response. An accepted challenge uses up its sequence
    /// number.
    pub fn challenge(&mut self, rand: &Rand, autn: &Autn, serving_network: &str) -> Challenge {
        let Ok(response) = self.key.check_autn(rand, autn) else { return Challenge::MacFailure };
        if !response.separation_bit() {
            return Challenge::NotForFiveG;
        }
        if !self.accepted.accept(response.sqn) {
            return Challenge::SyncFailure(self.key.auts(rand, self.accepted.highest()));
        }
        let res_star = response.res_star(rand, serving_network);
        let k_ausf = response.k_ausf(autn, serving_network);
        match (res_star, k_ausf) {
            (Ok(res_star), Ok(k_ausf)) => {
                Challenge::Accepted(Box::new(Answer { res_star, k_ausf }))
            }
            // A serving network name that is too long cannot be authenticated.
            _ => Challenge::MacFailure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqn;

    const NETWORK: &str = "5G:mnc001.mcc001.3gppnetwork.org";

    fn key() -> SubscriberKey {
        SubscriberKey::new(&[0x46; 16], &[0xcd; 16])
    }

    fn challenge(usim: &mut Usim, key: &SubscriberKey, sqn: u64, amf: [u8; 2]) -> Challenge {
        let rand = Rand::new(&[0x23; 16]);
        let vector = aka::vector(key, &rand, sqn, amf, NETWORK).expect("a vector");
        usim.challenge(&rand, &vector.autn, NETWORK)
    }

    #[test]
    fn each_kind_of_challenge_has_its_answer() {
        let mut usim = Usim::new(key());
        let first = sqn::next(0);
        assert!(matches!(challenge(&mut usim, &key(), first, [0x80, 0]), Challenge::Accepted(_)));
        assert_eq!(usim.sqn(), first);
        // The same again: a synchronisation failure, whose AUTS has the USIM's sequence number.
        let Challenge::SyncFailure(auts) = challenge(&mut usim, &key(), first, [0x80, 0]) else {
            panic!("not fresh")
        };
        assert_eq!(aka::verify_auts(&key(), &Rand::new(&[0x23; 16]), &auts), Ok(first));
        // Another key; a vector that is not for 5G, which does not use up a number.
        let other = SubscriberKey::new(&[1; 16], &[1; 16]);
        assert!(matches!(
            challenge(&mut usim, &other, sqn::next(first), [0x80, 0]),
            Challenge::MacFailure
        ));
        assert!(matches!(
            challenge(&mut usim, &key(), sqn::next(first), [0, 0]),
            Challenge::NotForFiveG
        ));
        assert_eq!(usim.sqn(), first);
    }

    #[test]
    fn a_home_network_with_an_old_number_resynchronises() {
        let mut usim = Usim::at(key(), 4000 << 5 | 3);
        let mut last = 17;
        let Challenge::SyncFailure(auts) = challenge(&mut usim, &key(), sqn::next(last), [0x80, 0])
        else {
            panic!("not fresh")
        };
        let sqn_ms =
            aka::verify_auts(&key(), &Rand::new(&[0x23; 16]), &auts).expect("the card's own");
        last = sqn::resynchronised(last, sqn_ms);
        assert!(matches!(
            challenge(&mut usim, &key(), sqn::next(last), [0x80, 0]),
            Challenge::Accepted(_)
        ));
    }
}
