//! A connection that is being opened.
use super::{BlockingFabric, BlockingStream};
use crate::link::Link;
use crate::messages::Service;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// A connection that is being opened. Dropping it gives it up.
pub struct Dial {
    fabric: BlockingFabric,
    to: SocketAddr,
    authority: String,
    /// Requested from the peer, not yet accepted.
    opening: Option<(Arc<Link>, BlockingStream)>,
}

impl Dial {
    pub(super) fn new(fabric: BlockingFabric, to: SocketAddr) -> Self {
        Dial { fabric, to, authority: to.to_string(), opening: None }
    }

    /// Ready with the connection, or with the error that `BlockingFabric::connect` documents. Must
    /// not be called again afterwards.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<BlockingStream>> {
        let membership = self.fabric.membership();
        if self.opening.is_none() {
            let route = membership.poll_route(
                Service::Connections,
                &self.authority,
                Instant::now(),
                context,
            );
            let Poll::Ready(route) = route else { return Poll::Pending };
            let Some(link) = route else {
                let what = format!("no process of the fabric listens at {}", self.to);
                return Poll::Ready(Err(Error::new(ErrorKind::ConnectionRefused, what)));
            };
            match link.connect(self.to) {
                Ok(connection) => {
                    self.opening =
                        Some((link, BlockingStream::new(connection, self.fabric.clone())));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        let Some((_, stream)) = &self.opening else { return Poll::Pending };
        let Poll::Ready(opened) = stream.connection().poll_open(context) else {
            return Poll::Pending;
        };
        let opening = self.opening.take();
        Poll::Ready(match (opened, opening) {
            (Ok(()), Some((_, stream))) => Ok(stream),
            (Err(error), Some((link, _))) => {
                membership.invalidate_route(Service::Connections, &self.authority, &link);
                Err(error)
            }
            (outcome, None) => outcome.and(Err(ErrorKind::NotConnected.into())),
        })
    }
}

impl Drop for Dial {
    fn drop(&mut self) {
        if let Some((link, _)) = &self.opening {
            // The peer did not answer in time: another process may listen there by now.
            self.fabric.membership().invalidate_route(Service::Connections, &self.authority, link);
        }
    }
}
