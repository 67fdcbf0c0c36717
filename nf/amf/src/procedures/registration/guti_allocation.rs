//! Allocation of a 5G-GUTI (TS 33.501, 6.12.3; TS 23.003, 2.10). REGISTRATION ACCEPT or
//! CONFIGURATION UPDATE COMMAND carries it to the UE.
use crate::ue::{Stop, Ue};

/// A new 5G-GUTI (TS 33.501, 6.12.3). The one before is valid until the UE has taken the new one.
pub(crate) fn run(ue: &mut Ue) -> Result<(), Stop> {
    let (plmn, id) = (ue.guami().plmn, ue.guami().id);
    let tmsi = ue.amf.tables.new_tmsi(&ue.handle);
    let guti = id.guti(plmn, tmsi).map_err(|_| {
        ue.amf.tables.forget_tmsi(tmsi, ue.handle.number);
        Stop::Abandoned("not_encodable")
    })?;
    match ue.old_guti {
        // One that the UE never took is void; the one that it has stays.
        Some(_) => {
            if let Some(untaken) = ue.guti.replace(guti) {
                ue.amf.tables.forget_tmsi(untaken.tmsi(), ue.handle.number);
            }
        }
        None => ue.old_guti = ue.guti.replace(guti),
    }
    Ok(())
}
