//! `martlet doctor` beside a real rule set of nftables: it names the rule that drops packets, and
//! its remedy lets them pass. It looks for the address of N3 in the network namespace of N3.
use crate::site::MARTLET;
use anyhow::{Context, Result, ensure};
use martlet_tests::in_namespace;
use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const RULES: &str = "
table inet site {
    set cells { type ipv4_addr; elements = { 192.168.7.20, 192.168.7.21 }; }
    chain services {
        sctp dport 38412 accept
        udp dport { 8805, 8806 } counter drop comment \"no PFCP\"
    }
    chain input {
        type filter hook input priority 0; policy drop;
        ct state vmap { established : accept, related : accept, invalid : drop }
        meta l4proto { udp, sctp } jump services
        ip saddr @cells udp dport 2152 accept
    }
    chain forward {
        type filter hook forward priority 0; policy drop;
        iifname \"docker*\" accept
        oifname \"martlet-n6\" ct state established accept
    }
}
";

/// What the command prints about the firewall.
fn firewall(config: &Path) -> Result<String> {
    let output = Command::new(MARTLET).args(["doctor", "-c"]).arg(config).output()?;
    let text = String::from_utf8(output.stdout)?;
    let lines: Vec<&str> = text.lines().collect();
    let its = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.get(6..).is_some_and(|rest| rest.starts_with("firewall")));
    let with_remedy = its.flat_map(|(n, line)| {
        [Some(*line), lines.get(n + 1).copied().filter(|next| next.contains('→'))]
    });
    Ok(with_remedy.flatten().collect::<Vec<_>>().join("\n"))
}

fn arrives(receiver: &UdpSocket) -> Result<bool> {
    UdpSocket::bind("127.0.0.1:0")?.send_to(b"heartbeat", receiver.local_addr()?)?;
    Ok(receiver.recv(&mut [0; 16]).is_ok())
}

#[test]
fn the_rule_that_drops_packets_is_named_and_the_remedy_accepts_them() {
    in_namespace(|| async {
        let config = std::env::temp_dir();
        let config = config.join(format!("martlet-doctor-{}.yaml", std::process::id()));
        std::fs::write(&config, "{}\n")?;
        let file = std::env::temp_dir().join(format!("martlet-doctor-{}.nft", std::process::id()));
        std::fs::write(&file, RULES)?;
        let loaded = Command::new("nft").arg("-f").arg(&file).output();
        std::fs::remove_file(&file)?;
        match loaded {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                martlet_tests::skip(&format!(
                    "the kernel takes no such rules: {}",
                    String::from_utf8_lossy(&output.stderr)
                ));
                return Ok(());
            }
            Err(error) => {
                martlet_tests::skip(&format!("nft cannot be run ({error})"));
                return Ok(());
            }
        }
        let n4 = UdpSocket::bind("127.0.0.8:8805")?;
        n4.set_read_timeout(Some(Duration::from_millis(100)))?;
        ensure!(!arrives(&n4)?, "the rule drops nothing");

        let found = firewall(&config)?;
        for part in [
            "FAULT firewall      N4, UDP to 127.0.0.8:8805: dropped by `udp dport { 8805, 8806 } \
             counter packets",
            "drop comment \"no PFCP\"` in chain inet site services",
            "→ nft insert rule inet site input ip daddr 127.0.0.8 udp dport 8805 accept",
            // It depends on the gNB.
            "note  firewall      N3, UDP to 127.0.0.8:2152: dropped by the policy of chain inet \
             site input, unless an earlier rule accepts them",
            "FAULT firewall      N6, packets of UEs from martlet-n6: dropped by the policy of \
             chain inet site forward",
        ] {
            ensure!(found.contains(part), "{part} is not in\n{found}");
        }
        ensure!(!found.contains("N2, ") && !found.contains("answers to UEs"), "{found}");
        // Each remedy works, and then nothing is dropped.
        for remedy in found.lines().filter_map(|line| line.split_once("→ ")) {
            let command = remedy.1.split(", and the same").next().context("a command")?;
            let status = Command::new("sh").args(["-c", command]).status()?;
            ensure!(status.success(), "{command}");
        }
        let mended = firewall(&config)?;
        std::fs::remove_file(&config)?;
        ensure!(
            mended == "ok    firewall      no rule drops packets of N2, N3, N4, N6",
            "{mended}"
        );
        ensure!(arrives(&n4)?, "the remedy does not accept the packet");
        Ok(())
    });
}

/// A named network namespace, removed on drop.
struct Netns(String);

impl Drop for Netns {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

#[test]
fn the_address_and_the_mtu_of_n3_are_those_of_its_network_namespace() {
    in_namespace(|| async {
        let name = format!("martlet-doctor-{}", std::process::id());
        if !Command::new("ip").args(["netns", "add", &name]).status()?.success() {
            martlet_tests::skip("`ip netns add` does not work here");
            return Ok(());
        }
        let netns = Netns(name.clone());
        // It mounts /sys, which some containers refuse.
        if !Command::new("ip").args(["netns", "exec", &name, "true"]).status()?.success() {
            martlet_tests::skip("`ip netns exec` does not work here");
            return Ok(());
        }
        for command in ["link set lo mtu 1400 up", "address add 203.0.113.3/32 dev lo"] {
            let arguments = ["-n", name.as_str()].into_iter().chain(command.split(' '));
            ensure!(Command::new("ip").args(arguments).status()?.success(), "{command}");
        }
        let file =
            std::env::temp_dir().join(format!("martlet-doctor-n3-{}.yaml", std::process::id()));
        let n3 = format!("upf: {{ n3: {{ address: \"203.0.113.3:2152\", netns: {name} }} }}\n");
        std::fs::write(&file, n3)?;
        let output = Command::new(MARTLET).args(["doctor", "-c"]).arg(&file).output()?;
        std::fs::remove_file(&file)?;
        drop(netns);
        let text = String::from_utf8(output.stdout)?;
        ensure!(text.contains("ok    addresses"), "{text}");
        let small = format!("FAULT {:<14}lo has 1400", "MTU");
        let remedy = format!("→ ip netns exec {name} ip link set lo mtu 1464");
        ensure!(text.contains(&small) && text.contains(&remedy), "{text}");
        Ok(())
    });
}
