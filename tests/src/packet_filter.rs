//! nftables rules that drop packets in the test's namespace.
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// A drop rule. Dropping this value deletes the rule.
pub struct PacketFilter(String);

impl PacketFilter {
    /// Drops packets to a UDP port.
    ///
    /// # Errors
    /// `nft` fails.
    pub fn drop_udp_port(port: u16) -> Result<PacketFilter> {
        PacketFilter::drop_matching(&format!("udp_{port}"), &format!("udp dport {port}"))
    }

    /// Drops SCTP packets from and to an address.
    ///
    /// # Errors
    /// `nft` fails.
    pub fn drop_sctp_of(address: IpAddr) -> Result<PacketFilter> {
        let name = format!("sctp_{}", address.to_string().replace(['.', ':'], "_"));
        PacketFilter::drop_matching(
            &name,
            &format!("ip protocol 132 ip saddr {address} drop; ip protocol 132 ip daddr {address}"),
        )
    }

    fn drop_matching(name: &str, matches: &str) -> Result<PacketFilter> {
        let table = format!("drop_{name}");
        let matches = matches.replace("; ", "\n");
        let rules = format!(
            "table inet {table} {{\nchain input {{\ntype filter hook input priority 0;\n{matches} \
             drop\n}}\n}}\n"
        );
        let mut nft =
            Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().context("nft")?;
        nft.stdin.take().context("stdin is piped")?.write_all(rules.as_bytes())?;
        ensure!(nft.wait()?.success(), "nft rejects the rules {rules}");
        Ok(PacketFilter(table))
    }
}

impl Drop for PacketFilter {
    fn drop(&mut self) {
        let _ = Command::new("nft").args(["delete", "table", "inet", &self.0]).status();
    }
}
