//! What functions of free5GC need around them.
use martlet::config::Config;
use martlet_ran::GnbConfig;
use martlet_ran::ue::{PduSessionRequest, Slice, UeConfig};
use martlet_sbi_api::common::Snssai;
use martlet_store::Subscriber;
use martlet_tests::{TestCore, eventually, internet};

/// The differentiator of the slice: their functions take no slice without one.
const SD: u32 = 0x01_02_03;

/// What a core grants to them, and one slice for all.
pub fn for_them(config: &mut Config) {
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

/// A subscription to that slice.
pub fn subscribed(subscriber: &mut Subscriber) {
    subscriber.slices[0].sd = Some(SD);
}

fn slice() -> Slice {
    let [_, sd @ ..] = SD.to_be_bytes();
    Slice { sst: 1, sd: Some(sd) }
}

/// A gNB of that slice.
pub fn gnb(mut config: GnbConfig) -> GnbConfig {
    config.slices = vec![slice()];
    config
}

/// A UE that asks for that slice.
pub fn ue(mut config: UeConfig) -> UeConfig {
    config.requested_nssai = vec![slice()];
    config
}

/// A session in that slice.
pub fn session() -> PduSessionRequest {
    internet()
}

/// Waits until the NRF has an instance of a type, or has none of it any more.
pub async fn registered(
    core: &TestCore,
    kind: &str,
    there: bool,
    said: impl Fn() -> String,
) -> anyhow::Result<()> {
    let is_there = || {
        let status = core.status("nrf");
        let mut list = status["registered"].as_array().into_iter().flatten();
        (list.any(|entry| entry["type"] == kind && entry["status"] == "REGISTERED") == there)
            .then_some(())
    };
    eventually(&format!("{kind} at the NRF: {there}"), is_there, said).await
}
