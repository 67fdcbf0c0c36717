//! The MsQuic library: the registration that all connections share, their settings, and error
//! texts.

use super::state::MAX_INPUT;
use ::msquic::{
    Registration, RegistrationConfig, ServerResumptionLevel, Settings, Status, StatusCode,
};
use martlet_lcs_channel::{ChannelError, Options};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The application protocol, which QUIC requires (RFC 9001, 8.1).
pub(super) const ALPN: &[u8] = b"lcs-upp";
/// The largest packet that MsQuic sends.
const MTU: u16 = 1500;

pub(super) fn failed(status: Status) -> ChannelError {
    match status.try_as_status_code() {
        Ok(
            StatusCode::QUIC_STATUS_CONNECTION_IDLE | StatusCode::QUIC_STATUS_CONNECTION_TIMEOUT,
        ) => ChannelError::Timeout,
        Ok(StatusCode::QUIC_STATUS_UNREACHABLE | StatusCode::QUIC_STATUS_CONNECTION_REFUSED) => {
            ChannelError::Io(std::io::ErrorKind::ConnectionRefused.into())
        }
        Ok(StatusCode::QUIC_STATUS_ADDRESS_IN_USE) => {
            ChannelError::Io(std::io::ErrorKind::AddrInUse.into())
        }
        _ => ChannelError::Tls(format!("MsQuic: {status}")),
    }
}

/// The registration that all connections of the process share. It lives until the process ends, as
/// MsQuic's threads do.
pub(super) fn registration() -> Result<&'static Registration, ChannelError> {
    static REGISTRATION: OnceLock<Result<Registration, Status>> = OnceLock::new();
    let made = REGISTRATION.get_or_init(|| Registration::new(&RegistrationConfig::new()));
    made.as_ref().map_err(|status| failed(status.clone()))
}

pub(super) fn settings(options: &Options) -> Settings {
    // MsQuic's MTU includes the headers of IP and UDP.
    Settings::new()
        .set_PeerBidiStreamCount(1)
        .set_IdleTimeoutMs(0)
        .set_HandshakeIdleTimeoutMs(options.timeout.as_millis() as u64)
        .set_MaximumMtu(options.mtu.clamp(1280, MTU))
        .set_MinimumMtu(options.mtu.clamp(1280, MTU))
        .set_InitialRttMs(50)
        .set_ServerResumptionLevel(ServerResumptionLevel::ResumeOnly)
        .set_StreamRecvWindowDefault(MAX_INPUT as u32)
}

/// Temporary PEM files, which MsQuic requires; removed on drop.
pub(super) struct Files(PathBuf);

impl Files {
    pub(super) fn new(named: &[(&str, &str)]) -> Result<Self, ChannelError> {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = format!(
            "martlet-msquic-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let files = Files(std::env::temp_dir().join(folder));
        std::fs::DirBuilder::new().mode(0o700).create(&files.0)?;
        for (name, text) in named {
            let mut file = std::fs::OpenOptions::new();
            let mut file =
                file.write(true).create_new(true).mode(0o600).open(files.0.join(name))?;
            std::io::Write::write_all(&mut file, text.as_bytes())?;
        }
        Ok(files)
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.0.join(name).to_string_lossy().into_owned()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
