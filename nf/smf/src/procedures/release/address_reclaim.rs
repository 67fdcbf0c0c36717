//! Release of a session whose dynamic address is another subscriber's static one, when that
//! subscriber establishes a session (TS 23.502, 4.3.4.2, step 1b). The UE of the released session
//! establishes it again, with another address.
use super::pdu_session_release;
use crate::addresses::Addresses;
use crate::session::Session;
use crate::session_event::{AddressReclaim, SessionEvent};
use crate::shared::Smf;
use martlet_nas::GsmCause;
use martlet_sbi_api::common::{Dnn, Supi};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a new session waits for its static address.
const LIMIT: Duration = Duration::from_secs(2);

/// Makes static addresses of a new session free, if other sessions of the data network have them as
/// dynamic ones.
pub async fn request(smf: &Smf, supi: &Supi, dnn: &Dnn, addresses: &Addresses) {
    // The subscriber may have another session with them.
    if !smf.pools.has_dynamic(dnn, addresses) {
        return;
    }
    let released = smf.sessions.with_addresses(addresses).into_iter().filter_map(|session| {
        let (released, wait) = oneshot::channel();
        let (supi, dnn, addresses) = (supi.clone(), dnn.clone(), *addresses);
        let reclaim = AddressReclaim { supi, dnn, addresses, released };
        session.send(SessionEvent::AddressesReclaimed(reclaim.into())).then_some(wait)
    });
    let released: Vec<_> = released.collect();
    let all = async {
        for wait in released {
            let _ = wait.await;
        }
    };
    let _ = tokio::time::timeout(LIMIT, all).await;
}

/// Releases the session and returns its addresses to their pools, unless it has none of the wanted
/// ones, or as its own static ones, or in another data network. Returns `false` if it has ended.
pub async fn run(session: &mut Session, reclaim: AddressReclaim) -> bool {
    let parameters = &session.parameters;
    let dynamic = parameters.addresses.without(&parameters.static_addresses);
    // An earlier version has stored the subscriber's other session without its static addresses.
    let is_owner = session.supi == reclaim.supi;
    let is_wanted = session.dnn.eq_ignore_ascii_case(&reclaim.dnn)
        && dynamic.overlap(&reclaim.addresses)
        && parameters.is_in_pool;
    if is_owner || !is_wanted {
        return true;
    }
    tracing::info!(
        supi = %session.supi, session = session.id, dnn = %session.dnn,
        addresses = %session.parameters.addresses,
        "address is another subscriber's static one, releasing the session"
    );
    let cause = GsmCause::ReactivationRequested;
    let is_alive = pdu_session_release::by_network(session, cause).await;
    // No UPF has the session. What is left of the release needs no address.
    if is_alive && session.is_owned().await {
        session.smf.pools.release(&session.dnn, &session.parameters.addresses);
        session.parameters.is_in_pool = false;
    }
    let _ = reclaim.released.send(());
    is_alive
}
