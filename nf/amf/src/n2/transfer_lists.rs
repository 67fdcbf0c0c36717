//! Lists of PDU session transfers and user locations, read from NGAP.
use super::connection::Location;
use crate::served::{Tai, plmn_from_ngap};
use bytes::Bytes;
use martlet_ngap::ngap::UserLocationInformation;

/// N2 SM information of one PDU session.
pub(crate) type SessionInfo = (u8, Bytes);

/// The gNB's result for several PDU sessions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SessionOutcome {
    pub done: Vec<SessionInfo>,
    pub failed: Vec<SessionInfo>,
}

impl SessionOutcome {
    /// Whether it may answer a request about this session. One about others alone comes too late
    /// for an earlier request.
    pub fn is_about(&self, psi: u8) -> bool {
        let mut named = self.done.iter().chain(&self.failed).map(|(named, _)| *named);
        self.done.is_empty() && self.failed.is_empty() || named.any(|named| named == psi)
    }
}

/// The user location; `None` for non-NR access or an invalid PLMN.
pub(super) fn location(info: &UserLocationInformation<'_>) -> Option<Location> {
    let UserLocationInformation::userLocationInformationNR(nr) = info else { return None };
    let cell_plmn = plmn_from_ngap(&nr.nr_cgi.plmn_identity)?;
    Some(Location {
        tai: Tai::from_ngap(&nr.tai)?,
        cell_plmn,
        cell: nr.nr_cgi.nr_cell_identity.0.value(),
    })
}

/// A slice of the message, without a copy if `part` lies in it.
pub(super) fn slice_of(data: &Bytes, part: &[u8]) -> Bytes {
    let (start, from) = (data.as_ptr() as usize, part.as_ptr() as usize);
    let inside = from >= start && from + part.len() <= start + data.len();
    if inside { data.slice_ref(part) } else { Bytes::copy_from_slice(part) }
}

/// The items of a list: PDU session identity and transfer.
macro_rules! items {
    ($list:expr, $data:expr, $transfer:ident) => {
        $list
            .map(|list| list.0)
            .unwrap_or_default()
            .iter()
            .map(|item| (item.pdu_session_id.0, slice_of($data, &item.$transfer)))
            .collect::<Vec<SessionInfo>>()
    };
}
pub(super) use items;
