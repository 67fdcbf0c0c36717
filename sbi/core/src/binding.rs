//! Selection of the transport of a call: the local binding if the producer runs in this process,
//! else the remote one.
use crate::local::Producer;
use crate::{BoxFuture, LocalBinding, Problem, Request, Response, TransportFailure};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// `{apiRoot}` of TS 29.501, 4.4.1: scheme, authority and an optional prefix.
///
/// It is stored as a tuple of the three strings.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Parts", into = "Parts")]
pub struct ApiRoot {
    /// `http` or `https`.
    pub scheme: String,
    /// Host and port.
    pub authority: String,
    /// Path before the API name; empty or with a leading slash.
    pub prefix: String,
}

type Parts = (String, String, String);

impl From<Parts> for ApiRoot {
    fn from((scheme, authority, prefix): Parts) -> Self {
        ApiRoot { scheme, authority, prefix }
    }
}

impl From<ApiRoot> for Parts {
    fn from(root: ApiRoot) -> Self {
        (root.scheme, root.authority, root.prefix)
    }
}

impl ApiRoot {
    /// The root `http://{authority}`.
    pub fn http(authority: impl Into<String>) -> Self {
        ApiRoot { scheme: "http".into(), authority: authority.into(), prefix: String::new() }
    }

    /// Splits a URI into its root without prefix, and its path with query.
    pub fn split(uri: &str) -> Option<(ApiRoot, &str)> {
        let (scheme, rest) = uri.split_once("://")?;
        let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        let known = matches!(scheme, "http" | "https") && !authority.is_empty();
        known.then(|| {
            (
                ApiRoot {
                    scheme: scheme.into(),
                    authority: authority.into(),
                    prefix: String::new(),
                },
                path,
            )
        })
    }
}

impl std::fmt::Display for ApiRoot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme, self.authority, self.prefix)
    }
}

/// Carries requests to producers, and their responses back.
pub trait Transport: Send + Sync {
    /// Sends a request to a producer. The transport performs safe retries; the caller enforces the
    /// timeout.
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>>;
}

/// The bindings of a process: the local one is tried first.
#[derive(Clone, Default)]
pub struct Bindings {
    local: Option<LocalBinding>,
    remote: Option<Arc<dyn Transport>>,
}

impl Bindings {
    /// No bindings.
    pub fn new() -> Self {
        Bindings::default()
    }
    /// Sets the binding to producers of this process.
    pub fn with_local(mut self, local: LocalBinding) -> Self {
        self.local = Some(local);
        self
    }
    /// Sets the binding to all other producers.
    pub fn with_remote(mut self, remote: Arc<dyn Transport>) -> Self {
        self.remote = Some(remote);
        self
    }
    /// The local binding, if it is set.
    pub fn local(&self) -> Option<&LocalBinding> {
        self.local.as_ref()
    }
}

impl Transport for Bindings {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        if let Some(local) = &self.local {
            match local.find(&to.authority) {
                Producer::Serving(_) | Producer::Restarting if request.is_misdirected() => {
                    return Box::pin(async move { Err(Problem::misdirected(request.path())) });
                }
                Producer::Serving(router) => {
                    return Box::pin(async move { Ok(router.handle(request).await) });
                }
                Producer::Restarting => {
                    return Box::pin(async move {
                        match local.wait_for(&to.authority, request.deadline).await {
                            Some(router) => Ok(router.handle(request).await),
                            None => Err(Problem::unreachable(
                                TransportFailure::NotSent,
                                format!("{to} restarts"),
                            )),
                        }
                    });
                }
                Producer::Absent => {}
            }
        }
        match &self.remote {
            Some(remote) => remote.send(to, request),
            None => Box::pin(async move {
                Err(Problem::unreachable(
                    TransportFailure::NotSent,
                    format!("no binding reaches {to}"),
                ))
            }),
        }
    }
}
