//! What neither the programs nor what is beside them carries: it is refused, and not done by halves.
use crate::datapath::DatapathError;
use crate::rules::{Session, SessionKind};

/// Refuses sessions whose packets the programs do not know.
pub(super) fn refuse(session: &Session) -> Result<(), DatapathError> {
    if session.kind == SessionKind::Ip {
        return Ok(());
    }
    let Some(pdr) = session.pdrs.values().next() else { return Ok(()) };
    let why = match session.kind {
        SessionKind::Ethernet => "is of a session of frames, and upf.n6.ethernet has no network for such",
        _ => "is of an unstructured session: these are carried by the datapath `kernel`",
    };
    Err(DatapathError::Pdr { pdr: pdr.id, why: why.into() })
}
