//! The `switch` datapath: a native datapath (`kernel` or `xdp`) with a programmable switch in its
//! wires, to which sessions are offloaded.
//!
//! | module | content |
//! | --- | --- |
//! | `plan` | the part of a session that a switch can forward |
//! | `policy` | selects the sessions to offload |
//! | `account` | usage of both paths as one |
//! | `tables`, `neighbours` | a plan as table entries; next hops |
//! | `isolation` | what UEs may not reach, as table entries |
//! | `controller`, `process` | the connection to the switch, and its process |
//! | `state`, `manager` | the path of each session, and moves between paths |
//! | `poll_backoff` | the interval of counter polls |
//!
//! N4 rules are always complete in the native datapath, which forwards what the switch cannot, and
//! everything while there is no switch. The switch itself is in `upf/switch`.
mod account;
mod controller;
#[cfg(test)]
mod differential;
mod isolation;
mod manager;
mod neighbours;
mod plan;
mod policy;
mod poll_backoff;
mod process;
mod state;
mod tables;

use controller::Controller;
use manager::{Manager, lock};
use martlet_board::governor::CLASSES;
use martlet_pfcp::ie::UpFunctionFeatures;
use martlet_upf_config::{DatapathChoice, Pool, UpfConfig};
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::telemetry::{
    InterfaceLoss, PdrTraffic, TableUsage, TraceBatch, TraceRequest, Traffic,
};
use martlet_upf_datapath::{
    Buffered, Change, CommandError, Datapath, DatapathError, EventSender, OpenError, Shaping,
    SwitchError, Usage,
};
use prometheus::{IntGauge, register_int_gauge};
use state::{Environment, State};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;
use tables::{Tables, Ues};

static SESSIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_upf_switch_sessions", "Sessions offloaded to the switch")
        .expect("registered once")
});

/// Its name in configuration, status and metrics.
const NAME: &str = "switch";

/// The datapath of a switch with a native one behind it.
pub struct SwitchDatapath {
    // Fields are dropped in this order: the manager ends before the switch.
    _manager: Manager,
    state: Arc<Mutex<State>>,
}

impl SwitchDatapath {
    /// Starts the switch, if configured, and the offload manager. The switch may connect later, and
    /// disconnect.
    ///
    /// # Errors
    /// The switch process or a thread cannot be started.
    pub fn open(
        native: Box<dyn Datapath>,
        config: &UpfConfig,
    ) -> Result<SwitchDatapath, OpenError> {
        // Initialised here, since its first use is under a lock that metrics collection needs.
        LazyLock::force(&SESSIONS);
        let program = martlet_p4c_swx::compile(martlet_switch_control::UPF)
            .map_err(|error| SwitchError::Program(error.into()))?;
        let xdp = config.switch.native == DatapathChoice::Xdp;
        let burst = if xdp { config.xdp.mbr_burst() } else { config.kernel.mbr_burst() };
        let locally = if xdp { config.xdp.local_switching } else { config.kernel.local_switching };
        let environment = Environment {
            netns: [config.n3.netns.clone(), config.n6.netns.clone()],
            ues: match locally || config.ue_to_ue().any() {
                true => Ues { v4: covering(&config.pools()), v6: covering_v6(&config.pools6()) },
                false => Ues::default(),
            },
            longest: config.n6.mtu,
            network_instances: config.n6.network_instance_names(),
        };
        let controller = Controller::start(&config.switch)?;
        let tables = Tables::new(program.info, config.n3.addresses(), burst);
        let state = State::new(native, controller, tables, config.switch.clone(), environment);
        let state = Arc::new(Mutex::new(state));
        let manager = Manager::start(&state)?;
        Ok(SwitchDatapath { _manager: manager, state })
    }
}

/// The smallest network that contains all pools, with its mask.
fn covering(pools: &[Pool]) -> Option<(u32, u32)> {
    let mask = |prefix: u32| u32::MAX.checked_shl(32 - prefix).unwrap_or(0);
    let first = pools.first()?;
    let (mut network, mut prefix) = (first.network.to_bits(), u32::from(first.prefix));
    for pool in &pools[1..] {
        let common = (network ^ pool.network.to_bits()).leading_zeros();
        prefix = prefix.min(u32::from(pool.prefix)).min(common);
        network &= mask(prefix);
    }
    if prefix < 8 {
        tracing::warn!(
            prefix,
            "UE pools are far apart: packets to addresses between them stay on the native path"
        );
    }
    Some((network, mask(prefix)))
}

/// The same for IPv6 pools, by the upper halves of addresses.
fn covering_v6(pools: &[(Ipv6Addr, u8)]) -> Option<(u64, u64)> {
    let high = |address: Ipv6Addr| (address.to_bits() >> 64) as u64;
    let mask = |prefix: u32| u64::MAX.checked_shl(64 - prefix).unwrap_or(0);
    let &(first, length) = pools.first()?;
    let (mut network, mut prefix) = (high(first), u32::from(length).min(64));
    for &(pool, length) in &pools[1..] {
        prefix = prefix.min(length.into()).min((network ^ high(pool)).leading_zeros());
    }
    network &= mask(prefix);
    if prefix < 16 {
        tracing::warn!(
            prefix,
            "IPv6 pools of UEs are far apart: packets to addresses between them stay on the \
             native path"
        );
    }
    Some((network, mask(prefix)))
}

impl Drop for SwitchDatapath {
    fn drop(&mut self) {
        lock(&self.state).end();
    }
}

impl Datapath for SwitchDatapath {
    fn name(&self) -> &'static str {
        NAME
    }

    fn features(&self) -> UpFunctionFeatures {
        lock(&self.state).native.features()
    }

    fn detects_urls(&self) -> bool {
        lock(&self.state).native.detects_urls()
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        lock(&self.state).apply(change)
    }

    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        lock(&self.state).remove(seid)
    }

    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        lock(&self.state).take_usage(seid, urrs)
    }

    fn forwarded(&self, seid: u64) -> [u64; 2] {
        lock(&self.state).native.forwarded(seid)
    }

    fn forwarded_by(&self, seids: &[u64]) -> Vec<[u64; 2]> {
        lock(&self.state).forwarded_by(seids)
    }

    fn last_activity(&self, seid: u64) -> Option<Instant> {
        lock(&self.state).last_activity(seid)
    }

    fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        lock(&self.state).native.last_packet(seid, urr)
    }

    fn buffered(&self, seid: u64) -> Buffered {
        lock(&self.state).native.buffered(seid)
    }

    fn advertise(&mut self, seid: u64) {
        lock(&self.state).native.advertise(seid);
    }

    fn set_peers(&mut self, changes: &[(IpAddr, bool)]) {
        let mut state = lock(&self.state);
        state.native.set_peers(changes);
        state.renew_isolation();
    }

    fn events(&self) -> EventSender {
        lock(&self.state).native.events()
    }

    fn counters(&self) -> Arc<Counters> {
        lock(&self.state).native.counters()
    }

    fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        lock(&self.state).traffic(seids)
    }

    fn pdr_traffic(&self, seid: u64) -> Vec<PdrTraffic> {
        lock(&self.state).pdr_traffic(seid)
    }

    fn tables(&self) -> Vec<TableUsage> {
        lock(&self.state).native.tables()
    }

    fn interface_losses(&self) -> Vec<InterfaceLoss> {
        lock(&self.state).native.interface_losses()
    }

    fn fullness(&self) -> u8 {
        lock(&self.state).native.fullness()
    }

    fn trace(&self, request: TraceRequest) -> Result<TraceBatch, CommandError> {
        lock(&self.state).native.trace(request)
    }

    fn shape(&mut self, shaping: &Shaping) {
        lock(&self.state).native.shape(shaping);
    }

    fn class_bytes(&self) -> [u64; CLASSES] {
        lock(&self.state).native.class_bytes()
    }

    fn renew(&self, sample: Option<u32>) -> Result<(), CommandError> {
        lock(&self.state).native.renew(sample)
    }

    fn details(&self) -> serde_json::Value {
        let state = lock(&self.state);
        let statistics = &state.statistics;
        serde_json::json!({
            "native": {"name": state.native.name(), "details": state.native.details()},
            "switch": {
                "connected": state.connected,
                "policy": state.config.policy,
                "sessions": {"onSwitch": state.on_switch(), "most": state.config.sessions,
                    "known": state.known.len()},
                "bytes": statistics.bytes,
                "movedOn": statistics.moved_on,
                "movedOff": statistics.moved_off,
                "failed": statistics.failed,
                "connections": statistics.connections,
                "lastFailure": statistics.why,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_covered_by_one_network() {
        let pool = |text| Pool::parse(text).expect("a pool");
        assert_eq!(covering(&[pool("10.45.0.0/16")]), Some((0x0a2d_0000, 0xffff_0000)));
        assert_eq!(
            covering(&[pool("10.45.0.0/16"), pool("10.46.0.0/16")]),
            Some((0x0a2c_0000, 0xfffc_0000))
        );
        assert_eq!(covering(&[]), None);
        let pool6 = |text| martlet_upf_config::pool6(text).expect("a pool");
        assert_eq!(covering_v6(&[pool6("fd45::/48")]), Some((0xfd45 << 48, u64::MAX << 16)));
        assert_eq!(
            covering_v6(&[pool6("fd45::/48"), pool6("fd46::/48")]),
            Some((0xfd44 << 48, 0xfffc << 48))
        );
        assert_eq!(covering_v6(&[]), None);
    }
}
