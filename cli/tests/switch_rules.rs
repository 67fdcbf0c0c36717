//! RPI, `martlet switch …`, against a switch process at work: what a person types, and what they
//! read.
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

struct Switch {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

/// How long anything here may take before the test fails; what it has started ends with it.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits for a child to end, and ends it when it does not in time.
fn ends(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + limit;
    while Instant::now() < until {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// What a child writes until it ends, which it has to in time.
#[track_caller]
fn output_of(mut child: Child, what: &str) -> (bool, String) {
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child.stdout.take().map(|pipe| Box::new(pipe) as _),
        child.stderr.take().map(|pipe| Box::new(pipe) as _),
    ];
    let readers = pipes.map(|pipe| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        })
    });
    let status = ends(&mut child, LIMIT);
    let text = readers.map(|reader| reader.join().unwrap_or_default()).concat();
    let status = status.unwrap_or_else(|| panic!("{what} does not end in {LIMIT:?}: {text}"));
    (status.success(), text)
}

impl Switch {
    /// Starts one as a person does, if its program was built.
    fn start(name: &str) -> Option<Switch> {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_martlet")).with_file_name("martlet-switch");
        if !program.is_file() {
            eprintln!("SKIPPED: martlet-switch is not built; cargo build -p martlet-switch-target");
            return None;
        }
        let folder =
            std::env::temp_dir().join(format!("martlet-rpi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let log = folder.join("log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_martlet"));
        command.args([
            "switch",
            "run",
            "--with-parent",
            "--listen",
            "127.0.0.1:0",
            "--memory",
            "360",
        ]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a file"));
        let mut child = command.spawn().expect("the switch");
        let lines =
            BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
        let (say, said) = channel();
        std::thread::spawn(move || {
            lines.filter_map(|line| line.strip_prefix("ready ")?.parse().ok()).for_each(|address| {
                let _ = say.send(address);
            })
        });
        // Ends it, whatever comes.
        let mut switch = Switch { child, address: SocketAddr::from(([0; 4], 0)), folder };
        switch.address = said.recv_timeout(LIMIT).unwrap_or_else(|_| {
            panic!(
                "the switch does not get ready: {}",
                std::fs::read_to_string(&log).unwrap_or_default()
            )
        });
        Some(switch)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_martlet"));
        command
            .args(["--log", "error", "switch", "--switch", &self.address.to_string()])
            .args(words.split_whitespace());
        command.env("HOME", &self.folder).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What a command says, and whether it went well.
    #[track_caller]
    fn says(&self, words: &str) -> (bool, String) {
        output_of(self.command(words).spawn().expect("martlet"), words)
    }

    #[track_caller]
    fn does(&self, words: &str) -> String {
        let (well, said) = self.says(words);
        assert!(well, "{words}: {said}");
        // Next hops that are not there yet are told beside.
        said.lines()
            .filter(|line| !line.starts_with("note: "))
            .map(|line| format!("{line}\n"))
            .collect()
    }

    #[track_caller]
    fn refuses(&self, words: &str, why: &str) {
        let (well, said) = self.says(words);
        assert!(!well && said.contains(why), "{words}: {said}");
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).expect("a file");
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if ends(&mut self.child, Duration::from_secs(10)).is_none() && !std::thread::panicking() {
            panic!("the switch did not end by itself");
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const DECAP: &str = "decap teid 0x1000 ue 10.60.0.1 via 1 counter 7";

#[test]
fn rules_are_added_shown_changed_and_deleted() {
    let Some(switch) = Switch::start("one") else { return };
    assert_eq!(switch.does("rule list"), "");
    // What would be written is shown, and not written.
    let shown = switch.does(&format!("rule add --dry-run {DECAP}"));
    assert!(
        shown.contains("gtp_decap")
            && shown.contains("teid=")
            && shown.contains("-> decap(ue=0xa3c0001"),
        "{shown}"
    );
    assert_eq!(switch.does("rule list"), "");
    assert_eq!(switch.does(&format!("rule add {DECAP}")).trim(), DECAP);
    switch.refuses(&format!("rule add {DECAP}"), "already has an entry");
    // A rule that names no counter has one that no other has.
    let free = switch.does("rule add decap teid 0x1001 ue 10.60.0.2 via 1");
    assert!(free.trim().ends_with("counter 0"), "{free}");
    assert_eq!(
        switch.does("rule set decap teid 0x1000 ue 10.60.0.9 via 2 counter 7").trim(),
        DECAP.replace("0.1 via 1", "0.9 via 2")
    );
    assert_eq!(switch.does("rule list decap").lines().count(), 2);
    assert_eq!(switch.does("rule list encap"), "");
    let counters = switch.does("counters");
    assert!(counters.contains("packets") && counters.contains("10.60.0.9"), "{counters}");
    switch.does("watch --every 1 --rounds 1");
    switch.does("meter 3 --rate 125000 --burst 10000");
    switch.does("meter 3");
    switch.does("rule del decap teid 0x1000");
    switch.refuses("rule del decap teid 0x1000", "no entry");
    assert_eq!(switch.does("rule list").lines().count(), 1);
}

#[test]
fn errors_have_file_and_line() {
    let Some(switch) = Switch::start("wrong") else { return };
    for (words, why) in [
        ("rule add decap teid x ue 10.60.0.1 via 1", "no value of teid"),
        ("rule add decap teid 1 ue 10.60.0.1", "needs via"),
        ("rule add tunnel teid 1", "no kind of rule"),
        ("rule add decap teid 0x100000000 ue 10.60.0.1 via 1", "32 bits"),
        ("rule add decap teid 1 colour red", "has no \"colour\""),
        (
            "rule add hop number 1 source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port 9",
            "no port 9",
        ),
        ("rule add decap teid 1 ue 10.60.0.1 via 1 counter 262144", "from 0 to 262143"),
        ("rule add decap teid 1 ue 10.60.0.1 via 1 qfi 64", "from 0 to 63"),
        ("rule load nowhere", "nowhere"),
    ] {
        switch.refuses(words, why);
    }
    // The mark is below the word, also where it is the switch that refuses.
    let marked = |words: &str, word: &str| {
        let (well, said) = switch.says(words);
        let lines: Vec<&str> = said.lines().collect();
        let mark =
            lines.iter().position(|line| line.trim_start().starts_with('^')).expect("a mark");
        let column = lines[mark].find('^').expect("a mark");
        assert!(!well && lines[mark - 1][column..].starts_with(word), "{said}");
    };
    marked("rule add decap teid x ue 10.60.0.1 via 1", "x ");
    marked(
        "rule add hop number 1 source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port 9",
        "9",
    );
    marked("rule del decap teid 0x77", "0x77");
    assert_eq!(switch.does("rule list"), "");
    // A rule that leads nowhere yet may be written before what it leads to.
    let (well, said) = switch.says("rule add decap teid 1 ue 10.60.0.1 via 4711");
    assert!(well && said.contains("note: ") && said.contains("4711"), "{said}");
    marked("rule add decap teid 1 ue 10.60.0.2 via 1", "1 ue");
    switch.does("rule del decap teid 1");
    // Nobody is there.
    let mut command = Command::new(env!("CARGO_BIN_EXE_martlet"));
    let output =
        command.args(["switch", "--switch", "127.0.0.1:1", "counters"]).output().expect("martlet");
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("no switch answers")
    );
}

#[test]
fn rule_files_are_applied_completely_or_not_at_all() {
    let Some(switch) = Switch::start("files") else { return };
    switch.write(
        "wrong",
        "# two of three are wrong\ndecap teid 1 ue 10.60.0.1 via 1\ndecap teid 2 ue 10.60.0 via \
         1\nfoo\n",
    );
    let (well, said) = switch.says("rule load wrong");
    assert!(
        !well
            && said.contains("wrong:3:17:")
            && said.contains("wrong:4:1:")
            && said.contains("nothing was written"),
        "{said}"
    );
    // What only the switch can tell: the same key twice, and a table's size.
    switch.write("twice", "decap teid 1 ue 10.60.0.1 via 1\ndecap teid 1 ue 10.60.0.2 via 1\n");
    let (well, said) = switch.says("rule load twice");
    assert!(
        !well && said.contains("twice:2:12: ") && said.contains("nothing was written"),
        "{said}"
    );
    assert_eq!(switch.does("rule list"), "");
    // Of more updates than an answer has room to tell of one by one, too.
    let hop = |n: u32, port: u32| {
        format!(
            "hop number {n} source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port {port}\n"
        )
    };
    switch.write(
        "port",
        &(1..=500).map(|n| hop(n, if n == 321 { 8 } else { 1 })).collect::<String>(),
    );
    let (well, said) = switch.says("rule load port");
    assert!(!well && said.contains("port:321:76: ") && said.contains("no port 8"), "{said}");
    let room = 4096;
    switch.write("full", &(1..=room + 10).map(|n| hop(n, 1)).collect::<String>());
    let (well, said) = switch.says("rule load full");
    assert!(
        !well && said.contains(&format!("full:{}:", room + 1)) && said.contains("has room for"),
        "{said}"
    );
    assert_eq!(switch.does("rule list"), "", "nothing of it");
    let many: String = (0..1000)
        .map(|n| format!("decap teid {} ue 10.61.{}.{} via 1\n", 5000 + n, n / 250, n % 250))
        .collect();
    switch.write(
        "many",
        &format!(
            "{many}hop number 1 source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port 1\n"
        ),
    );
    let shown = switch.does("rule load --dry-run many");
    assert_eq!(shown.lines().count(), 1001);
    assert_eq!(switch.does("rule list"), "");
    let said = switch.does("rule load many");
    assert!(said.starts_with("1001 rules in "), "{said}");
    assert!(switch.does("rule diff many").contains("no difference"));
    switch.does("rule save saved");
    assert!(switch.does("rule diff saved").contains("no difference"));
    switch.does("rule set decap teid 5000 ue 10.62.0.1 via 1");
    switch.does("rule del decap teid 5001");
    let differs = switch.does("rule diff saved");
    let lines: Vec<&str> = differs.lines().collect();
    assert!(lines.len() == 3, "{differs}");
    assert!(
        lines.iter().any(|line| line.starts_with("- ") && line.contains("10.62.0.1")),
        "{differs}"
    );
    assert!(
        lines.iter().any(|line| line.starts_with("+ ") && line.contains("0x1389")),
        "{differs}"
    );
}

#[test]
fn the_shell_runs_lines_and_keeps_a_history() {
    let Some(switch) = Switch::start("shell") else { return };
    let mut shell = switch.command("").stdin(Stdio::piped()).spawn().expect("a shell");
    let lines = format!(
        "help\nrule try {DECAP}\nrule add {DECAP}\nrule add decap teid y\nrule list\nwatch \
         1\nrule\nquit\n"
    );
    shell.stdin.take().expect("piped").write_all(lines.as_bytes()).expect("written");
    let (well, said) = output_of(shell, "the shell");
    assert!(well, "{said}");
    for part in [
        "decap-filtered",
        "-> decap(",
        DECAP,
        "no value of teid",
        "what shall be done with the rule?",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let history =
        std::fs::read_to_string(switch.folder.join(".martlet-switch-history")).expect("a history");
    assert!(history.contains(DECAP), "{history}");
    assert_eq!(switch.does("rule list").trim(), DECAP);
}

/// As a person types: the tabulator completes, and the arrow brings back the line before.
#[test]
fn the_shell_completes_words_and_recalls_lines() {
    let Some(switch) = Switch::start("terminal") else { return };
    let command =
        format!("{} --log error switch --switch {}", env!("CARGO_BIN_EXE_martlet"), switch.address);
    let mut terminal = Command::new("script");
    terminal
        .args(["-qefc", &command, "/dev/null"])
        .env("HOME", &switch.folder)
        .env("TERM", "xterm");
    terminal
        .current_dir(&switch.folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(mut terminal) = terminal.spawn() else {
        return eprintln!(
            "SKIPPED: there is no terminal: the program script, of the package bsdutils, is \
             missing"
        );
    };
    let mut input = terminal.stdin.take().expect("piped");
    // Rule, add, decap, and the words as far as they are one.
    for typed in ["ru\tad\tdecap te\t0x1000 u\t10.60.0.1 v\t1 co\t7\n", "\x1b[A", "\n", "quit\n"] {
        input.write_all(typed.as_bytes()).expect("typed");
        std::thread::sleep(Duration::from_millis(300));
    }
    drop(input);
    let (_, said) = output_of(terminal, "the shell");
    assert_eq!(switch.does("rule list").trim(), DECAP, "{said}");
    assert!(
        said.contains("already has an entry"),
        "the line before came again, and was refused: {said}"
    );
}

#[test]
fn another_primary_controller_is_reported_and_can_be_replaced() {
    let Some(switch) = Switch::start("election") else { return };
    // A shell that has written something leads as long as it is there.
    let mut shell = switch.command("").stdin(Stdio::piped()).spawn().expect("a shell");
    let mut input = shell.stdin.take().expect("piped");
    writeln!(input, "rule add {DECAP}\n").expect("written");
    let lines = BufReader::new(shell.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let (say, said) = channel();
    std::thread::spawn(move || {
        lines.filter(|line| line.contains(DECAP)).for_each(|line| drop(say.send(line)))
    });
    let added = said.recv_timeout(LIMIT);
    if added.is_err() {
        let _ = shell.kill();
    }
    assert!(added.is_ok(), "the shell does not say that it added the rule");
    switch.refuses("rule add decap teid 2 ue 10.60.0.2 via 1", "--election");
    switch.does("--election 9 rule add decap teid 2 ue 10.60.0.2 via 1");
    assert_eq!(switch.does("rule list").lines().count(), 2, "who only reads need not lead");
    drop(input);
    assert!(ends(&mut shell, LIMIT).is_some(), "the shell does not end");
}

#[test]
fn a_switch_program_of_another_build_is_rejected() {
    let folder = std::env::temp_dir().join(format!("martlet-rpi-build-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    // The program that is asked finds the switch beside itself.
    let own = folder.join("martlet");
    if std::fs::hard_link(env!("CARGO_BIN_EXE_martlet"), &own).is_err() {
        std::fs::copy(env!("CARGO_BIN_EXE_martlet"), &own).expect("a copy");
    }
    let stale = folder.join("martlet-switch");
    std::fs::write(
        &stale,
        "#!/bin/sh\n[ \"$1\" = build ] && echo 0.0.1/1/0 && exit\nexec sleep 100\n",
    )
    .expect("a file");
    std::fs::set_permissions(&stale, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let mut command = Command::new(&own);
    command.args(["switch", "run", "--listen", "127.0.0.1:0"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (well, said) = output_of(command.spawn().expect("martlet"), "switch run");
    let _ = std::fs::remove_dir_all(&folder);
    assert!(!well && said.contains("another build") && said.contains("install both"), "{said}");
}
