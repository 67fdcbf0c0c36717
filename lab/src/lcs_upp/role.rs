//! Options of a run on two hosts.
use std::net::SocketAddr;

/// An end of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Role {
    /// The LMF's end: waits for a UE and answers
    Lmf,
    /// The UE's end: runs the rounds and writes the report
    Ue,
}

/// Options of a run on two hosts.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct RoleArgs {
    /// Run one end on this host, the other one on another host [default: both ends here]
    #[arg(long, value_enum)]
    pub role: Option<Role>,
    /// Address of the LMF's end, with its control port unless that is 7460 (--role ue)
    #[arg(long, value_name = "ADDR[:PORT]", required_if_eq("role", "ue"), requires = "role")]
    pub peer: Option<String>,
    /// Address and control port at which the LMF's end waits (--role lmf) [default: 0.0.0.0:7460]
    #[arg(long, value_name = "ADDR:PORT", requires = "role")]
    pub listen: Option<SocketAddr>,
    /// End after the run of one UE (--role lmf) [default: wait for the next one]
    #[arg(long, requires = "role")]
    pub once: bool,
}
