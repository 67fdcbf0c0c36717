//! Packets that get lost: rules of the test's namespace, for as long as they live.
use anyhow::{Context, Result, ensure};
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// Something that packets do not pass. Dropping it lets them.
pub struct Wall(String);

impl Wall {
    /// Nothing reaches a UDP port.
    ///
    /// # Errors
    /// `nft` does not take the rule.
    pub fn before_udp_port(port: u16) -> Result<Wall> {
        Wall::before(&format!("udp_{port}"), &format!("udp dport {port}"))
    }

    /// No SCTP from an address or to it arrives.
    ///
    /// # Errors
    /// `nft` does not take the rules.
    pub fn around_sctp_of(address: IpAddr) -> Result<Wall> {
        let name = format!("sctp_{}", address.to_string().replace(['.', ':'], "_"));
        Wall::before(
            &name,
            &format!("ip protocol 132 ip saddr {address} drop; ip protocol 132 ip daddr {address}"),
        )
    }

    fn before(name: &str, what: &str) -> Result<Wall> {
        let table = format!("wall_{name}");
        let what = what.replace("; ", "\n");
        let rules = format!(
            "table inet {table} {{\nchain input {{\ntype filter hook input priority 0;\n{what} \
             drop\n}}\n}}\n"
        );
        let mut nft =
            Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().context("nft")?;
        nft.stdin.take().context("it is piped")?.write_all(rules.as_bytes())?;
        ensure!(nft.wait()?.success(), "nft does not take {rules}");
        Ok(Wall(table))
    }
}

impl Drop for Wall {
    fn drop(&mut self) {
        let _ = Command::new("nft").args(["delete", "table", "inet", &self.0]).status();
    }
}
