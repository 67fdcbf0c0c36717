//! The service that is called: what goes in comes out.
use martlet_sbi::{Problem, service};
use martlet_sbi_api::nsmf_pdusession::SmContextRetrievedData;

service! {
    /// Gives back what it gets.
    pub Mirror / MirrorClient / MIRROR = "nmirror" / "v1" {
        /// Gives back an SM context.
        op mirror "Mirror": POST "/contexts/{id}", path(id), body(SmContextRetrievedData),
            returns(SmContextRetrievedData), errors[];
        /// Processor time that the process has used, in nanoseconds.
        op cost "Cost": GET "/cost", path(), returns(serde_json::Value), errors[];
    }
}

/// The producer.
pub struct Server;

impl Mirror for Server {
    async fn mirror(&self, _: &str, body: SmContextRetrievedData) -> Result<SmContextRetrievedData, Problem> {
        Ok(body)
    }
    async fn cost(&self) -> Result<serde_json::Value, Problem> {
        Ok(processor_time().into())
    }
}

/// Processor time that this process has used, in nanoseconds.
pub fn processor_time() -> u64 {
    use nix::sys::resource::{UsageWho, getrusage};
    let ns = |t: nix::sys::time::TimeVal| t.tv_sec() as u64 * 1_000_000_000 + t.tv_usec() as u64 * 1000;
    getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| ns(usage.user_time()) + ns(usage.system_time()))
}

/// An SM context of 1.7 KB as JSON without spaces.
pub fn body() -> anyhow::Result<SmContextRetrievedData> {
    Ok(serde_json::from_str(include_str!("body.json"))?)
}
