//! The access stratum key chain: each gNB that the UE moves to gets a new NH (TS 33.501, 6.9.2.1).
use martlet_nas::KAmf;
use martlet_security::nas_5gs::{KGnb, Nh, derive_nh};

/// {NH, NCC} and the last key, from which the next NH derives.
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
    /// The chain that starts with the K_gNB of an initial context setup, NCC 0.
    pub fn from_k_gnb(k_amf: KAmf, k_gnb: KGnb) -> Self {
        NextHop { k_amf, last: Last::KGnb(k_gnb), ncc: 0 }
    }

    /// The chain that continues with {NH, NCC} from another AMF.
    pub fn from_nh(k_amf: &[u8; 32], nh: &[u8; 32], ncc: u8) -> Self {
        NextHop { k_amf: KAmf::new(k_amf), last: Last::Nh(Nh::new(nh)), ncc }
    }

    /// Whether the chain belongs to this K_AMF.
    pub fn is_of(&self, k_amf: &KAmf) -> bool {
        self.k_amf.as_octets() == k_amf.as_octets()
    }

    /// Derives the next NH, 32 bytes. Each NH is given to one gNB only.
    pub fn advance(&mut self) -> [u8; 32] {
        let nh = match &self.last {
            Last::KGnb(k_gnb) => derive_nh(&self.k_amf, k_gnb),
            Last::Nh(nh) => derive_nh(&self.k_amf, nh),
        };
        let key = *nh.as_octets();
        self.last = Last::Nh(nh);
        self.ncc = (self.ncc + 1) & 7;
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_nas::NasCount;
    use martlet_security::nas_5gs::derive_kgnb;

    #[test]
    fn nh_and_ncc_follow_ts_33_501() {
        let key = hex::decode("9d63b519775a92ca861ca6a50d848fa8ebf160ea7b73735a85b33737e73c55b4")
            .unwrap();
        let k_amf = KAmf::from_slice(&key).unwrap();
        let k_gnb = derive_kgnb(&k_amf, NasCount::ZERO);
        let mut chain = NextHop::from_k_gnb(k_amf.clone(), k_gnb);
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
