//! Access tokens for the status service, which functions of all types have: each token is for one
//! instance, or for the NRFs.
use super::Tokens;
use http::StatusCode;
use martlet_sbi::{ApiRoot, BoxFuture, Problem, Request, Response, Transport};
use std::sync::Arc;

/// A transport to one instance. It is not replaced by another one that serves the same.
pub(crate) struct AtInstance {
    /// The transport without tokens.
    pub inner: Arc<dyn Transport>,
    /// None without `sbi.token_key`.
    pub tokens: Option<Arc<Tokens>>,
    /// Its `nfInstanceId`; `None` for an NRF.
    pub instance: Option<String>,
}

impl AtInstance {
    async fn send_with_token(
        &self,
        tokens: &Tokens,
        to: &ApiRoot,
        mut request: Request,
    ) -> Result<Response, Problem> {
        if let Some(operation) = request.operation {
            let instance = self.instance.clone();
            tokens.attach_for_instance(&mut request, operation.api, instance).await?;
        }
        let answer = self.inner.send(to, request).await;
        if answer.as_ref().is_ok_and(|it| it.status == StatusCode::UNAUTHORIZED.as_u16()) {
            // The token may be of an NRF that has another key since its restart.
            tokens.clear();
        }
        answer
    }
}

impl Transport for AtInstance {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        match &self.tokens {
            Some(tokens) => Box::pin(self.send_with_token(tokens, to, request)),
            None => self.inner.send(to, request),
        }
    }
}
