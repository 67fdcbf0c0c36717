//! The P4Runtime server on TCP.
use crate::access::Access;
use crate::error::ProcessError;
use martlet_switch_control::p4runtime::{
    KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_PROBES, Server,
};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_stream::StreamExt;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::TcpIncoming;

/// Flow-control window in bytes: a batch of some thousand updates arrives without a window update
/// in between.
const WINDOW: u32 = 4 << 20;

/// Accepts connections with TCP_NODELAY: each write has two short responses, and Nagle's algorithm
/// delays the second by up to 40 ms where the peer acknowledges slowly. With keepalive, a
/// controller whose machine is gone does not stay the primary one.
fn incoming(listener: TcpListener) -> TcpIncoming {
    TcpIncoming::from(listener)
        .with_nodelay(Some(true))
        .with_keepalive(Some(KEEPALIVE_IDLE))
        .with_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .with_keepalive_retries(Some(KEEPALIVE_PROBES))
}

/// Serves until dropped. `wakeup` is notified when packets for the controller arrive.
///
/// # Errors
/// The listener failed.
pub async fn serve(
    server: Server,
    listener: TcpListener,
    wakeup: Arc<Notify>,
    access: Access,
) -> Result<(), ProcessError> {
    let (service, packets) = server.service(wakeup);
    let (of_connections, of_requests) = (access.clone(), access);
    let service = InterceptedService::new(service, move |request| of_requests.check(request));
    let incoming = incoming(listener)
        .filter(move |stream| stream.as_ref().map_or(true, |stream| of_connections.admits(stream)));
    let served = tonic::transport::Server::builder()
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .add_service(service)
        .serve_with_incoming(incoming);
    tokio::select! {
        outcome = served => Ok(outcome?),
        () = packets => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn responses_are_not_delayed_and_lost_controllers_are_noticed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its number");
        let mut incoming = incoming(listener);
        let _client = tokio::net::TcpStream::connect(address).await.expect("the listener is open");
        let accepted = incoming.next().await.expect("one").expect("that works");
        assert!(accepted.nodelay().expect("the option is readable"));
        let keepalive = nix::sys::socket::sockopt::KeepAlive;
        assert!(nix::sys::socket::getsockopt(&accepted, keepalive).expect("as this one"));
    }
}
