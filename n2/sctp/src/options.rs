//! Settings of an association or a listener.
use crate::SctpError;
use std::time::Duration;

/// Settings of an association or a listener. The defaults suit a LAN: they notice a dead idle peer
/// within about 20 s and a dead one with traffic within about 8 s.
///
/// ```
/// let options = martlet_sctp::Options { streams: 8, ..Default::default() };
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    /// Requested outbound streams; the peer may accept fewer. TS 38.412, 7 requires at least two.
    pub streams: u16,
    /// Maximum number of inbound streams.
    pub max_inbound_streams: u16,
    /// Retransmission timeout before the first measurement (RFC 9260, 16: RTO.Initial).
    pub rto_initial: Duration,
    /// Least retransmission timeout. Keep it above the peer's SACK delay (200 ms
    /// in Linux), or single messages are sent twice.
    pub rto_min: Duration,
    /// Greatest retransmission timeout.
    pub rto_max: Duration,
    /// Time between heartbeats on an idle path, to which one retransmission timeout is added.
    pub heartbeat: Duration,
    /// Unanswered retransmissions or heartbeats after which a path, and with its last path the
    /// association, fails.
    pub path_max_retransmissions: u16,
    /// Attempts at INIT and at COOKIE ECHO.
    pub init_attempts: u16,
    /// Greatest timeout of one such attempt.
    pub init_timeout: Duration,
    /// SACK delay: how long an acknowledgement waits to be bundled with data.
    pub sack_delay: Duration,
    /// Send buffer, bytes. `send` waits while it is full.
    pub send_buffer: u32,
    /// Receive buffer, bytes. It bounds the advertised receiver window.
    pub receive_buffer: u32,
    /// Largest message sent or received, bytes. A larger one is rejected, and a peer that sends
    /// one is aborted.
    pub max_message: usize,
    /// Associations that may wait for `accept`.
    pub backlog: u16,
    /// Whether packets of this machine may have no checksum (user-space stack): the kernel's SCTP
    /// leaves it to loopback and virtual interfaces, which compute none.
    pub missing_checksums: bool,
    /// How long a graceful shutdown may take before the association is aborted.
    pub shutdown_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            streams: 8,
            max_inbound_streams: 1024,
            rto_initial: Duration::from_millis(500),
            rto_min: Duration::from_millis(250),
            rto_max: Duration::from_secs(2),
            heartbeat: Duration::from_secs(5),
            path_max_retransmissions: 3,
            init_attempts: 5,
            init_timeout: Duration::from_secs(2),
            sack_delay: Duration::from_millis(40),
            send_buffer: 1 << 20,
            receive_buffer: 1 << 20,
            max_message: 256 << 10,
            missing_checksums: true,
            backlog: 128,
            shutdown_timeout: Duration::from_secs(5),
        }
    }
}

impl Options {
    /// Checks the ranges of the options.
    pub(crate) fn check(&self) -> Result<(), SctpError> {
        let ms = |d: Duration| d.as_millis();
        let checks = [
            (self.streams == 0, "streams: at least 1"),
            (self.max_inbound_streams == 0, "max_inbound_streams: at least 1"),
            (ms(self.rto_min) < 10, "rto_min: at least 10 ms"),
            (
                self.rto_min > self.rto_initial || self.rto_initial > self.rto_max,
                "rto_min <= rto_initial <= rto_max",
            ),
            (ms(self.rto_max) > 60_000, "rto_max: at most 60 s"),
            (ms(self.heartbeat) < 10 || ms(self.heartbeat) > 3_600_000, "heartbeat: 10 ms to 1 h"),
            (self.path_max_retransmissions == 0, "path_max_retransmissions: at least 1"),
            (self.init_attempts == 0, "init_attempts: at least 1"),
            (
                ms(self.init_timeout) < 10 || ms(self.init_timeout) > 60_000,
                "init_timeout: 10 ms to 60 s",
            ),
            (ms(self.sack_delay) > 500, "sack_delay: at most 500 ms (RFC 9260, 6.2)"),
            (self.max_message == 0, "max_message: at least 1"),
            (self.send_buffer as usize <= self.max_message, "send_buffer: more than max_message"),
            (
                self.receive_buffer as usize <= self.max_message,
                "receive_buffer: more than max_message",
            ),
            (
                self.send_buffer > 64 << 20 || self.receive_buffer > 64 << 20,
                "buffers: at most 64 MiB",
            ),
            (self.backlog == 0, "backlog: at least 1"),
        ];
        match checks.into_iter().find(|(bad, _)| *bad) {
            Some((_, why)) => Err(SctpError::BadOption(why)),
            None => Ok(()),
        }
    }
}

/// Whole milliseconds, the unit of the socket options.
pub(crate) fn milliseconds(duration: Duration) -> u32 {
    duration.as_millis().try_into().unwrap_or(u32::MAX)
}
