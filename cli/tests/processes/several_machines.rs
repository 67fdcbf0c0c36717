//! The tutorial of several machines, command by command. Network and mount namespaces are the
//! machines.
use crate::site::MARTLET;
use martlet_tests::in_namespace;
use std::path::Path;
use std::process::Command;

/// Files of the page are on both machines. The first line of a block of commands names its machine.
fn script(page: &str) -> String {
    let mut script = String::from(PREAMBLE);
    for block in page.split("```").skip(1).step_by(2) {
        let (language, text) = block.split_once('\n').expect("a language");
        let (first, commands) = text.split_once('\n').expect("a first line");
        let name = first.strip_prefix("# ").expect("a name in the first line");
        match language {
            "yaml" => {
                for machine in ["central", "edge"] {
                    script += &format!("cat > {machine}/{name} <<'END'\n{text}END\n");
                }
            }
            "sh" => {
                let commands: String = commands
                    .replace("\\\n", "")
                    .lines()
                    .map(|line| match line.starts_with("martlet up") {
                        true => format!("start {line}\n"),
                        false => format!("{line}\n"),
                    })
                    .collect();
                script += &format!("on {name} <<'END'\n{commands}END\n");
            }
            _ => panic!("{language} is not looked into"),
        }
    }
    script
}

/// Machines, `on MACHINE` for commands there, and what these commands use.
const PREAMBLE: &str = r#"
set -eu
root=$PWD
machine() { # NAME ADDRESS: namespaces of its own, with the link `lan`
    mkdir "$1"
    unshare --mount --net sh -c '
        mkdir -p /run/martlet /run/netns
        for folder in /run/martlet /run/netns; do mount -t tmpfs tmpfs $folder; done
        ip link set lo up
        touch up
        exec sleep 600' &
    echo $! > "$1/pid"
    until [ -e up ]; do sleep 0.05; done
    rm up
}
in_machine() { nsenter -t "$(cat "$root/$1/pid")" --mount --net --wd="$root/$1" "${@:2}"; }
finish() {
    for machine in edge central; do
        for file in "$root/$machine/core" "$root/$machine/pid"; do
            [ ! -e "$file" ] || kill "$(cat "$file")" 2>/dev/null || true
        done
    done
    wait
}
trap finish EXIT
machine central
machine edge
ip link add lan netns "$(cat central/pid)" type veth peer name lan netns "$(cat edge/pid)"
in_machine central ip address add 192.168.60.1/24 dev lan
in_machine edge ip address add 192.168.60.2/24 dev lan
in_machine central ip link set lan up
in_machine edge ip link set lan up
cat > functions <<'END'
set -eu
scp() { cp -r "$2" "../${3%%:*}/${3#*:}"; }
start() { # COMMAND…: in the background, until all functions are ready
    "$@" > log 2>&1 &
    echo $! > core
    for tries in $(seq 300); do
        ! curl -sf --unix-socket /run/martlet/oam.sock http://localhost/readyz > /dev/null ||
            return 0
        kill -0 "$(cat core)" || { cat log; return 1; }
        sleep 0.1
    done
    cat log
    return 1
}
END
on() { in_machine "$1" bash -c "$(cat functions -)"; }
"#;

#[test]
fn two_machines_serve_a_ue_after_the_commands_of_the_page() {
    in_namespace(|| async {
        let page =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tutorials/several-machines.md");
        let script = script(&std::fs::read_to_string(page)?);
        let folder = std::env::temp_dir().join(format!("martlet-machines-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let program = Path::new(MARTLET).parent().expect("a folder").display().to_string();
        let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
        let ran = Command::new("bash")
            .args(["-c", &script])
            .env("PATH", path)
            .env_remove("MARTLET_CONFIG")
            .current_dir(&folder)
            .output()?;
        let logs = ["central", "edge"].map(|machine| {
            std::fs::read_to_string(folder.join(machine).join("log")).unwrap_or_default()
        });
        std::fs::remove_dir_all(&folder)?;
        let output = String::from_utf8_lossy(&ran.stdout);
        let errors = String::from_utf8_lossy(&ran.stderr);
        let all = format!("{output}\n{errors}\n{}", logs.join("\n"));
        anyhow::ensure!(ran.status.success(), "{all}");
        // The steps of the scenario, the history of the UE, the functions of central, and the UPF.
        for part in ["ping", "deregister", "registration", "ausf", ":8805  "] {
            anyhow::ensure!(output.to_lowercase().contains(part), "no {part}:\n{all}");
        }
        Ok(())
    });
}
