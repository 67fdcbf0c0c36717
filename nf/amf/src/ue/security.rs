//! The 5G NAS security context of a UE (TS 33.501, 3.1; TS 24.501, 4.4.2).
use crate::n2::NextHop;
use martlet_nas::{
    CipheringAlgorithm, Direction, IntegrityAlgorithm, KAmf, NasConnection, NasCount, NasError,
    NasSecurityContext,
};
use martlet_sbi_api::namf_communication::NasSecurityMode;
use martlet_security::nas_5gs::{derive_kamf_prime_idle, derive_kgnb};

/// The 5G NAS security context of a UE.
pub(crate) struct Security {
    k_amf: KAmf,
    /// ngKSI, 0 to 6.
    pub ngksi: u8,
    /// NIA0 for emergency services only.
    pub integrity: IntegrityAlgorithm,
    /// NAS keys and COUNTs.
    pub nas: NasSecurityContext,
}

impl Security {
    /// The context of a new authentication; both NAS COUNTs are 0.
    pub fn new(
        k_amf: KAmf,
        ngksi: u8,
        ciphering: CipheringAlgorithm,
        integrity: IntegrityAlgorithm,
    ) -> Result<Self, NasError> {
        let nas = NasSecurityContext::from_fresh_kamf(&k_amf, integrity, ciphering)?;
        Ok(Security { k_amf, ngksi, integrity, nas })
    }

    /// The key chain that starts with the K_gNB of this uplink NAS COUNT.
    pub fn next_hop(&self, uplink: NasCount) -> NextHop {
        NextHop::from_k_gnb(self.k_amf.clone(), derive_kgnb(&self.k_amf, uplink))
    }

    /// Whether a key chain belongs to this context's K_AMF.
    pub fn is_of(&self, chain: &NextHop) -> bool {
        chain.is_of(&self.k_amf)
    }

    /// A context that was in use, with its next uplink and downlink NAS COUNTs.
    pub fn restored(
        k_amf: &[u8; 32],
        ngksi: u8,
        ciphering: CipheringAlgorithm,
        integrity: IntegrityAlgorithm,
        counts: (Option<NasCount>, Option<NasCount>),
    ) -> Result<Self, NasError> {
        let k_amf = KAmf::new(k_amf);
        let unused = (Some(NasCount::ZERO), Some(NasCount::ZERO));
        let nas =
            NasSecurityContext::restore_from_kamf(&k_amf, integrity, ciphering, counts, unused)?;
        Ok(Security { k_amf, ngksi, integrity, nas })
    }

    /// K_AMF' for another AMF, derived with the uplink NAS COUNT of the UE's request (TS 33.501,
    /// 6.9.3 and A.13).
    pub fn derived(&self, uplink: NasCount) -> KAmf {
        derive_kamf_prime_idle(&self.k_amf, uplink)
    }

    /// The next uplink NAS COUNT.
    pub fn uplink(&self) -> Option<u32> {
        self.nas.nas_count(Direction::Uplink, NasConnection::ThreeGpp).map(NasCount::get)
    }

    /// The next downlink NAS COUNT.
    pub fn downlink(&self) -> Option<u32> {
        self.nas.nas_count(Direction::Downlink, NasConnection::ThreeGpp).map(NasCount::get)
    }

    /// Reserves the next downlink NAS COUNT for a key derivation and returns it. `None` when the
    /// COUNT is exhausted.
    pub fn skip_downlink(&mut self) -> Option<NasCount> {
        let count = |direction| self.nas.nas_count(direction, NasConnection::ThreeGpp);
        let (uplink, downlink) = (count(Direction::Uplink), count(Direction::Downlink)?);
        let next = NasCount::new(downlink.get() + 1).ok()?;
        let (ciphering, counts) = (self.nas.ciphering_algorithm(), (uplink, Some(next)));
        *self = Self::restored(self.k_amf(), self.ngksi, ciphering, self.integrity, counts).ok()?;
        Some(downlink)
    }

    /// The algorithms in SBI form.
    pub fn mode(&self) -> NasSecurityMode {
        NasSecurityMode {
            integrity_algorithm: format!("NIA{}", self.integrity as u8).as_str().into(),
            ciphering_algorithm: format!("NEA{}", self.nas.ciphering_algorithm() as u8)
                .as_str()
                .into(),
        }
    }

    /// K_AMF, for key derivation.
    pub fn key(&self) -> &KAmf {
        &self.k_amf
    }

    /// K_AMF, 32 bytes, for the encrypted context store.
    pub fn k_amf(&self) -> &[u8; 32] {
        self.k_amf.as_octets()
    }

    /// K_gNB for the initial NAS message with this uplink NAS COUNT (TS 33.501, A.9).
    pub fn k_gnb(&self, uplink: NasCount) -> [u8; 32] {
        *derive_kgnb(&self.k_amf, uplink).as_octets()
    }
}
