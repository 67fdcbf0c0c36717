//! A second AMF of a core, with its own gNBs.
use crate::TestCore;
use anyhow::Result;
use martlet::config::Config;
use martlet::core::start_function;
use martlet_nf::{Environment, Shutdown, ShutdownTrigger};
use martlet_ran::{Gnb, GnbConfig};
use std::sync::Arc;

/// An AMF of the same region and set, with another AMF pointer and its own addresses. Dropping this
/// value stops it.
pub struct SecondAmf {
    status: Arc<dyn Fn() -> serde_json::Value + Send + Sync>,
    trigger: ShutdownTrigger,
    number: u8,
}

impl SecondAmf {
    /// Starts the AMF. `change` adapts its configuration.
    ///
    /// # Errors
    /// It does not start.
    pub async fn start(
        core: &TestCore,
        number: u8,
        change: impl FnOnce(&mut Config),
    ) -> Result<SecondAmf> {
        let (mut config, environment) = (core.config().clone(), core.environment().clone());
        for guami in &mut config.amf.guamis {
            guami.pointer = 2;
        }
        config.amf.n2.bind = vec![[127, 1, number, 6].into()];
        config.amf.context_store.database =
            core.folder().join("second-amf.db").display().to_string();
        config.sbi.amf.set_ip([127, 0, 0, 27].into());
        change(&mut config);
        let (trigger, shutdown) = Shutdown::new();
        let environment = Environment { shutdown, ..environment };
        let running = start_function("amf", &config, &environment).await?;
        tokio::spawn(running.finished);
        let status = running.handle.status;
        let second = SecondAmf { status, trigger, number };
        Ok(second)
    }

    /// The configuration of a gNB that connects to this AMF.
    pub fn gnb_config(&self, core: &TestCore, number: u8) -> GnbConfig {
        let mut config = core.gnb_config(number);
        config.amf = format!("127.1.{}.6:38412", self.number).parse().expect("an address");
        config
    }

    /// Connects a gNB to this AMF.
    ///
    /// # Errors
    /// The AMF rejects the setup or does not answer.
    pub async fn gnb(&self, core: &TestCore, number: u8) -> Result<Gnb> {
        Ok(Gnb::connect(self.gnb_config(core, number)).await?)
    }

    /// The number of changes of its contexts that are not in its store yet.
    pub fn unwritten(&self) -> u64 {
        (self.status)()["context_store"]["unwritten"].as_u64().unwrap_or(u64::MAX)
    }

    /// Its numbers of UE contexts, registered UEs and connected UEs.
    pub fn ues(&self) -> (u64, u64, u64) {
        let status = (self.status)();
        let number = |name: &str| status["ues"][name].as_u64().unwrap_or(u64::MAX);
        (number("contexts"), number("registered"), number("connected"))
    }
}

impl TestCore {
    /// Starts a second AMF.
    ///
    /// # Errors
    /// It does not start.
    pub async fn second_amf(&self, change: impl FnOnce(&mut Config)) -> Result<SecondAmf> {
        SecondAmf::start(self, self.number, change).await
    }
}

impl Drop for SecondAmf {
    fn drop(&mut self) {
        self.trigger.trigger();
    }
}
