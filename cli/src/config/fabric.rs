//! The shared-memory fabric between processes of one machine.
use martlet_config::Finding;
use martlet_fabric::{
    Domain, FabricConfig, ManagerConfig, ManagerLimits, ProcessLimits, Sizes, Spin, default_socket,
};
use serde::Deserialize;
use std::path::PathBuf;

/// Section `fabric`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FabricSection {
    /// Socket of the manager. Default: `/run/martlet/fabric.sock` for root, else in the user's
    /// runtime folder.
    pub socket: Option<PathBuf>,
    /// Users that may share memory. Default: the user of the manager.
    pub domains: Vec<Domain>,
    /// Polling of processes before they sleep.
    pub spin: Spin,
    /// Whether functions share one CPU while its capacity suffices, which gives the lowest
    /// latency.
    pub share_cpu: bool,
    /// Whether processes of the same build exchange bodies in compact encoding.
    pub compact: bool,
    /// Whether channels use huge pages, if the machine has reserved some.
    pub huge_pages: bool,
    /// Sizes of the channels.
    pub sizes: Sizes,
    /// Limits of a process.
    pub process: ProcessLimits,
    /// Limits of the manager.
    pub manager: ManagerLimits,
}

impl Default for FabricSection {
    fn default() -> Self {
        FabricSection {
            socket: None,
            domains: Vec::new(),
            spin: Spin::default(),
            share_cpu: true,
            compact: true,
            huge_pages: false,
            sizes: Sizes::default(),
            process: ProcessLimits::default(),
            manager: ManagerLimits::default(),
        }
    }
}

impl FabricSection {
    /// Path of the manager's socket.
    pub(super) fn socket(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(default_socket)
    }

    /// Folder of the SBI's unix sockets.
    pub(super) fn sbi_folder(&self) -> PathBuf {
        self.socket().with_file_name("sbi")
    }

    /// Sets the default path of the socket, which depends on the user, before the process becomes
    /// another one.
    pub fn set_socket(&mut self) {
        self.socket = Some(self.socket());
    }

    /// Admits the processes of the manager's user and of these, unless domains are configured.
    pub fn admit(&mut self, uids: &[u32]) {
        if !uids.is_empty() && self.domains.is_empty() {
            self.domains = ManagerConfig::default().domains;
            self.domains.iter_mut().for_each(|domain| domain.uids.extend(uids));
        }
    }

    /// The configuration of the manager.
    pub fn of_manager(&self) -> ManagerConfig {
        let own = ManagerConfig::default();
        ManagerConfig {
            socket: self.socket(),
            domains: if self.domains.is_empty() { own.domains } else { self.domains.clone() },
            sizes: self.sizes.clone(),
            limits: self.manager.clone(),
            huge_pages: self.huge_pages,
        }
    }

    /// The configuration of a member process.
    pub fn of_process(&self, name: &str) -> FabricConfig {
        FabricConfig {
            socket: self.socket(),
            name: name.into(),
            spin: self.spin.clone(),
            // The user plane answers few calls; the scheduler places it.
            share_cpu: self.share_cpu && name != "upf",
            schema: if self.compact { martlet_sbi_api::MODEL } else { 0 },
            limits: self.process.clone(),
            ..FabricConfig::default()
        }
    }

    /// All errors.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        // Maximum length of sun_path, unix(7).
        if self.socket().as_os_str().len() > 107 {
            findings.push(Finding::new(
                "socket",
                "the path of a socket has at most 107 bytes: write a shorter one",
            ));
        }
        let process = &self.process;
        let min = [
            ("process.serving", process.serving),
            ("process.calls", process.calls),
            ("process.routes", process.routes),
            ("process.sockets.connections", process.sockets.connections),
            ("process.sockets.window", process.sockets.window as usize),
            ("process.sockets.backlog", process.sockets.backlog),
        ];
        for (name, _) in min.into_iter().filter(|(_, value)| *value == 0) {
            findings.push(Finding::new(
                name,
                "with 0 nothing works: see `martlet defaults` for a useful value",
            ));
        }
        if let Err(wrong) = self.sizes.check() {
            findings.push(Finding::new("sizes", wrong.to_string()));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_0_are_reported() {
        assert!(FabricSection::default().check().is_empty());
        let mut section = FabricSection::default();
        section.process.sockets.window = 0;
        section.process.calls = 0;
        assert_eq!(section.check().len(), 2);
    }
}
