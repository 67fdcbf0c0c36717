//! The TLS 1.3 record layer (RFC 8446, 5) with keys from a rustls handshake. It encrypts into the
//! send buffer and decrypts into the destination, without a copy in between.
//!
//! rustls remains responsible for the handshake, session tickets and key derivation.

#[cfg(test)]
mod tests;

use crate::ChannelError;
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::ConnectionTrafficSecrets;
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;

/// Bytes of a record header. The last two are the length.
const HEADER: usize = 5;
const TAG: usize = 16;
/// Maximum plaintext of a record, and maximum expansion by encryption (RFC 8446, 5.1 and 5.2).
const MAX_PLAINTEXT: usize = 16_384;
const EXPANSION: usize = 256;
/// Records per key before a key update (RFC 8446, 5.5 permits 2^24.5).
const MAX_RECORDS_PER_KEY: u64 = 1 << 23;
/// Maximum number of successive records without application data.
const MAX_EMPTY_RECORDS: u32 = 64;
/// Maximum size of a fragmented handshake message, bytes.
const MAX_HANDSHAKE: usize = 1 << 16;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;

/// Alert descriptions (RFC 8446, 6).
mod alert {
    pub(super) const CLOSE_NOTIFY: u8 = 0;
    pub(super) const UNEXPECTED_MESSAGE: u8 = 10;
    pub(super) const BAD_RECORD_MAC: u8 = 20;
    pub(super) const RECORD_OVERFLOW: u8 = 22;
    pub(super) const ILLEGAL_PARAMETER: u8 = 47;
    pub(super) const DECODE_ERROR: u8 = 50;
    pub(super) const INTERNAL_ERROR: u8 = 80;
    pub(super) const USER_CANCELED: u8 = 90;
}

/// The rest of a rustls connection: derives later keys and processes tickets.
pub(crate) enum Next {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
    /// In tests: no later keys.
    None,
}

type Secrets = (u64, ConnectionTrafficSecrets);

impl Next {
    fn tx(&mut self) -> Result<Secrets, rustls::Error> {
        match self {
            Next::Client(it) => it.update_tx_secret(),
            Next::Server(it) => it.update_tx_secret(),
            Next::None => Err(rustls::Error::HandshakeNotComplete),
        }
    }

    fn rx(&mut self) -> Result<Secrets, rustls::Error> {
        match self {
            Next::Client(it) => it.update_rx_secret(),
            Next::Server(it) => it.update_rx_secret(),
            Next::None => Err(rustls::Error::HandshakeNotComplete),
        }
    }

    /// Processes a session ticket, at a client.
    pub(crate) fn ticket(&mut self, payload: &[u8]) -> Result<(), rustls::Error> {
        match self {
            Next::Client(it) => it.handle_new_session_ticket(payload),
            _ => Err(rustls::Error::General("a server received a session ticket".into())),
        }
    }
}

/// A key with the sequence number of its next record.
struct Key {
    key: LessSafeKey,
    iv: [u8; 12],
    number: u64,
}

/// Why a record was rejected: alert description and text.
type Rejection = (u8, &'static str);

impl Key {
    fn new((number, secrets): Secrets) -> Result<Self, ChannelError> {
        let ConnectionTrafficSecrets::Aes128Gcm { key, iv } = secrets else {
            return Err(ChannelError::Tls("the cipher suite is not TLS_AES_128_GCM_SHA256".into()));
        };
        Key::of(number, key.as_ref(), iv.as_ref())
    }

    fn of(number: u64, key: &[u8], iv: &[u8]) -> Result<Self, ChannelError> {
        let rejection =
            || ChannelError::Tls("a key or an initialization vector of another length".into());
        let iv = iv.try_into().map_err(|_| rejection())?;
        let key = UnboundKey::new(&AES_128_GCM, key).map_err(|_| rejection())?;
        Ok(Key { key: LessSafeKey::new(key), iv, number })
    }

    /// The nonce of the next record (RFC 8446, 5.3). No sequence number is used twice.
    fn nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        for (byte, of_number) in nonce[4..].iter_mut().zip(self.number.to_be_bytes()) {
            *byte ^= of_number;
        }
        self.number += 1;
        Nonce::assume_unique_for_key(nonce)
    }

    /// Encrypts at most [`MAX_PLAINTEXT`] bytes and appends the record to `wire`.
    fn seal(&mut self, kind: u8, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        let start = wire.len();
        let [high, low] = ((plain.len() + 1 + TAG) as u16).to_be_bytes();
        let header = [APPLICATION_DATA, 3, 3, high, low];
        wire.extend_from_slice(&header);
        wire.resize(start + HEADER + plain.len() + 1 + TAG, 0);
        let (sealed, rest) = wire[start + HEADER..].split_at_mut(plain.len());
        let nonce = self.nonce();
        let done = self.key.seal_out_of_place_scatter(
            nonce,
            Aad::from(header),
            plain,
            sealed,
            &[kind],
            rest,
        );
        done.map_err(|_| ChannelError::Tls("encryption failed".into()))
    }

    /// Decrypts a record, appends its content to `plain` and returns its content type.
    fn open(
        &mut self,
        header: [u8; HEADER],
        sealed: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<u8, Rejection> {
        let at = plain.len();
        let Some(inner) = sealed.len().checked_sub(TAG).filter(|inner| *inner > 0) else {
            return Err((alert::BAD_RECORD_MAC, "a record without content"));
        };
        if inner > MAX_PLAINTEXT + 1 {
            // Including its padding (RFC 8446, 5.4).
            return Err((alert::RECORD_OVERFLOW, "a record is too long"));
        }
        plain.resize(at + inner, 0);
        let (sealed, tag) = sealed.split_at(inner);
        let nonce = self.nonce();
        let opened =
            self.key.open_separate_gather(nonce, Aad::from(header), sealed, tag, &mut plain[at..]);
        if opened.is_err() {
            plain.truncate(at);
            return Err((alert::BAD_RECORD_MAC, "a record does not open"));
        }
        // The content type is the last byte that is not padding.
        let Some(last) = plain[at..].iter().rposition(|byte| *byte != 0) else {
            plain.truncate(at);
            return Err((alert::UNEXPECTED_MESSAGE, "a record of padding alone"));
        };
        let kind = plain[at + last];
        plain.truncate(at + last);
        Ok(kind)
    }
}

/// The record layer of a connection.
pub(crate) struct Records {
    tx: Key,
    rx: Key,
    next: Next,
    /// An incomplete record.
    input: Vec<u8>,
    /// An incomplete handshake message.
    handshake: Vec<u8>,
    /// Alerts and key updates to send.
    output: Vec<u8>,
    idle: u32,
    /// Records per key before a key update.
    max_records: u64,
    closed: bool,
    /// close_notify was sent.
    ended: bool,
    failed: Option<&'static str>,
}

impl Records {
    pub(crate) fn new(tx: Secrets, rx: Secrets, next: Next) -> Result<Self, ChannelError> {
        Ok(Records::with(Key::new(tx)?, Key::new(rx)?, next))
    }

    fn with(tx: Key, rx: Key, next: Next) -> Self {
        Records {
            tx,
            rx,
            next,
            input: Vec::new(),
            handshake: Vec::new(),
            output: Vec::new(),
            idle: 0,
            max_records: MAX_RECORDS_PER_KEY,
            closed: false,
            ended: false,
            failed: None,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Appends alerts and key updates to `wire`.
    pub(crate) fn pending(&mut self, wire: &mut Vec<u8>) {
        wire.append(&mut self.output);
    }

    /// Processes wire bytes and appends their plaintext to `plain`.
    pub(crate) fn open(
        &mut self,
        mut wire: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<(), ChannelError> {
        if let Some(why) = self.failed {
            return Err(ChannelError::Tls(why.into()));
        }
        while !self.closed {
            if !self.input.is_empty() {
                // Complete it: first the header.
                let whole = length_of(&self.input)
                    .map_err(|rejection| self.fail(rejection))?
                    .unwrap_or(HEADER);
                let taken = (whole - self.input.len()).min(wire.len());
                self.input.extend_from_slice(&wire[..taken]);
                wire = &wire[taken..];
                match length_of(&self.input).map_err(|rejection| self.fail(rejection))? {
                    Some(whole) if whole == self.input.len() => {
                        let mut record = std::mem::take(&mut self.input);
                        let taken = self.record(&record, plain);
                        record.clear();
                        self.input = record;
                        taken?;
                    }
                    _ if wire.is_empty() => return Ok(()),
                    _ => {}
                }
                continue;
            }
            match length_of(wire).map_err(|rejection| self.fail(rejection))? {
                Some(whole) if whole <= wire.len() => {
                    let (record, rest) = wire.split_at(whole);
                    wire = rest;
                    self.record(record, plain)?;
                }
                _ => {
                    self.input.extend_from_slice(wire);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Processes a complete record.
    fn record(&mut self, record: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        let Some((header, sealed)) = record.split_first_chunk::<HEADER>() else { return Ok(()) };
        let at = plain.len();
        let kind =
            self.rx.open(*header, sealed, plain).map_err(|rejection| self.fail(rejection))?;
        self.idle = if kind == APPLICATION_DATA && plain.len() > at { 0 } else { self.idle + 1 };
        if self.idle > MAX_EMPTY_RECORDS {
            plain.truncate(at);
            return Err(
                self.fail((alert::UNEXPECTED_MESSAGE, "too many records without application data"))
            );
        }
        if kind == APPLICATION_DATA && self.handshake.is_empty() {
            return Ok(());
        }
        let content = plain.split_off(at);
        let done = match kind {
            HANDSHAKE => self.handshake(&content),
            // Fragments of a handshake message must not be interleaved (RFC 8446, 5.1).
            _ if !self.handshake.is_empty() => {
                Err((alert::UNEXPECTED_MESSAGE, "a fragmented handshake message is interrupted"))
            }
            ALERT => self.alert(&content),
            _ => Err((alert::UNEXPECTED_MESSAGE, "a record of an unexpected type")),
        };
        done.map_err(|rejection| self.fail(rejection))
    }

    fn alert(&mut self, content: &[u8]) -> Result<(), Rejection> {
        match content {
            [_, alert::CLOSE_NOTIFY] => {
                self.closed = true;
                Ok(())
            }
            // close_notify follows in an alert of its own (RFC 8446, 6.1).
            [_, alert::USER_CANCELED] => Ok(()),
            [_, _] => {
                // An alert is not answered.
                self.failed = Some("the peer sent a fatal alert");
                Err((alert::CLOSE_NOTIFY, "the peer sent a fatal alert"))
            }
            _ => Err((alert::DECODE_ERROR, "malformed alert")),
        }
    }

    /// Post-handshake messages: session tickets and key updates (RFC 8446, 4.6).
    fn handshake(&mut self, content: &[u8]) -> Result<(), Rejection> {
        if content.is_empty() || self.handshake.len() + content.len() > MAX_HANDSHAKE {
            return Err((alert::UNEXPECTED_MESSAGE, "a handshake message is empty or too long"));
        }
        self.handshake.extend_from_slice(content);
        while let [kind, a, b, c, rest @ ..] = self.handshake.as_slice() {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > MAX_HANDSHAKE {
                return Err((alert::DECODE_ERROR, "a handshake message is too long"));
            }
            let Some(message) = rest.get(..length) else { break };
            match (*kind, message) {
                (NEW_SESSION_TICKET, message) => {
                    let rejection = if matches!(self.next, Next::Client(_)) {
                        alert::DECODE_ERROR
                    } else {
                        alert::UNEXPECTED_MESSAGE
                    };
                    self.next
                        .ticket(message)
                        .map_err(|_| (rejection, "an invalid session ticket"))?;
                }
                (KEY_UPDATE, [asked @ (0 | 1)]) if rest.len() == 1 => {
                    let asked = *asked == 1;
                    self.rx = self.next.rx().ok().and_then(|it| Key::new(it).ok()).ok_or(NO_KEY)?;
                    // Several requests before the answer are answered once (RFC 8446, 4.6.3), and
                    // none after close_notify.
                    if asked && self.output.is_empty() && !self.ended {
                        self.update_key()?;
                    }
                }
                (KEY_UPDATE, [_]) if rest.len() == 1 => {
                    return Err((alert::ILLEGAL_PARAMETER, "a KeyUpdate with an invalid request"));
                }
                (KEY_UPDATE, [_]) => {
                    return Err((
                        alert::UNEXPECTED_MESSAGE,
                        "a KeyUpdate that does not end its record",
                    ));
                }
                (KEY_UPDATE, _) => {
                    return Err((alert::DECODE_ERROR, "a KeyUpdate of the rejection length"));
                }
                _ => {
                    return Err((alert::UNEXPECTED_MESSAGE, "an unexpected handshake message"));
                }
            }
            self.handshake.drain(..4 + length);
        }
        Ok(())
    }

    /// Sends KeyUpdate and switches to the next key.
    fn update_key(&mut self) -> Result<(), Rejection> {
        self.tx.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], &mut self.output).map_err(|_| NO_KEY)?;
        self.tx = self.next.tx().ok().and_then(|it| Key::new(it).ok()).ok_or(NO_KEY)?;
        Ok(())
    }

    /// Ends the connection with an alert.
    fn fail(&mut self, (alert, why): Rejection) -> ChannelError {
        if self.failed.is_none() && !self.ended {
            let _ = self.tx.seal(ALERT, &[2, alert], &mut self.output);
        }
        self.failed = Some(why);
        ChannelError::Tls(why.into())
    }

    /// Encrypts application data and appends the records to `wire`.
    pub(crate) fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        if let Some(why) = self.failed {
            return Err(ChannelError::Tls(why.into()));
        }
        if self.ended {
            return Err(ChannelError::Tls("data sent after close_notify".into()));
        }
        for piece in plain.chunks(MAX_PLAINTEXT) {
            if self.tx.number >= self.max_records {
                self.update_key().map_err(|rejection| self.fail(rejection))?;
            }
            wire.append(&mut self.output);
            self.tx.seal(APPLICATION_DATA, piece, wire)?;
        }
        Ok(())
    }

    /// Appends close_notify to `wire`.
    pub(crate) fn close(&mut self, wire: &mut Vec<u8>) {
        self.pending(wire);
        if self.failed.is_none() && !self.ended {
            let _ = self.tx.seal(ALERT, &[1, alert::CLOSE_NOTIFY], wire);
        }
        self.ended = true;
    }

    /// Sets the number of records per key, for tests.
    #[cfg(test)]
    pub(crate) fn update_key_after(&mut self, records: u64) {
        self.max_records = records;
    }
}

const NO_KEY: Rejection = (alert::INTERNAL_ERROR, "no further key could be derived");

/// The size of the record that begins here. None if its header is incomplete.
fn length_of(bytes: &[u8]) -> Result<Option<usize>, Rejection> {
    let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    match header[0] {
        APPLICATION_DATA if length <= MAX_PLAINTEXT + EXPANSION => Ok(Some(HEADER + length)),
        APPLICATION_DATA => Err((alert::RECORD_OVERFLOW, "a record is too long")),
        _ => Err((alert::UNEXPECTED_MESSAGE, "an unencrypted record")),
    }
}

/// Two connected record layers with test keys.
fn pair() -> (Records, Records) {
    let key = |byte: u8| Key::of(0, &[byte; 16], &[byte; 12]).expect("a key");
    (Records::with(key(1), key(2), Next::None), Records::with(key(2), key(1), Next::None))
}

/// Fuzz target: arbitrary bytes, also between valid records.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    let (mut one, mut other) = pair();
    let (mut wire, mut opened) = (Vec::new(), Vec::new());
    let Some((cut, data)) = data.split_first() else { return };
    one.seal(data, &mut wire).expect("it is encrypted");
    // A correctly encrypted record of arbitrary type.
    let kind = data.first().copied().unwrap_or(0);
    one.tx.seal(kind, &data[..data.len().min(200)], &mut wire).expect("it is encrypted");
    for piece in wire.chunks(usize::from(*cut) + 1) {
        if other.open(piece, &mut opened).is_err() {
            break;
        }
    }
    assert!(opened.starts_with(data) || data.is_empty());
    let _ = pair().0.open(data, &mut Vec::new());
}
