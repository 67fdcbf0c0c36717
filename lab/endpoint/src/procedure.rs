//! LPP on top of the channel: the LMF asks what the UE can do, then what it hears, as for a
//! position by NR E-CID (TS 38.305, 8.9).
//!
//! The UE starts it with a payload of no LPP in a session of its own; the LMF takes the time from
//! its first question until it has read the last answer, and tells it to the UE, which is what
//! reports here.
use anyhow::{Context, Result, bail, ensure};
use martlet_lcsupp::{Message as Upp, PayloadType, Transport, lpp_messages, push_lpp_message};
use martlet_lpp::*;
use std::time::{Duration, Instant};

/// The session of the procedure.
pub const SESSION: &[u8] = b"lpp";
/// `ssrsrpSup` and `ssrsrpReq` (TS 37.355, 6.5.9).
const SS_RSRP: usize = 0;
/// Cells that the UE hears beside its own.
const OTHERS: u16 = 5;

fn transport(payload_type: PayloadType, payload: &[u8]) -> Transport<'_> {
    Transport { payload_type, payload, session: SESSION }
}

/// The message with which the UE has the LMF begin.
pub fn beginning() -> Result<Vec<u8>> {
    Ok(Upp::Uplink(transport(PayloadType::Lcs, &[0])).encode()?)
}

fn lpp(number: u8, end: bool, body: Body) -> Result<Vec<u8>> {
    let message = encode(&LppMessage::new(Transaction::ByServer(number), end, body))?;
    let mut payload = Vec::with_capacity(message.len() + 2);
    push_lpp_message(&mut payload, &message)?;
    Ok(payload)
}

/// The one LPP message of a payload.
fn body(transport: &Transport<'_>) -> Result<(Transaction, Body)> {
    let mut messages = lpp_messages(transport.payload)?;
    let message = decode(messages.next().context("no LPP message")?)?;
    let transaction =
        Transaction::of(&message).context("an LPP message without its transaction")?;
    Ok((transaction, Body::of(message).context("an LPP message without a body")?))
}

/// The LMF's side of one procedure after the other.
pub struct Lmf {
    started: Instant,
    number: u8,
}

impl Lmf {
    pub fn new() -> Self {
        Lmf { started: Instant::now(), number: 0 }
    }

    /// What answers an uplink message.
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
            "an answer of another transaction"
        );
        match body {
            Body::ProvideCapabilities(it) => {
                let ecid = it.nr_ecid_provide_capabilities_r16.context("no NR E-CID")?;
                ensure!(ecid.nr_ecid_meas_supported_r16.bit(SS_RSRP), "no SS-RSRP");
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
                ensure!(others.len() == usize::from(OTHERS), "{} cells", others.len());
                let took = self.started.elapsed().as_nanos() as u64;
                Ok(Upp::Downlink(transport(PayloadType::Lcs, &took.to_be_bytes())).encode()?)
            }
            other => bail!("{} was not asked for", other.name()),
        }
    }

    fn ask(&mut self, body: Body) -> Result<Vec<u8>> {
        self.number = self.number.wrapping_add(1);
        Ok(Upp::Downlink(transport(PayloadType::Lpp, &lpp(self.number, false, body)?)).encode()?)
    }
}

fn heard(pci: u16) -> NrMeasuredResultsElementR16 {
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

/// What a UE does with a downlink message of the procedure.
pub enum Next {
    /// It answers.
    Answer(Vec<u8>),
    /// It is over, and took the LMF so long.
    Done(Duration),
}

/// The UE's side.
pub fn next(downlink: &Transport<'_>) -> Result<Next> {
    if downlink.payload_type == PayloadType::Lcs {
        let took =
            u64::from_be_bytes(downlink.payload.try_into().context("a time of another length")?);
        return Ok(Next::Done(Duration::from_nanos(took)));
    }
    let (transaction, body) = body(downlink)?;
    let Transaction::ByServer(number) = transaction else { bail!("a transaction of the UE's own") };
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
                nr_primary_cell_measured_results_r16: heard(1),
                nr_measured_results_list_r16: Some((2..2 + OTHERS).map(heard).collect()),
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
        other => bail!("{} is no question", other.name()),
    };
    Ok(Next::Answer(
        Upp::Uplink(transport(PayloadType::Lpp, &lpp(number, true, answer)?)).encode()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_lcsupp::Framer;

    /// What is done with the one transport in these octets.
    fn with<T>(octets: &[u8], work: impl FnOnce(&Transport<'_>) -> T) -> T {
        let mut framer = Framer::new();
        framer.push(octets);
        match framer.next().unwrap().unwrap() {
            Upp::Uplink(it) | Upp::Downlink(it) => work(&it),
            other => panic!("{}", other.name()),
        }
    }

    #[test]
    fn a_procedure_has_two_questions_and_an_end_with_its_time() {
        let (mut lmf, mut said, mut questions) = (Lmf::new(), beginning().unwrap(), 0);
        let took = loop {
            let down = with(&said, |it| lmf.answer(it)).unwrap();
            match with(&down, next).unwrap() {
                Next::Answer(octets) => said = octets,
                Next::Done(took) => break took,
            }
            questions += 1;
        };
        assert_eq!(questions, 2);
        assert!(took > Duration::ZERO && took < Duration::from_secs(1));
        // An answer comes once.
        assert!(with(&said, |it| Lmf::new().answer(it)).is_err());
    }
}
