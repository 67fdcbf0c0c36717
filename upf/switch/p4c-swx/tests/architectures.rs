//! Programs for PNA, PSA, v1model and TNA: what controllers see of them, and what is refused.
use martlet_p4c_swx::spec::Match;
use martlet_p4c_swx::{CompileError, P4Info, Source, compile, compile_ebpf, describe};

fn source(architecture: &str) -> Source {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../p4/upf_");
    Source::read(format!("{folder}{architecture}.p4").as_ref()).expect("it is there")
}

fn described(architecture: &str) -> P4Info {
    let source = source(architecture);
    describe(source.text()).unwrap_or_else(|error| panic!("{}", source.explain(&error)))
}

/// Everything of a P4Info that does not depend on the architecture, by short name.
fn interface(info: &P4Info) -> String {
    let mut text = String::new();
    let action = |id: u32| info.actions.iter().find(|a| a.id == id).map(|a| a.alias.clone());
    for table in &info.tables {
        let keys: Vec<_> = table.keys.iter().map(|k| (k.id, &k.name, k.bits, k.kind)).collect();
        let actions: Vec<_> = table.actions.iter().map(|(id, ..)| action(*id)).collect();
        let default = table.constant_default.map(action);
        text += &format!("{} {keys:?} {actions:?} {default:?} {}\n", table.alias, table.size);
    }
    for action in &info.actions {
        let parameters: Vec<_> =
            action.parameters.iter().map(|p| (p.id, &p.name, p.bits)).collect();
        text += &format!("{} {parameters:?}\n", action.alias);
    }
    for array in info.counters.iter().chain(&info.meters) {
        text += &format!("{} {}\n", array.alias, array.size);
    }
    text + &format!("{:?}", info.packets)
}

#[test]
fn all_architectures_have_the_same_tables_counters_and_meters() {
    let pna = described("pna");
    assert_eq!((pna.tables.len(), pna.counters.len(), pna.meters.len()), (18, 2, 2));
    for architecture in ["psa", "v1model", "tna"] {
        let other = described(architecture);
        assert_eq!(other.architecture, architecture);
        assert_eq!(interface(&other), interface(&pna), "{architecture}");
    }
}

/// BMv2 and Tofino apply a table at one place only, and p4c's DPDK back end takes no prefix beside
/// other masks. Martlet's compiler refuses the latter itself.
#[test]
fn each_table_is_applied_at_one_place() {
    let source = source("v1model");
    for table in described("v1model").tables {
        let applied = source.text().matches(&format!(" {}.apply()", table.alias)).count()
            + source.text().matches(&format!("({}.apply()", table.alias)).count();
        assert_eq!(applied, 1, "{}", table.alias);
    }
}

#[test]
fn names_for_controllers_are_those_of_the_instances() {
    let info = described("pna");
    let names = [&info.tables[0].name, &info.actions[1].name, &info.meters[0].name];
    assert_eq!(names, ["Main.upf.interfaces", "Main.upf.access", "Main.upf.police.session_meter"]);
    assert_eq!(info.counters[0].name, "Main.upf.count.rules");
    assert!(info.to_text("upf").contains("arch: \"pna\""));
}

/// P4Runtime specification, 6.3: the upper byte of an ID is the kind of the object.
#[test]
fn identifiers_have_the_prefixes_of_p4runtime() {
    let info = described("pna");
    let kinds = |prefix: u32, ids: &[u32]| {
        assert!(!ids.is_empty() && ids.iter().all(|id| id >> 24 == prefix), "{prefix}: {ids:?}");
    };
    kinds(0x01, &info.actions.iter().map(|action| action.id).collect::<Vec<_>>());
    kinds(0x02, &info.tables.iter().map(|table| table.id).collect::<Vec<_>>());
    kinds(0x04, &info.packets.iter().map(|packet| packet.id).collect::<Vec<_>>());
    kinds(0x12, &info.counters.iter().map(|counter| counter.id).collect::<Vec<_>>());
    kinds(0x14, &info.meters.iter().map(|meter| meter.id).collect::<Vec<_>>());
}

#[test]
fn the_back_ends_run_pna_only() {
    for architecture in ["psa", "v1model", "tna"] {
        let source = source(architecture);
        let why = compile(source.text()).unwrap_err();
        assert!(why.message.contains("length of the frame"), "{why}");
        assert!(compile_ebpf(source.text()).is_err());
    }
}

/// The file of the standard, and that of p4c's DPDK back end.
#[test]
fn both_files_of_pna_are_built_in() {
    let text = source("pna").text().replacen("#include <dpdk/pna.p4>", "#include <pna.p4>", 1);
    assert_ne!(text, source("pna").text());
    assert_eq!(describe(&text).expect("within the subset"), described("pna"));
}

/// Other exact keys have to be copied before each lookup, by p4c's DPDK back end, too.
#[test]
fn exact_keys_of_the_user_plane_are_not_copied() {
    let spec = compile(source("pna").text()).expect("within the subset").spec;
    let mut exact = 0;
    for table in &spec.tables {
        if table.keys.iter().all(|(_, kind)| *kind == Match::Exact) {
            let copied = table.keys.iter().find(|(field, _)| field.contains("_key"));
            assert_eq!(copied, None, "{}", table.name);
            exact += 1;
        }
    }
    assert_eq!(exact, 14);
}

/// A checksum of the whole header, and one of a list of all other fields.
#[test]
fn both_forms_of_a_checksum_are_the_same() {
    let pna = source("pna");
    let whole = "hdr.outer_ipv4.checksum = 0;\n        checksum.add(hdr.outer_ipv4);";
    let fields = [
        "version_ihl",
        "tos",
        "total_length",
        "identification",
        "fragment",
        "ttl",
        "protocol",
        "source",
        "destination",
    ];
    let fields = fields.map(|field| format!("hdr.outer_ipv4.{field}")).join(", ");
    assert!(pna.text().contains(whole));
    let list = pna.text().replacen(whole, &format!("checksum.add({{ {fields} }});"), 1);
    let compiled = |text: &str| compile(text).expect("within the subset").spec.to_string();
    assert_eq!(compiled(&list), compiled(pna.text()));
    assert!(compiled(pna.text()).contains("ckadd h.outer_ipv4.checksum h.outer_ipv4\n"));
}

#[test]
fn an_error_names_the_included_file() {
    let folder = std::env::temp_dir().join(format!("martlet-p4-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("main.p4"), "// one\n#include \"types.p4\"\n").expect("a file");
    std::fs::write(folder.join("types.p4"), "const bit<8> A = 1;\nconst bit<8> B = 999;\n")
        .expect("a file");
    let source = Source::read(&folder.join("main.p4")).expect("readable");
    let error: CompileError = compile(source.text()).unwrap_err();
    assert!(source.explain(&error).contains("types.p4:2:"), "{}", source.explain(&error));
    std::fs::write(folder.join("types.p4"), "#include \"types.p4\"\n").expect("a file");
    let error = Source::read(&folder.join("main.p4")).unwrap_err().to_string();
    assert!(error.contains("does a file include itself"), "{error}");
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn wrong_thin_blocks_are_refused() {
    let pna = source("pna");
    for (what, with, why) in [
        (
            "        upf.apply(hdr, meta);\n        if (meta.drop != 0) {",
            "        if (meta.drop != 0) {",
            "has to apply another control first",
        ),
        ("send_to_port((PortId_t) meta.egress_port);", "drop_packet();", "translate the verdict"),
        (
            "        meta.ingress_port = (PortIdUint_t) istd.input_port;\n",
            "",
            "store the ingress port",
        ),
        (
            "hdr.outer_ipv4.checksum = 0;\n        checksum.add(hdr.outer_ipv4);",
            "checksum.add({ hdr.outer_ipv4.source, hdr.outer_ipv4.destination });",
            "whole header only",
        ),
        ("        hdr.outer_ipv4.checksum = 0;\n", "", "write checksum.clear()"),
        ("hdr.outer_ipv4.checksum = 0;", "hdr.outer_udp.checksum = 0;", "write 0 to the field"),
        ("checksum.add(hdr.outer_ipv4);", "checksum.add(hdr.ipv4);", "the header of this field"),
        ("checksum.clear();", "", "write checksum.clear()"),
        (
            "PNA_MeterType_t.BYTES) session_meter",
            "PNA_MeterType_t.PACKETS) session_meter",
            "write BYTES",
        ),
        (
            "            dropped.count(meta.counter, (bit<32>) meta.bytes);",
            "            dropped.count(meta.counter);",
            "unknown call",
        ),
        (
            "            meta.drop = 1;\n        }\n    }\n}\n\ncontrol Count",
            "            meta.drop = 2;\n        }\n    }\n}\n\ncontrol Count",
            "write 1 to drop",
        ),
        (
            "            meta.drop = 1;\n        }\n    }\n}\n\ncontrol Count",
            "            return;\n        }\n    }\n}\n\ncontrol Count",
            "return in a control",
        ),
    ] {
        assert!(pna.text().contains(what), "{what}");
        let error = compile(&pna.text().replacen(what, with, 1)).expect_err(what);
        assert!(error.message.contains(why), "{what}: {error}");
    }
}
