//! N4 on its socket.
use martlet_upf_datapath::Event;
use martlet_upf_n4::{Moment, N4};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, sleep_until};

/// A PFCP message fits into one datagram.
const LARGEST: usize = 65_535;
/// Events processed at a time, so that messages do not wait behind them.
const EVENTS_AT_A_TIME: usize = 64;

/// Datagrams processed at a time, so that events do not wait behind them.
const DATAGRAMS_AT_A_TIME: usize = 64;

/// Serves N4 until `shutdown`, then until the SMFs have moved their sessions or the time limit.
/// `wake` has messages sent that others have added. The
/// lock on `n4` is held for a few messages at a time, never over an await.
pub async fn run(
    n4: Arc<Mutex<N4>>,
    socket: UdpSocket,
    mut events: Receiver<Event>,
    wake: Arc<Notify>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut shutdown = pin!(shutdown);
    let mut buffer = vec![0; LARGEST];
    let mut batch = Vec::with_capacity(EVENTS_AT_A_TIME);
    let with = |act: &mut dyn FnMut(&mut N4)| {
        let mut n4 = n4.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::time::Instant::now();
        act(&mut n4);
        let now = Moment::now();
        n4.record_processing(now.instant - before, now);
        (n4.take_outgoing(), n4.next_timeout(), n4.release_deadline(now))
    };
    let (_, mut timeout, mut end) = with(&mut |_| {});
    let mut ending = false;
    loop {
        let now = std::time::Instant::now();
        if end.is_some_and(|end| end <= now) {
            return Ok(());
        }
        let next = timeout.into_iter().chain(end).min();
        let due = sleep_until(Instant::from_std(
            next.unwrap_or(now + std::time::Duration::from_secs(3600)),
        ));
        let (outgoing, next, release_deadline) = tokio::select! {
            () = &mut shutdown, if !ending => {
                ending = true;
                let mut waits = false;
                let outcome = with(&mut |n4| waits = n4.leave(Moment::now()));
                if !waits {
                    return Ok(());
                }
                outcome
            }
            received = socket.recv_from(&mut buffer) => match received {
                Ok((length, from)) => {
                    let mut datagrams =
                        vec![(from, buffer.get(..length).unwrap_or_default().to_vec())];
                    // Processed together with the datagrams received meanwhile: some work is
                    // shared.
                    while datagrams.len() < DATAGRAMS_AT_A_TIME
                        && let Ok((length, from)) = socket.try_recv_from(&mut buffer)
                    {
                        datagrams.push((from, buffer.get(..length).unwrap_or_default().to_vec()));
                    }
                    let together =
                        || datagrams.iter().map(|(from, bytes)| (*from, bytes.as_slice()));
                    with(&mut |n4| n4.receive_all(together(), Moment::now()))
                }
                // A receive reports the closed port of an absent SMF, which is no reason to end.
                Err(error) if is_passing(&error) => continue,
                Err(error) => return Err(error),
            },
            count = events.recv_many(&mut batch, EVENTS_AT_A_TIME) => {
                if count == 0 {
                    return Err(io::Error::other("the datapath has ended"));
                }
                with(&mut |n4| batch.drain(..).for_each(|event| n4.event(event, Moment::now())))
            }
            // A query has queued messages.
            () = wake.notified() => with(&mut |_| {}),
            () = due => with(&mut |n4| n4.poll(Moment::now())),
        };
        (timeout, end) = (next, release_deadline);
        for datagram in outgoing {
            if let Err(error) = socket.send_to(&datagram.bytes, datagram.to).await
                && let Some(suppressed) = martlet_log_limit::line("n4_send", datagram.to.ip())
            {
                tracing::warn!(
                    peer = %datagram.to, %error, suppressed,
                    "PFCP message not sent"
                );
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
    matches!(error.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable)
}
