//! The first tutorial of the documentation, command by command.
use crate::site::MARTLET;
use martlet_tests::in_namespace;
use std::path::Path;
use std::process::Command;

/// Files and commands of a page become a script: a YAML block whose first line is `# NAME` is the
/// file NAME, and `martlet up` continues in the background.
fn script(page: &str) -> String {
    let mut script = String::from(
        "set -eu\n\
         mount -t tmpfs -o mode=755 tmpfs /run\n\
         mkdir /run/netns\n\
         trap '[ -z \"${core:-}\" ] || { kill $core; wait $core || true; }' EXIT\n",
    );
    for block in page.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("a language");
        if language == "yaml" {
            let name = text.lines().next().and_then(|line| line.strip_prefix("# "));
            let name = name.expect("a file name in the first line");
            script += &format!("cat > {name} <<'END'\n{text}END\n");
        } else if language == "sh" {
            for line in text.lines() {
                let line = line.strip_prefix("sudo ").unwrap_or(line);
                script += &if line.starts_with("martlet up") {
                    format!(
                        "{line} & core=$!\n\
                         until martlet --log error status > /dev/null 2>&1; do\n\
                             kill -0 $core\n\
                             sleep 0.1\n\
                         done\n"
                    )
                } else {
                    format!("{line}\n")
                };
            }
        }
    }
    script
}

#[test]
fn first_network_is_up_after_the_commands_of_the_page() {
    in_namespace(|| async {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tutorials/first-network.md");
        let script = script(&std::fs::read_to_string(page)?);
        let folder = std::env::temp_dir().join(format!("martlet-tutorial-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let program = Path::new(MARTLET).parent().expect("a folder").display().to_string();
        let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
        let ran = Command::new("unshare")
            .args(["--mount", "bash", "-c", &script])
            .env("PATH", path)
            .env_remove("MARTLET_CONFIG")
            .current_dir(&folder)
            .output()?;
        std::fs::remove_dir_all(&folder)?;
        let output = String::from_utf8_lossy(&ran.stdout);
        let errors = String::from_utf8_lossy(&ran.stderr);
        anyhow::ensure!(ran.status.success(), "{output}\n{errors}");
        // The steps of the scenario, and the history of the UE.
        for part in ["ping", "deregister", "registration"] {
            anyhow::ensure!(output.contains(part), "no {part}:\n{output}\n{errors}");
        }
        Ok(())
    });
}
