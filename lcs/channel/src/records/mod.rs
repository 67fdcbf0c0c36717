//! TLS 1.3 records (RFC 8446, 5) by keys that a handshake of rustls gave: what is sealed is written
//! where it is sent from, and what is opened where it is wanted, so that nothing is copied in
//! between.
//!
//! The handshake, tickets for resumption, and new keys stay rustls's.

#[cfg(test)]
mod tests;

use crate::ChannelError;
use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::ConnectionTrafficSecrets;
use rustls::client::ClientConnectionData;
use rustls::kernel::KernelConnection;
use rustls::server::ServerConnectionData;

/// Octets of a record's header, the last two of which say how long the rest is.
const HEADER: usize = 5;
const TAG: usize = 16;
/// Plain octets of the largest record, and what protection may add to it (RFC 8446, 5.1 and 5.2).
const LARGEST: usize = 16_384;
const EXPANSION: usize = 256;
/// Records that one key seals (RFC 8446, 5.5, allows 2^24.5): then comes the next one.
const MOST_RECORDS: u64 = 1 << 23;
/// Records in a row that carry nothing of the application.
const MOST_IDLE: u32 = 64;
/// Octets of a handshake message that is spread over records.
const MOST_HANDSHAKE: usize = 1 << 16;

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;
const NEW_SESSION_TICKET: u8 = 4;
const KEY_UPDATE: u8 = 24;

/// Descriptions of alerts (RFC 8446, 6).
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

/// What is left of a rustls connection: the keys that come next, and where tickets go.
pub(crate) enum Next {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
    /// Of a test: there are no others.
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

    /// Only a client is given tickets.
    pub(crate) fn ticket(&mut self, payload: &[u8]) -> Result<(), rustls::Error> {
        match self {
            Next::Client(it) => it.handle_new_session_ticket(payload),
            _ => Err(rustls::Error::General("a server is given a ticket".into())),
        }
    }
}

/// A key with the number of its next record.
struct Key {
    key: LessSafeKey,
    iv: [u8; 12],
    number: u64,
}

/// What was wrong with a record: the alert, and words.
type Wrong = (u8, &'static str);

impl Key {
    fn new((number, secrets): Secrets) -> Result<Self, ChannelError> {
        let ConnectionTrafficSecrets::Aes128Gcm { key, iv } = secrets else {
            return Err(ChannelError::Tls("the cipher suite is not TLS_AES_128_GCM_SHA256".into()));
        };
        Key::of(number, key.as_ref(), iv.as_ref())
    }

    fn of(number: u64, key: &[u8], iv: &[u8]) -> Result<Self, ChannelError> {
        let wrong =
            || ChannelError::Tls("a key or an initialization vector of another length".into());
        let iv = iv.try_into().map_err(|_| wrong())?;
        let key = UnboundKey::new(&AES_128_GCM, key).map_err(|_| wrong())?;
        Ok(Key { key: LessSafeKey::new(key), iv, number })
    }

    /// RFC 8446, 5.3: no number is used twice.
    fn nonce(&mut self) -> Nonce {
        let mut nonce = self.iv;
        for (octet, of_number) in nonce[4..].iter_mut().zip(self.number.to_be_bytes()) {
            *octet ^= of_number;
        }
        self.number += 1;
        Nonce::assume_unique_for_key(nonce)
    }

    /// A record with at most [`LARGEST`] octets is added to `wire`.
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
        done.map_err(|_| ChannelError::Tls("a record was not sealed".into()))
    }

    /// What a record says is added to `plain`; its content type.
    fn open(
        &mut self,
        header: [u8; HEADER],
        sealed: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<u8, Wrong> {
        let at = plain.len();
        let Some(inner) = sealed.len().checked_sub(TAG).filter(|inner| *inner > 0) else {
            return Err((alert::BAD_RECORD_MAC, "a record without content"));
        };
        if inner > LARGEST + 1 {
            // RFC 8446, 5.4: with its padding.
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
        // The content type is the last octet that is not padding.
        let Some(last) = plain[at..].iter().rposition(|octet| *octet != 0) else {
            plain.truncate(at);
            return Err((alert::UNEXPECTED_MESSAGE, "a record of padding alone"));
        };
        let kind = plain[at + last];
        plain.truncate(at + last);
        Ok(kind)
    }
}

/// Records in both directions.
pub(crate) struct Records {
    tx: Key,
    rx: Key,
    next: Next,
    /// A record that is not whole.
    input: Vec<u8>,
    /// A handshake message that is not whole.
    handshake: Vec<u8>,
    /// What is to be sent beside what is sealed.
    output: Vec<u8>,
    idle: u32,
    /// Records that one of our keys seals.
    most: u64,
    closed: bool,
    /// We said that nothing more comes.
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
            most: MOST_RECORDS,
            closed: false,
            ended: false,
            failed: None,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// What is to be sent beside what is sealed: alerts, and new keys.
    pub(crate) fn pending(&mut self, wire: &mut Vec<u8>) {
        wire.append(&mut self.output);
    }

    /// Octets came over the wire: what they say is added to `plain`.
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
                // What is missing of it: its header first.
                let whole =
                    length_of(&self.input).map_err(|wrong| self.fail(wrong))?.unwrap_or(HEADER);
                let taken = (whole - self.input.len()).min(wire.len());
                self.input.extend_from_slice(&wire[..taken]);
                wire = &wire[taken..];
                match length_of(&self.input).map_err(|wrong| self.fail(wrong))? {
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
            match length_of(wire).map_err(|wrong| self.fail(wrong))? {
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

    /// A whole record.
    fn record(&mut self, record: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        let Some((header, sealed)) = record.split_first_chunk::<HEADER>() else { return Ok(()) };
        let at = plain.len();
        let kind = self.rx.open(*header, sealed, plain).map_err(|wrong| self.fail(wrong))?;
        self.idle = if kind == APPLICATION_DATA && plain.len() > at { 0 } else { self.idle + 1 };
        if self.idle > MOST_IDLE {
            plain.truncate(at);
            return Err(
                self.fail((alert::UNEXPECTED_MESSAGE, "too many records that carry nothing"))
            );
        }
        if kind == APPLICATION_DATA && self.handshake.is_empty() {
            return Ok(());
        }
        let content = plain.split_off(at);
        let done = match kind {
            HANDSHAKE => self.handshake(&content),
            // RFC 8446, 5.1: nothing else comes between the pieces of a handshake message.
            _ if !self.handshake.is_empty() => {
                Err((alert::UNEXPECTED_MESSAGE, "a handshake message is cut off"))
            }
            ALERT => self.alert(&content),
            _ => Err((alert::UNEXPECTED_MESSAGE, "a record of a kind that does not belong here")),
        };
        done.map_err(|wrong| self.fail(wrong))
    }

    fn alert(&mut self, content: &[u8]) -> Result<(), Wrong> {
        match content {
            [_, alert::CLOSE_NOTIFY] => {
                self.closed = true;
                Ok(())
            }
            // The end that it announces comes in an alert of its own (RFC 8446, 6.1).
            [_, alert::USER_CANCELED] => Ok(()),
            [_, _] => {
                // It is not answered.
                self.failed = Some("the peer has ended the connection with an alert");
                Err((alert::CLOSE_NOTIFY, "the peer has ended the connection with an alert"))
            }
            _ => Err((alert::DECODE_ERROR, "an alert of another length")),
        }
    }

    /// Messages after the handshake: tickets, and new keys (RFC 8446, 4.6).
    fn handshake(&mut self, content: &[u8]) -> Result<(), Wrong> {
        if content.is_empty() || self.handshake.len() + content.len() > MOST_HANDSHAKE {
            return Err((alert::UNEXPECTED_MESSAGE, "a handshake message without end"));
        }
        self.handshake.extend_from_slice(content);
        while let [kind, a, b, c, rest @ ..] = self.handshake.as_slice() {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > MOST_HANDSHAKE {
                return Err((alert::DECODE_ERROR, "a handshake message is too long"));
            }
            let Some(message) = rest.get(..length) else { break };
            match (*kind, message) {
                (NEW_SESSION_TICKET, message) => {
                    // A server is given none.
                    let wrong = if matches!(self.next, Next::Client(_)) {
                        alert::DECODE_ERROR
                    } else {
                        alert::UNEXPECTED_MESSAGE
                    };
                    self.next
                        .ticket(message)
                        .map_err(|_| (wrong, "a ticket that cannot be kept"))?;
                }
                (KEY_UPDATE, [asked @ (0 | 1)]) if rest.len() == 1 => {
                    let asked = *asked == 1;
                    self.rx = self.next.rx().ok().and_then(|it| Key::new(it).ok()).ok_or(NO_KEY)?;
                    // Who asks often before it is answered is answered once (RFC 8446, 4.6.3);
                    // after our end nothing comes.
                    if asked && self.output.is_empty() && !self.ended {
                        self.renew()?;
                    }
                }
                (KEY_UPDATE, [_]) if rest.len() == 1 => {
                    return Err((
                        alert::ILLEGAL_PARAMETER,
                        "a change of keys that asks for what there is not",
                    ));
                }
                (KEY_UPDATE, [_]) => {
                    return Err((alert::UNEXPECTED_MESSAGE, "a change of keys within a record"));
                }
                (KEY_UPDATE, _) => {
                    return Err((alert::DECODE_ERROR, "a change of keys of another length"));
                }
                _ => {
                    return Err((
                        alert::UNEXPECTED_MESSAGE,
                        "a handshake message that does not belong here",
                    ));
                }
            }
            self.handshake.drain(..4 + length);
        }
        Ok(())
    }

    /// The peer is told of our next key, which is used from then on.
    fn renew(&mut self) -> Result<(), Wrong> {
        self.tx.seal(HANDSHAKE, &[KEY_UPDATE, 0, 0, 1, 0], &mut self.output).map_err(|_| NO_KEY)?;
        self.tx = self.next.tx().ok().and_then(|it| Key::new(it).ok()).ok_or(NO_KEY)?;
        Ok(())
    }

    /// The connection is over; the peer learns why.
    fn fail(&mut self, (alert, why): Wrong) -> ChannelError {
        if self.failed.is_none() && !self.ended {
            let _ = self.tx.seal(ALERT, &[2, alert], &mut self.output);
        }
        self.failed = Some(why);
        ChannelError::Tls(why.into())
    }

    /// Octets of the application are protected: their records are added to `wire`.
    pub(crate) fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        if let Some(why) = self.failed {
            return Err(ChannelError::Tls(why.into()));
        }
        if self.ended {
            return Err(ChannelError::Tls("something is sent after the end".into()));
        }
        for piece in plain.chunks(LARGEST) {
            if self.tx.number >= self.most {
                self.renew().map_err(|wrong| self.fail(wrong))?;
            }
            wire.append(&mut self.output);
            self.tx.seal(APPLICATION_DATA, piece, wire)?;
        }
        Ok(())
    }

    /// Nothing more comes.
    pub(crate) fn close(&mut self, wire: &mut Vec<u8>) {
        self.pending(wire);
        if self.failed.is_none() && !self.ended {
            let _ = self.tx.seal(ALERT, &[1, alert::CLOSE_NOTIFY], wire);
        }
        self.ended = true;
    }

    /// For a test: a new key after so many records.
    #[cfg(test)]
    pub(crate) fn renew_after(&mut self, records: u64) {
        self.most = records;
    }
}

const NO_KEY: Wrong = (alert::INTERNAL_ERROR, "there are no new keys");

/// Octets of the record that begins here; none where its header is not whole.
fn length_of(octets: &[u8]) -> Result<Option<usize>, Wrong> {
    let Some(header) = octets.first_chunk::<HEADER>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    match header[0] {
        APPLICATION_DATA if length <= LARGEST + EXPANSION => Ok(Some(HEADER + length)),
        APPLICATION_DATA => Err((alert::RECORD_OVERFLOW, "a record is too long")),
        _ => Err((alert::UNEXPECTED_MESSAGE, "a record that is not protected")),
    }
}

/// Both ends with keys of a test.
fn pair() -> (Records, Records) {
    let key = |octet: u8| Key::of(0, &[octet; 16], &[octet; 12]).expect("a key");
    (Records::with(key(1), key(2), Next::None), Records::with(key(2), key(1), Next::None))
}

/// For a fuzzer: octets that come between records that were made well, and pieces of those.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    let (mut one, mut other) = pair();
    let (mut wire, mut opened) = (Vec::new(), Vec::new());
    let Some((cut, data)) = data.split_first() else { return };
    one.seal(data, &mut wire).expect("it is sealed");
    // Its own kinds of content, well protected.
    let kind = data.first().copied().unwrap_or(0);
    one.tx.seal(kind, &data[..data.len().min(200)], &mut wire).expect("it is sealed");
    for piece in wire.chunks(usize::from(*cut) + 1) {
        if other.open(piece, &mut opened).is_err() {
            break;
        }
    }
    assert!(opened.starts_with(data) || data.is_empty());
    let _ = pair().0.open(data, &mut Vec::new());
}
