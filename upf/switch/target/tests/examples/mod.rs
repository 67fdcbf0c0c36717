//! DPDK's examples, its own parser of `.spec` files, and the forms of their statements.
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The folder in which `deploy/install/swx-headers.sh` stores the content of DPDK's source package,
/// by DPDK version.
const EXAMPLES: &str = "/usr/local/share/martlet/swx-examples";
const HEADERS: &str = "/usr/local/share/martlet/swx";
/// The build's compiler flags for DPDK's headers.
const FLAGS: &str = env!("MARTLET_DPDK_FLAGS");
/// The program of `c/generate.c`: DPDK's parser and code generator.
const GENERATE: &str = concat!(env!("OUT_DIR"), "/generate");

/// The examples of the installed DPDK version.
pub struct Examples {
    folder: PathBuf,
    headers: PathBuf,
    work: PathBuf,
}

impl Examples {
    /// The examples if they are present; else prints what to do.
    pub fn find() -> Option<Examples> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let version = Command::new("pkg-config")
            .args(["--modversion", "libdpdk"])
            .output()
            .expect("pkg-config");
        let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
        let [folder, headers] =
            [EXAMPLES, HEADERS].map(|folder| PathBuf::from(folder).join(&version));
        if !folder.join("vxlan.spec").is_file() || !PathBuf::from(GENERATE).is_file() {
            eprintln!(
                "SKIPPED: the examples of DPDK {version} are missing; run \
                 deploy/install/swx-headers.sh and build again"
            );
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let work =
            std::env::temp_dir().join(format!("martlet-outside-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&work).expect("a folder");
        Some(Examples { folder, headers, work })
    }

    pub fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.folder).expect("the folder");
        let names = files.filter_map(|file| {
            Some(file.ok()?.file_name().to_str()?.strip_suffix(".spec")?.to_owned())
        });
        let names: Vec<String> = names.collect();
        assert!(names.len() >= 10, "{names:?}");
        names
    }

    /// The text of an example, with smaller tables to save memory.
    pub fn text(&self, name: &str) -> String {
        let path = self.folder.join(format!("{name}.spec"));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        text.replace("size 1048576", "size 1024")
    }

    /// DPDK's generated C code for a `.spec` text, or its error.
    pub fn code(&self, spec: &str) -> Result<PathBuf, String> {
        let (from, to) = (self.work.join("pipeline.spec"), self.work.join("pipeline.c"));
        std::fs::write(&from, spec).map_err(|error| error.to_string())?;
        let output = Command::new(GENERATE)
            .args([&from, &to])
            .output()
            .map_err(|error| error.to_string())?;
        match output.status.success() {
            true => Ok(to),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// The shared library of the code.
    pub fn library(&self, spec: &str) -> Result<Vec<u8>, String> {
        let (code, library) = (self.code(spec)?, self.work.join("pipeline.so"));
        let mut compiler = Command::new("cc");
        compiler.arg("-O1").args(FLAGS.split_whitespace()).args(["-w", "-shared", "-fPIC"]);
        compiler.arg("-o").arg(&library).arg(&code).arg(format!("-I{}", self.headers.display()));
        let output = compiler.output().map_err(|error| format!("cc: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        std::fs::read(library).map_err(|error| error.to_string())
    }
}

impl Drop for Examples {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.work);
    }
}

/// Keywords; all other words are names.
const WORDS: [&str; 26] = [
    "struct",
    "header",
    "instanceof",
    "metadata",
    "args",
    "none",
    "const",
    "size",
    "initval",
    "key",
    "actions",
    "default_action",
    "table",
    "apply",
    "exact",
    "wildcard",
    "lpm",
    "@tableonly",
    "@defaultonly",
    "regarray",
    "metarray",
    "{",
    "}",
    "selector",
    "learner",
    "action",
];
/// Instructions without operands.
const ALONE: [&str; 3] = ["return", "drop", "recirculate"];

/// The forms of the statements of a `.spec` text: names are `W`, numbers `N`, headers `H`, and
/// fields `V`.
pub fn forms(spec: &str) -> BTreeSet<String> {
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let statements = spec.lines().filter_map(|line| {
        let line = line.split("//").next()?.split(';').next()?.trim();
        // A label may precede.
        let line = line.split_once(" : ").map_or(line, |(_, rest)| rest);
        let words: Vec<&str> = line.split_whitespace().collect();
        let form = |n: usize| {
            let word = &words[n];
            let dots = word.matches('.').count();
            let opcode = n == 0 && words.len() > 1 && is_name(word) && !words[1].starts_with('@');
            match *word {
                word if word.starts_with("bit<") => "BITS",
                word if is_number(word) => "N",
                word if word.starts_with("h.") && dots == 1 => "H",
                _ if dots > 0 => "V",
                word if WORDS.contains(&word)
                    || opcode
                    || (words.len() == 1 && ALONE.contains(&word)) =>
                {
                    word
                }
                _ => "W",
            }
        };
        let form: Vec<&str> = (0..words.len()).map(form).collect();
        (!form.is_empty()).then(|| form.join(" "))
    });
    statements.collect()
}
