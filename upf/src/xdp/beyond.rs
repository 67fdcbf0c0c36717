//! What neither the programs nor what is beside them carries: it is refused, and not done by halves.
use crate::datapath::DatapathError;
use crate::rules::{Session, SessionKind};

/// Refuses sessions whose packets the programs do not know.
pub(super) fn refuse(session: &Session) -> Result<(), DatapathError> {
    let beyond = session.kind != SessionKind::Ip;
    let pdr = session.pdrs.values().find(|pdr| beyond || !pdr.routes().is_empty());
    let Some(pdr) = pdr else { return Ok(()) };
    if session.kind == SessionKind::Ethernet {
        let why = "is of a session of frames, and upf.n6.ethernet has no network for such";
        return Err(DatapathError::Pdr { pdr: pdr.id, why: why.into() });
    }
    let what = if beyond { "unstructured sessions are" } else { "networks behind a UE are" };
    Err(DatapathError::Pdr { pdr: pdr.id, why: format!("{what} carried by the datapath `kernel`") })
}
