//! A connection that is being made.
use super::{BlockingFabric, BlockingStream};
use crate::link::Link;
use crate::messages::Service;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// A connection that is being made. To drop it is to give it up.
pub struct Dial {
    fabric: BlockingFabric,
    to: SocketAddr,
    authority: String,
    /// Asked for, and not agreed to yet.
    opening: Option<(Arc<Link>, BlockingStream)>,
}

impl Dial {
    pub(super) fn new(fabric: BlockingFabric, to: SocketAddr) -> Self {
        Dial { fabric, to, authority: to.to_string(), opening: None }
    }

    /// Goes on with it. Not to be called again after it was ready.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<BlockingStream>> {
        let process = self.fabric.process();
        if self.opening.is_none() {
            let way =
                process.poll_way(Service::Connections, &self.authority, Instant::now(), context);
            let Poll::Ready(way) = way else { return Poll::Pending };
            let Some(link) = way else {
                let what = format!("nobody of the fabric listens at {}", self.to);
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
                process.mistaken(Service::Connections, &self.authority, &link);
                Err(error)
            }
            (outcome, None) => outcome.and(Err(ErrorKind::NotConnected.into())),
        })
    }
}

impl Drop for Dial {
    fn drop(&mut self) {
        if let Some((link, _)) = &self.opening {
            // Nobody answered in time: perhaps somebody else listens there by now.
            self.fabric.process().mistaken(Service::Connections, &self.authority, link);
        }
    }
}
