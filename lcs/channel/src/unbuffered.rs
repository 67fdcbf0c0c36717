//! TLS over rustls's unbuffered API: rustls performs the handshake, [`crate::records`] encrypts and
//! decrypts the records in place.

use crate::records::{Next, Records};
use crate::{
    ChannelError, Description, Engine, Engines, Identity, Resumption, Trust, rustls as tls,
};
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, InsufficientSizeError, UnbufferedStatus};
use rustls::{CommonState, ExtractedSecrets, HandshakeKind};
use std::sync::Arc;

/// Initial size of the buffer for a handshake flight, bytes.
const FLIGHT: usize = 4096;

enum Handshake {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

enum Phase {
    Handshake(Box<Handshake>),
    Open(Box<Records>),
    /// The handshake is complete, and the keys wait to be exported.
    Complete(Box<(ExtractedSecrets, Next)>),
    Failed,
}

/// A session.
pub(crate) struct Session {
    phase: Phase,
    /// Whether the keys are exported after the handshake, as for kernel TLS.
    export_keys: bool,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    closed: bool,
    resumption: Resumption,
    description: Description,
}

/// One step of a handshake. A macro, since the types of client and server have no common trait.
macro_rules! step {
    ($connection:expr, $session:expr, $plain:expr) => {{
        let UnbufferedStatus { mut discard, state } =
            $connection.process_tls_records(&mut $session.incoming);
        let mut step = Step::Again;
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
            // Output is sent in the order of its creation.
            ConnectionState::TransmitTlsData(data) => data.done(),
            ConnectionState::BlockedHandshake => step = Step::Wait,
            ConnectionState::WriteTraffic(_) => step = Step::Done,
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let record = record.map_err(ChannelError::tls)?;
                    $plain.extend_from_slice(record.payload);
                    discard += record.discard;
                }
            }
            // The peer may close right after its Finished.
            ConnectionState::PeerClosed => $session.closed = true,
            ConnectionState::Closed => step = Step::Wait,
            // 0-RTT data, which these sessions do not accept.
            _ => return Err(ChannelError::Tls("unexpected message from the peer".into())),
        }
        $session.incoming.drain(..discard.min($session.incoming.len()));
        step
    }};
}

enum Step {
    Again,
    Wait,
    Done,
}

/// Appends a handshake message to `out`.
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
    fn begin(handshake: Handshake, export_keys: bool) -> Result<Self, ChannelError> {
        let none = || "none".to_string();
        let library = "rustls 0.23, AWS-LC, records in place".into();
        let mut session = Session {
            phase: Phase::Handshake(handshake.into()),
            export_keys,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            closed: false,
            resumption: Resumption::Full,
            description: Description { protocol: none(), cipher_suite: none(), library },
        };
        // Creates the ClientHello.
        session.handshake(&mut Vec::new())?;
        Ok(session)
    }

    fn engine(handshake: Handshake) -> Result<Box<dyn Engine>, ChannelError> {
        Ok(Box::new(Session::begin(handshake, false)?))
    }

    /// A client session whose keys are exported after the handshake.
    pub(crate) fn client_for_key_export(
        config: &Arc<rustls::ClientConfig>,
        name: &rustls::pki_types::ServerName<'static>,
    ) -> Result<Self, ChannelError> {
        let connection = UnbufferedClientConnection::new(config.clone(), name.clone())
            .map_err(ChannelError::tls)?;
        Session::begin(Handshake::Client(connection), true)
    }

    /// A server session whose keys are exported after the handshake.
    pub(crate) fn server_for_key_export(
        config: &Arc<rustls::ServerConfig>,
    ) -> Result<Self, ChannelError> {
        let connection =
            UnbufferedServerConnection::new(config.clone()).map_err(ChannelError::tls)?;
        Session::begin(Handshake::Server(connection), true)
    }

    /// Whether the keys can be exported.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.phase, Phase::Complete(_))
    }

    /// Exports the keys, and the rest of the connection for later keys and tickets. No bytes after
    /// the peer's Finished may have been passed to this session.
    pub(crate) fn export_keys(self) -> Result<(ExtractedSecrets, Next), ChannelError> {
        match self.phase {
            Phase::Complete(it) if self.incoming.is_empty() => Ok(*it),
            _ => Err(ChannelError::Tls(
                "the handshake is incomplete, or bytes after it were read".into(),
            )),
        }
    }

    /// Continues the handshake as far as possible, then switches to [`Records`].
    fn handshake(&mut self, plain: &mut Vec<u8>) -> Result<(), ChannelError> {
        let Phase::Handshake(mut handshake) = std::mem::replace(&mut self.phase, Phase::Failed)
        else {
            return Ok(());
        };
        let outcome = self.steps(&mut handshake, plain);
        if outcome.is_err() {
            // Creates the alert. The offending bytes are not read again.
            let _ = self.step(&mut handshake, plain);
        }
        if !outcome? {
            self.phase = Phase::Handshake(handshake);
            return Ok(());
        }
        let (secrets, next) = match *handshake {
            Handshake::Client(it) => {
                self.record_description(&it);
                let (secrets, next) =
                    it.dangerous_into_kernel_connection().map_err(ChannelError::tls)?;
                (secrets, Next::Client(next))
            }
            Handshake::Server(it) => {
                self.record_description(&it);
                let (secrets, next) =
                    it.dangerous_into_kernel_connection().map_err(ChannelError::tls)?;
                (secrets, Next::Server(next))
            }
        };
        if self.export_keys {
            self.phase = Phase::Complete(Box::new((secrets, next)));
            return Ok(());
        }
        let mut records = Records::new(secrets.tx, secrets.rx, next)?;
        let early = std::mem::take(&mut self.incoming);
        let opened = records.open(&early, plain);
        self.phase = Phase::Open(records.into());
        opened
    }

    /// Performs steps until input is needed. True if the handshake is complete.
    fn steps(
        &mut self,
        handshake: &mut Handshake,
        plain: &mut Vec<u8>,
    ) -> Result<bool, ChannelError> {
        loop {
            match self.step(handshake, plain)? {
                Step::Again => {}
                Step::Wait => return Ok(false),
                Step::Done => return Ok(true),
            }
        }
    }

    fn step(
        &mut self,
        handshake: &mut Handshake,
        plain: &mut Vec<u8>,
    ) -> Result<Step, ChannelError> {
        Ok(match handshake {
            Handshake::Client(it) => step!(it, self, plain),
            Handshake::Server(it) => step!(it, self, plain),
        })
    }

    fn record_description(&mut self, state: &CommonState) {
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
            Phase::Handshake(_) => {
                self.incoming.extend_from_slice(wire);
                self.handshake(plain)
            }
            Phase::Complete(_) | Phase::Failed => {
                Err(ChannelError::Tls("the session has failed".into()))
            }
        }
    }

    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> Result<(), ChannelError> {
        wire.append(&mut self.outgoing);
        match &mut self.phase {
            Phase::Open(records) => records.seal(plain, wire),
            _ => Err(ChannelError::Tls("the handshake is not complete".into())),
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
        Session::engine(Handshake::Server(connection))
    }))
}

/// Makes the sessions of a UE, each of which resumes the previous one if possible.
pub(crate) fn clients(trust: &Trust) -> Result<Engines, ChannelError> {
    let mut config = tls::client_config(trust)?;
    config.enable_secret_extraction = true;
    let (config, name) = (Arc::new(config), trust.server_name()?);
    Ok(Arc::new(move || {
        let connection = UnbufferedClientConnection::new(config.clone(), name.clone())
            .map_err(ChannelError::tls)?;
        Session::engine(Handshake::Client(connection))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::{Connection, ServerConnection};
    use std::io::{Read, Write};

    /// Exchanges messages until neither side has any.
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
            // Byte by byte, so that each record arrives in pieces.
            back.chunks(1).for_each(|byte| ours.open(byte, read).unwrap());
            if wire.is_empty() && back.is_empty() {
                return;
            }
        }
    }

    #[test]
    fn key_updates_of_the_peer_are_processed_and_answered() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let mut config = tls::server_config(&identity).unwrap();
        // Tickets arrive between application data.
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
    /// `openssl s_server -rev`, which returns each line reversed.
    struct Reverser(std::process::Child);

    impl Drop for Reverser {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn openssl_accepts_our_key_update_at_the_record_limit() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let folder = std::env::temp_dir().join(format!("martlet-reverser-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join("both.pem"),
            format!("{}{}", identity.certificates, identity.key),
        )
        .unwrap();
        // A port that is currently unused, of an address where no other test listens.
        let at = std::net::TcpListener::bind("127.77.38.2:0").unwrap().local_addr().unwrap();
        let started = std::process::Command::new("openssl")
            .args(["s_server", "-accept", &at.to_string(), "-rev", "-cert"])
            .arg(folder.join("both.pem"))
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn();
        let Ok(child) = started else {
            println!("SKIPPED: openssl is not installed");
            return;
        };
        let _reverser = Reverser(child);
        let connect = || std::net::TcpStream::connect(at);
        let mut stream = (0..3000)
            .find_map(|_| {
                connect()
                    .inspect_err(|_| std::thread::sleep(std::time::Duration::from_millis(20)))
                    .ok()
            })
            .unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(60))).unwrap();
        let config = tls::client_config(&identity.trust("lmf.example")).unwrap();
        let config = Arc::new({
            let mut config = config;
            config.enable_secret_extraction = true;
            config
        });
        let name = identity.trust("lmf.example").server_name().unwrap();
        let connection = UnbufferedClientConnection::new(config, name).unwrap();
        let mut session = Session::begin(Handshake::Client(connection), false).unwrap();
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
        records.update_key_after(3);
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
