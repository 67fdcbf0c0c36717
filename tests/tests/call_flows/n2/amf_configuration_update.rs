//! AMF configuration update (TS 38.413, 8.7.3; TS 23.501, 5.19.3): the relative capacity of an AMF
//! that is drained.
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ie;
use martlet_tests::{RawGnb, TestCore, in_namespace};

/// The relative capacity in the next AMF CONFIGURATION UPDATE.
async fn next_capacity(gnb: &RawGnb) -> Result<Option<u8>> {
    let update = gnb.next_of(Kind::Initiating_AMFConfigurationUpdate).await?;
    Ok(update.ie::<ie::RelativeAMFCapacity>().transpose()?.map(|capacity| capacity.0))
}

#[test]
fn drained_amf_reports_a_relative_capacity_of_0() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.relative_capacity = 7).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        core.query("drain/amf").await?;
        ensure!(next_capacity(&gnb).await? == Some(0), "the capacity while the AMF is drained");
        core.query("undrain/amf").await?;
        ensure!(next_capacity(&gnb).await? == Some(7), "the capacity afterwards");
        Ok(())
    });
}
