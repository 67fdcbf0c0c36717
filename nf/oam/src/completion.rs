//! Changes that end although their clients disconnect.
use crate::problem::Failure;
use crate::state::Oam;
use axum::response::{IntoResponse, Response};

/// Completes a change even if the client disconnects, so that each change that was made is in the
/// audit log. The number of changes at a time is limited.
pub async fn to_its_end(
    oam: &Oam,
    change: impl Future<Output = Response> + Send + 'static,
) -> Response {
    let Ok(permit) = oam.changes.clone().acquire_owned().await else {
        return Failure::unavailable("the API ends").into_response();
    };
    let task = tokio::spawn(async move {
        let response = change.await;
        drop(permit);
        response
    });
    task.await.unwrap_or_else(|_| Failure::of_the_program().into_response())
}
