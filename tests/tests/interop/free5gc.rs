//! A function of free5GC in place of one of Martlet's: its configuration, and that of the core.
use crate::external_program::{ExternalProgram, build};
use crate::mongodb::DATABASE;
use anyhow::Result;
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::{PduSessionRequest, Slice, UeConfig};
use martlet_ran::{Gnb, GnbConfig, Ue};
use martlet_sbi_api::common::Snssai;
use martlet_store::Subscriber;
use martlet_tests::{TestCore, eventually, internet};
use std::path::{Path, PathBuf};

/// The slice differentiator: free5GC needs slices with one.
const SD: u32 = 0x01_02_03;

/// Subscribers with free5GC's slice.
pub const SUBSCRIBERS: u64 = 20;

/// A function of free5GC.
pub struct Function {
    /// Its name, as in `sbi.external` and in its module.
    pub name: &'static str,
    /// The version of its configuration, the only one that it accepts.
    pub version: &'static str,
    /// IPv4 address of its service-based interface.
    pub address: &'static str,
    /// Port of its service-based interface.
    pub port: u16,
    /// The members of `configuration` that only this function has, indented by two spaces.
    pub settings: &'static str,
}

impl Function {
    /// Builds the program from the module that `tests/interop/free5gc-NAME` names.
    pub fn build(&self) -> Option<PathBuf> {
        let Function { name, .. } = self;
        build(&format!("free5gc-{name}"), &format!("github.com/free5gc/{name}/cmd"))
    }

    /// Starts the program. Its configuration and its log are in the folder. `sbi` is what
    /// `configuration.sbi` has more, after a comma, and `more` what `configuration` has more.
    pub fn start_with(
        &self,
        program: &Path,
        folder: &Path,
        sbi: &str,
        more: &str,
    ) -> Result<ExternalProgram> {
        let Function { name, version, address, port, settings } = self;
        let config = folder.join(format!("{name}cfg.yaml"));
        let text = format!(
            r#"info: {{ version: {version}, description: a function of free5GC in a Martlet core }}
logger: {{ enable: true, level: debug, reportCaller: false }}
configuration:
  {name}Name: {type}
  sbi: {{ scheme: http, registerIPv4: {address}, bindingIPv4: {address}, port: {port}{sbi} }}
  nrfUri: http://127.0.0.10:7777
  mongodb: {{ name: free5gc, url: "mongodb://{DATABASE}" }}
{settings}{more}"#,
            type = name.to_uppercase(),
        );
        std::fs::write(&config, text)?;
        ExternalProgram::start(program, &[Path::new("-c"), &config], folder)
    }
}

/// Starts a core that has no function of this name, with subscribers of free5GC's slice.
pub async fn core_without(
    name: &'static str,
    change: impl FnOnce(&mut Config),
) -> Result<TestCore> {
    let core = TestCore::start_on(Sbi::Http, |config| {
        free5gc_config(config);
        config.sbi.external = vec![name.into()];
        change(config);
    })
    .await?;
    for n in 1..=SUBSCRIBERS {
        core.subscribe(n, subscribe)?;
    }
    Ok(core)
}

/// Starts a function beside the core, and waits until it has registered.
pub async fn start_beside(
    core: &TestCore,
    function: &Function,
    program: &Path,
) -> Result<ExternalProgram> {
    start_beside_with(core, function, program, "").await
}

/// The same with more members of its `configuration`.
pub async fn start_beside_with(
    core: &TestCore,
    function: &Function,
    program: &Path,
    more: &str,
) -> Result<ExternalProgram> {
    let running = function.start_with(program, core.folder(), "", more)?;
    let kind = function.name.to_uppercase();
    until_registered(core, &kind, true, || running.output()).await?;
    Ok(running)
}

/// Connects a gNB, and registers the UE of subscriber 1. `change` adapts the gNB's configuration.
pub async fn registered_ue(
    core: &TestCore,
    change: impl FnOnce(&mut GnbConfig),
) -> Result<(Gnb, Ue)> {
    let mut config = gnb(core.gnb_config(1));
    change(&mut config);
    let radio = Gnb::connect(config).await?;
    let ue = radio.new_ue(ue(core.ue_config(1)))?;
    ue.register().await?;
    Ok((radio, ue))
}

/// Enables the tolerances for free5GC and one slice with a differentiator.
pub fn free5gc_config(config: &mut Config) {
    config.nrf.interop.absolute_prefixes = true;
    config.nrf.interop.no_heartbeats = true;
    config.udm.sdm_v1 = true;
    config.udm.empty_subscriptions = true;
    let slice = Snssai::new(1, Some(SD));
    config.network.slices = vec![slice];
    config.amf.plmns[0].slices = vec![slice];
    config.nssf.slices = vec![slice];
    config.smf.slices = vec![martlet_smf::SliceConfig { sst: 1, sd: Some(SD) }];
}

/// Subscribes to that slice.
pub fn subscribe(subscriber: &mut Subscriber) {
    subscriber.slices[0].sd = Some(SD);
}

fn slice() -> Slice {
    let [_, sd @ ..] = SD.to_be_bytes();
    Slice { sst: 1, sd: Some(sd) }
}

/// A gNB with that slice.
pub fn gnb(mut config: GnbConfig) -> GnbConfig {
    config.slices = vec![slice()];
    config
}

/// A UE that requests that slice.
pub fn ue(mut config: UeConfig) -> UeConfig {
    config.requested_nssai = vec![slice()];
    config
}

/// A session in that slice.
pub fn session() -> PduSessionRequest {
    internet()
}

/// Waits until an NF type is registered with the NRF, or no longer registered.
pub async fn until_registered(
    core: &TestCore,
    kind: &str,
    wanted: bool,
    output: impl Fn() -> String,
) -> anyhow::Result<()> {
    let matches = || {
        let status = core.status("nrf");
        let mut list = status["registered"].as_array().into_iter().flatten();
        (list.any(|entry| entry["type"] == kind && entry["status"] == "REGISTERED") == wanted)
            .then_some(())
    };
    eventually(&format!("{kind} registered: {wanted}"), matches, output).await
}
