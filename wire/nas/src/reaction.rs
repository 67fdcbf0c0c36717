//! The reaction to a message that does not decode (TS 24.501, 7).

use crate::{
    Direction, GmmCause, Nas5gmmMessage, Nas5gsMessage, Nas5gsmMessage, NasError, NasFGmmCause,
    NasRegistrationReject, NasServiceReject,
};

/// Message types of the requests that have a reject (TS 24.501, 9.7).
const REGISTRATION_REQUEST: u8 = 0x41;
const SERVICE_REQUEST: u8 = 0x4c;

/// The reaction to a message that does not decode.
#[derive(Debug, Clone, PartialEq)]
pub enum DecodeReaction {
    /// Ignore: a message that ends inside its header (7.2.1), an unknown protocol or header type, a
    /// reserved PDU session identity in a message without a reject (7.3.2).
    Ignore,
    /// Answer: 5GMM STATUS or 5GSM STATUS with #97 for an unknown message type (7.4), #96 for a
    /// mandatory information element that is missing or wrong (7.5), or the reject of the
    /// registration, service request or session procedure. It is unprotected: protect it like any
    /// other message of the connection.
    Answer(Box<Nas5gsMessage>),
}

impl DecodeReaction {
    /// The cause of the answer, if there is one: a 5GMM or a 5GSM cause (TS 24.501, 9.11.3.2 and
    /// 9.11.4.2).
    pub fn cause(&self) -> Option<u8> {
        let Self::Answer(answer) = self else { return None };
        match answer.as_ref() {
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::FiveGmmStatus(status)) => {
                Some(status.fgmm_cause.cause_raw())
            }
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationReject(reject)) => {
                Some(reject.fgmm_cause.cause_raw())
            }
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::ServiceReject(reject)) => {
                Some(reject.fgmm_cause.cause_raw())
            }
            Nas5gsMessage::Gsm(_, Nas5gsmMessage::FiveGsmStatus(status)) => {
                Some(status.fgsm_cause.cause_raw())
            }
            Nas5gsMessage::Gsm(_, Nas5gsmMessage::PduSessionEstablishmentReject(reject)) => {
                Some(reject.fgsm_cause.cause_raw())
            }
            Nas5gsMessage::Gsm(_, Nas5gsmMessage::PduSessionModificationReject(reject)) => {
                Some(reject.fgsm_cause.cause_raw())
            }
            Nas5gsMessage::Gsm(_, Nas5gsmMessage::PduSessionReleaseReject(reject)) => {
                Some(reject.fgsm_cause.cause_raw())
            }
            _ => None,
        }
    }
}

/// The reaction to `bytes`, which [`Nas5gsMessage::decode`] refused with `error`. `direction` is
/// that of `bytes`.
pub fn reaction(bytes: &[u8], error: &NasError, direction: Direction) -> DecodeReaction {
    let plain = match error {
        NasError::AuthenticMessageRefused { plain, .. } => &plain[..],
        _ => bytes,
    };
    match Nas5gsMessage::answer_to_refused(bytes, error, direction) {
        Some(answer) => DecodeReaction::Answer(Box::new(of_procedure(plain, answer, direction))),
        None => DecodeReaction::Ignore,
    }
}

/// The answer to a faulty `plain` message. A request of the UE gets the reject of its procedure, if
/// there is one: 5GMM STATUS does not end that (TS 24.501, 5.5.1.2.8, 5.5.1.3.8 and 5.6.1.8:
/// protocol error).
pub(crate) fn of_procedure(
    plain: &[u8],
    answer: Nas5gsMessage,
    direction: Direction,
) -> Nas5gsMessage {
    let is_status = matches!(answer, Nas5gsMessage::Gmm(_, Nas5gmmMessage::FiveGmmStatus(_)));
    if !is_status || direction != Direction::Uplink {
        return answer;
    }
    let cause = NasFGmmCause::from_cause(GmmCause::InvalidMandatoryInformation);
    match plain {
        [0x7e, 0x00, REGISTRATION_REQUEST, ..] => {
            Nas5gsMessage::new_5gmm(NasRegistrationReject::new(cause))
        }
        [0x7e, 0x00, SERVICE_REQUEST, ..] => Nas5gsMessage::new_5gmm(NasServiceReject::new(cause)),
        _ => answer,
    }
}

/// A 5GMM STATUS with this cause, as for a message that does not fit the state of its receiver
/// (#98, #101; 7.4).
pub fn status(cause: GmmCause) -> Nas5gsMessage {
    Nas5gsMessage::new_5gmm(crate::NasFGmmStatus::new(crate::NasFGmmCause::from_cause(cause)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reacted(bytes: &[u8]) -> DecodeReaction {
        let error = Nas5gsMessage::decode(bytes).expect_err("these bytes are no message");
        reaction(bytes, &error, Direction::Uplink)
    }

    #[test]
    fn each_fault_has_the_reaction_of_clause_7() {
        // Too short: ignored. No protocol of 5GS: ignored.
        assert_eq!(reacted(&[0x7e, 0x00]), DecodeReaction::Ignore);
        assert_eq!(reacted(&[0x07, 0x41, 0x00]), DecodeReaction::Ignore);
        // Unknown message type: 5GMM STATUS #97; 5GSM STATUS #97 with PDU session identity and PTI.
        let answer = reacted(&[0x7e, 0x00, 0x01]);
        assert_eq!(answer.cause(), Some(97));
        let DecodeReaction::Answer(answer) = reacted(&[0x2e, 0x05, 0x07, 0x00]) else {
            panic!("no answer")
        };
        assert_eq!(answer.encode().unwrap(), [0x2e, 0x05, 0x07, 0xd6, 97]);
        // A mandatory information element is missing: #96, in the reject of the procedure if it has
        // one.
        let answers: [(&[u8], &[u8]); 4] = [
            (&[0x7e, 0x00, 0x41], &[0x7e, 0x00, 0x44, 96]),
            (&[0x7e, 0x00, 0x4c], &[0x7e, 0x00, 0x4d, 96]),
            (&[0x7e, 0x00, 0x67], &[0x7e, 0x00, 0x64, 96]),
            (&[0x2e, 0x05, 0x01, 0xc1], &[0x2e, 0x05, 0x01, 0xc3, 96]),
        ];
        for (bytes, expected) in answers {
            let reaction = reacted(bytes);
            assert_eq!(reaction.cause(), Some(96), "{bytes:02x?}");
            let DecodeReaction::Answer(answer) = reaction else { panic!("no answer") };
            assert_eq!(answer.encode().unwrap(), expected);
        }
        // A UE has no reject for the network.
        let bytes = [0x7e, 0x00, 0x41];
        let error = Nas5gsMessage::decode(&bytes).expect_err("these bytes are no message");
        let DecodeReaction::Answer(answer) = reaction(&bytes, &error, Direction::Downlink) else {
            panic!("no answer")
        };
        assert_eq!(answer.encode().unwrap(), [0x7e, 0x00, 0x64, 96]);
    }

    #[test]
    fn a_status_has_its_cause() {
        let bytes = status(GmmCause::MessageNotCompatibleWithTheProtocolState).encode().unwrap();
        assert_eq!(bytes, [0x7e, 0x00, 0x64, 101]);
    }
}
