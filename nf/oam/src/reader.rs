//! Readers of responses that last: events, and live traces.
use crate::accounts;
use crate::caller::{Caller, Via};
use crate::state::Oam;
use std::time::Duration;

/// How often it is checked that a reader may still read.
pub const RECHECK: Duration = Duration::from_secs(10);

/// Whether the user of a reader still exists with the role that it had, and its session or token.
pub async fn may_read(oam: &Oam, caller: &Caller) -> bool {
    let longest = Duration::from_secs(oam.config.session_max_h * 3600);
    let token = match &caller.via {
        Via::Socket => return true,
        Via::Session { id, .. } if !oam.sessions.is_alive(id, longest) => return false,
        Via::Session { external_name: Some(_), .. } => return true,
        Via::Session { .. } => None,
        Via::Token { id } => Some(id.clone()),
    };
    let (name, scopes) = (caller.name.clone(), caller.scopes.clone());
    let may = oam.store(move |store| {
        let is_valid = token.map_or(Ok(true), |id| accounts::is_valid_token(store, &id))?;
        let user = accounts::user(store, &name)?.filter(|_| is_valid);
        Ok(user.is_some_and(|user| scopes.iter().all(|scope| user.role.scopes().contains(scope))))
    });
    // While the store does not answer, no reader is admitted.
    may.await.unwrap_or(false)
}
