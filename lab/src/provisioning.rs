//! `martlet-lab provisioning`: how long the import of many subscribers takes and how much memory it
//! needs, and whether a core with them starts later than an empty one.
use crate::core::{CORES, CoreArgs, CoreSetup, Variant};
use crate::process_usage::peak_resident_kb;
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often the memory of a command is read. Its peak is kept by the kernel.
const SAMPLE_TIME: Duration = Duration::from_millis(2);

/// Measures the import of subscribers, and the start of a core that has them.
#[derive(Debug, Clone, Args)]
pub struct ProvisioningArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Number of subscribers; with --quick 2,000
    #[arg(long, default_value_t = 100_000)]
    pub subscribers: u64,
    /// Imports of each format, and starts of each core; with --quick one
    #[arg(long, default_value_t = 5)]
    pub rounds: u32,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// Commands that are measured, by the names of their figures. The export writes the file that the
/// import of JSON reads.
const COMMANDS: [(&str, &str); 4] = [
    ("import.csv", "import of CSV"),
    ("export.json", "export of JSON"),
    ("import.json", "import of JSON"),
    ("list", "list"),
];
/// Cores that are started in turn.
const STARTS: [(&str, &str); 2] = [("empty", "no subscriber"), ("full", "all subscribers")];

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a command fails, or a core does not start.
pub fn run(args: &ProvisioningArgs) -> Result<String> {
    let (subscribers, rounds) =
        if args.run.quick { (2000, 1) } else { (args.subscribers, args.rounds) };
    ensure!(subscribers > 0 && rounds > 0, "--subscribers and --rounds must not be 0");
    namespace::enter_new()?;
    let header = "what,round,seconds,peak_kb";
    let mut output = Output::create("provisioning", &args.run, header)?;
    let folder = output.folder().join(CORES).join("import");
    std::fs::create_dir_all(&folder)?;
    let commands = Commands { program: args.core.program()?, folder };
    let mut progress = Progress::new("steps", u64::from(rounds) * 6);
    commands.write_csv(subscribers)?;
    let mut samples = Samples::default();
    for round in 0..rounds {
        for (name, title) in COMMANDS {
            let (seconds, peak_kb) = commands.run(name, subscribers)?;
            output.row(format_args!("{name},{round},{seconds},{peak_kb}"))?;
            samples.add(name, seconds, peak_kb as f64 / 1e3);
            progress.step(title);
        }
    }
    let cores = [(93, 0), (94, subscribers)].map(|(number, subscribers)| {
        let name = format!("start-{subscribers}");
        CoreSetup::prepare(&args.core, number, &name, subscribers, output.folder())
    });
    let cores = cores.into_iter().collect::<Result<Vec<_>>>()?;
    for round in 0..rounds {
        // Each goes first in half of the rounds.
        let mut order = [0, 1];
        order.rotate_left(round as usize % 2);
        for number in order {
            let (name, title) = STARTS[number];
            let core = cores[number].start(Variant::Local).context(title)?;
            let (seconds, resident_kb) = (core.ready.as_secs_f64(), core.usage().resident_kb);
            core.stop()?;
            output.row(format_args!("start.{name},{round},{seconds},{resident_kb}"))?;
            samples.add(&format!("start.{name}"), seconds, resident_kb as f64 / 1e3);
            progress.step(title);
        }
    }
    progress.done();
    report(&mut output, &samples, subscribers)?;
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// What was measured: name, seconds, megabytes.
#[derive(Default)]
struct Samples(Vec<(String, f64, f64)>);

impl Samples {
    fn add(&mut self, name: &str, seconds: f64, megabytes: f64) {
        self.0.push((name.into(), seconds, megabytes));
    }

    fn of(&self, name: &str) -> (Vec<f64>, Vec<f64>) {
        self.0.iter().filter(|(of, ..)| of == name).map(|(_, s, mb)| (*s, *mb)).unzip()
    }
}

/// Commands of `martlet subscriber`, over files in a folder.
struct Commands {
    program: PathBuf,
    folder: PathBuf,
}

impl Commands {
    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write_csv(&self, subscribers: u64) -> Result<()> {
        let mut csv = BufWriter::new(File::create(self.file("subscribers.csv"))?);
        writeln!(csv, "imsi,key,opc,slice,dnn,downlink,uplink")?;
        for n in 0..subscribers {
            // Keys differ, as those of cards do.
            writeln!(
                csv,
                "{:015},{:032x},{:032x},1,internet,1 Gbps,100 Mbps",
                1_010_000_000_001 + n,
                u128::from(n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
                u128::from(n) + 1,
            )?;
        }
        Ok(csv.flush()?)
    }

    /// Runs a command. Returns its time in seconds and its peak of resident memory in kilobytes.
    fn run(&self, name: &str, subscribers: u64) -> Result<(f64, u64)> {
        let (csv, json) = (self.file("subscribers.csv"), self.file("subscribers.json"));
        match name {
            "import.csv" => self.import(&csv, subscribers),
            "import.json" => self.import(&json, subscribers),
            "export.json" => {
                let measured = self.measure(&["export", "--format", "martlet"], &json)?;
                let text = std::fs::read_to_string(&json)?;
                let written = text.matches("\"supi\"").count() as u64;
                ensure!(written == subscribers, "{written} of {subscribers} were exported");
                Ok(measured)
            }
            "list" => {
                let listed = self.file("list");
                let measured =
                    self.measure(&["list", "--limit", &subscribers.to_string()], &listed)?;
                let lines = std::fs::read_to_string(&listed)?.lines().count() as u64;
                ensure!(lines >= subscribers, "{lines} lines for {subscribers} subscribers");
                Ok(measured)
            }
            _ => bail!("no command {name}"),
        }
    }

    /// Imports a file into an empty database.
    fn import(&self, file: &Path, subscribers: u64) -> Result<(f64, u64)> {
        let database = self.file("database");
        if database.exists() {
            std::fs::remove_dir_all(&database)?;
        }
        std::fs::create_dir_all(&database)?;
        // No core answers there.
        let config = "oam: { socket: oam.sock, api: { socket: api.sock } }\n";
        std::fs::write(database.join("martlet.yaml"), config)?;
        let answer = self.file("answer");
        let file = file.display().to_string();
        let measured = self.measure(&["import", &file], &answer)?;
        let answer = std::fs::read_to_string(answer)?;
        ensure!(answer.contains(&format!("{subscribers} subscribers added")), "{answer}");
        Ok(measured)
    }

    fn measure(&self, words: &[&str], output: &Path) -> Result<(f64, u64)> {
        let started = Instant::now();
        let errors = self.file("errors");
        let mut child = Command::new(&self.program)
            .args(["--log", "error", "subscriber"])
            .args(words)
            .arg("-c")
            .arg(self.file("database").join("martlet.yaml"))
            .stdin(Stdio::null())
            .stdout(File::create(output)?)
            .stderr(File::create(&errors)?)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))?;
        let mut peak = 0;
        let status = loop {
            peak = peak.max(peak_resident_kb(child.id()));
            if let Some(status) = child.try_wait()? {
                break status;
            }
            std::thread::sleep(SAMPLE_TIME);
        };
        let seconds = started.elapsed().as_secs_f64();
        let errors = std::fs::read_to_string(errors)?;
        ensure!(status.success(), "martlet subscriber {}: {errors}", words.join(" "));
        Ok((seconds, peak))
    }
}

fn report(output: &mut Output, samples: &Samples, subscribers: u64) -> Result<()> {
    let mut text = format!(
        "{subscribers} subscribers, median. Imports go into an empty SQLite database. A start is \
         the time until all functions of a core in one process are ready.\n\n| | seconds | memory, \
         MB |\n| --- | --- | --- |\n"
    );
    let point = format!("subscribers{subscribers}");
    let starts = STARTS.map(|(name, title)| (format!("start.{name}"), format!("start, {title}")));
    let commands = COMMANDS.map(|(name, title)| (name.to_string(), title.to_string()));
    for (name, title) in commands.into_iter().chain(starts) {
        let (seconds, megabytes) = samples.of(&name);
        let seconds = median(&seconds).context("no samples")?;
        let megabytes = median(&megabytes).context("no samples")?;
        let _ = writeln!(text, "| {title} | {:.2} | {:.0} |", seconds.value, megabytes.value);
        output.figure(Figure::of(format!("{name}.{point}.p50"), "s", seconds));
        output.figure(Figure::of(format!("{name}.{point}.peak"), "MB", megabytes));
    }
    let (empty, full) = (samples.of("start.empty").0, samples.of("start.full").0);
    let ratio =
        median(&full).context("no starts")?.value / median(&empty).context("no starts")?.value;
    output.figure(Figure::once(format!("start.full_over_empty.{point}.ratio"), "", ratio));
    let _ = writeln!(text, "\nA core with all subscribers starts in {ratio:.2} times the time.");
    output.text(&text);
    Ok(())
}
