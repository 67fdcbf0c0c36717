//! TLS whose handshake rustls makes, and whose records are made in place ([`crate::records`]).

use crate::records::{Next, Records};
use crate::{
    ChannelError, Description, Engine, Engines, Identity, Resumption, Trust, rustls as tls,
};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};
use rustls::{CommonState, ExtractedSecrets, HandshakeKind};
use std::sync::Arc;

/// Room for a flight of the handshake; more is made where it does not do.
const FLIGHT: usize = 4096;

enum Shaking {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

enum Phase {
    Shaking(Box<Shaking>),
    Open(Box<Records>),
    /// The handshake is done, and somebody else makes the records.
    Over(Box<(ExtractedSecrets, Next)>),
    Failed,
}

/// A session.
pub(crate) struct Session {
    phase: Phase,
    /// Whether somebody else makes the records.
    hand_over: bool,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    closed: bool,
    resumption: Resumption,
    description: Description,
}

/// One step of a handshake: whether it is done. It is the same for both sides, whose types have
/// nothing in common.
macro_rules! step {
    ($connection:expr, $session:expr, $plain:expr) => {{
        let UnbufferedStatus { mut discard, state } =
            $connection.process_tls_records(&mut $session.incoming);
        let mut turn = Turn::Again;
        let state = match state {
            Ok(state) => state,
            Err(error) => {
                $session.incoming.drain(..discard.min($session.incoming.len()));
                return Err(ChannelError::tls(error));
            }
        };
        match state {
            ConnectionState::EncodeTlsData(mut data) => {
                encode(&mut $session.outgoing, |room| data.encode(room))?
            }
            // It is sent in the order in which it was made.
            ConnectionState::TransmitTlsData(data) => data.done(),
            ConnectionState::BlockedHandshake => turn = Turn::Wait,
            ConnectionState::WriteTraffic(_) => turn = Turn::Done,
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let record = record.map_err(ChannelError::tls)?;
                    $plain.extend_from_slice(record.payload);
                    discard += record.discard;
                }
            }
            // It may have closed behind the end of its handshake.
            ConnectionState::PeerClosed => $session.closed = true,
            ConnectionState::Closed => turn = Turn::Wait,
            // Early data, which these sessions do not take.
            _ => return Err(ChannelError::Tls("the peer sends what nobody asked for".into())),
        }
        $session.incoming.drain(..discard.min($session.incoming.len()));
        turn
    }};
}

enum Turn {
    Again,
    Wait,
    Done,
}

/// A message of the handshake is added to `out`.
fn encode(
    out: &mut Vec<u8>,
    mut into: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
) -> Result<(), ChannelError> {
    let (start, mut room) = (out.len(), FLIGHT);
    loop {
        out.resize(start + room, 0);
        match into(&mut out[start..]) {
            Ok(wrote) => {
                out.truncate(start + wrote);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size }))
                if required_size > room =>
            {
                room = required_size;
            }
            Err(error) => return Err(ChannelError::tls(error)),
        }
    }
}

impl Session {
    fn begin(shaking: Shaking, hand_over: bool) -> Result<Self, ChannelError> {
        let none = || "none".to_string();
        let library = "rustls 0.23, AWS-LC, records in place".into();
        let mut session = Session {
            phase: Phase::Shaking(shaking.into()),
            hand_over,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            closed: false,
            resumption: Resumption::Full,
            description: Description { protocol: none(), cipher_suite: none(), library },
        };
        // The client's first message.
        session.shake(&mut Vec::new())?;
        Ok(session)
    }

    fn engine(shaking: Shaking) -> Result<Box<dyn Engine>, ChannelError> {
        Ok(Box::new(Session::begin(shaking, false)?))
    }

    /// The client's end of a handshake whose keys are handed over.
    pub(crate) fn client_to_hand_over(
        config: &Arc<rustls::ClientConfig>,
        name: &rustls::pki_types::ServerName<'static>,
    ) -> Result<Self, ChannelError> {
        let connection = UnbufferedClientConnection::new(config.clone(), name.clone())
            .map_err(ChannelError::tls)?;
        Session::begin(Shaking::Client(connection), true)
    }

    /// The server's end of a handshake whose keys are handed over.
    pub(crate) fn server_to_hand_over(
        config: &Arc<rustls::ServerConfig>,
    ) -> Result<Self, ChannelError> {
        let connection =
            UnbufferedServerConnection::new(config.clone()).map_err(ChannelError::tls)?;
        Session::begin(Shaking::Server(connection), true)
    }

    /// Whether the keys are there to be handed over.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// The keys, and what keys and tickets that come later are for. Nothing of the peer's that
    /// comes after its handshake may have been given to this before.
    pub(crate) fn hand_over(self) -> Result<(ExtractedSecrets, Next), ChannelError> {
        match self.phase {
            Phase::Over(it) if self.incoming.is_empty() => Ok(*it),
            _ => Err(ChannelError::Tls(
                "the handshake is not done, or too much was read of what follows it".into(),
            )),
        }
    }

    /// Goes on with the handshake as far as it goes; then the records are ours.
    fn shake(&mut self, plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        let Phase::Shaking(mut shaking) = std::mem::replace(&mut self.phase, Phase::Failed) else {
            return Ok(());
        };
        let outcome = self.steps(&mut shaking, plain);
        if outcome.is_err() {
            // The alert that says what was wrong, and no more: what was wrong is not read again.
            let _ = self.one(&mut shaking, plain);
        }
        if !outcome? {
            self.phase = Phase::Shaking(shaking);
            return Ok(());
        }
        let (secrets, next) = match *shaking {
            Shaking::Client(it) => {
                self.describe_it(&it);
                let (secrets, next) =
                    it.dangerous_into_kernel_connection().map_err(ChannelError::tls)?;
                (secrets, Next::Client(next))
            }
            Shaking::Server(it) => {
                self.describe_it(&it);
                let (secrets, next) =
                    it.dangerous_into_kernel_connection().map_err(ChannelError::tls)?;
                (secrets, Next::Server(next))
            }
        };
        if self.hand_over {
            self.phase = Phase::Over(Box::new((secrets, next)));
            return Ok(());
        }
        let mut records = Records::new(secrets.tx, secrets.rx, next)?;
        let early = std::mem::take(&mut self.incoming);
        let opened = records.open(&early, plain);
        self.phase = Phase::Open(records.into());
        opened
    }

    /// Whether the handshake is done.
    fn steps(&mut self, shaking: &mut Shaking, plain: &mut Vec<u8>) -> Result<bool, ChannelError> {
        loop {
            match self.one(shaking, plain)? {
                Turn::Again => {}
                Turn::Wait => return Ok(false),
                Turn::Done => return Ok(true),
            }
        }
    }

    fn one(&mut self, shaking: &mut Shaking, plain: &mut Vec<u8>) -> Result<Turn, ChannelError> {
        Ok(match shaking {
            Shaking::Client(it) => step!(it, self, plain),
            Shaking::Server(it) => step!(it, self, plain),
        })
    }

    fn describe_it(&mut self, state: &CommonState) {
        let library = std::mem::take(&mut self.description.library);
        self.description = Description { library, ..tls::describe(state) };
        if state.handshake_kind() == Some(HandshakeKind::Resumed) {
            self.resumption = Resumption::Resumed;
        }
    }
}

impl Engine for Session {
    fn open(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        match &mut self.phase {
            Phase::Open(records) => records.open(wire, plain),
            Phase::Shaking(_) => {
                self.incoming.extend_from_slice(wire);
                self.shake(plain)
            }
            Phase::Over(_) | Phase::Failed => Err(ChannelError::Tls("the session is over".into())),
        }
    }

    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        wire.append(&mut self.outgoing);
        match &mut self.phase {
            Phase::Open(records) => records.seal(plain, wire),
            _ => Err(ChannelError::Tls("the session is not ready".into())),
        }
    }

    fn pending(&mut self, wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        wire.append(&mut self.outgoing);
        if let Phase::Open(records) = &mut self.phase {
            records.pending(wire);
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        matches!(self.phase, Phase::Open(_))
    }

    fn is_closed(&self) -> bool {
        self.closed || matches!(&self.phase, Phase::Open(records) if records.is_closed())
    }

    fn close(&mut self, wire: &mut Vec<u8>) {
        wire.append(&mut self.outgoing);
        if let Phase::Open(records) = &mut self.phase {
            records.close(wire);
        }
    }

    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn resumption(&self) -> Resumption {
        self.resumption
    }
}

/// Makes the sessions of an LMF.
pub(crate) fn servers(identity: &Identity) -> Result<Engines, ChannelError> {
    let mut config = tls::server_config(identity)?;
    config.enable_secret_extraction = true;
    let config = Arc::new(config);
    Ok(Arc::new(move || {
        let connection =
            UnbufferedServerConnection::new(config.clone()).map_err(ChannelError::tls)?;
        Session::engine(Shaking::Server(connection))
    }))
}

/// Makes the sessions of a UE, each of which may go on with what the one before was given.
pub(crate) fn clients(trust: &Trust) -> Result<Engines, ChannelError> {
    let mut config = tls::client_config(trust)?;
    config.enable_secret_extraction = true;
    let (config, name) = (Arc::new(config), trust.server_name()?);
    Ok(Arc::new(move || {
        let connection = UnbufferedClientConnection::new(config.clone(), name.clone())
            .map_err(ChannelError::tls)?;
        Session::engine(Shaking::Client(connection))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{Connection, ServerConnection};
    use std::io::{Read, Write};

    /// What each has to say goes to the other, until neither has anything.
    fn exchange(ours: &mut dyn Engine, theirs: &mut Connection, read: &mut Vec<u8>) {
        loop {
            let mut wire = Vec::new();
            ours.pending(&mut wire).unwrap();
            let mut rest = wire.as_slice();
            while !rest.is_empty() {
                theirs.read_tls(&mut rest).unwrap();
                theirs.process_new_packets().unwrap();
            }
            let mut back = Vec::new();
            while theirs.wants_write() {
                theirs.write_tls(&mut back).unwrap();
            }
            // Octet by octet: each record in pieces.
            back.chunks(1).for_each(|octet| ours.open(octet, read).unwrap());
            if wire.is_empty() && back.is_empty() {
                return;
            }
        }
    }

    #[test]
    fn a_peer_that_changes_its_keys_and_asks_for_ours_is_understood_and_understands() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let mut config = tls::server_config(&identity).unwrap();
        // Tickets come between what the application says.
        config.send_tls13_tickets = 3;
        let mut theirs: Connection = ServerConnection::new(Arc::new(config)).unwrap().into();
        let mut ours = clients(&identity.trust("lmf.example")).unwrap()().unwrap();
        let mut read = Vec::new();
        exchange(&mut *ours, &mut theirs, &mut read);
        assert!(ours.is_ready());
        for round in 0..5u8 {
            theirs.writer().write_all(&[round; 10]).unwrap();
            theirs.refresh_traffic_keys().unwrap();
            theirs.writer().write_all(&[round; 20_000]).unwrap();
            read.clear();
            exchange(&mut *ours, &mut theirs, &mut read);
            assert!(read == [round; 20_010], "round {round}");
            let mut wire = Vec::new();
            ours.seal(&[round; 100], &mut wire).unwrap();
            let mut rest = wire.as_slice();
            while !rest.is_empty() {
                theirs.read_tls(&mut rest).unwrap();
                theirs.process_new_packets().unwrap();
            }
            let mut back = [0; 100];
            theirs.reader().read_exact(&mut back).unwrap();
            assert_eq!(back, [round; 100], "round {round}");
        }
    }
    /// The program of OpenSSL, which sends each line back from its end to its beginning.
    struct Reverser(std::process::Child);

    impl Drop for Reverser {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn openssl_follows_when_our_key_has_sealed_all_that_it_may() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let folder = std::env::temp_dir().join(format!("martlet-reverser-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join("both.pem"),
            format!("{}{}", identity.certificates, identity.key),
        )
        .unwrap();
        // A port that was free a moment ago.
        let at = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let started = std::process::Command::new("openssl")
            .args(["s_server", "-accept", &at.to_string(), "-rev", "-cert"])
            .arg(folder.join("both.pem"))
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn();
        let Ok(child) = started else {
            println!("SKIPPED: there is no openssl");
            return;
        };
        let _reverser = Reverser(child);
        let connect = || std::net::TcpStream::connect(at);
        let mut stream = (0..200)
            .find_map(|_| {
                connect()
                    .inspect_err(|_| std::thread::sleep(std::time::Duration::from_millis(20)))
                    .ok()
            })
            .unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        let config = tls::client_config(&identity.trust("lmf.example")).unwrap();
        let config = Arc::new({
            let mut config = config;
            config.enable_secret_extraction = true;
            config
        });
        let name = identity.trust("lmf.example").server_name().unwrap();
        let connection = UnbufferedClientConnection::new(config, name).unwrap();
        let mut session = Session::begin(Shaking::Client(connection), false).unwrap();
        let (mut wire, mut plain, mut input) = (Vec::new(), Vec::new(), [0; 4096]);
        session.pending(&mut wire).unwrap();
        stream.write_all(&wire).unwrap();
        while !session.is_ready() {
            let count = stream.read(&mut input).unwrap();
            session.open(&input[..count], &mut plain).unwrap();
            wire.clear();
            session.pending(&mut wire).unwrap();
            stream.write_all(&wire).unwrap();
        }
        let Phase::Open(records) = &mut session.phase else { panic!("it is open") };
        records.renew_after(3);
        for n in 0..20 {
            wire.clear();
            session.seal(format!("line {n:02}\n").as_bytes(), &mut wire).unwrap();
            stream.write_all(&wire).unwrap();
            let wanted = format!("{:02} enil\n", n % 10 * 10 + n / 10);
            plain.clear();
            while plain.len() < wanted.len() {
                let count = stream.read(&mut input).unwrap();
                assert!(count > 0, "it ended at line {n}");
                session.open(&input[..count], &mut plain).unwrap();
            }
            assert_eq!(String::from_utf8_lossy(&plain), wanted);
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
