//! RCU grace periods of the programs.
use martlet_bpf::GracePeriod;
use martlet_switch_control::TargetError;

/// Waits until running programs have ended.
pub(crate) fn wait_for_programs(grace_period: &GracePeriod) -> Result<(), TargetError> {
    grace_period
        .wait()
        .map_err(|error| TargetError::engine("waiting for an RCU grace period", error))
}
