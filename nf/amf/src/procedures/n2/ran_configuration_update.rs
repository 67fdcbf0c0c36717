//! RAN configuration update (TS 38.413, 8.7.2).
//!
//! ```text
//! gNB -> AMF  RAN CONFIGURATION UPDATE
//! AMF -> gNB  RAN CONFIGURATION UPDATE ACKNOWLEDGE or FAILURE
//! ```
use super::ng_setup::{node_name, read_areas, serves};
use crate::Amf;
use crate::metrics::Procedure;
use crate::n2::{Gnb, GnbSetup, Handled};
use martlet_ngap::inbound::{Fault, Received};
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, build_ngap, cause, extract_ngap_ies};
use std::sync::Arc;

/// Applies the update, or rejects it without any change.
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Arc<Gnb>, received: &Received<'_>) -> Handled {
    let procedure = Procedure::start("ran_configuration_update");
    let pdu = &received.pdu;
    let Some(before) = gnb.setup() else {
        return Err(Fault::state(pdu, "received before NG setup").into());
    };
    let mut setup = read(pdu, &before).map_err(|error| Fault::of(pdu, &error))?;
    if let Some(name) = node_name(amf, gnb, pdu) {
        setup.name = Some(name);
    }
    let answer = match serves(amf, &setup.areas) {
        Ok(()) => {
            amf.gnbs.apply_setup(gnb, Some(setup));
            if let Some(suppressed) = martlet_log_limit::line("ran_configuration", gnb.address.ip())
            {
                tracing::info!(gnb = gnb.label(), suppressed, "gNB configuration updated");
            }
            procedure.succeeded();
            build_ngap!(
                SuccessfulOutcome,
                RANConfigurationUpdate,
                RANConfigurationUpdateAcknowledge,
            )
        }
        Err(why) => {
            if let Some(suppressed) = martlet_log_limit::line("ran_configuration", gnb.address.ip())
            {
                tracing::warn!(
                    gnb = gnb.label(),
                    cause = cause::text(&why),
                    suppressed,
                    "gNB configuration update rejected"
                );
            }
            procedure.failed("refused");
            build_ngap!(
                UnsuccessfulOutcome,
                RANConfigurationUpdate,
                RANConfigurationUpdateFailure,
                Cause(why),
                TimeToWait(TimeToWait::v10s),
            )
        }
    };
    Ok(answer.into_iter().collect())
}

/// The gNB's setup data with the update applied, except its name.
fn read(pdu: &NGAPPDU<'_>, before: &GnbSetup) -> Result<GnbSetup, Error> {
    extract_ngap_ies!(pdu, RANConfigurationUpdate,
        opt areas: SupportedTAList = SupportedTAList(areas) => areas,
    );
    let mut setup = before.clone();
    if let Some(areas) = areas {
        setup.areas = read_areas(&areas);
    }
    Ok(setup)
}
