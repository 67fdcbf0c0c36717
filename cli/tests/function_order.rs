//! `layout/link.sh`: the order of the functions in the program.
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder with an object file of three functions, and a list of two of them.
struct Build(PathBuf);

impl Build {
    fn new(name: &str) -> Build {
        let folder = std::env::temp_dir().join(format!("martlet-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let build = Build(folder);
        // As rustc names two functions of the crates `amf` and `sbi`, with one hash of both.
        let code = "int main_part(void) { return 1; }\n\
                    int _RNvCs823ydkMjlzh_3amf6decode(void) { return 2; }\n\
                    int _RNvNtCs1aB_3sbi4wireB3_6encode(void) { return 3; }\n";
        std::fs::write(build.file("part.c"), code).unwrap();
        let object = build.file("part.o");
        let source = build.file("part.c");
        run(Command::new("cc").args(["-c", "-ffunction-sections", "-o"]).arg(object).arg(source));
        let list = "# A list.\n_RNvNtC3sbi4wireB_6encode\nmissing\n_RNvC3amf6decode\n";
        std::fs::write(build.file("list"), list).unwrap();
        build
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What the linker, here `echo`, is called with.
    fn link(&self, linker: &str) -> String {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("layout/link.sh");
        let (list, order) = (self.file("list"), self.file("order"));
        run(Command::new(script)
            .arg(list)
            .arg(order)
            .args(["echo", linker, "-o", "program"])
            .arg(self.file("part.o")))
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn functions_of_the_list_are_linked_first_in_its_order() {
    let build = Build::new("function-order");
    let called = build.link("-fuse-ld=lld");
    let option = format!("--symbol-ordering-file={}", build.file("order").display());
    assert!(called.contains(&option), "{called}");
    let order = std::fs::read_to_string(build.file("order")).unwrap();
    assert_eq!(order, "_RNvNtCs1aB_3sbi4wireB3_6encode\n_RNvCs823ydkMjlzh_3amf6decode\n");
}

#[test]
fn another_linker_and_an_empty_list_leave_the_order_as_it_is() {
    let build = Build::new("no-function-order");
    let arguments =
        |linker: &str| format!("{linker} -o program {}\n", build.file("part.o").display());
    assert_eq!(build.link("-fuse-ld=gold"), arguments("-fuse-ld=gold"));
    std::fs::write(build.file("list"), "").unwrap();
    assert_eq!(build.link("-fuse-ld=lld"), arguments("-fuse-ld=lld"));
}
