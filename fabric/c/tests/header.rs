//! Compares the header with the source. To generate it: `MARTLET_WRITE=1 cargo test -p
//! martlet-fabric-c --test header`.
mod support;

use cbindgen::{Builder, Config, DocumentationStyle, Language, Style};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn header() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = Config {
        language: Language::C,
        include_guard: Some("MARTLET_FABRIC_H".into()),
        header: Some(
            "/* Sockets between processes of one machine over Martlet's shared-memory fabric.\n \
             *\n * Functions return 0 or more, or a negative errno; martlet_error() returns the \
             text.\n * All functions are thread-safe, also while other threads wait in calls on \
             the same object;\n * only *_free must be the last call on its object. Generated from \
             the library's source. */"
                .into(),
        ),
        cpp_compat: true,
        usize_is_size_t: true,
        style: Style::Type,
        documentation_style: DocumentationStyle::C99,
        line_length: 100,
        ..Config::default()
    };
    for (name, c) in [
        ("MartletFabric", "martlet_fabric"),
        ("MartletDial", "martlet_dial"),
        ("MartletListener", "martlet_listener"),
        ("MartletStream", "martlet_stream"),
        ("MartletEvents", "martlet_events"),
    ] {
        config.export.rename.insert(name.into(), c.into());
    }
    let mut builder = Builder::new().with_config(config);
    for file in ["error", "fabric", "listener", "stream", "events"] {
        builder = builder.with_src(here.join(format!("src/{file}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().expect("the source has a header").write(&mut text);
    let text = String::from_utf8(text).unwrap();
    // Rust calls the requirements on the caller "Safety".
    text.replace("// # Safety\n//\n", "// Requirements:\n").replace("# Safety\n", "Requirements:\n")
}

#[test]
fn the_header_matches_the_source() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/martlet_fabric.h");
    let made = header();
    if std::env::var_os("MARTLET_WRITE").is_some() {
        std::fs::write(&file, &made).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written == made, "the header is outdated: see the head of this test\n{made}");
}

#[test]
fn the_library_exports_exactly_what_the_header_declares() {
    let words: BTreeSet<String> = header()
        .lines()
        .filter(|line| !line.starts_with("//") && !line.starts_with(" *"))
        .flat_map(|line| {
            line.match_indices('(').map(|(at, _)| line[..at].to_string()).collect::<Vec<_>>()
        })
        .filter_map(|before| before.rsplit([' ', '*']).next().map(str::to_string))
        .filter(|word| word.starts_with("martlet_"))
        .collect();
    let library = support::built("libmartlet_fabric_c.so");
    let nm = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    let exported: BTreeSet<String> = String::from_utf8(nm.stdout)
        .unwrap()
        .lines()
        .filter_map(|line| line.rsplit(' ').next())
        .map(str::to_string)
        .collect();
    assert!(words.len() > 20, "{words:?}");
    assert_eq!(words, exported);
}
