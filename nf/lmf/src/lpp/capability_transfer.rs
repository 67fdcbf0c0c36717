//! LPP capability transfer (TS 37.355, 5.1).
use super::transaction::{Transactions, positioning_failed};
use martlet_lpp::{
    AGnssRequestCapabilities, Body, GnssIdGnssId, NrDlTdoaRequestCapabilitiesR16,
    NrEcidRequestCapabilitiesR16, NrMultiRttRequestCapabilitiesR16, RequestCapabilitiesR9IEs,
};
use martlet_sbi::Problem;

/// `standalone`, `ue-based` and `ue-assisted` of `PositioningModes` (TS 37.355, 6.4.1).
const STANDALONE: usize = 0;
const UE_BASED: usize = 1;
const UE_ASSISTED: usize = 2;
/// `ssrsrpSup` (TS 37.355, 6.5.9).
const SS_RSRP: usize = 0;

/// The UE's capabilities that this LMF uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// GNSS, standalone or UE-based: the UE computes its position.
    pub gnss: bool,
    /// Multi-RTT.
    pub multi_rtt: bool,
    /// DL-TDOA, UE-assisted.
    pub dl_tdoa: bool,
    /// NR E-CID with SS-RSRP.
    pub nr_ecid: bool,
}

/// Requests the capabilities of a UE.
pub(crate) async fn request_capabilities(lpp: &mut Transactions) -> Result<Capabilities, Problem> {
    let request = RequestCapabilitiesR9IEs {
        a_gnss_request_capabilities: Some(AGnssRequestCapabilities {
            gnss_support_list_req: true,
            ..Default::default()
        }),
        nr_ecid_request_capabilities_r16: Some(NrEcidRequestCapabilitiesR16::default()),
        nr_multi_rtt_request_capabilities_r16: Some(NrMultiRttRequestCapabilitiesR16::default()),
        nr_dl_tdoa_request_capabilities_r16: Some(NrDlTdoaRequestCapabilitiesR16::default()),
        ..Default::default()
    };
    let Body::ProvideCapabilities(it) =
        lpp.request(Body::RequestCapabilities(request.into())).await?
    else {
        return Err(positioning_failed("unexpected answer of the UE to RequestCapabilities"));
    };
    let systems =
        it.a_gnss_provide_capabilities.and_then(|gnss| gnss.gnss_support_list).unwrap_or_default();
    let computes = systems.iter().any(|system| {
        let modes = &system.agnss_modes.pos_modes;
        system.gnss_id.gnss_id == GnssIdGnssId::Gps
            && (modes.bit(STANDALONE) || modes.bit(UE_BASED))
    });
    let tdoa = it.nr_dl_tdoa_provide_capabilities_r16;
    let ecid = it.nr_ecid_provide_capabilities_r16;
    Ok(Capabilities {
        gnss: computes,
        multi_rtt: it.nr_multi_rtt_provide_capabilities_r16.is_some(),
        dl_tdoa: tdoa.is_some_and(|tdoa| tdoa.nr_dl_tdoa_mode_r16.pos_modes.bit(UE_ASSISTED)),
        nr_ecid: ecid.is_some_and(|ecid| ecid.nr_ecid_meas_supported_r16.bit(SS_RSRP)),
    })
}
