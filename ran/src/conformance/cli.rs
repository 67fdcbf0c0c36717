//! `martlet ran conformance`: plays the cases against a core.
use super::bench::BenchConfig;
use super::case::Case;
use super::cases::cases;
use super::report::cases_markdown;
use super::run::run as play;
use crate::gnb::GnbConfig;
use crate::ue::{OperatorKey, Slice, UeConfig};
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use martlet_sctp::StackChoice;
use martlet_security::Plmn;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// SCTP implementation of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stack {
    /// The kernel's if present, else the one in user space
    Auto,
    /// The kernel's
    Kernel,
    /// The one in user space
    Usrsctp,
}

/// Plays valid and invalid behaviours of gNBs and UEs against a core, and reports pass or fail with
/// the clause of each.
#[derive(Debug, Clone, Args)]
pub struct ConformanceArgs {
    /// The AMF's N2 address, with a port unless it is 38412
    #[arg(long, value_parser = amf_address, required_unless_present = "list")]
    amf: Option<SocketAddr>,
    /// Local address of the gNB for N2 and N3; a second one is that of the handovers' target
    #[arg(long)]
    local: Vec<IpAddr>,
    /// MCC and MNC, in five or six digits
    #[arg(long, default_value = "00101")]
    plmn: String,
    /// Tracking area code
    #[arg(long, default_value_t = 1)]
    tac: u32,
    /// Slice as SST or SST-SD, which the subscribers have
    #[arg(long, default_value = "1", value_parser = slice)]
    slice: Slice,
    /// Data network that the subscribers have
    #[arg(long, default_value = "internet")]
    dnn: String,
    /// IMSI of the first subscriber
    #[arg(long, default_value = "001010000000001")]
    imsi: String,
    /// Number of subscribers, with consecutive IMSIs and the same keys
    #[arg(long, default_value_t = 10)]
    subscribers: u64,
    /// K of all subscribers, 32 hexadecimal digits
    #[arg(long, default_value = "465b5ce8b199b49faa5f0a2ee238a6bc")]
    k: String,
    /// OPc of all subscribers, 32 hexadecimal digits
    #[arg(long, default_value = "e8ed289deba952e4283b54e88e6183ca")]
    opc: String,
    /// Address that answers pings through a session
    #[arg(long)]
    ping: Option<Ipv4Addr>,
    /// Shell command that sends data to the UE address in place of {address}
    #[arg(long, value_name = "COMMAND")]
    downlink: Option<String>,
    /// Only cases whose name contains this; repeat for more
    #[arg(long = "case", value_name = "NAME")]
    only: Vec<String>,
    /// How long the core has to be silent where it must not answer, milliseconds
    #[arg(long, default_value_t = 1000)]
    silence_ms: u64,
    /// Time limit of a UE procedure, seconds
    #[arg(long, default_value_t = 10)]
    timeout_s: u64,
    /// SCTP implementation
    #[arg(long, value_enum, default_value = "auto")]
    sctp: Stack,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Print the list of cases as Markdown and end
    #[arg(long)]
    list: bool,
}

fn amf_address(text: &str) -> Result<SocketAddr, std::net::AddrParseError> {
    text.parse().or_else(|_| text.parse::<IpAddr>().map(|address| (address, 38412).into()))
}

fn slice(text: &str) -> Result<Slice, std::num::ParseIntError> {
    let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
    let sd = sd.map(|sd| u32::from_str_radix(sd, 16)).transpose()?;
    let sd = sd.map(|sd| {
        let [_, octets @ ..] = sd.to_be_bytes();
        octets
    });
    Ok(Slice { sst: sst.parse()?, sd })
}

fn key(name: &str, digits: &str) -> Result<[u8; 16]> {
    let mut key = [0; 16];
    let decoded = hex::decode_to_slice(digits, &mut key);
    decoded.map_err(|_| anyhow::anyhow!("--{name}: write 32 hexadecimal digits"))?;
    Ok(key)
}

impl ConformanceArgs {
    fn bench(&self) -> Result<BenchConfig> {
        let amf = self.amf.context("--amf is missing")?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        ensure!(
            (5..=6).contains(&self.plmn.len()) && digits(&self.plmn),
            "--plmn {:?}: write MCC and MNC in five or six digits, such as 00101",
            self.plmn
        );
        let (mcc, mnc) = self.plmn.split_at(3);
        let mut gnb = GnbConfig::new("conformance", Plmn::new(mcc, mnc)?, 0xc0f0, amf);
        gnb.tac = self.tac;
        gnb.slices = vec![self.slice];
        gnb.n2_local = self.local.first().copied();
        gnb.n3 = gnb.n2_local;
        gnb.procedure_timeout = Duration::from_secs(self.timeout_s);
        gnb.sctp = match self.sctp {
            Stack::Auto => StackChoice::Auto,
            Stack::Kernel => StackChoice::Kernel,
            Stack::Usrsctp => StackChoice::Usrsctp,
        };
        let (k, opc) = (key("k", &self.k)?, OperatorKey::Opc(key("opc", &self.opc)?));
        let mut ue = UeConfig::new(&self.imsi, mnc.len(), k, opc)?;
        ue.requested_nssai = vec![self.slice];
        Ok(BenchConfig {
            gnb,
            second: self.local.get(1).copied(),
            ue,
            subscribers: self.subscribers,
            dnn: self.dnn.clone(),
            ping: self.ping,
            downlink: self.downlink.clone(),
            silence: Duration::from_millis(self.silence_ms),
            limit: Duration::from_secs(self.timeout_s.saturating_mul(6)),
        })
    }

    fn selection(&self) -> Result<Vec<&'static Case>> {
        let is_selected = |case: &&Case| {
            self.only.is_empty() || self.only.iter().any(|name| case.name.contains(name.as_str()))
        };
        let selected: Vec<_> = cases().filter(is_selected).collect();
        if selected.is_empty() {
            bail!("no case has such a name; `martlet-ran conformance --list` lists all");
        }
        Ok(selected)
    }
}

/// Runs the command.
///
/// # Errors
/// An argument is wrong, or a case failed.
pub fn run(args: &ConformanceArgs) -> Result<()> {
    if args.list {
        print!("{}", cases_markdown());
        return Ok(());
    }
    let (config, selected) = (args.bench()?, args.selection()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let progress = |case: &Case| {
        if !args.json {
            eprintln!("{} …", case.name);
        }
    };
    let report = runtime.block_on(play(config, &selected, progress));
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => print!("{}", report.to_text()),
    }
    let failed = report.failed();
    ensure!(failed.is_empty(), "{} cases failed: {}", failed.len(), failed.join(", "));
    Ok(())
}
