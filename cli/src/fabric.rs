//! The shared-memory fabric's section of the configuration.
use martlet_config::Finding;
use martlet_fabric::{
    Domain, FabricConfig, ManagerConfig, ManagerLimits, ProcessLimits, Sizes, Spin, default_socket,
};
use serde::Deserialize;
use std::path::PathBuf;

/// How processes of this machine share memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FabricSection {
    /// Socket of the manager; left out: `/run/martlet/fabric.sock` for root, the user's runtime
    /// folder for others.
    pub socket: Option<PathBuf>,
    /// Who may share memory; left out: the user who runs the manager.
    pub domains: Vec<Domain>,
    /// Whether processes look for answers a little while before they sleep.
    pub spin: Spin,
    /// Whether functions share a processor as long as one is enough for all: they answer each
    /// other soonest so.
    pub share_cpu: bool,
    /// Whether bodies go in compact form between processes of one build.
    pub compact: bool,
    /// Whether channels use huge pages where the machine has set some aside.
    pub huge_pages: bool,
    /// Sizes of channels.
    pub sizes: Sizes,
    /// What a process takes on.
    pub process: ProcessLimits,
    /// What the manager takes on.
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
    fn socket(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(default_socket)
    }

    /// What the manager is told.
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

    /// What a process that takes part is told.
    pub fn of_process(&self, name: &str) -> FabricConfig {
        FabricConfig {
            socket: self.socket(),
            name: name.into(),
            spin: self.spin.clone(),
            // The user plane has other work than to answer, and goes where the kernel puts it.
            share_cpu: self.share_cpu && name != "upf",
            schema: if self.compact { martlet_sbi_api::MODEL } else { 0 },
            limits: self.process.clone(),
            ..FabricConfig::default()
        }
    }

    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        // The kernel's limit for the path of a socket.
        if self.socket().as_os_str().len() > 107 {
            findings
                .push(Finding::new("socket", "the path of a socket has 107 characters at most"));
        }
        let process = &self.process;
        let least = [
            ("process.serving", process.serving),
            ("process.calls", process.calls),
            ("process.routes", process.routes),
            ("process.sockets.connections", process.sockets.connections),
            ("process.sockets.window", process.sockets.window as usize),
            ("process.sockets.backlog", process.sockets.backlog),
        ];
        for (name, _) in least.into_iter().filter(|(_, value)| *value == 0) {
            findings.push(Finding::new(
                name,
                "0 lets nothing through: see `martlet defaults` for a useful value",
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
    fn limits_that_let_nothing_through_are_found() {
        assert!(FabricSection::default().check().is_empty());
        let mut section = FabricSection::default();
        section.process.sockets.window = 0;
        section.process.calls = 0;
        assert_eq!(section.check().len(), 2);
    }
}
