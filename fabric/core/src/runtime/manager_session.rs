//! The task that keeps the process joined: it connects to the manager, and reconnects to the next
//! one.
use super::link_task;
use super::spin::Spin;
use crate::link::Host;
use crate::manager_socket::{self, RECONNECT_MAX, RECONNECT_MIN};
use crate::membership::{ManagerError, Membership, MembershipState};
use crate::{fd, messages};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use tokio::io::Interest;

/// Keeps the process joined until the task is aborted.
pub async fn maintain(
    membership: Arc<Membership>,
    path: PathBuf,
    spin: Spin,
    host: Weak<dyn Host>,
) {
    let mut delay = RECONNECT_MIN;
    loop {
        let reason = match manager_socket::open(&path) {
            Ok(socket) => {
                let error = run(&membership, socket, &spin, &host).await;
                if matches!(membership.state(), MembershipState::Joined(_)) {
                    delay = RECONNECT_MIN;
                }
                error.to_string()
            }
            Err(error) => format!("{}: {error}", path.display()),
        };
        membership.disconnected(&reason);
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(RECONNECT_MAX);
    }
}

/// Exchanges messages with the manager until the connection ends, and returns why it ended.
async fn run(
    membership: &Arc<Membership>,
    socket: OwnedFd,
    spin: &Spin,
    host: &Weak<dyn Host>,
) -> ManagerError {
    let socket = match fd::watch(Arc::new(socket), Interest::READABLE | Interest::WRITABLE) {
        Ok(socket) => socket,
        Err(error) => return error.into(),
    };
    membership.connected();
    let mut buffer = vec![0; messages::MAX_MESSAGE_BYTES];
    loop {
        let received = tokio::select! {
            received = socket.async_io(Interest::READABLE, |fd| fd::receive(fd, &mut buffer)) => {
                received
            }
            message = std::future::poll_fn(|context| membership.poll_outgoing(context)) => {
                let sent = socket.async_io(Interest::WRITABLE, |fd| fd::send(fd, &message, &[]));
                if let Err(error) = sent.await {
                    // Keep reading: the manager's last message has the reason why it closed the
                    // connection.
                    tracing::debug!(%error, "message to the fabric manager not sent");
                }
                continue;
            }
        };
        let link = match received {
            Ok((0, _)) => return ManagerError::Closed,
            Ok((length, fds)) => membership.handle_message(&buffer[..length], fds, host),
            Err(error) => return error.into(),
        };
        match link {
            Ok(Some(link)) => {
                tokio::spawn(link_task::drive(link, membership.clone(), spin.clone()));
            }
            Ok(None) => {}
            Err(error) => return error,
        }
    }
}
