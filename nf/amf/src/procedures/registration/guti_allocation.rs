//! Allocation of a 5G-GUTI (TS 33.501, 6.12.3; TS 23.003, 2.10). REGISTRATION ACCEPT or
//! CONFIGURATION UPDATE COMMAND carries it to the UE.
use crate::ue::{Stop, Ue};
use martlet_nas::Guti;

/// Allocates a 5G-GUTI. The previous one stays valid until the UE confirms the new one.
pub(crate) fn run(ue: &mut Ue) -> Result<(), Stop> {
    let (plmn, id) = (ue.guami().plmn, ue.guami().id);
    let tmsi = ue.amf.tables.allocate_tmsi(&ue.handle);
    let guti = id.guti(plmn, tmsi).map_err(|_| {
        ue.amf.tables.release_tmsi(tmsi, ue.handle.number);
        Stop::Abandoned("not_encodable")
    })?;
    assign(ue, guti);
    Ok(())
}

/// Assigns a 5G-GUTI whose 5G-TMSI was allocated.
pub(crate) fn assign(ue: &mut Ue, guti: Guti) {
    ue.identity.was_paged = false;
    let replaced = ue.identity.guti.replace(guti);
    if ue.identity.is_guti_confirmed() {
        ue.release_old_guti();
        ue.identity.old_guti = replaced;
    } else if let Some(untaken) = replaced {
        // A 5G-GUTI that the UE never confirmed is released; the confirmed one stays.
        ue.amf.tables.release_tmsi(untaken.tmsi(), ue.handle.number);
    }
}
