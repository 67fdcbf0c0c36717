//! P4Runtime over TCP.
use martlet_switch_control::p4runtime::Server;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tonic::transport::server::TcpIncoming;

/// Octets of requests that may be under way to the server: a batch of some thousand updates comes
/// in one go, without an answer in between that there is room for more.
const WINDOW: u32 = 4 << 20;

/// What connects. Answers leave at once: a kernel that keeps a short one back until the one before
/// has been acknowledged (Nagle) waits for 40 ms where the other side is slow to acknowledge, and
/// each write has two such answers.
fn incoming(listener: TcpListener) -> TcpIncoming {
    TcpIncoming::from(listener).with_nodelay(Some(true))
}

/// Serves until it is dropped. The bell rings when there are packets for the controller.
///
/// # Errors
/// The listener broke.
pub async fn serve(server: Server, listener: TcpListener, bell: Arc<Notify>) -> Result<(), String> {
    let (service, packets) = server.service(bell);
    let served = tonic::transport::Server::builder()
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .add_service(service)
        .serve_with_incoming(incoming(listener));
    tokio::select! {
        outcome = served => outcome.map_err(|error| format!("P4Runtime: {error}")),
        () = packets => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_stream::StreamExt;

    #[tokio::test]
    async fn answers_are_not_kept_back() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its number");
        let mut incoming = incoming(listener);
        let _client = tokio::net::TcpStream::connect(address).await.expect("it listens");
        let accepted = incoming.next().await.expect("one").expect("that works");
        assert!(accepted.nodelay().expect("it says so"));
    }
}
