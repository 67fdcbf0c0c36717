//! The model of the stateful fuzzer: which unprotected NAS messages may have an effect.
use super::ATTACKERS;
use super::grammar::Grammar;
use super::guti_octets;
use crate::site::*;
use anyhow::{Context, ensure};
use martlet_ran::Gnb;
use martlet_ran::gnb::N2Link;
use martlet_tests::{GATEWAY, RawGnb, in_namespace_within, reaches};
use std::time::Duration;

/// What a message may change that arrives without valid NAS security for the UE whose identity it
/// names (TS 24.501, 4.4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It starts a procedure in a new context. The context of the named UE is unchanged.
    OwnContext,
    /// It is answered or discarded, and nothing changes.
    None,
}

/// An unprotected NAS message: its name, the clause, its effect, and its bytes. `T` stands for the
/// 5G-TMSI with AMF set and pointer, `G` for the 5G-GUTI, `S` for a random subscriber, `R` for
/// random bytes.
pub type Unprotected = (&'static str, &'static str, Effect, &'static str);

/// The model: the effects of an attacker's message that has the 5G-GUTI of a bystander. Other
/// messages, and these with a wrong MAC, have no more effects.
pub const UNPROTECTED: [Unprotected; 14] = [
    (
        "Registration Request, SUCI",
        "4.4.4.3",
        Effect::OwnContext,
        "7e004179 000d01 00f110 0000 0000 S 2e02f0f0",
    ),
    ("Registration Request, 5G-GUTI", "5.5.1.2", Effect::OwnContext, "7e004101 000b G 2e02f0f0"),
    ("Mobility registration, 5G-GUTI", "5.5.1.3", Effect::OwnContext, "7e004102 000b G 2e02f0f0"),
    ("Service Request", "5.6.1.7", Effect::None, "7e004c00 0007 T"),
    ("Control Plane Service Request", "5.6.1.7", Effect::None, "7e004f00 0007 T"),
    ("Deregistration Request", "4.4.4.3", Effect::None, "7e004509 000b G"),
    ("Deregistration Accept", "4.4.4.3", Effect::None, "7e0046"),
    ("Identity Response", "4.4.4.3", Effect::OwnContext, "7e005c 000d01 00f110 0000 0000 S"),
    ("Authentication Response", "4.4.4.3", Effect::OwnContext, "7e00572d10 RRRR"),
    ("Authentication Failure", "4.4.4.3", Effect::OwnContext, "7e005915300e RRR 0000"),
    ("Security Mode Complete", "4.4.4.3", Effect::None, "7e005e"),
    ("Security Mode Reject", "4.4.4.3", Effect::OwnContext, "7e005f18"),
    ("UL NAS Transport", "4.4.4.3", Effect::None, "7e0067010004 2e0101c1 1201"),
    ("Registration Complete", "4.4.4.3", Effect::None, "7e0043"),
];

/// Types of NAS messages with which the AMF starts a procedure: AUTHENTICATION REQUEST, IDENTITY
/// REQUEST, SECURITY MODE COMMAND.
const STARTED: [u8; 3] = [0x56, 0x5b, 0x5d];

#[test]
fn each_unprotected_message_has_the_effect_of_the_model() {
    in_namespace_within(Duration::from_secs(300), || async {
        let site = Site::new("fuzz-model")?;
        let core = site.start(&["--split"])?;
        let gnb = Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?;
        let bystander = ue(&gnb, 1)?;
        bystander.register().await?;
        bystander.establish_pdu_session(super::internet()).await?;
        let link = N2Link::connect(&gnb_config(ATTACKERS[0], "127.0.0.5:38412")?).await?;
        let attacker = RawGnb::over(link, ATTACKERS[0]);
        attacker.send(attacker.ng_setup("001", 1)).await?;
        attacker.next().await?;
        let mut ran_id = 0;
        for idle in [false, true] {
            if idle {
                bystander.release_to_idle().await?;
            }
            let before = bystander.status().await?;
            let mut grammar = Grammar::new(1, guti_octets(before.guti.context("a 5G-GUTI")?)?);
            for (name, clause, effect, text) in UNPROTECTED {
                for protected in [false, true] {
                    let mut nas = grammar.unprotected(text);
                    if protected {
                        nas = [&[0x7e, 1, 1, 2, 3, 4, 0][..], &nas].concat();
                    }
                    ran_id += 1;
                    let answers =
                        attacker.answers_to(ran_id, &nas, Duration::from_millis(300)).await?;
                    let started = answers.iter().any(|kind| STARTED.contains(kind));
                    ensure!(
                        effect == Effect::OwnContext || !started,
                        "{name} ({clause}), idle {idle}, wrong MAC {protected}: {answers:02x?}"
                    );
                    let after = bystander.status().await?;
                    ensure!(
                        (after.connected, after.guti, &after.active_user_planes)
                            == (before.connected, before.guti, &before.active_user_planes),
                        "{name} ({clause}) changed the bystander: {after:?}"
                    );
                }
            }
            reaches(&bystander, 1, GATEWAY).await?;
        }
        bystander.deregister().await?;
        gnb.shutdown().await;
        core.stop()
    });
}

#[test]
fn messages_of_the_model_are_of_their_type() {
    let mut grammar = Grammar::new(1, [0xf2, 0, 0xf1, 0x10, 1, 0, 0x41, 1, 2, 3, 4]);
    for (name, clause, effect, text) in UNPROTECTED {
        let message = grammar.unprotected(text);
        assert_eq!(message[..2], [0x7e, 0], "{name}");
        let decoded = martlet_nas::Nas5gsMessage::decode(&message);
        assert!(decoded.is_ok(), "{name} ({clause}, {effect:?}): {decoded:?} {message:02x?}");
    }
}
