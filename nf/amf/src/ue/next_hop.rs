//! The chain of keys for access stratum security: each gNB that a UE comes to gets a next one (TS
//! 33.501, 6.9.2.1).
use martlet_nas::KAmf;
use martlet_security::nas_5gs::{KGnb, Nh, derive_nh};

/// {NH, NCC}, and the key that both come from.
#[derive(Clone)]
pub(crate) struct NextHop {
    k_amf: KAmf,
    last: Last,
    /// Next hop chaining counter, 3 bits.
    pub ncc: u8,
}

#[derive(Clone)]
enum Last {
    KGnb(KGnb),
    Nh(Nh),
}

impl NextHop {
    /// The chain that begins with the K_gNB of an initial context setup, whose NCC is 0.
    pub fn of_access(k_amf: KAmf, k_gnb: KGnb) -> Self {
        NextHop { k_amf, last: Last::KGnb(k_gnb), ncc: 0 }
    }

    /// The chain of which another AMF has given this one to a gNB.
    pub fn going_on(k_amf: &[u8; 32], nh: &[u8; 32], ncc: u8) -> Self {
        NextHop { k_amf: KAmf::new(k_amf), last: Last::Nh(Nh::new(nh)), ncc }
    }

    /// Whether the chain is of this K_AMF.
    pub fn is_of(&self, k_amf: &KAmf) -> bool {
        self.k_amf.as_octets() == k_amf.as_octets()
    }

    /// The next NH. Each is given to one gNB.
    pub fn advance(&mut self) -> [u8; 32] {
        let nh = match &self.last {
            Last::KGnb(k_gnb) => derive_nh(&self.k_amf, k_gnb),
            Last::Nh(nh) => derive_nh(&self.k_amf, nh),
        };
        let octets = *nh.as_octets();
        self.last = Last::Nh(nh);
        self.ncc = (self.ncc + 1) & 7;
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_nas::NasCount;
    use martlet_security::nas_5gs::derive_kgnb;

    #[test]
    fn the_chain_is_that_of_the_specification() {
        let octets =
            hex::decode("9d63b519775a92ca861ca6a50d848fa8ebf160ea7b73735a85b33737e73c55b4")
                .unwrap();
        let k_amf = KAmf::from_slice(&octets).unwrap();
        let k_gnb = derive_kgnb(&k_amf, NasCount::ZERO);
        let mut chain = NextHop::of_access(k_amf.clone(), k_gnb);
        let first = chain.advance();
        assert_eq!(
            hex::encode(first),
            "383c6b76bf2a99aa2ca4c5136d4122a2b942301f0b9e07439786939cd30c4a4b"
        );
        assert_eq!(chain.ncc, 1);
        let second = derive_nh(&k_amf, &Nh::new(&first));
        assert_eq!(chain.advance(), *second.as_octets());
        for _ in 0..5 {
            chain.advance();
        }
        assert_eq!(chain.ncc, 7);
        chain.advance();
        assert_eq!(chain.ncc, 0);
    }
}
