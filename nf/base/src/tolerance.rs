//! Whether a function tolerates deviations of others (`sbi.strict`).
use martlet_interop::{Quirk, SbiQuirk};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::fmt::Display;

/// The tolerance of a function.
#[derive(Debug, Clone)]
pub(crate) struct Tolerance {
    nf_type: NfType,
    is_strict: bool,
}

impl Tolerance {
    /// Of a function of a type; `is_strict`: it tolerates nothing.
    pub fn new(nf_type: NfType, is_strict: bool) -> Self {
        Tolerance { nf_type, is_strict }
    }

    /// Whether nothing is tolerated.
    pub fn is_strict(&self) -> bool {
        self.is_strict
    }

    /// Whether a deviation of another network function is tolerated; then it is counted.
    pub fn tolerates(&self, quirk: SbiQuirk, peer: impl Display) -> bool {
        if !self.is_strict {
            quirk.met(self.nf_type.as_str(), peer);
        }
        !self.is_strict
    }
}
