//! User plane connections between UE and LMF (TS 23.273, 6.18): establishment, modification and
//! termination.
use crate::shared::{Shared, shutting_down, unreachable_ue};
use crate::user_plane::{Command, Supi};
use martlet_sbi::Problem;
use martlet_sbi_api::namf_communication::N1MessageClass;
use std::time::Duration;
use tokio::sync::oneshot;

/// LCS-UP connection establishment (TS 23.273, 6.18.1), requested by the LMF or by the UE. Returns
/// at once if there is a connection.
pub(crate) async fn establish(shared: &Shared, ue: &Supi, by_ue: bool) -> Result<(), Problem> {
    if shared.channel_of(ue).await?.is_some() {
        return Ok(());
    }
    shared.subscribe(ue, N1MessageClass::UppCmi).await?;
    let (answer, answered) = oneshot::channel();
    shared.send_command(Command::Connect { ue: ue.clone(), by_ue, answer }).await?;
    let limit = Duration::from_millis(shared.config.connect_timeout_ms.into());
    match tokio::time::timeout(limit, answered).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(reason))) => {
            Err(unreachable_ue(&format!("no user plane connection with the UE: {reason}")))
        }
        Ok(Err(_)) => Err(shutting_down()),
        Err(_) => Err(Problem::new(504, "PEER_NOT_RESPONDING")
            .detail("the UE did not establish its user plane connection in time")),
    }
}

/// LCS-UP connection modification, after another AMF has taken over the UE (TS 24.572).
pub(crate) async fn modify(shared: &Shared, ue: &Supi) -> Result<(), Problem> {
    shared.subscribe(ue, N1MessageClass::UppCmi).await?;
    shared.send_command(Command::Modify { ue: ue.clone() }).await
}

/// LCS-UP connection termination. The UE answers through its AMF, which may be another one than
/// that of the establishment.
pub(crate) async fn release(shared: &Shared, ue: &Supi) -> Result<(), Problem> {
    let subscribed = shared.subscribe(ue, N1MessageClass::UppCmi).await;
    shared.send_command(Command::Release { ue: ue.clone() }).await?;
    subscribed
}
