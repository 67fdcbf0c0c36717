//! What the gNB measures of a UE for LMFs (TS 38.455, 8.2 and 8.4).
use crate::gnb::sounding_reference_signals::Signal;
use crate::radio_environment::RadioEnvironment;
use std::collections::HashMap;
use tokio::task::AbortHandle;

/// The running measurements of a UE, and the signal that it sends for others to measure.
#[derive(Debug, Default)]
pub(crate) struct Measurements {
    /// The UE's position and the cells that it receives; `None` without positioning.
    pub(crate) environment: Option<RadioEnvironment>,
    /// Running E-CID measurements, by LMF UE Measurement ID.
    pub(crate) reports: HashMap<i64, AbortHandle>,
    /// The configured sounding reference signal.
    pub(crate) signal: Option<Signal>,
}

impl Measurements {
    /// Ends all measurements when the connection ends.
    pub(crate) fn end(&mut self) {
        self.reports.drain().for_each(|(_, report)| report.abort());
        self.signal = None;
    }
}

impl Drop for Measurements {
    fn drop(&mut self) {
        self.end();
    }
}
