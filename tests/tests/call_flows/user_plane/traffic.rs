//! Real programs through a UE's own network interface, to a host of the data network and back.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{Netns, Ue};
use martlet_tests::{
    DN_HOST, DataNetworkHost, GATEWAY, N6_GATEWAY, TestCore, in_namespace, in_namespace_within,
    internet, run, serve_http, switch_datapath, unique_namespace, without_switch,
};
use martlet_upf::config::N6Mode;
use std::net::IpAddr;
use std::time::Duration;

/// A UE with an interface in a network namespace.
struct UeNamespace {
    ue: Ue,
    namespace: String,
}

impl UeNamespace {
    async fn start(
        core: &TestCore,
        gnb: &martlet_ran::Gnb,
        n: u64,
    ) -> Result<(UeNamespace, IpAddr)> {
        let namespace = unique_namespace("ue");
        let ue = gnb.new_ue_in(core.ue_config(n), Netns::Named(namespace.clone()))?;
        let address = core.register_with_session(&ue).await?;
        Ok((UeNamespace { ue, namespace }, address.into()))
    }

    /// Runs a program in the UE's namespace and returns its output.
    async fn run(&self, words: &str) -> Result<String> {
        let inside = ["netns", "exec", &self.namespace].into_iter().chain(words.split(' '));
        run("ip", &inside.collect::<Vec<_>>()).await
    }

    /// Bytes that iperf3 brought to the other end.
    async fn iperf3(&self, options: &str) -> Result<u64> {
        let output = self
            .run(&format!(
                "iperf3 --client {DN_HOST} --time 1 --connect-timeout 3000 --json {options}"
            ))
            .await?;
        let report: serde_json::Value = serde_json::from_str(&output)?;
        report["end"]["sum_received"]["bytes"]
            .as_u64()
            .with_context(|| format!("output of iperf3: {output}"))
    }
}

fn tools_are_installed() -> bool {
    ["ping", "iperf3", "curl", "ip"].into_iter().all(martlet_tests::is_installed)
}

/// Pings of the smallest and the largest size, a download, and TCP in both directions.
async fn traffic(mode: N6Mode) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| {
        config.upf.n6.mode = mode;
        if mode == N6Mode::Nat {
            // The switch routes.
            without_switch(&mut config.upf);
        }
    })
    .await?;
    let host = DataNetworkHost::connect(mode == N6Mode::Routing).await?;
    let gnb = core.gnb(1).await?;
    let (ue, address) = UeNamespace::start(&core, &gnb, 1).await?;
    for words in [
        format!("ping -n -c 3 -l 3 -i 1 -W 2 {GATEWAY}"),
        format!("ping -n -c 3 -l 3 -i 1 -W 20 {DN_HOST}"),
        // 28 bytes of headers make it the session's MTU.
        format!("ping -n -c 2 -l 2 -i 1 -W 2 -s 1372 -M do {DN_HOST}"),
    ] {
        let output = ue.run(&words).await?;
        ensure!(output.contains(" 0% packet loss"), "{output}");
    }

    let seen = serve_http(host.listen(8080)?, 1 << 20);
    let url = format!(
        "curl --silent --show-error --max-time 10 --output /dev/null \
         --write-out %{{size_download}} http://{DN_HOST}:8080/"
    );
    let output = ue.run(&url).await?;
    ensure!(output == (1 << 20).to_string(), "curl got {output} bytes");
    let from = seen.recv()?;
    let due = if mode == N6Mode::Routing { address } else { N6_GATEWAY.into() };
    ensure!(from == due, "the host sees {due}: {from}");

    let _server = host.iperf3()?;
    let (up, down) = (ue.iperf3("").await?, ue.iperf3("--reverse").await?);
    ensure!(up > 100_000 && down > 100_000, "iperf3 brought {up} bytes up and {down} down");
    let counters = core.status("upf")["counters"].clone();
    let count = |name: &str| counters[name].as_u64().unwrap_or(0);
    ensure!(
        count("uplink_bytes") > up && count("downlink_bytes") > down,
        "the UPF carried it: {counters}"
    );

    // While the UE is idle, packets of its programs activate the user plane. Packets that iperf3
    // left in flight must arrive first: they would be buffered with the pings and overflow the UE's
    // queue.
    tokio::time::sleep(Duration::from_millis(500)).await;
    ue.ue.release_to_idle().await?;
    let before = core.status("upf");
    let output = ue.run(&format!("ping -n -c 3 -l 3 -i 1 -W 20 {DN_HOST}")).await?;
    ensure!(
        output.contains(" 0% packet loss"),
        "{output}\nbefore {before}\nafter {}",
        core.status("upf")
    );
    // The interface goes with its session.
    ue.ue.release_pdu_session(1).await?;
    ensure!(
        ue.run(&format!("ping -n -c 1 -W 1 {DN_HOST}")).await.is_err(),
        "without a session there is no way"
    );
    ue.ue.deregister().await?;
    core.until_all_released().await
}

#[test]
fn applications_reach_the_data_network_with_nat() {
    if tools_are_installed() && martlet_tests::is_installed("nft") {
        in_namespace(|| traffic(N6Mode::Nat));
    }
}

#[test]
fn applications_reach_the_data_network_with_routing() {
    if tools_are_installed() {
        in_namespace(|| traffic(N6Mode::Routing));
    }
}

/// Rounds in which a UE is activated by its own packets: a few by default, `MARTLET_ROUNDS` to
/// search for a rare loss.
#[test]
fn packets_that_trigger_paging_are_not_lost() {
    if !tools_are_installed() {
        return;
    }
    in_namespace_within(Duration::from_secs(600), || async {
        let core =
            TestCore::start(Sbi::Local, |config| config.upf.n6.mode = N6Mode::Routing).await?;
        let _host = DataNetworkHost::connect(true).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = UeNamespace::start(&core, &gnb, 1).await?;
        // Close upon each other, so that some come while the tunnel does. `ping` waits for the last
        // one for twice as long as an answer took so far, and for the time between two
        // packets: a session that moves onto a switch has its packets held for longer.
        let pace = if switch_datapath() { "-l 20 -i 1" } else { "-i 0.002" };
        let rounds: u64 =
            std::env::var("MARTLET_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
        for round in 0..rounds {
            ue.ue.release_to_idle().await?;
            let before = core.status("upf");
            let output = ue.run(&format!("ping -n -c 20 {pace} -W 5 {DN_HOST}")).await?;
            let whole = output.contains(" 0% packet loss");
            ensure!(
                whole,
                "round {round}: {output}\nbefore {before}\nafter {}",
                core.status("upf")
            );
        }
        ue.ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn data_network_reaches_an_idle_ue() {
    if !tools_are_installed() {
        return;
    }
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Http, |config| config.upf.n6.mode = N6Mode::Routing).await?;
        let host = DataNetworkHost::connect(true).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = UeNamespace::start(&core, &gnb, 1).await?;
        ue.ue.release_to_idle().await?;
        core.until("the UE is in CM-IDLE", |counts| counts.connected == 0).await?;
        // The first ping pages it.
        let output = host.run(&format!("ping -n -c 3 -l 3 -i 1 -W 3 {address}")).await?;
        ensure!(output.contains(" 0% packet loss"), "{output}");
        ensure!(core.counts().connected == 1, "the UE is connected: {:?}", core.counts());
        ue.ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn ues_reach_each_other_and_each_session_has_an_interface() {
    if !tools_are_installed() {
        return;
    }
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.upf.n6.mode = N6Mode::None).await?;
        let gnb = core.gnb(1).await?;
        let (one, of_one) = UeNamespace::start(&core, &gnb, 1).await?;
        let (two, of_two) = UeNamespace::start(&core, &gnb, 2).await?;
        two.ue.establish_pdu_session(internet()).await?;
        for (ue, target) in [
            (&one, format!("-I pdu1 {of_two}")),
            (&two, format!("-I pdu1 {of_one}")),
            (&two, format!("-I pdu2 {of_one}")),
        ] {
            let output = ue.run(&format!("ping -n -c 2 -l 2 -i 1 -W 2 {target}")).await?;
            ensure!(output.contains(" 0% packet loss"), "{output}");
        }
        Ok(())
    });
}
