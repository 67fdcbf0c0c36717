//! Responses to requests that do not decode or need an unsupported feature (TS 29.244, 7.6).
use super::N4;
use super::deletion::deletion_rejection;
use super::modification::modification_rejection;
use super::rejection::Rejection;
use martlet_pfcp::ie::{Cause, FSeid};
use martlet_pfcp::{
    AssociationReleaseResponse, AssociationUpdateResponse, DecodeError, Header, IeValue, Message,
    PfdManagementResponse, SessionSetDeletionResponse, elements,
};
use std::net::IpAddr;

/// The response to a request that does not decode; `None` where it has none.
pub(super) fn of_malformed(
    n4: &N4,
    from: IpAddr,
    header: &Header,
    body: &[u8],
    error: &DecodeError,
) -> Option<(Option<u64>, Message)> {
    let cause = error.cause()?;
    let rejection = Rejection {
        offending: error.offending(),
        why: error.to_string(),
        ..Rejection::from(cause)
    };
    let node_id = n4.settings.node_id.clone();
    let session = header.seid.and_then(|seid| n4.session_of(from, seid));
    // Requests for a session that does not exist are rejected with this cause, whatever else is
    // wrong.
    let of_session = match session {
        Some(_) => rejection.clone(),
        None => Rejection::from(Cause::SESSION_CONTEXT_NOT_FOUND),
    };
    let cp_seid = Some(session.map_or(0, |context| context.cp().seid));
    Some(match header.message_type {
        3 => (None, PfdManagementResponse { cause, offending_ie: rejection.offending_ie() }.into()),
        5 => (None, n4.setup_response(cause).into()),
        7 => (None, AssociationUpdateResponse { node_id, cause }.into()),
        9 => (None, AssociationReleaseResponse { node_id, cause }.into()),
        14 => (
            None,
            SessionSetDeletionResponse { node_id, cause, offending_ie: rejection.offending_ie() }
                .into(),
        ),
        50 => (Some(cp_seid_in(body)), n4.establishment_refusal(&rejection).into()),
        52 => (cp_seid, modification_rejection(&of_session).into()),
        54 => (cp_seid, deletion_rejection(&of_session).into()),
        // A heartbeat has no cause in its answer; other requests are not for a UP function.
        _ => return None,
    })
}

/// The CP function's SEID of a malformed establishment request, for the response; else 0.
fn cp_seid_in(body: &[u8]) -> u64 {
    let Ok(elements) = elements(body, 0, 0) else { return 0 };
    let fseid =
        elements.iter().find(|ie| ie.kind == FSeid::TYPE).map(|ie| FSeid::decode(ie.value, 0));
    fseid.and_then(Result::ok).map_or(0, |fseid| fseid.seid)
}
