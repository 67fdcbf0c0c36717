//! The configuration of a core with functions of free5GC.
use martlet::config::Config;
use martlet_ran::GnbConfig;
use martlet_ran::ue::{PduSessionRequest, Slice, UeConfig};
use martlet_sbi_api::common::Snssai;
use martlet_store::Subscriber;
use martlet_tests::{TestCore, eventually, internet};

/// The slice differentiator: free5GC needs slices with one.
const SD: u32 = 0x01_02_03;

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
