//! The capture of N1, N2, N4 and the SBI into a pcapng file.
use anyhow::Result;
use clap::Args;
use martlet::config::FUNCTIONS;
use martlet_nf::capture;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options of the capture, for `up` and `nf`.
#[derive(Args)]
pub struct CaptureArgs {
    /// Capture N2, N4 and the SBI (over any binding) into a pcapng file for Wireshark
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Capture N1 too, without ciphering
    #[arg(long, requires = "pcap")]
    pub pcap_n1: bool,
    /// Append to a file that other functions write too
    #[arg(long, requires = "pcap", hide = true)]
    pub pcap_join: bool,
}

impl CaptureArgs {
    /// Creates the file of a process alone, while it may create files anywhere.
    pub fn create(&self) -> Result<()> {
        match &self.pcap {
            Some(file) if !self.pcap_join => Ok(capture::create(file, &["martlet"])?),
            _ => Ok(()),
        }
    }

    /// Starts the capture, if there is one: of one function, or of all.
    pub fn start(&self, function: Option<&str>) -> Result<()> {
        let Some(file) = &self.pcap else { return Ok(()) };
        match function.and_then(|name| FUNCTIONS.iter().position(|function| *function == name)) {
            Some(index) if self.pcap_join => capture::join(file, &FUNCTIONS, index, self.pcap_n1)?,
            _ => capture::start(file, self.pcap_n1)?,
        }
        Ok(())
    }

    /// Creates the file that functions with a process each share. Returns the arguments with which
    /// they are started.
    pub fn shared(&self) -> Result<Vec<OsString>> {
        let Some(file) = &self.pcap else { return Ok(Vec::new()) };
        capture::create(file, &FUNCTIONS)?;
        let mut arguments = vec!["--pcap".into(), file.into(), "--pcap-join".into()];
        arguments.extend(self.pcap_n1.then(|| "--pcap-n1".into()));
        Ok(arguments)
    }
}
