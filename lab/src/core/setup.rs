//! Prepares a core: its folder, configuration, addresses and subscribers.
use super::{CoreArgs, CoreProcess, Variant};
use anyhow::{Context, Result};
use martlet_ran::{GnbConfig, OperatorKey, UeConfig};
use martlet_store::{Secret, Store, Subscriber};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Folder of all cores' files. An experiment that succeeds removes it.
pub(crate) const CORES: &str = "cores";
/// Network functions of a core.
const FUNCTIONS: usize = 10;
/// Sessions beyond which a core needs a larger address pool and higher limits than the usual ones.
const FEW: u64 = 60_000;
/// Simultaneous procedures of an AMF without a limit: more than the UEs of any experiment that
/// compares it.
const UNLIMITED: u32 = 1000;
/// Timeout for the PFCP association of SMF and UPF.
const ASSOCIATION_TIMEOUT: Duration = Duration::from_secs(60);
pub(super) const KEY: [u8; 16] = [0x46; 16];
pub(super) const OPC: [u8; 16] = [0xcd; 16];

/// A core of the lab. Each has a loopback network and an address pool of its own, by its number.
#[derive(Debug, Clone)]
pub(crate) struct CoreSetup {
    program: PathBuf,
    number: u8,
    /// Sessions that it has to hold at the same time.
    sessions: u64,
    /// UEs that it has to hold at the same time.
    ues: u64,
    folder: PathBuf,
    /// Sections of the configuration beyond the usual ones.
    more: String,
    /// The northbound API: members of `oam.api`.
    api: Option<String>,
    /// Members of `lmf`, for a core with positioning over the user plane.
    lmf: Option<String>,
}

impl CoreSetup {
    /// Makes the folder and the subscribers of a core.
    pub(crate) fn prepare(
        core: &CoreArgs,
        number: u8,
        name: &str,
        subscribers: u64,
        folder: &Path,
    ) -> Result<CoreSetup> {
        let folder = folder.join(CORES).join(name);
        let setup = CoreSetup {
            program: core.program()?,
            number,
            sessions: 0,
            ues: 0,
            folder,
            more: String::new(),
            api: None,
            lmf: None,
        };
        // A core restores the contexts that an earlier one has left in its folder.
        if setup.folder.exists() {
            std::fs::remove_dir_all(&setup.folder)?;
        }
        std::fs::create_dir_all(&setup.folder)?;
        let store = setup.folder.join("martlet.db");
        let first = Subscriber::new("imsi-001010000000001", Secret(KEY), Secret(OPC), "internet");
        let all: Option<Vec<_>> = (0..subscribers).map(|n| first.nth(n)).collect();
        Store::open(&store)?.add(&all.context("too many subscribers")?, false)?;
        Ok(setup)
    }

    /// With an address and a context for each of as many sessions at the same time.
    pub(crate) fn for_sessions(self, sessions: u64) -> CoreSetup {
        CoreSetup { sessions, ..self }
    }

    /// With a context for each of as many registered UEs at the same time, also without sessions.
    pub(crate) fn for_ues(self, ues: u64) -> CoreSetup {
        CoreSetup { ues, ..self }
    }

    /// Adds sections to the configuration.
    pub(crate) fn with(self, more: &str) -> CoreSetup {
        CoreSetup { more: more.into(), ..self }
    }

    /// With the northbound API over its unix socket, and over TCP at an address of the core.
    pub(crate) fn with_api(self) -> CoreSetup {
        let listen = self.api_address();
        let api = format!("enabled: true, requests_per_minute: 1000000, listen: \"{listen}\"");
        CoreSetup { api: Some(api), ..self }
    }

    /// Where the API listens over TCP.
    pub(crate) fn api_address(&self) -> std::net::SocketAddr {
        (self.address(20), 9080).into()
    }

    /// The socket of the API.
    pub(crate) fn api_socket(&self) -> PathBuf {
        self.folder.join("api.sock")
    }

    fn address(&self, host: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, 10 + self.number, 0, host)
    }

    fn config(&self) -> PathBuf {
        self.file("martlet.yaml")
    }

    /// A file in the core's folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The UPF's own address on N6.
    pub(crate) fn gateway(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 45 + self.number, 0, 1)
    }

    /// With these members of `lmf`. One core with positioning over the user plane can run at a
    /// time.
    pub(crate) fn with_positioning(&self, lmf: &str) -> CoreSetup {
        CoreSetup { lmf: Some(lmf.into()), ..self.clone() }
    }

    /// The socket of OAM.
    pub(crate) fn oam(&self) -> PathBuf {
        self.folder.join("oam.sock")
    }

    /// The pool of UE addresses. Larger ones are in a range of their own, and no two cores with one
    /// run at the same time.
    fn pool(&self) -> String {
        match self.sessions {
            ..=FEW => format!("10.{}.0.0/16", 45 + self.number),
            _ => format!("10.{}.0.0/14", 64 + 4 * (self.number % 16)),
        }
    }

    fn yaml(&self, variant: Variant) -> String {
        let at = |host| self.address(host);
        // HTTP/2 is measured over TCP, as between machines.
        let mut text = format!("sbi:\n  listen: {}\n", variant.is_http());
        for (host, name) in
            (10..).zip(["nrf", "udr", "udm", "ausf", "pcf", "nssf", "smf", "amf", "lmf"])
        {
            text += &format!("  {name}: {}:7777\n", at(host));
        }
        let pool = self.pool();
        let api = self.api.as_deref().unwrap_or("enabled: false");
        text += &format!("oam: {{ socket: {:?}, api: {{ {api} }} }}\n", self.oam());
        text += &format!("fabric: {{ socket: {:?} }}\n", self.folder.join("sbi.sock"));
        text += &format!("udr: {{ path: {:?} }}\n", self.folder.join("martlet.db"));
        let upf = at(8);
        let limit = match self.sessions {
            ..=FEW => String::new(),
            sessions => format!(", sessions: {}", 2 * sessions),
        };
        text += &format!("upf:\n  n4: {{ address: \"{upf}:8805\"{limit} }}\n");
        text += &format!("  n3: {{ address: \"{upf}:2152\" }}\n");
        if let Some(limit) = limit.strip_prefix(", ") {
            text += &format!("  kernel: {{ {limit} }}\n");
        }
        text += &format!("  n6: {{ interface: lab-n6-{}, mode: local }}\n", self.number);
        text += &format!("  dnns: [{{ name: internet, pools: [{pool}] }}]\n");
        text += &format!("smf:\n  dnns: [{{ name: internet, pool: {pool} }}]\n");
        text += &format!("  upfs: [{{ n4: \"{}:8805\" }}]\n  n4: {{ bind: {} }}\n", at(8), at(7));
        // Cores run side by side here, and LCS-UPP would listen on one port for all of them.
        let lmf = self.lmf.as_deref().unwrap_or("user_plane: { enabled: false }");
        text += &format!("lmf: {{ {lmf} }}\n");
        text += &format!("amf:\n  n2: {{ bind: [{}] }}\n", at(5));
        let ues = self.sessions.max(self.ues);
        if ues > FEW {
            text += &format!("  limits: {{ max_ues: {} }}\n", 2 * ues);
        }
        if variant.is_unlimited() {
            text += "  concurrency:\n";
            for kind in ["registration", "service_request", "pdu_session_establishment"] {
                text += &format!("    {kind}: {UNLIMITED}\n");
            }
        }
        if ues > FEW {
            text += &format!("pcf: {{ max_am_policies: {} }}\n", 2 * ues);
        }
        text + &self.more
    }

    /// Writes the configuration, starts the core and waits until it is ready.
    pub(crate) fn start(&self, variant: Variant) -> Result<CoreProcess> {
        std::fs::write(self.config(), self.yaml(variant))?;
        CoreProcess::start(
            &self.program,
            &self.config(),
            &self.folder,
            variant.arguments(),
            &self.oam(),
            FUNCTIONS,
        )
    }

    /// The configuration of the n-th gNB, from 1, without N3.
    pub(crate) fn gnb_config(&self, number: u8) -> Result<GnbConfig> {
        let plmn = martlet_security::Plmn::new("001", "01")?;
        let amf = (self.address(5), 38412).into();
        let mut config = GnbConfig::new("lab-gnb", plmn, number.into(), amf);
        config.n2_local = Some(self.address(99 + number).into());
        Ok(config)
    }
}

/// The configuration of the n-th subscriber's UE, from 0.
pub(crate) fn ue_config(n: u64) -> Result<UeConfig> {
    let imsi = format!("{:015}", 1_010_000_000_001 + n);
    Ok(UeConfig::new(&imsi, 2, KEY, OperatorKey::Opc(OPC))?)
}

/// Waits until the SMF is associated with the UPF, so that sessions can be established.
pub(crate) async fn wait_for_association(core: &CoreProcess) -> Result<()> {
    let deadline = tokio::time::Instant::now() + ASSOCIATION_TIMEOUT;
    while !core.status()?.to_string().contains("\"associated\":true") {
        anyhow::ensure!(
            tokio::time::Instant::now() < deadline,
            "the SMF is not associated with the UPF"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup(number: u8, sessions: u64) -> CoreSetup {
        CoreSetup {
            program: PathBuf::new(),
            number,
            sessions,
            ues: 0,
            folder: PathBuf::new(),
            more: String::new(),
            api: None,
            lmf: None,
        }
    }

    #[test]
    fn a_core_for_100_000_sessions_has_an_address_and_a_context_for_each() {
        let large = setup(40, 100_000).yaml(Variant::Local);
        let parts = [
            "smf:\n  dnns: [{ name: internet, pool: 10.96.0.0/14 }]\n",
            "  dnns: [{ name: internet, pools: [10.96.0.0/14] }]\n",
            ":8805\", sessions: 200000 }\n",
            "  kernel: { sessions: 200000 }\n",
            "  limits: { max_ues: 200000 }\n",
        ];
        assert!(parts.iter().all(|part| large.contains(part)), "{large}");
        // Others have the usual limits.
        let small = setup(40, 1000).yaml(Variant::Local);
        assert!(small.contains("pool: 10.85.0.0/16 }"), "{small}");
        assert!(!small.contains("sessions:") && !small.contains("max_ues"), "{small}");
    }

    #[test]
    fn a_core_for_a_million_ues_without_sessions_has_a_context_for_each() {
        let large = setup(90, 0).for_ues(1_000_000).yaml(Variant::Local);
        let parts = ["  limits: { max_ues: 2000000 }\n", "pcf: { max_am_policies: 2000000 }\n"];
        assert!(parts.iter().all(|part| large.contains(part)), "{large}");
        // The user plane has its usual size.
        assert!(!large.contains("sessions:") && large.contains("pool: 10.135.0.0/16 }"), "{large}");
    }

    #[test]
    fn pools_of_many_sessions_do_not_overlap_that_of_another_core() {
        for number in 0..u8::MAX - 45 {
            let octet = |pool: String| pool.split('.').nth(1).unwrap().parse::<u8>().unwrap();
            let large = octet(setup(number, 100_000).pool());
            // Of another core of the same run, which is 10.160.0.0/14 in deploy/external.
            assert!((64..=124).contains(&large) && large.is_multiple_of(4), "{number}: {large}");
        }
    }
}
