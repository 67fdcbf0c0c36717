//! The messages of a UE that act although they are not verified (TS 24.501, 4.4.4.3). Before an
//! integrity check has succeeded on a connection, anyone may have sent its messages. So none of
//! them changes what a verified UE has: they act in a context of their own, which belongs to no
//! subscriber before an authentication succeeds.
use martlet_nas::inbound::Inbound;
use martlet_nas::{Nas5gmmMessage, Nas5gsMessage};

/// What an unverified message may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It starts a procedure in a context without a verified UE.
    Starts,
    /// It answers the request that the running procedure has sent.
    Answers,
    /// It is rejected with a message.
    Rejected,
}

/// A message that may act unverified.
pub(crate) struct Case {
    /// Clauses of TS 24.501.
    pub clause: &'static str,
    pub is: fn(&Nas5gmmMessage) -> bool,
    pub effect: Effect,
    /// What follows.
    pub then: &'static str,
}

macro_rules! cases {
    ($($clause:literal, $message:ident, $effect:ident, $then:literal;)*) => {
        [$(Case {
            clause: $clause,
            is: |message| matches!(message, Nas5gmmMessage::$message(_)),
            effect: Effect::$effect,
            then: $then,
        }),*]
    };
}

/// All of them; any other unverified message is discarded.
#[rustfmt::skip]
pub(crate) const CASES: [Case; 8] = cases! {
    "4.4.4.3 a, 5.5.1.2.3", RegistrationRequest, Starts, "authentication before anything else";
    "4.4.4.3 b, 5.4.3.4", IdentityResponse, Answers, "only a SUCI; the UE is authenticated next";
    "4.4.4.3 c, 5.4.1.3.4", AuthenticationResponse, Answers, "RES* is verified";
    "4.4.4.3 d, 5.4.1.3.7", AuthenticationFailure, Answers, "a new challenge, or a reject";
    "4.4.4.3 e, 5.4.2.5", SecurityModeReject, Answers, "the previous security context stays";
    "4.4.4.3 f, 5.5.2.2.2", DeregistrationRequestUeOriginating, Starts, "accepted: an unknown UE";
    "4.4.4.3 g, 5.5.2.3.3", DeregistrationAcceptUeTerminated, Answers, "the UE is deregistered";
    "4.4.4.3, 5.6.1.5", ServiceRequest, Rejected, "SERVICE REJECT #9";
};

/// The entry for a message.
pub(crate) fn case(message: &Nas5gsMessage) -> Option<&'static Case> {
    let Nas5gsMessage::Gmm(_, message) = message else { return None };
    CASES.iter().find(|case| (case.is)(message))
}

/// Whether a message may act while no procedure runs. `is_secure`: the connection belongs to a
/// verified UE.
pub(crate) fn may_start(inbound: &Inbound, is_secure: bool) -> bool {
    let case = || case(&inbound.message).filter(|_| !is_secure);
    inbound.is_verified()
        || case().is_some_and(|case| matches!(case.effect, Effect::Starts | Effect::Rejected))
}

/// Whether a message that the running procedure does not wait for may preempt it.
pub(crate) fn may_preempt(inbound: &Inbound, is_secure: bool) -> bool {
    let case = || case(&inbound.message).filter(|_| !is_secure);
    inbound.is_verified() || case().is_some_and(|case| case.effect == Effect::Starts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_nas::inbound;

    const SUCI: &str = "000d0100f1100000000000000000102e04f0f0f0f0";

    fn opened(hex: &str, is_secure: bool) -> Option<Inbound> {
        inbound::from_ue(None, is_secure, &hex::decode(hex).unwrap()).ok()
    }

    #[test]
    fn the_table_has_each_message_that_passes_without_a_check() {
        let plain = [
            (format!("7e004179{SUCI}"), Effect::Starts),
            ("7e005c000d0100f110000000000000000010".into(), Effect::Answers),
            (format!("7e00572d10{}", "00".repeat(16)), Effect::Answers),
            ("7e005914".into(), Effect::Answers),
            ("7e005f17".into(), Effect::Answers),
            ("7e004509000bf200f1100101010badcafe".into(), Effect::Starts),
            ("7e0048".into(), Effect::Answers),
        ];
        for (hex, effect) in &plain {
            let inbound = opened(hex, false).unwrap_or_else(|| panic!("{hex} is refused"));
            let case = case(&inbound.message).unwrap_or_else(|| panic!("{hex} has no entry"));
            assert_eq!(case.effect, *effect, "{hex}, {}: {}", case.clause, case.then);
            assert_eq!(may_start(&inbound, false), *effect == Effect::Starts, "{hex}");
            assert_eq!(may_preempt(&inbound, false), *effect == Effect::Starts, "{hex}");
            assert!(!may_start(&inbound, true) && !may_preempt(&inbound, true), "{hex}");
            assert!(opened(hex, true).is_none(), "{hex} on a connection of a verified UE");
        }
        let service = "7e0101020304097e004c10 0007f40101 0badcafe".replace(' ', "");
        let inbound = opened(&service, false).expect("a service request to reject");
        assert!(may_start(&inbound, false) && !may_preempt(&inbound, false));
        // REGISTRATION COMPLETE, CONFIGURATION UPDATE COMPLETE, 5GMM STATUS, UL NAS TRANSPORT.
        for hex in ["7e0043", "7e0055", "7e006462", "7e00670100012e"] {
            assert!(opened(hex, false).is_none(), "{hex}");
        }
    }
}
