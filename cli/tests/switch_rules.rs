//! The commands `martlet switch …` (RPI) on a running switch process: arguments and output.
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

/// Time limit of each step. Processes are killed on drop.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits for a child to end, and kills it after the limit.
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

/// The output of a child, which must end in time.
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
    let status = status.unwrap_or_else(|| panic!("{what} does not end within {LIMIT:?}: {text}"));
    (status.success(), text)
}

impl Switch {
    /// Starts a switch if its program was built.
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
        let (say, output) = channel();
        std::thread::spawn(move || {
            lines.filter_map(|line| line.strip_prefix("ready ")?.parse().ok()).for_each(|address| {
                let _ = say.send(address);
            })
        });
        // Killed if the test fails.
        let mut switch = Switch { child, address: SocketAddr::from(([0; 4], 0)), folder };
        switch.address = output.recv_timeout(LIMIT).unwrap_or_else(|_| {
            panic!(
                "the switch does not start: {}",
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

    /// The output of a command, and whether it succeeded.
    #[track_caller]
    fn run(&self, words: &str) -> (bool, String) {
        output_of(self.command(words).spawn().expect("martlet"), words)
    }

    #[track_caller]
    fn succeed(&self, words: &str) -> String {
        let (well, output) = self.run(words);
        assert!(well, "{words}: {output}");
        // Warnings about missing next hops are written separately.
        output
            .lines()
            .filter(|line| !line.starts_with("note: "))
            .map(|line| format!("{line}\n"))
            .collect()
    }

    #[track_caller]
    fn fail(&self, words: &str, why: &str) {
        let (well, output) = self.run(words);
        assert!(!well && output.contains(why), "{words}: {output}");
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).expect("a file");
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        if ends(&mut self.child, Duration::from_secs(10)).is_none() && !std::thread::panicking() {
            panic!("the switch did not end at the end of its standard input");
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

const DECAP: &str = "decap teid 0x1000 ue 10.60.0.1 via 1 counter 7";

#[test]
fn rules_are_added_shown_changed_and_deleted() {
    let Some(switch) = Switch::start("one") else { return };
    assert_eq!(switch.succeed("rule list"), "");
    // A dry run shows the writes, and makes none.
    let shown = switch.succeed(&format!("rule add --dry-run {DECAP}"));
    assert!(
        shown.contains("gtp_decap")
            && shown.contains("teid=")
            && shown.contains("-> decap(ue=0xa3c0001"),
        "{shown}"
    );
    assert_eq!(switch.succeed("rule list"), "");
    assert_eq!(switch.succeed(&format!("rule add {DECAP}")).trim(), DECAP);
    switch.fail(&format!("rule add {DECAP}"), "already has an entry");
    // A rule without a counter gets an unused one.
    let free = switch.succeed("rule add decap teid 0x1001 ue 10.60.0.2 via 1");
    assert!(free.trim().ends_with("counter 0"), "{free}");
    assert_eq!(
        switch.succeed("rule set decap teid 0x1000 ue 10.60.0.9 via 2 counter 7").trim(),
        DECAP.replace("0.1 via 1", "0.9 via 2")
    );
    assert_eq!(switch.succeed("rule list decap").lines().count(), 2);
    assert_eq!(switch.succeed("rule list encap"), "");
    let counters = switch.succeed("counters");
    assert!(counters.contains("packets") && counters.contains("10.60.0.9"), "{counters}");
    switch.succeed("watch --every 1 --rounds 1");
    switch.succeed("meter 3 --rate 125000 --burst 10000");
    switch.succeed("meter 3");
    switch.succeed("rule del decap teid 0x1000");
    switch.fail("rule del decap teid 0x1000", "no entry");
    assert_eq!(switch.succeed("rule list").lines().count(), 1);
}

#[test]
fn errors_have_file_and_line() {
    let Some(switch) = Switch::start("wrong") else { return };
    for (words, why) in [
        ("rule add decap teid x ue 10.60.0.1 via 1", "not a value of teid"),
        ("rule add decap teid 1 ue 10.60.0.1", "needs via"),
        ("rule add tunnel teid 1", "not a kind of rule"),
        ("rule add decap teid 0x100000000 ue 10.60.0.1 via 1", "32 bits"),
        ("rule add decap teid 1 colour red", "has no word \"colour\""),
        (
            "rule add hop number 1 source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port 9",
            "no port 9",
        ),
        ("rule add decap teid 1 ue 10.60.0.1 via 1 counter 262144", "from 0 to 262143"),
        ("rule add decap teid 1 ue 10.60.0.1 via 1 qfi 64", "from 0 to 63"),
        ("rule load nowhere", "nowhere"),
    ] {
        switch.fail(words, why);
    }
    // The mark is below the word, also if the switch rejects it.
    let marked = |words: &str, word: &str| {
        let (well, output) = switch.run(words);
        let lines: Vec<&str> = output.lines().collect();
        let mark =
            lines.iter().position(|line| line.trim_start().starts_with('^')).expect("a mark");
        let column = lines[mark].find('^').expect("a mark");
        assert!(!well && lines[mark - 1][column..].starts_with(word), "{output}");
    };
    marked("rule add decap teid x ue 10.60.0.1 via 1", "x ");
    marked(
        "rule add hop number 1 source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port 9",
        "9",
    );
    marked("rule del decap teid 0x77", "0x77");
    assert_eq!(switch.succeed("rule list"), "");
    // A rule may be written before the next hop that it refers to.
    let (well, output) = switch.run("rule add decap teid 1 ue 10.60.0.1 via 4711");
    assert!(well && output.contains("note: ") && output.contains("4711"), "{output}");
    marked("rule add decap teid 1 ue 10.60.0.2 via 1", "1 ue");
    switch.succeed("rule del decap teid 1");
    // No switch listens there.
    let mut command = Command::new(env!("CARGO_BIN_EXE_martlet"));
    let output =
        command.args(["switch", "--switch", "127.0.0.1:1", "counters"]).output().expect("martlet");
    assert!(
        !output.status.success()
            && String::from_utf8_lossy(&output.stderr).contains("no switch responds")
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
    let (well, output) = switch.run("rule load wrong");
    assert!(
        !well
            && output.contains("wrong:3:17:")
            && output.contains("wrong:4:1:")
            && output.contains("nothing was written"),
        "{output}"
    );
    // Errors that only the switch detects: a duplicate key, and the table's size.
    switch.write("twice", "decap teid 1 ue 10.60.0.1 via 1\ndecap teid 1 ue 10.60.0.2 via 1\n");
    let (well, output) = switch.run("rule load twice");
    assert!(
        !well && output.contains("twice:2:12: ") && output.contains("nothing was written"),
        "{output}"
    );
    assert_eq!(switch.succeed("rule list"), "");
    // With more updates than a response can report one by one, too.
    let hop = |n: u32, port: u32| {
        format!(
            "hop number {n} source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port {port}\n"
        )
    };
    switch.write(
        "port",
        &(1..=500).map(|n| hop(n, if n == 321 { 8 } else { 1 })).collect::<String>(),
    );
    let (well, output) = switch.run("rule load port");
    assert!(!well && output.contains("port:321:76: ") && output.contains("no port 8"), "{output}");
    let room = 4096;
    switch.write("full", &(1..=room + 10).map(|n| hop(n, 1)).collect::<String>());
    let (well, output) = switch.run("rule load full");
    assert!(
        !well
            && output.contains(&format!("full:{}:", room + 1))
            && output.contains("has space for"),
        "{output}"
    );
    assert_eq!(switch.succeed("rule list"), "", "nothing of it");
    let many: String = (0..1000)
        .map(|n| format!("decap teid {} ue 10.61.{}.{} via 1\n", 5000 + n, n / 250, n % 250))
        .collect();
    switch.write(
        "many",
        &format!(
            "{many}hop number 1 source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port 1\n"
        ),
    );
    let shown = switch.succeed("rule load --dry-run many");
    assert_eq!(shown.lines().count(), 1001);
    assert_eq!(switch.succeed("rule list"), "");
    let output = switch.succeed("rule load many");
    assert!(output.starts_with("1001 rules in "), "{output}");
    assert!(switch.succeed("rule diff many").contains("no difference"));
    switch.succeed("rule save saved");
    assert!(switch.succeed("rule diff saved").contains("no difference"));
    switch.succeed("rule set decap teid 5000 ue 10.62.0.1 via 1");
    switch.succeed("rule del decap teid 5001");
    let differs = switch.succeed("rule diff saved");
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
    let (well, output) = output_of(shell, "the shell");
    assert!(well, "{output}");
    for part in [
        "decap-filtered",
        "-> decap(",
        DECAP,
        "not a value of teid",
        "expected one of add, try, set",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let history =
        std::fs::read_to_string(switch.folder.join(".martlet-switch-history")).expect("a history");
    assert!(history.contains(DECAP), "{history}");
    assert_eq!(switch.succeed("rule list").trim(), DECAP);
}

/// Interactive input: Tab completes, and the up arrow recalls the previous line.
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
            "SKIPPED: no terminal: the program script, of the package bsdutils, is \
             missing"
        );
    };
    let mut input = terminal.stdin.take().expect("piped");
    // Rule, add, decap, and prefixes of keywords that are unique.
    for typed in ["ru\tad\tdecap te\t0x1000 u\t10.60.0.1 v\t1 co\t7\n", "\x1b[A", "\n", "quit\n"] {
        input.write_all(typed.as_bytes()).expect("typed");
        std::thread::sleep(Duration::from_millis(300));
    }
    drop(input);
    let (_, output) = output_of(terminal, "the shell");
    assert_eq!(switch.succeed("rule list").trim(), DECAP, "{output}");
    assert!(output.contains("already has an entry"), "the recalled line is rejected: {output}");
}

#[test]
fn another_primary_controller_is_reported_and_can_be_replaced() {
    let Some(switch) = Switch::start("election") else { return };
    // A shell that has written a rule stays the primary controller until it ends.
    let mut shell = switch.command("").stdin(Stdio::piped()).spawn().expect("a shell");
    let mut input = shell.stdin.take().expect("piped");
    writeln!(input, "rule add {DECAP}\n").expect("written");
    let lines = BufReader::new(shell.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let (say, output) = channel();
    std::thread::spawn(move || {
        lines.filter(|line| line.contains(DECAP)).for_each(|line| drop(say.send(line)))
    });
    let added = output.recv_timeout(LIMIT);
    if added.is_err() {
        let _ = shell.kill();
    }
    assert!(added.is_ok(), "the shell does not report the added rule");
    switch.fail("rule add decap teid 2 ue 10.60.0.2 via 1", "--election");
    switch.succeed("--election 9 rule add decap teid 2 ue 10.60.0.2 via 1");
    assert_eq!(
        switch.succeed("rule list").lines().count(),
        2,
        "reading does not require the primary role"
    );
    drop(input);
    assert!(ends(&mut shell, LIMIT).is_some(), "the shell does not end");
}

#[test]
fn a_switch_program_of_another_build_is_rejected() {
    let folder = std::env::temp_dir().join(format!("martlet-rpi-build-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    // The command looks for the switch program in its own folder.
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
    let (well, output) = output_of(command.spawn().expect("martlet"), "switch run");
    let _ = std::fs::remove_dir_all(&folder);
    assert!(
        !well && output.contains("another build") && output.contains("install both"),
        "{output}"
    );
}
