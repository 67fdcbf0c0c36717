//! The commands of the pages: each one runs in a test, or is in `tests/pages/not_run.txt` with the
//! reason why not.
use crate::site::{KEY, MARTLET, OPC, simulator};
use anyhow::{Context, Result, ensure};
use martlet_tests::in_namespace;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Pages whose blocks all run in another test: `several_machines.rs`, `tests/helm.rs`.
const ELSEWHERE: [&str; 2] = ["docs/tutorials/several-machines.md", "docs/tutorials/kubernetes.md"];

/// A page whose commands run here, one after the other.
struct Session {
    page: &'static str,
    /// Shell commands that come before a command of the page, which begins with this; before the
    /// first command with an empty text.
    before: &'static [(&'static str, &'static str)],
    /// What the commands have to print.
    prints: &'static [&'static str],
}

const FIRST_NETWORK: Session = Session {
    page: "docs/tutorials/first-network.md",
    before: &[],
    // The steps of the scenario, and the history of the UE.
    prints: &["ping", "deregister", "registration"],
};

const OPERATING: Session = Session {
    page: "docs/operating.md",
    before: &[
        (
            "",
            "ip address add 192.168.7.10/24 dev lo\n\
             printf 'key: %s\\nopc: %s\\n' $key $opc > card.keys\n\
             sed -i 's/sleep, \"60\"/sleep, \"1\"/' scenario.yaml",
        ),
        (
            "martlet ran",
            "start_core martlet up\n\
             martlet subscriber add imsi-001010000000001 --key $key --opc $opc",
        ),
        (
            "martlet status --at",
            "echo 'oam: { listen: \"127.0.0.1:9090\" }' > oam.yaml\n\
             start_core martlet up -c oam.yaml",
        ),
    ],
    prints: &["ping", "deregister", "registration", "edge has the certificates", "\"nfs\""],
};

const GNB: Session = Session {
    page: "docs/tutorials/gnb.md",
    before: &[("", "ip address add 192.168.7.10/24 dev lo")],
    prints: &["This machine", "amf"],
};

const UERANSIM: Session =
    Session { page: "docs/tutorials/ueransim.md", before: &[], prints: &["imsi-999700000000001"] };

const SESSIONS: [&Session; 4] = [&FIRST_NETWORK, &OPERATING, &GNB, &UERANSIM];

/// Programs at the beginning of a line of a block `text` that is a command.
const PROGRAMS: [&str; 4] = ["kubectl ", "helm ", "docker ", "podman "];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The pages of the repository, by their paths.
fn pages() -> Vec<String> {
    fn search(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true if name.starts_with('.') || name == "target" || name == "node_modules" => {}
                true => search(&path, found),
                false if name.ends_with(".md") && name != "CHANGELOG.md" => found.push(path),
                false => {}
            }
        }
    }
    let (root, mut found) = (root(), Vec::new());
    search(&root, &mut found);
    let relative = |page: &PathBuf| page.strip_prefix(&root).map(|p| p.display().to_string());
    let mut pages: Vec<_> = found.iter().flat_map(relative).collect();
    pages.sort();
    pages
}

fn text_of(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"))
}

/// The commands of a page in their order, each on one line.
fn commands(page: &str) -> Vec<String> {
    let text = text_of(page);
    let mut commands = Vec::new();
    for block in text.split("\n```").skip(1).step_by(2) {
        let (language, block) = block.split_once('\n').unwrap_or_default();
        let block = block.replace("\\\n", " ");
        let lines = block.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        commands.extend(lines.filter(|line| match language {
            "sh" => !line.is_empty() && !line.starts_with('#'),
            "text" => PROGRAMS.iter().any(|program| line.starts_with(program)),
            _ => false,
        }));
    }
    commands
}

/// Page, beginning of the command, and reason of each line of the list.
fn not_run() -> Vec<(String, String, String)> {
    let list = text_of("cli/tests/pages/not_run.txt");
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let fields = lines.map(|line| {
        let fields: Vec<_> = line.splitn(3, " | ").map(str::to_string).collect();
        <[String; 3]>::try_from(fields).unwrap_or_else(|line| panic!("not three fields: {line:?}"))
    });
    fields.map(Into::into).collect()
}

/// The line of the list that has a command.
fn reason<'a>(
    list: &'a [(String, String, String)],
    page: &str,
    command: &str,
) -> Option<&'a (String, String, String)> {
    list.iter().find(|(of, beginning, _)| of == page && command.starts_with(beginning.as_str()))
}

#[test]
fn every_command_of_the_pages_runs_or_has_a_reason() {
    let (list, mut used, mut wrong, mut count) = (not_run(), BTreeSet::new(), Vec::new(), 0);
    for page in pages() {
        let runs = ELSEWHERE.contains(&page.as_str())
            || SESSIONS.iter().any(|session| session.page == page);
        for command in commands(&page) {
            count += 1;
            match reason(&list, &page, &command) {
                Some(line) => _ = used.insert(line),
                None if runs && !PROGRAMS.iter().any(|program| command.starts_with(program)) => {}
                None => wrong.push(format!("{page}: no test runs `{command}`")),
            }
        }
    }
    let unused = list.iter().filter(|line| !used.contains(line));
    wrong.extend(unused.map(|(page, beginning, _)| format!("{page} has no `{beginning}`")));
    // What a reason names exists.
    for (page, _, reason) in &list {
        let words = reason.split([' ', ',', ':', ';']).filter(|word| word.contains('/'));
        let missing = words.filter(|word| !root().join(word).exists());
        wrong.extend(missing.map(|word| format!("{page}: there is no {word}")));
    }
    assert!(count > 100, "only {count} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files and commands of a page as a script: a block `yaml` whose first line is `# NAME` is the
/// file NAME, and `martlet up` continues in the background until the next one.
fn script(session: &Session) -> String {
    let mut script = format!("{PREAMBLE}key={KEY}\nopc={OPC}\n");
    let text = text_of(session.page);
    for block in text.split("\n```yaml\n# ").skip(1) {
        let (name, rest) = block.split_once('\n').unwrap_or_default();
        let (content, _) = rest.split_once("\n```").unwrap_or_default();
        script += &format!("cat > {name} <<'END'\n{content}\nEND\n");
    }
    let list = not_run();
    let commands = commands(session.page);
    let runs = |command: &&String| reason(&list, session.page, command).is_none();
    for (number, command) in commands.iter().filter(runs).enumerate() {
        let command = command.strip_prefix("sudo ").unwrap_or(command);
        for (beginning, shell) in session.before {
            let is_its = match beginning.is_empty() {
                true => number == 0,
                false => command.starts_with(beginning),
            };
            if is_its {
                script += &format!("{shell}\n");
            }
        }
        let words: Vec<_> = command.split(' ').take_while(|word| *word != "#").collect();
        let is_core = words.first() == Some(&"martlet")
            && (words.get(1) == Some(&"up") || words.get(3) == Some(&"up"));
        script += &match is_core {
            true => format!("start_core {command}\n"),
            false => format!("{command}\n"),
        };
    }
    script
}

/// Folders of this test in place of those of the machine, and the core in the background.
const PREAMBLE: &str = r#"
set -eu
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/netns
for folder in /etc/martlet /var/lib/martlet; do
    [ ! -d $folder ] || mount -t tmpfs tmpfs $folder
done
core=
stop_core() {
    [ -z "$core" ] || { kill "$core"; wait "$core" || true; }
    core=
}
trap stop_core EXIT
start_core() { # COMMAND…: until all functions answer
    stop_core
    "$@" > core.log 2>&1 &
    core=$!
    until martlet --log error status > /dev/null 2>&1; do
        kill -0 "$core" || { cat core.log; return 1; }
        sleep 0.1
    done
}
PS4='> '
set -x
"#;

async fn run(session: &Session, name: &str) -> Result<()> {
    let script = script(session);
    let folder = std::env::temp_dir().join(format!("martlet-page-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let program = Path::new(MARTLET).parent().context("a folder")?.display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
    let ran = Command::new("unshare")
        .args(["--mount", "bash", "-c", &script])
        .env("PATH", path)
        .env_remove("MARTLET_CONFIG")
        .current_dir(&folder)
        .output()?;
    std::fs::remove_dir_all(&folder)?;
    let output = String::from_utf8_lossy(&ran.stdout);
    let all = format!("{output}\n{}", String::from_utf8_lossy(&ran.stderr));
    ensure!(ran.status.success(), "{all}");
    for part in session.prints {
        ensure!(output.to_lowercase().contains(&part.to_lowercase()), "no {part:?}:\n{all}");
    }
    Ok(())
}

#[test]
fn commands_of_the_first_network_run() {
    simulator();
    in_namespace(|| async { run(&FIRST_NETWORK, "first-network").await });
}

#[test]
fn commands_of_operating_run() {
    simulator();
    in_namespace(|| async { run(&OPERATING, "operating").await });
}

#[test]
fn commands_of_the_gnb_tutorial_run() {
    in_namespace(|| async { run(&GNB, "gnb").await });
}

#[test]
fn commands_of_the_ueransim_tutorial_run() {
    in_namespace(|| async { run(&UERANSIM, "ueransim").await });
}
