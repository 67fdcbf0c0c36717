//! Core Network Assistance Information for RRC INACTIVE (TS 38.413, 9.3.1.15).
use crate::served::Tai;
use martlet_nas::{DrxValue, timers};
use martlet_ngap::Bits;
use martlet_ngap::ngap::{
    CoreNetworkAssistanceInformationForInactive, PagingDRX, PeriodicRegistrationUpdateTimer,
    TAIListForInactive, TAIListForInactiveItem, UEIdentityIndexValue,
};

/// The UE-specific Paging DRX (TS 38.413, 9.3.1.90); `None` if the cell's default one applies.
pub(super) fn paging_drx(cycle: DrxValue) -> Option<PagingDRX> {
    match cycle {
        DrxValue::Cycle32 => Some(PagingDRX::v32),
        DrxValue::Cycle64 => Some(PagingDRX::v64),
        DrxValue::Cycle128 => Some(PagingDRX::v128),
        DrxValue::Cycle256 => Some(PagingDRX::v256),
        _ => None,
    }
}

/// What a gNB needs for a UE that it keeps in RRC_INACTIVE.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assistance {
    /// 5G-TMSI.
    pub tmsi: u32,
    /// Negotiated DRX cycle.
    pub cycle: Option<DrxValue>,
    /// T3512, seconds.
    pub t3512: u32,
    /// Registration area: 1 to 16 tracking areas.
    pub area: Vec<Tai>,
}

impl Assistance {
    /// In NGAP form.
    pub fn to_ngap(&self) -> CoreNetworkAssistanceInformationForInactive {
        // 5G-S-TMSI modulo 1024 (9.3.3.23).
        let index = Bits::low(self.tmsi.into(), 10);
        // A GPRS timer 3 without the unit of 320 hours, which T3512 has in addition (9.3.3.24).
        let timer = timers::timer3(self.t3512.into()).value.first().copied().unwrap_or_default();
        let area = self.area.iter().map(|tai| TAIListForInactiveItem::new(tai.to_ngap(), None));
        CoreNetworkAssistanceInformationForInactive::new(
            UEIdentityIndexValue::indexLength10(index),
            self.cycle.and_then(paging_drx),
            PeriodicRegistrationUpdateTimer(Bits::from(timer)),
            None,
            TAIListForInactive(area.collect()),
            None,
            None,
        )
    }
}
