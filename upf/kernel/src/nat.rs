//! Translation of UE addresses to those of the machine, by `nft` or else `iptables`. Removed on
//! drop.
use super::netns;
use martlet_upf_config::{N6Mode, UpfConfig};
use martlet_upf_datapath::{OpenError, TranslationError};
use std::io::Write;
use std::process::{Command, Stdio};

/// Ports that UEs get. The machine listens at lower ones: a translated flow with the port of N3 or
/// N2 would take the packets of a gNB.
const PORTS: &str = "32768-60999";

/// The commands that remove the rules.
type Undo = Vec<Vec<String>>;

/// The translation. Dropping it removes the rules.
pub struct Nat {
    netns: Option<String>,
    undo: Undo,
}

/// Sets up the translation if it is configured.
pub fn open(config: &UpfConfig) -> Result<Option<Nat>, OpenError> {
    if config.n6.mode != N6Mode::Nat {
        return Ok(None);
    }
    let interface = &config.n6.interface;
    let pools: Vec<String> =
        config.pools().iter().map(|pool| format!("{}/{}", pool.network, pool.prefix)).collect();
    let netns = config.n6.netns.clone();
    let undo = netns::within(netns.as_deref(), || {
        if let Some(outcome) = with_nft(interface, &pools) {
            if outcome.is_ok() {
                limit_flows(interface, &pools, config.n6.nat_flows_per_ue);
            }
            return Ok(outcome?);
        }
        Ok(with_iptables(interface, &pools).unwrap_or(Err(TranslationError::NoProgram))?)
    })?;
    Ok(Some(Nat { netns, undo }))
}

/// The name of the table of an interface.
fn table_of(interface: &str) -> String {
    interface.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Limits the flows of each UE, so that one does not take the ports of all. Not every kernel can
/// count connections.
fn limit_flows(interface: &str, pools: &[String], max: u32) {
    if max == 0 {
        return;
    }
    let (table, pools) = (table_of(interface), pools.join(", "));
    let rules = format!(
        "table ip upf_{table} {{\nset ues {{ type ipv4_addr; size 65536; flags dynamic; }}\nchain \
         forward {{\ntype filter hook forward priority 0; policy accept\nip saddr {{ {pools} }} \
         ct state new add @ues {{ ip saddr ct count over {max} }} counter drop\n}}\n}}\n"
    );
    if let Some(Err(error)) = run(&["nft", "-f", "-"].map(String::from), &rules) {
        tracing::warn!(%error, "upf.n6.nat_flows_per_ue not set: a UE may take all ports");
    }
}

/// `None` if the program is not installed.
fn with_nft(interface: &str, pools: &[String]) -> Option<Result<Undo, TranslationError>> {
    let table = table_of(interface);
    let pools = pools.join(", ");
    // Created and deleted first, to remove leftovers of an earlier run.
    let rules = format!(
        "table ip upf_{table} {{}}\ndelete table ip upf_{table}\ntable ip upf_{table} {{\nchain \
         postrouting {{\ntype nat hook postrouting priority 100; policy accept\nip saddr {{ \
         {pools} }} oifname != \"{interface}\" meta l4proto {{ tcp, udp, sctp }} masquerade to \
         :{PORTS}\nip saddr {{ {pools} }} oifname != \"{interface}\" masquerade\n}}\n}}\n"
    );
    let outcome = run(&["nft", "-f", "-"].map(String::from), &rules)?;
    let undo = ["nft", "delete", "table", "ip"]
        .map(String::from)
        .into_iter()
        .chain([format!("upf_{table}")]);
    Some(outcome.map(|()| vec![undo.collect()]))
}

fn with_iptables(interface: &str, pools: &[String]) -> Option<Result<Undo, TranslationError>> {
    let mut undo = Vec::new();
    let protocols = ["tcp", "udp", "sctp"].map(|name| (format!(" -p {name}"), true));
    let protocols = protocols.into_iter().chain([(String::new(), false)]);
    for (pool, (protocol, ports)) in
        pools.iter().flat_map(|pool| protocols.clone().map(move |protocol| (pool, protocol)))
    {
        let ports = if ports { format!(" --to-ports {PORTS}") } else { String::new() };
        let rule = |action: &str| {
            let rule = format!(
                "iptables -w -t nat {action} POSTROUTING -s {pool} ! -o {interface}{protocol} -j \
                 MASQUERADE{ports}"
            );
            rule.split(' ').map(String::from).collect::<Vec<_>>()
        };
        if let Err(error) = run(&rule("-A"), "")? {
            return Some(Err(error));
        }
        undo.push(rule("-D"));
    }
    Some(Ok(undo))
}

/// Runs a program with an input; `None` if it is not installed.
fn run(words: &[String], input: &str) -> Option<Result<(), TranslationError>> {
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(source) => {
            return Some(Err(TranslationError::Run { program: program.clone(), source }));
        }
    };
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    let output = match written.and_then(|()| child.wait_with_output()) {
        Ok(output) => output,
        Err(source) => {
            return Some(Err(TranslationError::Ended { program: program.clone(), source }));
        }
    };
    if output.status.success() {
        return Some(Ok(()));
    }
    let output = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Some(Err(TranslationError::Failed { program: program.clone(), output }))
}

impl Drop for Nat {
    fn drop(&mut self) {
        let undone = netns::within(self.netns.as_deref(), || {
            for words in &self.undo {
                run(words, "").unwrap_or(Ok(()))?;
            }
            Ok(())
        });
        if let Err(error) = undone {
            tracing::warn!(%error, "address translation not removed");
        }
    }
}
