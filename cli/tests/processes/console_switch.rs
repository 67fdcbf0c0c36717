//! The page of the user plane in a real Chromium, with a programmable switch in front of the UPF:
//! the flow of a UE moves to the switch while it is hot, and back.
use crate::api::{api_site, first_password};
use crate::console::{BrowserPermit, BrowserScript};
use crate::site::*;
use anyhow::{Result, bail, ensure};
use martlet_ran::{Gnb, GnbConfig, PduSessionRequest};
use martlet_tests::{in_namespace_within, reaches, skip};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Longest time of the whole test.
const LONGEST: Duration = Duration::from_secs(240);
/// A host of the data network.
const HOST: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 2);

/// The network namespace of the UPF and its switch, which ends with this value. Interfaces:
///
/// ```text
/// gnb ── access │ switch │ native3 ── upf3 (UPF) upf6 ── native6 │ switch │ core ── dn
/// ```
struct UpfNamespace(String);

impl UpfNamespace {
    fn new(switch: &Path) -> Result<Self> {
        let namespace = UpfNamespace(format!("martlet-console-{}", std::process::id()));
        let (upf, switch) = (&namespace.0, switch.display());
        let script = format!(
            "set -e
             ip netns add {upf}
             ip -n {upf} link set lo up
             ip link add gnb type veth peer name access netns {upf}
             ip link add dn type veth peer name core netns {upf}
             ip -n {upf} link add upf3 type veth peer name native3
             ip -n {upf} link add upf6 type veth peer name native6
             for end in gnb dn; do ip link set $end addrgenmode none up; done
             for end in access core upf3 native3 upf6 native6; do ip -n {upf} link set $end up; done
             {switch} plain gnb dn
             ip netns exec {upf} {switch} plain upf3 upf6
             ip addr add 192.168.70.2/24 dev gnb
             ip addr add {HOST}/24 dev dn
             ip route add 10.45.0.0/16 via 10.99.0.1
             ip -n {upf} addr add 192.168.70.1/24 dev upf3
             ip -n {upf} addr add 10.99.0.1/24 dev upf6
             ip -n {upf} route add default via {HOST}"
        );
        let made = Command::new("sh").args(["-c", &script]).status()?;
        ensure!(made.success(), "the namespace of the UPF was not made");
        Ok(namespace)
    }

    /// The configuration of a UPF here, for which pings are hot. The folder of its sensors does not
    /// exist.
    fn configuration(&self, switch: &Path, board: &Path) -> String {
        let upf = &self.0;
        format!(
            "upf:
  datapath: switch
  n3: {{ address: 192.168.70.1:2152, netns: {upf} }}
  n6: {{ mode: routing, netns: {upf} }}
  board: {{ root: {board:?} }}
  switch:
    {{ policy: hot, hot_ms: 300, hot_kbps: 4, cold_kbps: 1, cold_ms: 500, stay_ms: 200,
      netns: {upf}, run: {{ program: {switch:?}, access: access, native_n3: native3, core: core,
      native_n6: native6 }} }}
"
        )
    }
}

impl Drop for UpfNamespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// `make release-switch` or `cargo build -p martlet-switch-target` builds the switch.
#[test]
fn offload_of_a_hot_flow_is_shown_in_chromium() {
    let switch = Path::new(MARTLET).with_file_name("martlet-switch");
    if !BrowserScript::is_possible() || !switch.exists() {
        return skip("offload in Chromium: `make console-tools`, and build martlet-switch");
    }
    let _permit = BrowserPermit::acquire();
    in_namespace_within(LONGEST, || async move {
        let namespace = UpfNamespace::new(&switch)?;
        let site = api_site("console-switch")?;
        let config = std::fs::read_to_string(site.config())?;
        let upf = namespace.configuration(&switch, &site.0.join("no-board"));
        std::fs::write(site.config(), format!("{config}{upf}"))?;
        let core = site.start(&[])?;
        let mut script = BrowserScript::start(&site, "switch.mjs")?;
        script.answer(&first_password(&site)?).await?;
        let n3 = Some([192, 168, 70, 2].into());
        let gnb = Gnb::connect(GnbConfig { n3, ..gnb_config(1, "127.0.0.5:38412")? }).await?;
        let ue = ue(&gnb, 1)?;
        while let Some(request) = script.request().await? {
            match request.as_str() {
                "register" => {
                    ue.register().await?;
                    let dnn = Some("internet".into());
                    let session = PduSessionRequest { dnn, ..PduSessionRequest::default() };
                    ue.establish_pdu_session(session).await?;
                    reaches(&ue, 1, HOST).await?;
                }
                // 20 kbit/s in each direction.
                "hot traffic" => {
                    for _ in 0..100 {
                        reaches(&ue, 1, HOST).await?;
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                }
                other => bail!("the script asks for {other}"),
            }
            script.answer("done").await?;
        }
        script.succeeded().await?;
        core.stop()
    });
}
