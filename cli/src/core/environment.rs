//! The environment of network functions: how they reach each other.
use super::Sbi;
use crate::config::Config;
use anyhow::{Context, Result};
use martlet_fabric::{Fabric, Manager};
use martlet_nf::{Environment, Shutdown};
use martlet_sbi::{Bindings, LocalBinding};
use martlet_sbi_fabric::FabricBinding;
use martlet_sbi_http::{ClientLimits, Dial, HttpBinding, OverFabric, ServerLimits, Tcp};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// The environment of functions with a binding of the SBI, secured as `sbi.pki` configures. With
/// `listen`, each function also serves HTTP/2 at its own address, or at a unix socket instead
/// ([`SbiSection::uses_sockets`](crate::config::SbiSection::uses_sockets)).
///
/// # Errors
/// A file of `sbi.pki` is missing or wrong.
pub fn secure_environment(
    config: &Config,
    name: &str,
    sbi: Sbi,
    listen: bool,
    shutdown: Shutdown,
) -> Result<Environment> {
    let tls = config.sbi.tls(name)?;
    let mut environment = environment(sbi, listen, shutdown);
    environment.limits = config.sbi.limits();
    environment.limits.user_guard = martlet_nf::key_guard(config.security.uids_without_keys());
    if environment.listen
        && let Some(sockets) = config.sbi_sockets()
    {
        let binding = HttpBinding::new(ClientLimits::default()).over(Arc::new(sockets.clone()));
        environment.bindings = environment.bindings.with_remote(Arc::new(binding));
        environment.sockets = Some(sockets);
    }
    if let Some(tls) = tls {
        let binding = HttpBinding::new(ClientLimits::default()).with_tls(Some(tls.clone()));
        environment.bindings = environment.bindings.with_remote(Arc::new(binding));
        crate::certificates::watch_sbi(name, &tls);
        environment.limits.tls = Some(tls);
    }
    Ok(environment)
}

/// The environment of functions with a binding of the SBI, without TLS.
pub fn environment(sbi: Sbi, listen: bool, shutdown: Shutdown) -> Environment {
    let bindings = Bindings::new().with_remote(Arc::new(HttpBinding::new(ClientLimits::default())));
    let bindings =
        if sbi == Sbi::Local { bindings.with_local(LocalBinding::new()) } else { bindings };
    Environment {
        bindings,
        fabric: None,
        listen: listen || sbi != Sbi::Local,
        sockets: None,
        limits: ServerLimits::default(),
        taps: Vec::new(),
        shutdown,
    }
}

/// The environment of a function that is a member of the machine's fabric. Functions that accept no
/// frames are called with HTTP/2, over the fabric's sockets if they listen there, else over TCP or
/// unix sockets.
pub fn fabric_environment(environment: &Environment, config: &Config, name: &str) -> Environment {
    let fabric = Fabric::start(config.fabric.of_process(name));
    let next: Arc<dyn Dial> = match &environment.sockets {
        Some(sockets) => Arc::new(sockets.clone()),
        None => Arc::new(Tcp),
    };
    let http = HttpBinding::new(ClientLimits::default())
        .over(Arc::new(OverFabric::new(fabric.clone()).with_next(next)))
        .with_tls(environment.limits.tls.clone());
    let binding = FabricBinding::new(fabric).with_next(Arc::new(http));
    let bindings = Bindings::new().with_remote(Arc::new(binding.clone()));
    Environment { bindings, fabric: Some(binding), ..environment.clone() }
}

/// The task of the fabric's manager. It ends on drop.
pub struct FabricManager(JoinHandle<()>);

impl FabricManager {
    /// Starts the manager of the machine's fabric.
    ///
    /// # Errors
    /// Another manager uses the socket, or there is no right to create it.
    pub fn start(config: &Config) -> Result<FabricManager> {
        let manager = Manager::bind(config.fabric.of_manager())
            .context("the fabric manager cannot start: check fabric.socket in the configuration")?;
        Ok(FabricManager(tokio::spawn(manager.run())))
    }
}

impl Drop for FabricManager {
    fn drop(&mut self) {
        self.0.abort();
    }
}
