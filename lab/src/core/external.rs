//! A core of another vendor beside Martlet's deployments: it runs already, or a program starts it.
use super::process::Usage;
use super::setup::{KEY, OPC};
use super::started_program::StartedProgram;
use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum};
use martlet_ran::ue::Slice;
use martlet_ran::{GnbConfig, OperatorKey, PduSessionRequest, UeConfig};
use std::net::{AddrParseError, IpAddr, SocketAddr};
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The cores that an experiment measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum CoreChoice {
    /// Martlet, in the deployments of --sbi
    #[default]
    Martlet,
    /// Another core
    External,
    /// Martlet's deployments and the other core, in alternating rounds
    Both,
}

/// The other core.
#[derive(Debug, Clone, Args)]
pub struct ExternalArgs {
    /// The measured cores
    #[arg(long = "core", value_enum, default_value_t)]
    pub choice: CoreChoice,
    /// Address of the other core's AMF, with another SCTP port than 38412 as ADDR:PORT
    #[arg(long, value_name = "ADDR", value_parser = amf_address)]
    pub amf: Option<SocketAddr>,
    /// Program that starts the other core, writes the line `ready`, and stops it on SIGTERM; it
    /// runs in the network namespace of the experiment
    #[arg(long, value_name = "FILE")]
    pub start: Option<PathBuf>,
    /// Program that adds the subscribers to the other core
    #[arg(long, value_name = "FILE")]
    pub provision: Option<PathBuf>,
    /// Folder of the other core's programs, for --start and --provision
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
    /// N2 and N3 addresses of the gNB and of the handovers' target, for the other core
    #[arg(long, value_delimiter = ',', default_value = "127.60.0.101,127.60.0.102")]
    pub gnbs: Vec<IpAddr>,
    /// PLMN of the other core: MCC and MNC
    #[arg(long, value_name = "DIGITS", default_value = "00101", value_parser = plmn)]
    pub plmn: String,
    /// Tracking area code of the other core
    #[arg(long, default_value_t = 1)]
    pub tac: u32,
    /// Slice of the other core: SST, or SST-SD with the SD as six hexadecimal digits
    #[arg(long, default_value = "1", value_parser = slice)]
    pub slice: Slice,
    /// Data network of the other core
    #[arg(long, default_value = "internet")]
    pub dnn: String,
}

/// Why an option of the other core is not valid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum OptionError {
    /// Neither an address nor an address with a port.
    #[error("not an address ({0}): write one such as 10.0.0.5 or 10.0.0.5:38413")]
    Address(#[source] AddrParseError),
    /// Not five or six digits.
    #[error("not a PLMN: write the MCC and the MNC, such as 00101")]
    Plmn,
    /// The SST is not a number of one byte.
    #[error("not an SST ({0}): write SST or SST-SD, such as 1-010203")]
    Sst(#[source] ParseIntError),
    /// The SD is not three bytes in hexadecimal.
    #[error("not an SD of six hexadecimal digits: write SST or SST-SD, such as 1-010203")]
    Sd,
}

fn amf_address(text: &str) -> Result<SocketAddr, OptionError> {
    let address = text.parse::<IpAddr>().map(|address| (address, 38412).into());
    address.or_else(|_| text.parse()).map_err(OptionError::Address)
}

fn plmn(text: &str) -> Result<String, OptionError> {
    match matches!(text.len(), 5 | 6) && text.bytes().all(|digit| digit.is_ascii_digit()) {
        true => Ok(text.into()),
        false => Err(OptionError::Plmn),
    }
}

fn slice(text: &str) -> Result<Slice, OptionError> {
    let (sst, sd) = text.split_once('-').map_or((text, None), |(sst, sd)| (sst, Some(sd)));
    let sd = match sd {
        Some(sd) if sd.len() == 6 => {
            let bits = u32::from_str_radix(sd, 16).map_err(|_| OptionError::Sd)?;
            let [_, sd @ ..] = bits.to_be_bytes();
            Some(sd)
        }
        Some(_) => return Err(OptionError::Sd),
        None => None,
    };
    Ok(Slice { sst: sst.parse().map_err(OptionError::Sst)?, sd })
}

impl ExternalArgs {
    /// Checks that the options are complete.
    ///
    /// # Errors
    /// One is missing, or two contradict each other.
    pub fn check(&self) -> Result<()> {
        match self.choice {
            CoreChoice::Martlet => {
                ensure!(
                    self.amf.is_none() && self.start.is_none() && self.provision.is_none(),
                    "--amf, --start and --provision are for --core external and --core both"
                );
                return Ok(());
            }
            CoreChoice::External => {}
            CoreChoice::Both => ensure!(
                self.start.is_some(),
                "--core both: Martlet's cores run in a network namespace of their own; name the \
                 program that starts the other core there with --start"
            ),
        }
        ensure!(self.amf.is_some(), "--amf ADDR: write the N2 address of the other core");
        ensure!(
            self.gnbs.len() >= 2,
            "--gnbs: write two addresses of this machine, of the gNB and of the target"
        );
        Ok(())
    }

    /// Whether the experiment runs in a network namespace of its own. A core that runs already is
    /// reached from the caller's.
    pub fn is_isolated(&self) -> bool {
        self.choice == CoreChoice::Martlet || self.start.is_some()
    }

    fn first_imsi(&self) -> String {
        format!("{}{:0width$}", self.plmn, 1, width = 15 - self.plmn.len())
    }

    /// The configuration of the n-th gNB, from 1.
    pub(crate) fn gnb_config(&self, number: u8) -> Result<GnbConfig> {
        let (mcc, mnc) = self.plmn.split_at(3);
        let plmn = martlet_security::Plmn::new(mcc, mnc)?;
        let amf = self.amf.context("--amf")?;
        let mut config = GnbConfig::new("lab-gnb", plmn, number.into(), amf);
        let address = self.gnbs.get(usize::from(number) - 1).context("--gnbs")?;
        (config.n2_local, config.n3) = (Some(*address), Some(*address));
        config.tac = self.tac;
        config.slices = vec![self.slice];
        Ok(config)
    }

    /// The configuration of the n-th subscriber's UE, from 0.
    pub(crate) fn ue_config(&self, n: u64) -> Result<UeConfig> {
        let first: u64 = self.first_imsi().parse()?;
        let imsi = format!("{:015}", first + n);
        let mut config = UeConfig::new(&imsi, self.plmn.len() - 3, KEY, OperatorKey::Opc(OPC))?;
        config.requested_nssai = vec![self.slice];
        Ok(config)
    }

    /// The session that its UEs request.
    pub(crate) fn session(&self) -> PduSessionRequest {
        PduSessionRequest {
            dnn: Some(self.dnn.clone()),
            slice: Some(self.slice),
            ..PduSessionRequest::default()
        }
    }

    /// A program, with what it needs to know in its environment.
    fn command(&self, program: &Path, subscribers: u64, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env("MARTLET_LAB_FOLDER", folder)
            .env("MARTLET_LAB_AMF", self.amf.map(|amf| amf.ip().to_string()).unwrap_or_default())
            .env("MARTLET_LAB_PLMN", &self.plmn)
            .env("MARTLET_LAB_TAC", self.tac.to_string())
            .env("MARTLET_LAB_SLICE", self.slice.to_string())
            .env("MARTLET_LAB_DNN", &self.dnn)
            .env("MARTLET_LAB_FIRST_IMSI", self.first_imsi())
            .env("MARTLET_LAB_SUBSCRIBERS", subscribers.to_string())
            .env("MARTLET_LAB_KEY", hex::encode(KEY))
            .env("MARTLET_LAB_OPC", hex::encode(OPC))
            .stdin(Stdio::null());
        if let Some(programs) = &self.programs {
            command.env("MARTLET_LAB_PROGRAMS", programs);
        }
        command
    }
}

/// The other core while it is measured.
pub(crate) struct ExternalCore(Option<StartedProgram>);

impl ExternalCore {
    /// Starts the core, if a program does that, and adds its subscribers. The output of the
    /// programs is in `external.log` and `provision.log` in the folder, which is emptied before:
    /// the database of an earlier run has the same subscribers.
    pub(crate) fn start(args: &ExternalArgs, subscribers: u64, folder: &Path) -> Result<Self> {
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder)?;
        let mut core = ExternalCore(None);
        if let Some(program) = &args.start {
            let command = args.command(program, subscribers, folder);
            let mut started = StartedProgram::start(command, &folder.join("external.log"))?;
            started.wait_until_ready()?;
            core.0 = Some(started);
        }
        if let Some(program) = &args.provision {
            let output = args.command(program, subscribers, folder).output();
            let output = output.with_context(|| format!("cannot start {}", program.display()))?;
            let text = [output.stdout, output.stderr].concat();
            std::fs::write(folder.join("provision.log"), &text)?;
            let text = String::from_utf8_lossy(&text);
            ensure!(output.status.success(), "{} ({}):\n{text}", program.display(), output.status);
        }
        Ok(core)
    }

    /// What the core uses now; `None` if another program started it.
    pub(crate) fn usage(&self) -> Option<Usage> {
        self.0.as_ref().map(StartedProgram::usage)
    }

    /// Stops the core, if its program started it.
    pub(crate) fn stop(self) -> Result<()> {
        self.0.map_or(Ok(()), StartedProgram::stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_options_are_read() {
        assert_eq!(amf_address("10.0.0.5").map(|amf| amf.port()), Ok(38412));
        assert_eq!(amf_address("[::1]:9000").map(|amf| amf.port()), Ok(9000));
        assert_eq!(slice("2"), Ok(Slice { sst: 2, sd: None }));
        assert_eq!(slice("1-01f203"), Ok(Slice { sst: 1, sd: Some([1, 0xf2, 3]) }));
        for wrong in ["", "1-", "1-0102", "1-01020g", "300"] {
            assert!(slice(wrong).is_err(), "{wrong:?}");
        }
        assert!(plmn("001").is_err() && plmn("0010a").is_err() && plmn("208093").is_ok());
    }

    #[test]
    fn an_option_that_is_not_valid_is_reported_with_the_reason_and_an_example() {
        let texts = [
            amf_address("10.0.0").unwrap_err().to_string(),
            plmn("0010a").unwrap_err().to_string(),
            slice("300").unwrap_err().to_string(),
            slice("1-0102").unwrap_err().to_string(),
        ];
        let expected = [
            ("not an address (", "write one such as 10.0.0.5"),
            ("not a PLMN", "write the MCC and the MNC, such as 00101"),
            ("not an SST (number too large", "write SST or SST-SD, such as 1-010203"),
            ("not an SD of six", "write SST or SST-SD, such as 1-010203"),
        ];
        for (text, (what, remedy)) in texts.iter().zip(expected) {
            assert!(text.starts_with(what) && text.contains(remedy), "{text}");
        }
    }
}
