//! The UE's 5G NAS security contexts (TS 24.501, 4.4; TS 33.501, 6.4 and 6.9.4).
use martlet_nas::{
    CipheringAlgorithm, Direction, IntegrityAlgorithm, KAmf, Nas5gsMessage,
    Nas5gsSecurityHeaderType, NasConnection, NasCount, NasError, NasSecurityContext, Verified,
    key_change,
};
use martlet_security::AccessKeyCount;
use martlet_security::nas_5gs::{KGnb, Nh, derive_kamf_prime_idle, derive_kgnb, derive_nh};

const ACCESS: NasConnection = NasConnection::ThreeGpp;

/// A full native 5G NAS security context: K_AMF with its identifier, the algorithms and the NAS
/// COUNTs.
pub struct FullContext {
    /// ngKSI, 0 to 6.
    pub ngksi: u8,
    /// K_AMF.
    pub kamf: KAmf,
    /// Keys, algorithms and COUNTs.
    pub context: NasSecurityContext,
}

/// The contexts of one UE.
#[derive(Default)]
pub struct Security {
    /// The current context, which protects messages.
    pub current: Option<FullContext>,
    /// The partial context of an authentication, before a security mode command activates it.
    pub partial: Option<(u8, KAmf)>,
    /// Uplink NAS COUNT of the last initial NAS message of this N1 signalling connection, or of
    /// SECURITY MODE COMPLETE: K_gNB is derived with it (TS 33.501, annex A.9).
    access_count: Option<NasCount>,
    /// Uplink NAS COUNT of the first initial NAS message, if another one follows it before access
    /// stratum security begins. Either message may trigger it (TS 33.501, 6.8.1.2.2).
    first_count: Option<NasCount>,
    /// The key chain of the access stratum, once a gNB has a K_gNB.
    access: Option<AccessChain>,
    /// NAS messages with integrity protection have been exchanged on this N1 signalling
    /// connection.
    pub secured: bool,
}

/// {NH, NCC} as the UE has them (TS 33.501, 6.9.2.1).
struct AccessChain {
    kamf: KAmf,
    ncc: u8,
    last: Last,
}

enum Last {
    KGnb(KGnb),
    Nh(Nh),
}

impl Security {
    /// Begins the key chain with the K_gNB of a gNB; with the UE's own, if the gNB's differs from
    /// it.
    pub fn begin_access(&mut self, of_gnb: &[u8]) {
        let k_gnb = self.k_gnbs().find(|k_gnb| k_gnb.as_octets() == of_gnb);
        let chain = self.current.as_ref().zip(k_gnb.or_else(|| self.k_gnb()));
        self.access = chain.map(|(current, k_gnb)| AccessChain {
            kamf: current.kamf.clone(),
            ncc: 0,
            last: Last::KGnb(k_gnb),
        });
        self.first_count = None;
    }

    /// The context of a new K_AMF from the NAS container of a handover (TS 24.501, 4.4.3.3). `None`
    /// if the container's MAC is wrong.
    pub fn changed_key(&self, container: &[u8]) -> Option<FullContext> {
        let current = self.current.as_ref()?;
        let next = current.context.nas_count(Direction::Downlink, ACCESS)?;
        let new = key_change::taken(&current.kamf, current.ngksi, next, container)?;
        let context =
            NasSecurityContext::from_fresh_kamf(&new.k_amf, new.integrity, new.ciphering).ok()?;
        Some(FullContext { ngksi: current.ngksi, kamf: new.k_amf, context })
    }

    /// Whether `nh` is the temporary K_gNB with which the chain of a new K_AMF begins (TS 33.501,
    /// 6.9.2.3.3).
    pub fn begins_with(full: &FullContext, ncc: u8, nh: &[u8]) -> bool {
        ncc == 0 && derive_kgnb(&full.kamf, AccessKeyCount::Handover).as_octets().as_slice() == nh
    }

    /// Activates the context of a new K_AMF and begins a key chain with its K_gNB.
    pub fn take_changed_key(&mut self, full: FullContext) {
        let k_gnb = derive_kgnb(&full.kamf, AccessKeyCount::Handover);
        self.access =
            Some(AccessChain { kamf: full.kamf.clone(), ncc: 0, last: Last::KGnb(k_gnb) });
        self.activate(full);
    }

    /// Advances the key chain to this NCC. Returns whether the NH equals the UE's; true without
    /// access stratum security.
    pub fn take_next_hop(&mut self, ncc: u8, nh: &[u8]) -> bool {
        let Some(chain) = &mut self.access else { return true };
        // The network may be some steps ahead, because of prepared handovers that did not complete.
        for _ in 0..8 {
            let next = match &chain.last {
                Last::KGnb(k_gnb) => derive_nh(&chain.kamf, k_gnb),
                Last::Nh(nh) => derive_nh(&chain.kamf, nh),
            };
            let agrees = next.as_octets().as_slice() == nh;
            chain.ncc = (chain.ncc + 1) & 7;
            chain.last = Last::Nh(next);
            if chain.ncc == ncc {
                return agrees;
            }
        }
        false
    }

    /// K_gNB as the UE derives it for access stratum security that the last message triggers;
    /// `None` before there is a security context in use.
    pub fn k_gnb(&self) -> Option<KGnb> {
        self.k_gnbs().next()
    }

    /// Whether the K_gNB of a gNB is one that the UE derives, too. True before there is a security
    /// context in use.
    pub fn has_k_gnb(&self, of_gnb: &[u8]) -> bool {
        self.k_gnb().is_none() || self.k_gnbs().any(|k_gnb| k_gnb.as_octets() == of_gnb)
    }

    /// K_gNB for each message that may trigger access stratum security, the last message first.
    fn k_gnbs(&self) -> impl Iterator<Item = KGnb> {
        let counts = self.access_count.into_iter().chain(self.first_count);
        let current = self.current.as_ref();
        counts.filter_map(move |count| Some(derive_kgnb(&current?.kamf, count)))
    }

    /// ngKSI of the current context; 7 without one.
    pub fn ngksi(&self) -> u8 {
        self.current.as_ref().map_or(7, |c| c.ngksi)
    }

    /// The algorithms in use.
    pub fn algorithms(&self) -> Option<(CipheringAlgorithm, IntegrityAlgorithm)> {
        self.current
            .as_ref()
            .map(|c| (c.context.ciphering_algorithm(), c.context.integrity_algorithm()))
    }

    /// Protects an uplink message: integrity protected and ciphered with a context in use, else
    /// plain (TS 24.501, 4.4.4.1 and 4.4.5).
    pub fn protect(&mut self, message: &Nas5gsMessage) -> Result<Vec<u8>, NasError> {
        match &mut self.current {
            Some(full) if self.secured => full.context.protect(
                message,
                Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered,
                Direction::Uplink,
            ),
            _ => message.encode(),
        }
    }

    /// Protects an initial NAS message: integrity protected, its non-cleartext IEs ciphered in a
    /// NAS message container (TS 24.501, 4.4.6). This message may trigger access stratum security.
    pub fn protect_initial(&mut self, message: &Nas5gsMessage) -> Result<Vec<u8>, NasError> {
        let current = self.current.as_ref();
        let count = current.and_then(|full| full.context.nas_count(Direction::Uplink, ACCESS));
        let nas = self.protect_following(message)?;
        if count.is_some() {
            if self.access.is_none() {
                self.first_count = self.first_count.or(self.access_count);
            }
            self.access_count = count;
        }
        Ok(nas)
    }

    /// Protects a message that follows an unanswered initial message like that one, but triggers no
    /// access stratum security: K_gNB is still derived from the COUNT of the initial message.
    pub fn protect_following(&mut self, message: &Nas5gsMessage) -> Result<Vec<u8>, NasError> {
        match &mut self.current {
            Some(full) => full.context.protect_initial(message),
            None => message.encode(),
        }
    }

    /// Protects SECURITY MODE COMPLETE, the first message under a new context (security header type
    /// 4).
    pub fn protect_security_mode_complete(
        &mut self,
        message: &Nas5gsMessage,
    ) -> Result<Vec<u8>, NasError> {
        let Some(full) = &mut self.current else {
            return Err(NasError::SecurityRefused(
                "there is no security context to answer with".into(),
            ));
        };
        let count = full.context.nas_count(Direction::Uplink, ACCESS);
        let sht =
            Nas5gsSecurityHeaderType::IntegrityProtectedAndCipheredWithNewFiveGNasSecurityContext;
        let nas = full.context.protect(message, sht, Direction::Uplink)?;
        (self.access_count, self.first_count) = (count, None);
        Ok(nas)
    }

    /// Verifies and deciphers a downlink message with the current context. Success means that the
    /// secure exchange of NAS messages is established on this connection (TS 24.501, 4.4.2.5).
    pub fn unprotect(&mut self, nas: &[u8]) -> Result<Verified<Nas5gsMessage>, NasError> {
        let Some(full) = &mut self.current else {
            return Err(NasError::SecurityRefused(
                "there is no security context to check the message with".into(),
            ));
        };
        let verified = full.context.unprotect(nas, Direction::Downlink);
        // A message that is then rejected for its content has passed the integrity check, too.
        if matches!(verified, Ok(_) | Err(NasError::AuthenticMessageRefused { .. })) {
            self.secured = true;
        }
        verified
    }

    /// The context that a SECURITY MODE COMMAND with this ngKSI and these algorithms activates,
    /// before its activation: the partial context of the last authentication, or the current
    /// context with its COUNTs. With `derived`, its K_AMF is derived from the current one.
    pub fn candidate(
        &self,
        ngksi: u8,
        nea: CipheringAlgorithm,
        nia: IntegrityAlgorithm,
        derived: bool,
    ) -> Result<Option<FullContext>, NasError> {
        if let Some((fresh, kamf)) = &self.partial
            && *fresh == ngksi
            && !derived
        {
            let context = NasSecurityContext::from_fresh_kamf(kamf, nia, nea)?;
            return Ok(Some(FullContext { ngksi, kamf: kamf.clone(), context }));
        }
        match &self.current {
            Some(full) if full.ngksi == ngksi && derived => {
                // K_AMF' with the COUNT of the last registration request (TS 33.501, 6.9.3 and
                // A.13); counts restart at 0.
                let Some(count) = self.access_count else { return Ok(None) };
                let kamf = derive_kamf_prime_idle(&full.kamf, count);
                let context = NasSecurityContext::from_fresh_kamf(&kamf, nia, nea)?;
                Ok(Some(FullContext { ngksi, kamf, context }))
            }
            Some(full) if full.ngksi == ngksi => {
                let counts = |connection| {
                    (
                        full.context.nas_count(Direction::Uplink, connection),
                        full.context.nas_count(Direction::Downlink, connection),
                    )
                };
                let context = NasSecurityContext::restore_from_kamf(
                    &full.kamf,
                    nia,
                    nea,
                    counts(ACCESS),
                    counts(NasConnection::Non3Gpp),
                )?;
                Ok(Some(FullContext { ngksi, kamf: full.kamf.clone(), context }))
            }
            _ => Ok(None),
        }
    }

    /// Activates a context.
    pub fn activate(&mut self, full: FullContext) {
        if self.partial.as_ref().is_some_and(|(ngksi, _)| *ngksi == full.ngksi) {
            self.partial = None;
        }
        self.current = Some(full);
        self.secured = true;
    }

    /// Deletes every context, as AUTHENTICATION REJECT and some registration rejects require.
    pub fn delete(&mut self) {
        *self = Security::default();
    }

    /// The N1 signalling connection was released: the next one starts with an initial NAS message,
    /// and the keys of the access stratum are deleted.
    pub fn connection_released(&mut self) {
        self.secured = false;
        (self.access_count, self.first_count, self.access) = (None, None, None);
    }
}
