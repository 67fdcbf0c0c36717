//! The conversation with the manager: joins, and joins again when there is a new one.
use super::driver;
use super::spin::Spin;
use crate::link::Host;
use crate::process::{Process, Standing};
use crate::{fd, membership, messages};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::io::Interest;

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Keeps the process joined until the task is stopped.
pub async fn keep(process: Arc<Process>, path: PathBuf, spin: Spin, host: Weak<dyn Host>) {
    let mut pause = FIRST_PAUSE;
    loop {
        let reason = match membership::open(&path) {
            Ok(socket) => {
                let reason = talk(&process, socket, &spin, &host).await;
                if matches!(process.standing(), Standing::Joined(_)) {
                    pause = FIRST_PAUSE;
                }
                reason
            }
            Err(error) => format!("{}: {error}", path.display()),
        };
        process.disconnected(&reason);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Talks with the manager until the connection ends, and says why it did.
async fn talk(
    process: &Arc<Process>,
    socket: OwnedFd,
    spin: &Spin,
    host: &Weak<dyn Host>,
) -> String {
    let socket = match fd::watch(Arc::new(socket), Interest::READABLE | Interest::WRITABLE) {
        Ok(socket) => socket,
        Err(error) => return error.to_string(),
    };
    process.connected();
    let mut buffer = vec![0; messages::LONGEST];
    loop {
        let outcome = tokio::select! {
            got = socket.async_io(Interest::READABLE, |socket| fd::receive(socket, &mut buffer)) => match got {
                Ok((0, _)) => Err("the manager has ended".to_string()),
                Ok((length, fds)) => process.incoming(&buffer[..length], fds, host).map(|news| {
                    for link in news.links {
                        tokio::spawn(driver::drive(link, process.clone(), spin.clone()));
                    }
                }),
                Err(error) => Err(format!("the manager does not answer: {error}")),
            },
            message = std::future::poll_fn(|context| process.poll_outgoing(context)) => {
                let sent = socket.async_io(Interest::WRITABLE, |socket| fd::send(socket, &message, &[])).await;
                if let Err(error) = sent {
                    // The connection is over. What the manager said last, and why, is still to be read.
                    tracing::debug!(%error, "the manager takes no message");
                }
                Ok(())
            }
        };
        if let Err(reason) = outcome {
            return reason;
        }
    }
}
