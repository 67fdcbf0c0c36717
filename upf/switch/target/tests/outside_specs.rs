//! The compiler's output compared with foreign `.spec` files: DPDK's examples, which
//! `deploy/install/swx-headers.sh` fetches.
//!
//! For each example that the P4 subset can express, an equivalent P4 program is compiled. DPDK's
//! own parser and code generator process both texts, which have to give the same results for the
//! same packets and entries. Every form of statement in our output also occurs in an example or in
//! a short list, which DPDK's parser accepts when Martlet is built.
mod common;
mod examples;

use common::*;
use examples::{Examples, forms};
use martlet_p4c_swx::{Program, compile};
use martlet_switch_control::model::{Call, FieldMatch, Key, Operation, TableEntry, Update};
use martlet_switch_control::tables::Tables;
use martlet_switch_target::{Engine, Ports, Switch, SwitchTarget, UPF, dpdk};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// One switch at a time, because of its memory.
static ONE: Mutex<()> = Mutex::new(());

const IPV4: &str = include_str!("examples/ipv4.p4");

/// Results of a pipeline: output and counters.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    frames: Vec<(u32, Vec<u8>)>,
    counted: Vec<u64>,
}

/// Input of each pipeline.
struct Round<'a> {
    /// Table entries.
    updates: &'a [Update],
    /// Rate in bytes per second and burst in bytes of the meters of this name, from index 0 on.
    meters: Option<(u32, (u64, u64))>,
    /// Ingress ports and frames.
    frames: &'a [(u32, Vec<u8>)],
}

/// Runs an example and our program, the latter on both engines; `names` are equivalent arrays of
/// the two.
fn compare(
    example: &str,
    source: &str,
    round: &Round<'_>,
    names: &[(&str, &str)],
) -> Option<Outcome> {
    let examples = Examples::find()?;
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    dpdk::start(768).expect("DPDK");
    let program = Arc::new(program(source));
    let theirs =
        examples.library(&examples.text(example)).unwrap_or_else(|why| panic!("{example}: {why}"));
    let ours = examples
        .library(&program.spec.to_string())
        .unwrap_or_else(|why| panic!("ours of {example}: {why}"));
    let theirs_name = |name: &&(&str, &str)| name.0.to_owned();
    let ours_name = |name: &&(&str, &str)| name.1.to_owned();
    let run = |switch: Switch, array: &dyn Fn(&&(&str, &str)) -> String| {
        let arrays: Vec<String> = names.iter().map(|name| array(&name)).collect();
        outcome(&program, Arc::new(switch), round, &arrays)
    };
    let expected =
        run(Switch::of_library(program.clone(), &theirs).expect("their pipeline"), &theirs_name);
    let compiled =
        run(Switch::of_library(program.clone(), &ours).expect("our pipeline"), &ours_name);
    assert_eq!(compiled, expected, "{example}, as machine code");
    let interpreted =
        Switch::new(program.clone(), Ports::Rings, Engine::Interpreter).expect("our pipeline");
    assert_eq!(run(interpreted, &ours_name), expected, "{example}, interpreted");
    Some(expected)
}

/// Our program. The action that only our program has is not in a table here.
fn program(source: &str) -> Program {
    let mut program = compile(source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    program.info.actions.retain(|action| action.alias != "NoAction");
    program
}

fn outcome(
    program: &Arc<Program>,
    switch: Arc<Switch>,
    round: &Round<'_>,
    arrays: &[String],
) -> Outcome {
    if !round.updates.is_empty() {
        let target =
            Arc::new(SwitchTarget::new(switch.clone()).expect("the same tables and actions"));
        Tables::new(program.clone(), target).write(round.updates).expect("entries");
    }
    if let Some((n, rate)) = round.meters {
        (0..n).for_each(|index| switch.set_meter("meters", index, Some(rate)).expect("a meter"));
    }
    let mut frames = Vec::new();
    for (port, frame) in round.frames {
        switch.inject(*port, frame).expect("space in the ring");
        switch.settle();
        // Frames at the controller's port have the format of our own program.
        for port in 0..martlet_switch_target::CONTROLLER {
            frames.extend(std::iter::from_fn(|| switch.collect(port)).map(|frame| (port, frame)));
        }
    }
    let counted = arrays
        .iter()
        .flat_map(|array| (0..8).map(|n| switch.register(array, n).expect("a register")));
    Outcome { frames, counted: counted.collect() }
}

fn with_ipv4(program: &str) -> String {
    [IPV4, program].concat()
}

/// A frame whose source is a small number, which indexes the arrays.
fn from(source: u8, bytes: usize) -> Vec<u8> {
    ethernet(&ipv4(17, 64, [0, 0, 0, source], REMOTE, &udp(1000, 53, &vec![source; bytes])))
}

#[test]
fn link_addresses_are_swapped() {
    let frames = [(0, from(1, 20)), (1, from(2, 200)), (2, from(3, 0)), (3, from(4, 1400))];
    let round = Round { updates: &[], meters: None, frames: &frames };
    let Some(outcome) =
        compare("l2fwd_macswp", include_str!("examples/l2fwd_macswp.p4"), &round, &[])
    else {
        return;
    };
    assert_eq!(outcome.frames.iter().map(|(port, _)| *port).collect::<Vec<_>>(), [1, 0, 3, 2]);
    let (received, left) = (&frames[0].1, &outcome.frames[0].1);
    assert_eq!(
        (&left[..6], &left[6..12], &left[12..]),
        (&received[6..12], &received[..6], &received[12..])
    );
}

#[test]
fn packets_and_bytes_are_counted_by_their_source() {
    let frames: Vec<_> =
        [(1, 0), (2, 5), (1, 100), (7, 1000), (2, 1)].map(|(n, bytes)| (0, from(n, bytes))).into();
    let round = Round { updates: &[], meters: None, frames: &frames };
    let names = [("pkt_counters", "sources_packets"), ("byte_counters", "sources_bytes")];
    let source = with_ipv4(include_str!("examples/registers.p4"));
    let Some(outcome) = compare("registers", &source, &round, &names) else { return };
    assert_eq!(outcome.counted[..8], [0, 2, 2, 0, 0, 0, 0, 1]);
    assert_eq!(outcome.counted[8..], [0, 156, 62, 0, 0, 0, 0, 1028]);
}

#[test]
fn meters_return_the_same_colours() {
    // So slow that no more packets pass during the test.
    let frames: Vec<_> = [(1, 400), (1, 400), (2, 900), (1, 400), (2, 100), (3, 1400)]
        .map(|(n, bytes)| (4, from(n, bytes)))
        .into();
    let round = Round { updates: &[], meters: Some((8, (1, 1000))), frames: &frames };
    let source = with_ipv4(include_str!("examples/meter.p4"));
    let Some(outcome) = compare("meter", &source, &round, &[]) else { return };
    let ports: Vec<u32> = outcome.frames.iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [0, 0, 0, 2, 2, 2], "green is 0, and red is 2");
}

#[test]
fn frames_are_tunnelled_by_a_table_entry() {
    let source = with_ipv4(include_str!("examples/vxlan.p4"));
    let action = program(&source)
        .info
        .actions
        .iter()
        .position(|action| action.alias == "vxlan_encap")
        .expect("an action");
    let (source_v4, destination_v4) = ([192, 0, 2, 1], [192, 0, 2, 2]);
    // The outer header before the inner length is added: 50 bytes of its own.
    let mut around = ipv4(17, 64, source_v4, destination_v4, &[0; 30]);
    around[6] = 0;
    around[10..12].fill(0);
    let sum = u64::from(checksum(&around[..20]));
    let number = |address: [u8; 4]| u64::from(u32::from_be_bytes(address));
    let entry = |n: u64, port: u64| {
        let arguments = [
            0xa0a1_a2a3_0000 + n,
            0xb0b1_b2b3_0000 + n,
            0x0800,
            0x45,
            0,
            50,
            0,
            0,
            64,
            17,
            sum,
            number(source_v4),
            number(destination_v4),
            0xe000 + n,
            4789,
            30,
            0,
            8,
            0,
            0x0012_3400 + n,
            0,
            port,
        ];
        let key = Key { fields: vec![FieldMatch::Exact(0xaabb_ccdd_0000 + n)], priority: 0 };
        let call = Call { action, arguments: arguments.to_vec() };
        Update {
            operation: Operation::Insert,
            entry: TableEntry { table: 0, key, call, metadata: Vec::new() },
        }
    };
    let updates: Vec<Update> = (0..4).map(|n| entry(n, n)).collect();
    let to = |n: u8, bytes: usize| {
        let mut frame = from(1, bytes);
        frame[..6].copy_from_slice(&[0xaa, 0xbb, 0xcc, 0xdd, 0, n]);
        (5, frame)
    };
    // The last frame has no entry.
    let frames = [to(0, 20), to(3, 700), to(1, 1300), to(9, 64)];
    let round = Round { updates: &updates, meters: None, frames: &frames };
    let Some(outcome) = compare("vxlan", &source, &round, &[]) else { return };
    let ports: Vec<u32> = outcome.frames.iter().map(|(port, _)| *port).collect();
    assert_eq!(ports, [0, 3, 1]);
    for ((_, frame), (_, received)) in outcome.frames.iter().zip(&frames) {
        assert_eq!(checksum(&frame[14..34]), 0, "the checksum of the outer header");
        assert_eq!((frame.len(), &frame[50..]), (received.len() + 50, &received[..]));
    }
}

/// Statement forms that occur in no example. DPDK's parser accepts each of them at build time, or
/// the build fails.
const ONLY_OURS: [&str; 15] = [
    "V wildcard",
    "and V V",
    "ckadd V H",
    "invalidate H",
    "jmp W",
    "jmpeq W V N",
    "jmpeq W V V",
    "jmpgt W V V",
    "jmph W",
    "jmplt W V N",
    "jmplt W V V",
    "jmpneq W V V",
    "jmpnv W H",
    "or V N",
    "regprefetch W V",
];

#[test]
fn our_output_has_the_forms_of_the_examples() {
    let Some(examples) = Examples::find() else { return };
    let theirs: BTreeSet<String> =
        examples.names().iter().flat_map(|name| forms(&examples.text(name))).collect();
    // The examples are parsed, and as intended.
    for form in [
        "extract H",
        "table W",
        "mov V V",
        "default_action W args none const",
        "regarray W size N initval N",
    ] {
        assert!(theirs.contains(form), "{form}: {theirs:?}");
    }
    let ours = forms(&compile(UPF).expect("our program").spec.to_string());
    let alone: Vec<&str> = ours.difference(&theirs).map(String::as_str).collect();
    let mut known = ONLY_OURS.to_vec();
    known.retain(|form| ours.contains(*form));
    assert_eq!(alone, known, "forms that occur in no example");
}

#[test]
fn the_parser_of_dpdk_accepts_our_output_and_reports_errors() {
    let Some(examples) = Examples::find() else { return };
    let spec = compile(UPF).expect("our program").spec.to_string();
    examples.code(&spec).expect("DPDK accepts our output");
    for name in examples.names() {
        examples.code(&examples.text(&name)).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    // The parser does check its input.
    for (what, with) in [
        ("\trx m.", "\trxx m."),
        (" instanceof ", " instance "),
        ("\tsize ", "\tsizes "),
        ("bit<", "bits<"),
    ] {
        let wrong = spec.replacen(what, with, 1);
        let line = spec[..spec.find(what).expect("it is there")].lines().count();
        let why = examples.code(&wrong).expect_err(with);
        assert!(
            why.contains(&format!(":{}:", line + usize::from(what.starts_with('\t'))))
                || why.contains("rror"),
            "{with}: {why}"
        );
    }
}
