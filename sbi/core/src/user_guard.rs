//! Authorisation by the user of the process that sends a request.
use crate::Problem;
use http::Method;
use std::sync::Arc;

/// Checks the method and the path of a request, and the user of its sender.
pub type UserCheck = dyn Fn(&Method, &str, u32) -> Result<(), Problem> + Send + Sync;

/// Authorises requests of processes of this machine by their users, which the kernel reports.
#[derive(Clone)]
pub struct UserGuard(pub Arc<UserCheck>);

impl std::fmt::Debug for UserGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UserGuard { .. }")
    }
}
