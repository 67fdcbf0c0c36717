//! The BPF back end: what it refuses in addition to the subset, and properties of its output.
//! `target/tests/engines.rs` compares its behaviour with DPDK's pipeline.
use martlet_p4c_swx::{Source, compile_ebpf};

/// The user plane's program for PNA.
fn program() -> Source {
    Source::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../p4/upf_pna.p4").as_ref())
        .expect("it is there")
}

/// A small program with an extracted header, one that may be prepended, and a ternary table.
const SMALL: &str = "header e_h { bit<48> d; bit<48> s; bit<16> t; }
header i_h { bit<32> a; bit<32> b; }
struct h_t { i_h front; e_h e; i_h i; }
struct m_t { bit<32> x; bit<16> y; bit<64> z; }
parser P(packet_in p, out h_t hdr, inout m_t meta, in swx_input_t i) {
    state start {
        p.extract(hdr.e);
        transition select(hdr.e.t) { 0x800: more; default: accept; }
    }
    state more { p.extract(hdr.i); transition accept; }
}
control C(inout h_t hdr, inout m_t meta, in swx_input_t i, inout swx_output_t o) {
    action go(bit<32> port) { o.egress_port = port; hdr.front.setValid(); }
    action none() { }
    table t {
        key = { meta.x : ternary; meta.y : range; }
        actions = { go; none; }
        const default_action = none;
        size = 16;
    }
    apply { meta.x = hdr.i.a; meta.y = 0; meta.z = 0; t.apply(); }
}
control D(packet_out p, in h_t hdr) { apply { p.emit(hdr.front); p.emit(hdr.e); p.emit(hdr.i); } }
Switch(P(), C(), D()) main;
";

#[test]
fn the_user_plane_and_a_small_program_compile_to_c() {
    let output = compile_ebpf(program().text()).expect("the user plane");
    assert_eq!(output.layout.tables.len(), 18);
    for text in [
        "EXACT_TABLE(gtp_decap, 40960, 131072, 64)",
        "MASKED_TABLE_3(applications_v6",
        "LONGEST_PARSED 122",
    ] {
        assert!(output.code.contains(text), "{text}");
    }
    // Only the Ethernet header moves: all others stay in place, or are new.
    assert_eq!(output.code.matches("const int moves_").count(), 1);
    let output = compile_ebpf(SMALL).expect("the small program");
    assert!(!output.code.contains("const int moves_"), "no header precedes the new one");
    assert_eq!(output.layout.tables[0].fields, [(0, 32), (0, 16)]);
    assert_eq!(output.layout.tables[0].pack(&[7, 0x1234]), [7 << 32 | 0x1234 << 16]);
}

#[test]
fn constructs_that_bpf_does_not_support_are_refused_with_position() {
    for (what, with, at, why) in [
        ("hdr.front.setValid()", "hdr.i.setValid()", "i.setValid", "cannot make it valid"),
        (
            "meta.x : ternary; meta.y : range;",
            "meta.y : range; meta.x : ternary;",
            "range",
            "entries are found by it",
        ),
        (
            "meta.x : ternary; meta.y : range;",
            "meta.x : exact; meta.z : exact;",
            "",
            "more than 64 bits",
        ),
        (
            "p.emit(hdr.e); p.emit(hdr.i);",
            "p.emit(hdr.i); p.emit(hdr.e);",
            "e);",
            "in the order in which the parser extracts them",
        ),
        ("p.emit(hdr.i);", "p.emit(hdr.e);", "e);", "emitted twice"),
        (
            "state more { p.extract(hdr.i);",
            "state more { p.extract(hdr.e);",
            "e);",
            "extracted before",
        ),
        // Constructs outside of the subset are refused as well.
        ("bit<32> x;", "bit<4> x;", "bit", "whole bytes"),
    ] {
        assert!(SMALL.contains(what), "{what}");
        let source = SMALL.replacen(what, with, 1);
        let error = compile_ebpf(&source).expect_err(with);
        assert!(error.message.contains(why), "{with}: {error}");
        if !at.is_empty() {
            let begin =
                source.find(with).expect("it is there") + with.rfind(at).expect("a part of it");
            let line = source[..begin].matches('\n').count() as u32 + 1;
            assert_eq!(error.at.line, line, "{with}: {error}");
        }
    }
}
