//! Programs outside of the subset, or wrong ones: each is refused with its position.
use martlet_p4c_swx::{Source, compile};

/// The user plane's program for PNA.
fn user_plane() -> Source {
    Source::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../p4/upf_pna.p4").as_ref())
        .expect("it is there")
}

/// The smallest program.
const SMALL: &str = "header e_h { bit<48> d; bit<48> s; bit<16> t; }
struct h_t { e_h e; }
struct m_t { bit<32> x; bit<16> y; }
parser P(packet_in p, out h_t hdr, inout m_t meta, in swx_input_t i) {
    state start { p.extract(hdr.e); transition accept; }
}
control C(inout h_t hdr, inout m_t meta, in swx_input_t i, inout swx_output_t o) {
    Counter<bit<32>>(16) n;
    action go(bit<32> port) { o.egress_port = port; }
    action none() { }
    table t {
        key = { hdr.e.d : exact; }
        actions = { go; none; }
        const default_action = none;
        size = 16;
    }
    apply { t.apply(); }
}
control D(packet_out p, in h_t hdr) { apply { p.emit(hdr.e); } }
Switch(P(), C(), D()) main;
";

/// Replaces `what` by `with` and expects an error at the position of `at` in it, with the text
/// `why`. Returns any other outcome.
fn refused((what, with, at, why): &(&str, &str, &str, &str)) -> Option<String> {
    assert!(SMALL.contains(what), "{what}");
    let source = SMALL.replacen(what, with, 1);
    let Err(error) = compile(&source) else { return Some(format!("{with}: not refused")) };
    if !error.message.contains(why) {
        return Some(format!("{with}: {error}"));
    }
    if at.is_empty() {
        return None;
    }
    let begin = source.find(with).expect("it is there") + with.find(at).expect("a part of it");
    let line = source[..begin].matches('\n').count() as u32 + 1;
    let column = source[..begin].rfind('\n').map_or(begin, |end| begin - end - 1) as u32 + 1;
    let found = (error.at.line, error.at.column);
    (found != (line, column)).then(|| format!("{with}: expected at {line}:{column}: {error}"))
}

#[test]
fn the_small_program_and_the_real_one_compile() {
    let program = compile(SMALL).expect("the small program");
    assert_eq!(
        program.spec.apply,
        ["rx m.ingress_port", "extract h.e", "table t", "emit h.e", "tx m.egress_port"]
    );
    let program = compile(user_plane().text()).expect("the user plane");
    assert_eq!(program.info.tables.len(), 18);
}

#[test]
fn constructs_outside_of_the_subset_are_refused_with_position() {
    let cases = [
        ("bit<48> s;", "bit<4> s;", "bit", "whole bytes"),
        ("bit<48> s;", "bit<128> s;", "bit", "whole bytes"),
        ("bit<48> s;", "varbit<48> s;", "varbit", "not within the subset"),
        ("bit<32> x;", "bool x;", "bool", "not within the subset"),
        ("header e_h", "header_union u { }\nheader e_h", "header_union", "not within the subset"),
        ("header e_h", "extern void f();\nheader e_h", "extern", "not within the subset"),
        ("header e_h", "#define X 1\nheader e_h", "#define", "not within the subset"),
        ("header e_h", "#include <v2model.p4>\nheader e_h", "#include", "not within the subset"),
        ("transition accept", "transition reject", "reject", "not within the subset"),
        ("transition accept", "transition start", "start", "leads back to itself"),
        (
            "transition accept;",
            "transition select(hdr.e.t) { 0x800: accept; }",
            "hdr",
            "no default",
        ),
        (
            "transition accept;",
            "transition select(hdr.e.t) { 1..2: accept; default: accept; }",
            "..",
            "ranges",
        ),
        (
            "p.extract(hdr.e);",
            "hdr.e.t = p.lookahead<bit<16>>();",
            "bit",
            "a number or a constant is expected",
        ),
        (
            "transition accept;",
            "transition select(p.lookahead<e_h>()) { default: accept; }",
            "e_h",
            "not within the subset",
        ),
        (
            "transition accept;",
            "transition select(p.lookahead<bit<4>>()) { default: accept; }",
            "bit",
            "whole bytes",
        ),
        (
            "transition accept;",
            "transition select(hdr.lookahead<bit<8>>()) { default: accept; }",
            "hdr",
            "the packet only",
        ),
        (
            "transition accept;",
            "transition select(p.lookahead()) { default: accept; }",
            "()",
            "is expected",
        ),
        ("t.apply();", "exit;", "exit", "not within the subset"),
        ("t.apply();", "switch (t.apply().action_run) { }", "switch", "not within the subset"),
        ("t.apply();", "bit<16> local = 1;", "bit", "not within the subset"),
        ("t.apply();", "meta.x = (bit<32>) hdr.e.t;", "(", "casts"),
        ("t.apply();", "meta.x = meta.x << 2;", "<<", "is expected"),
        ("t.apply();", "meta.x = meta.x[3:0];", "[", "slices"),
        ("t.apply();", "meta.x = ~meta.x;", "~", "not within the subset"),
        ("size = 16;", "size = 16; idle_timeout = true;", "idle_timeout", "not within the subset"),
        ("const default_action = none;", "default_action = go(1);", "1", "with arguments"),
        (
            "Counter<bit<32>>(16) n;",
            "Register<bit<32>>(16) n;",
            "Register",
            "not within the subset",
        ),
    ];
    assert_eq!(cases.iter().filter_map(refused).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn wrong_programs_are_refused_with_position() {
    let cases = [
        ("bit<48> s; bit<16> t;", "bit<48> d; bit<16> t;", "d;", "already declared"),
        ("e_h e;", "f_h e;", "e;", "headers only"),
        ("hdr.e.d : exact", "hdr.e.q : exact", "q", "no field"),
        ("hdr.e.d : exact", "hdr.f.d : exact", "f", "not declared"),
        ("hdr.e.d : exact", "other.d : exact", "other", "unknown name"),
        ("hdr.e.d : exact", "hdr.e.d : selector", "selector", "not a match kind"),
        ("hdr.e.d : exact", "hdr.e.d : lpm; hdr.e.s : ternary", "lpm", "have to be exact"),
        ("hdr.e.d : exact", "hdr.e.s : range; hdr.e.d : lpm", "lpm", "have to be exact"),
        ("hdr.e.d : exact", "hdr.e.d : lpm; hdr.e.s : lpm", "lpm", "have to be exact"),
        ("actions = { go; none; }", "actions = { go; gone; }", "gone", "not an action"),
        ("actions = { go; none; }", "actions = { go; }", "", "not among the actions"),
        ("size = 16;", "size = 0;", "0", "at least 1"),
        ("size = 16;", "size = 99999999;", "99999999", "exceeds the maximum"),
        ("t.apply();", "u.apply();", "u", "not declared"),
        ("t.apply();", "meta.z = 1;", "z", "unknown name"),
        ("t.apply();", "meta.y = 0x10000;", "0x10000", "does not fit"),
        ("t.apply();", "meta.y = 8w1;", "8w1", "8 bits where 16"),
        ("t.apply();", "if (meta.x == hdr.e.t) { t.apply(); }", "hdr", "16 bits where 32"),
        ("t.apply();", "if (1 == 2) { t.apply(); }", "2", "a field"),
        ("t.apply();", "i.ingress_port = 1;", "i.", "cannot be written"),
        ("t.apply();", "n.count(meta.y, meta.y);", "meta.y", "16 bits where 32"),
        ("t.apply();", "go();", "go", "parameters"),
        ("o.egress_port = port;", "t.apply();", "t", "an action cannot apply tables"),
        ("o.egress_port = port;", "port = 1;", "port", "cannot be written"),
        ("p.emit(hdr.e);", "p.emit(hdr.q);", "q", "not declared"),
        ("p.emit(hdr.e);", "hdr.e.setValid();", "hdr", "only emit headers"),
        ("Switch(P(), C(), D()) main;", "Switch(P(), C()) main;", "Switch", "three blocks"),
        ("Switch(P(), C(), D()) main;", "Switch(P(), C(), C()) main;", "", "C needs 2 parameters"),
        ("t.apply();", "t.apply()", "", "\";\" is expected"),
        ("apply { t", "apply /* t", "/*", "not closed"),
    ];
    assert_eq!(cases.iter().filter_map(refused).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn deep_nesting_is_refused() {
    let deep = "(".repeat(100_000);
    let source = SMALL.replacen("t.apply();", &format!("if ({deep}"), 1);
    assert!(compile(&source).expect_err("deep").message.contains("nested"));
    let long = "meta.x + ".repeat(10_000);
    let source = SMALL.replacen("t.apply();", &format!("meta.x = {long} 1;"), 1);
    assert!(compile(&source).expect_err("long").message.contains("terms"));
    let blocks = "{".repeat(100_000);
    let source = SMALL.replacen("t.apply();", &blocks, 1);
    assert!(compile(&source).is_err());
}

#[test]
fn keys_of_several_structs_are_assembled_before_the_table() {
    let source =
        SMALL.replacen("hdr.e.d : exact;", "hdr.e.t : exact; meta.x : exact; hdr.e.d : exact;", 1);
    let program = compile(&source).expect("keys of two structs");
    let at = program.spec.apply.iter().position(|line| line == "table t").expect("the table");
    assert_eq!(
        program.spec.apply[at - 3..at],
        ["mov m.t_key0 h.e.t", "mov m.t_key1 m.x", "mov m.t_key2 h.e.d"]
    );
}

#[test]
fn a_lookahead_leaves_the_packet_unchanged() {
    let select = "transition select(p.lookahead<bit<8>>()) { 0x45: more; 0x60 &&& 0xf0: more; \
                  default: accept; }
    }
    state more { p.extract(hdr.e); transition accept;";
    let program =
        compile(&SMALL.replacen("transition accept;", select, 1)).expect("within the subset");
    let at = program
        .spec
        .apply
        .iter()
        .position(|line| line == "lookahead h.ahead8")
        .expect("the instruction");
    assert_eq!(program.spec.apply[at - 1], "extract h.e");
    let next = &program.spec.apply[at + 1];
    assert!(next.starts_with("jmpeq ") && next.ends_with(" h.ahead8.value 69"), "{next}");
    assert!(program.spec.headers.contains(&("ahead8".into(), "ahead8_h".into())));
    assert!(!program.spec.apply.iter().any(|line| line.starts_with("emit h.ahead")));
}

/// The fuzz target for a while, on programs with pieces removed, duplicated and moved.
#[test]
fn any_text_has_a_result_or_an_error() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = |n: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random % n.max(1) as u64) as usize
    };
    for _ in 0..3000 {
        let mut text = SMALL.as_bytes().to_vec();
        for _ in 0..1 + next(4) {
            let (from, to, length) = (next(text.len()), next(text.len()), next(24));
            let piece: Vec<u8> = text[from..(from + length).min(text.len())].to_vec();
            match next(3) {
                0 => drop(text.drain(from..(from + length).min(text.len()))),
                1 => drop(text.splice(to..to, piece)),
                _ => text[from] = next(128) as u8,
            }
        }
        martlet_p4c_swx::fuzz_compile(&text);
    }
}
