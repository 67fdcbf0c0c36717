//! LPP on top of the channel: the LMF requests the UE's capabilities and then its measurements, as
//! for NR E-CID positioning (TS 38.305, 8.9).
//!
//! The UE triggers the procedure with a payload that is not LPP, in a session of its own. The LMF
//! measures the time from its first request until it has decoded the last response, and sends it to
//! the UE, which reports it.
use anyhow::{Context, Result, bail, ensure};
use martlet_lcsupp::{Message as Upp, PayloadType, Transport, lpp_messages, push_lpp_message};
use martlet_lpp::*;
use std::time::{Duration, Instant};

/// The session of the procedure.
pub const SESSION: &[u8] = b"lpp";
/// `ssrsrpSup` and `ssrsrpReq` (TS 37.355, 6.5.9).
const SS_RSRP: usize = 0;
/// Number of neighbour cells that the UE measures.
const NEIGHBOURS: u16 = 5;

fn transport(payload_type: PayloadType, payload: &[u8]) -> Transport<'_> {
    Transport { payload_type, payload, session: SESSION }
}

/// The message that triggers the procedure at the LMF.
pub fn trigger() -> Result<Vec<u8>> {
    Ok(Upp::Uplink(transport(PayloadType::Lcs, &[0])).encode()?)
}

fn lpp(number: u8, end: bool, body: Body) -> Result<Vec<u8>> {
    let message = encode(&LppMessage::new(Transaction::ByServer(number), end, body))?;
    let mut payload = Vec::with_capacity(message.len() + 2);
    push_lpp_message(&mut payload, &message)?;
    Ok(payload)
}

/// Decodes the LPP message of a payload.
fn body(transport: &Transport<'_>) -> Result<(Transaction, Body)> {
    let mut messages = lpp_messages(transport.payload)?;
    let message = decode(messages.next().context("the payload is not an LPP message")?)?;
    let transaction = Transaction::of(&message).context("the LPP message has no transaction ID")?;
    Ok((transaction, Body::of(message).context("the LPP message has no body")?))
}

/// The LMF's side, for successive procedures.
pub struct Lmf {
    started: Instant,
    number: u8,
}

impl Lmf {
    pub fn new() -> Self {
        Lmf { started: Instant::now(), number: 0 }
    }

    /// Encodes the response to an uplink message.
    pub fn answer(&mut self, uplink: &Transport<'_>) -> Result<Vec<u8>> {
        if uplink.payload_type == PayloadType::Lcs {
            self.started = Instant::now();
            return self.ask(Body::RequestCapabilities(
                RequestCapabilitiesR9IEs {
                    nr_ecid_request_capabilities_r16: Some(NrEcidRequestCapabilitiesR16::default()),
                    ..Default::default()
                }
                .into(),
            ));
        }
        let (transaction, body) = body(uplink)?;
        ensure!(
            transaction == Transaction::ByServer(self.number),
            "the response has another transaction ID"
        );
        match body {
            Body::ProvideCapabilities(it) => {
                let ecid = it.nr_ecid_provide_capabilities_r16.context("NR E-CID is missing")?;
                ensure!(ecid.nr_ecid_meas_supported_r16.bit(SS_RSRP), "SS-RSRP is missing");
                self.ask(Body::RequestLocationInformation(
                    RequestLocationInformationR9IEs {
                        nr_ecid_request_location_information_r16: Some(
                            NrEcidRequestLocationInformationR16 {
                                requested_measurements_r16: BitString::from_ones(4, &[SS_RSRP]),
                            },
                        ),
                        ..Default::default()
                    }
                    .into(),
                ))
            }
            Body::ProvideLocationInformation(it) => {
                let measured = it.nr_ecid_provide_location_information_r16;
                let measured =
                    measured.and_then(|it| it.nr_ecid_signal_measurement_information_r16);
                let others = measured
                    .context("no measurements")?
                    .nr_measured_results_list_r16
                    .unwrap_or_default();
                ensure!(others.len() == usize::from(NEIGHBOURS), "{} cells", others.len());
                let elapsed = self.started.elapsed().as_nanos() as u64;
                Ok(Upp::Downlink(transport(PayloadType::Lcs, &elapsed.to_be_bytes())).encode()?)
            }
            other => bail!("{} was not requested", other.name()),
        }
    }

    fn ask(&mut self, body: Body) -> Result<Vec<u8>> {
        self.number = self.number.wrapping_add(1);
        Ok(Upp::Downlink(transport(PayloadType::Lpp, &lpp(self.number, false, body)?)).encode()?)
    }
}

fn measured(pci: u16) -> NrMeasuredResultsElementR16 {
    NrMeasuredResultsElementR16 {
        nr_phys_cell_id_r16: pci,
        nr_arfcn_r16: NrMeasuredResultsElementR16NrArfcnR16::SsbArfcnR16(632_448),
        results_ssb_cell_r16: Some(MeasQuantityResultsR16 {
            nr_rsrp_r16: Some(60 + pci as u8),
            nr_rsrq_r16: None,
        }),
        ..Default::default()
    }
}

/// The UE's action after a downlink message.
pub enum Next {
    /// Send this response.
    Answer(Vec<u8>),
    /// The procedure is complete; the LMF measured this time.
    Done(Duration),
}

/// The UE's side.
pub fn next(downlink: &Transport<'_>) -> Result<Next> {
    if downlink.payload_type == PayloadType::Lcs {
        let elapsed = u64::from_be_bytes(
            downlink.payload.try_into().context("the time does not have 8 bytes")?,
        );
        return Ok(Next::Done(Duration::from_nanos(elapsed)));
    }
    let (transaction, body) = body(downlink)?;
    let Transaction::ByServer(number) = transaction else {
        bail!("the transaction was not initiated by the LMF")
    };
    let answer = match body {
        Body::RequestCapabilities(_) => Body::ProvideCapabilities(
            ProvideCapabilitiesR9IEs {
                nr_ecid_provide_capabilities_r16: Some(
                    NrEcidProvideCapabilitiesR16 {
                        nr_ecid_meas_supported_r16: BitString::from_ones(4, &[SS_RSRP]),
                        ..Default::default()
                    }
                    .into(),
                ),
                ..Default::default()
            }
            .into(),
        ),
        Body::RequestLocationInformation(_) => {
            let measured = NrEcidSignalMeasurementInformationR16 {
                nr_primary_cell_measured_results_r16: measured(1),
                nr_measured_results_list_r16: Some((2..2 + NEIGHBOURS).map(measured).collect()),
            };
            Body::ProvideLocationInformation(
                ProvideLocationInformationR9IEs {
                    nr_ecid_provide_location_information_r16: Some(
                        NrEcidProvideLocationInformationR16 {
                            nr_ecid_signal_measurement_information_r16: Some(measured.into()),
                            ..Default::default()
                        },
                    ),
                    ..Default::default()
                }
                .into(),
            )
        }
        other => bail!("{} is not a request", other.name()),
    };
    Ok(Next::Answer(
        Upp::Uplink(transport(PayloadType::Lpp, &lpp(number, true, answer)?)).encode()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_lcsupp::Framer;

    /// Passes the decoded message in `bytes` to `work`.
    fn with<T>(bytes: &[u8], work: impl FnOnce(&Transport<'_>) -> T) -> T {
        let mut framer = Framer::new();
        framer.push(bytes);
        match framer.next().unwrap().unwrap() {
            Upp::Uplink(it) | Upp::Downlink(it) => work(&it),
            other => panic!("{}", other.name()),
        }
    }

    #[test]
    fn a_procedure_has_two_requests_and_reports_its_duration() {
        let (mut lmf, mut reply, mut questions) = (Lmf::new(), trigger().unwrap(), 0);
        let elapsed = loop {
            let down = with(&reply, |it| lmf.answer(it)).unwrap();
            match with(&down, next).unwrap() {
                Next::Answer(bytes) => reply = bytes,
                Next::Done(elapsed) => break elapsed,
            }
            questions += 1;
        };
        assert_eq!(questions, 2);
        assert!(elapsed > Duration::ZERO && elapsed < Duration::from_secs(1));
        // A repeated response is rejected.
        assert!(with(&reply, |it| Lmf::new().answer(it)).is_err());
    }
}
