//! Commands on rules, from a command line, a file or the shell.
use anyhow::{Context, Result, anyhow, bail};
use martlet_switch_control::client::{Client, ClientError};
use martlet_switch_control::model::{FieldMatch, Operation, TableEntry, Update};
use martlet_switch_control::rules::{self, RuleError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// The command words.
pub const VERBS: &[&str] = &["rule", "counters", "watch", "meter", "help", "quit"];
/// Commands on rules.
pub const RULE_VERBS: &[&str] = &["add", "try", "set", "del", "list", "load", "save", "diff"];

/// Executes a command line.
pub async fn line(client: &mut Client, election: Option<u64>, text: &str) -> Result<()> {
    let words = rules::words(text);
    let wrong = |error: RuleError| anyhow!("{}", error.shown(text));
    let text_words: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
    match text_words[..] {
        [] => Ok(()),
        ["rule", "list"] => list(client, None).await,
        ["rule", "list", kind] => {
            let kind = rules::kind(words[2].0, kind).map_err(wrong)?;
            list(client, Some(kind.name)).await
        }
        ["rule", "load", file] => load(client, election, Path::new(file), false).await,
        ["rule", "save", file] => save(client, Path::new(file)).await,
        ["rule", "diff", file] => diff(client, Path::new(file)).await,
        ["rule", verb @ ("add" | "try" | "set" | "del"), ..] => {
            let operation = match verb {
                "set" => Operation::Modify,
                "del" => Operation::Delete,
                _ => Operation::Insert,
            };
            let mut free = Free::of(client).await?;
            let info = client.program().info.clone();
            let deletion = operation == Operation::Delete;
            let entry =
                rules::parse(&info, &words[2..], text.chars().count() + 1, deletion, &mut || {
                    free.next()
                });
            let entry = entry.map_err(wrong)?;
            if verb == "try" {
                println!("{}", described(client, &entry));
                return Ok(());
            }
            client.become_primary(election).await?;
            match client.write(&[Update { operation, entry: entry.clone() }]).await {
                Err(ClientError::Refused(errors)) => {
                    let message = errors.into_iter().next().map(|(_, why)| why).unwrap_or_default();
                    return Err(wrong(RuleError {
                        column: rules::error_position(&words[2..], &message),
                        message,
                    }));
                }
                outcome => outcome?,
            }
            if !deletion {
                println!("{}", rules::show(&info, &entry).unwrap_or_default());
                warn_of_unknown_hops(client, std::slice::from_ref(&entry)).await?;
            }
            Ok(())
        }
        ["counters"] => counters(client).await,
        ["watch"] => {
            println!("Press Ctrl+C to stop.");
            tokio::select! {
                outcome = watch(client, 1, None) => outcome,
                _ = tokio::signal::ctrl_c() => Ok(()),
            }
        }
        ["watch", rounds] => {
            let number = |_| {
                wrong(RuleError {
                    column: words[1].0,
                    message: format!("{rounds:?} is not a number of rounds"),
                })
            };
            watch(client, 1, Some(rounds.parse().map_err(number)?)).await
        }
        ["meter", meter, rate, burst] => {
            let number = |text: &str| {
                text.parse::<u64>().with_context(|| format!("{text:?} is not a number"))
            };
            client.become_primary(election).await?;
            let rate = (number(rate)?, number(burst)?);
            Ok(client.set_meter(number(meter)? as u32, Some(rate)).await?)
        }
        ["rule", ..] => {
            let (column, _) = words.get(1).copied().unwrap_or((text.chars().count() + 1, ""));
            Err(wrong(RuleError {
                column,
                message: format!("expected one of {} after rule", RULE_VERBS.join(", ")),
            }))
        }
        _ => Err(wrong(RuleError {
            column: words[0].0,
            message: format!("expected one of {}", VERBS.join(", ")),
        })),
    }
}

/// Warns about next hops that do not exist yet: packets to them are dropped.
async fn warn_of_unknown_hops(
    client: &mut Client,
    rules: &[TableEntry],
) -> Result<(), ClientError> {
    let info = client.program().info.clone();
    let of = |entry: &TableEntry| {
        let parameters = info.actions[entry.call.action].parameters.iter();
        let pairs: Vec<u64> = parameters
            .zip(&entry.call.arguments)
            .filter(|(parameter, _)| parameter.name.starts_with("next_hop"))
            .map(|(_, hop)| *hop)
            .collect();
        pairs
    };
    let named: BTreeSet<u64> = rules.iter().flat_map(of).collect();
    if named.is_empty() {
        return Ok(());
    }
    let existing = client.entries(Some("l2_forward")).await?;
    let existing: BTreeSet<u64> = existing
        .iter()
        .filter_map(|entry| match entry.key.fields[..] {
            [FieldMatch::Exact(number)] => Some(number),
            _ => None,
        })
        .collect();
    let missing: Vec<String> = named.difference(&existing).take(10).map(u64::to_string).collect();
    if !missing.is_empty() {
        eprintln!(
            "note: these next hops do not exist yet, and packets to them are dropped: {}",
            missing.join(", ")
        );
    }
    Ok(())
}

/// Counters that no rule uses.
struct Free {
    taken: BTreeSet<u64>,
    next: u64,
    max: u64,
}

impl Free {
    async fn of(client: &mut Client) -> Result<Free, ClientError> {
        let entries = client.entries(None).await?;
        let info = &client.program().info;
        let taken = entries.iter().filter_map(|entry| rules::counter(info, entry)).collect();
        Ok(Free { taken, next: 0, max: info.counters[0].size.into() })
    }

    fn next(&mut self) -> Option<u64> {
        while self.taken.contains(&self.next) {
            self.next += 1;
        }
        self.next += 1;
        (self.next <= self.max).then_some(self.next - 1)
    }
}

/// An entry in the form of its table.
fn described(client: &Client, entry: &TableEntry) -> String {
    let info = &client.program().info;
    let (table, action) = (&info.tables[entry.table], &info.actions[entry.call.action]);
    let fields = entry
        .key
        .fields
        .iter()
        .zip(&table.keys)
        .map(|(field, key)| format!("{}={field:x?}", key.name));
    let arguments = entry
        .call
        .arguments
        .iter()
        .zip(&action.parameters)
        .map(|(value, p)| format!("{}={value:#x}", p.name));
    let (fields, arguments): (Vec<_>, Vec<_>) = (fields.collect(), arguments.collect());
    format!(
        "{}: {} priority={} -> {}({})",
        table.name,
        fields.join(" "),
        entry.key.priority,
        action.alias,
        arguments.join(", ")
    )
}

/// All rules with their text.
async fn shown(client: &mut Client) -> Result<Vec<(TableEntry, String)>> {
    let entries = client.entries(None).await?;
    let info = &client.program().info;
    let shown =
        entries.into_iter().filter_map(|entry| rules::show(info, &entry).map(|text| (entry, text)));
    Ok(shown.collect())
}

async fn list(client: &mut Client, kind: Option<&str>) -> Result<()> {
    for (_, text) in shown(client).await? {
        if kind.is_none_or(|kind| text.split(' ').next() == Some(kind)) {
            println!("{text}");
        }
    }
    Ok(())
}

/// An error in a line of a file, with a marker below the position.
fn with_position(file: &Path, number: usize, line: &str, error: &RuleError) -> String {
    format!("{}:{number}:{}: {}", file.display(), error.column, error.shown(line))
}

/// The rules of a file, each with its line; all wrong lines are reported.
async fn read(client: &mut Client, file: &Path) -> Result<Vec<(usize, TableEntry)>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{} cannot be read", file.display()))?;
    let mut free = Free::of(client).await?;
    let info = &client.program().info;
    // Counters named in the file are not allocated to other rules.
    let named = text.lines().flat_map(|line| {
        let words = rules::words(line);
        let at = words.iter().position(|(_, word)| *word == "counter");
        at.and_then(|at| words.get(at + 1).and_then(|(_, value)| value.parse::<u64>().ok()))
    });
    free.taken.extend(named);
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for (n, line) in text.lines().enumerate() {
        let words = rules::words(line);
        if words.is_empty() {
            continue;
        }
        match rules::parse(info, &words, line.chars().count() + 1, false, &mut || free.next()) {
            Ok(entry) => found.push((n + 1, entry)),
            Err(error) => errors.push(with_position(file, n + 1, line, &error)),
        }
    }
    match errors.len() {
        0 => Ok(found),
        n => {
            errors.truncate(20);
            bail!("{}\n{n} lines are wrong: nothing was written", errors.join("\n"))
        }
    }
}

/// Adds all rules of a file atomically, or none.
pub async fn load(
    client: &mut Client,
    election: Option<u64>,
    file: &Path,
    dry_run: bool,
) -> Result<()> {
    let rules = read(client, file).await?;
    if dry_run {
        rules.iter().for_each(|(_, entry)| println!("{}", described(client, entry)));
        return Ok(());
    }
    client.become_primary(election).await?;
    let updates: Vec<Update> = rules
        .iter()
        .map(|(_, entry)| Update { operation: Operation::Insert, entry: entry.clone() })
        .collect();
    let started = std::time::Instant::now();
    match client.write(&updates).await {
        Ok(()) => {}
        Err(ClientError::Refused(errors)) => {
            let text = std::fs::read_to_string(file)?;
            let lines: Vec<&str> = text.lines().collect();
            let wrong = errors.iter().take(20).map(|(n, why)| {
                let number = rules[*n].0;
                let line = lines.get(number - 1).copied().unwrap_or_default();
                let column = rules::error_position(&rules::words(line), why);
                with_position(file, number, line, &RuleError { column, message: why.clone() })
            });
            bail!("{}\nnothing was written", wrong.collect::<Vec<_>>().join("\n"));
        }
        Err(error) => return Err(error.into()),
    }
    println!("{} rules in {:.1} ms", rules.len(), started.elapsed().as_secs_f64() * 1e3);
    let entries: Vec<TableEntry> = rules.into_iter().map(|(_, entry)| entry).collect();
    warn_of_unknown_hops(client, &entries).await?;
    Ok(())
}

/// Writes all rules to a file.
pub async fn save(client: &mut Client, file: &Path) -> Result<()> {
    let rules = shown(client).await?;
    let lines: String = rules.iter().map(|(_, text)| format!("{text}\n")).collect();
    std::fs::write(file, lines).with_context(|| format!("{} cannot be written", file.display()))?;
    println!("{} rules", rules.len());
    Ok(())
}

/// Compares a file with the switch.
pub async fn diff(client: &mut Client, file: &Path) -> Result<()> {
    let wanted = read(client, file).await?;
    let info = client.program().info.clone();
    // A rule of the file without a counter matches any counter.
    let keyed = |entry: &TableEntry| (entry.table, entry.key.clone());
    let existing: BTreeMap<_, _> = shown(client)
        .await?
        .into_iter()
        .map(|(entry, text)| (keyed(&entry), (entry, text)))
        .collect();
    let text = std::fs::read_to_string(file)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut seen = BTreeSet::new();
    let mut same = true;
    for (line, mut entry) in wanted {
        let key = keyed(&entry);
        let found = existing.get(&key);
        let names_counter =
            rules::words(lines[line - 1]).iter().any(|(_, word)| *word == "counter");
        if let Some((other, _)) =
            found.filter(|(other, _)| !names_counter && other.call.action == entry.call.action)
        {
            let position =
                info.actions[entry.call.action].parameters.iter().position(|p| p.name == "counter");
            if let Some(position) = position {
                entry.call.arguments[position] = other.call.arguments[position];
            }
        }
        if found.is_none_or(|(other, _)| other.call != entry.call) {
            same = false;
            if let Some((_, text)) = found {
                println!("- {text}");
            }
            println!("+ {}", rules::show(&info, &entry).unwrap_or_default());
        }
        seen.insert(key);
    }
    for (_, (_, text)) in existing.iter().filter(|(key, _)| !seen.contains(*key)) {
        same = false;
        println!("- {text}");
    }
    if same {
        println!("no difference");
    }
    Ok(())
}

/// Prints counters by rule.
pub async fn counters(client: &mut Client) -> Result<()> {
    let counts: BTreeMap<u32, (u64, u64)> = client
        .counters("rules", None)
        .await?
        .into_iter()
        .map(|(n, packets, bytes)| (n, (packets, bytes)))
        .collect();
    let rules = shown(client).await?;
    println!("{:>14} {:>18}  rule", "packets", "bytes");
    for (entry, text) in rules {
        if let Some(counter) = rules::counter(&client.program().info, &entry) {
            let (packets, bytes) = counts.get(&(counter as u32)).copied().unwrap_or_default();
            println!("{packets:>14} {bytes:>18}  {text}");
        }
    }
    Ok(())
}

/// Prints counters and rates repeatedly.
pub async fn watch(client: &mut Client, every: u64, rounds: Option<u32>) -> Result<()> {
    let mut before: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    let mut round = 0;
    loop {
        let now: BTreeMap<u32, (u64, u64)> = client
            .counters("rules", None)
            .await?
            .into_iter()
            .map(|(n, packets, bytes)| (n, (packets, bytes)))
            .collect();
        if round > 0 {
            println!("{:>8} {:>12} {:>12} {:>14}", "counter", "packets/s", "Mbit/s", "packets");
            for (counter, (packets, bytes)) in &now {
                let (p, o) = before.get(counter).copied().unwrap_or_default();
                let (more, bits) = (
                    (packets.saturating_sub(p)) as f64 / every as f64,
                    (bytes.saturating_sub(o)) as f64 * 8.0 / every as f64 / 1e6,
                );
                if more > 0.0 {
                    println!("{counter:>8} {more:>12.0} {bits:>12.2} {packets:>14}");
                }
            }
        }
        before = now;
        round += 1;
        if rounds.is_some_and(|rounds| round > rounds) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(every)).await;
    }
}

/// Help for the shell.
pub fn help() -> String {
    let mut text = String::from(
        "rule add|try|set KIND WORD VALUE …   add a rule, show its table entry, or change it\nrule \
         del KIND KEY …                  delete a rule\n\
         rule list [KIND] · rule load|save|diff FILE · \
         counters · watch [ROUNDS] · meter NUMBER BYTES-PER-SECOND BURST-BYTES · \
         quit\n\nkinds:\n",
    );
    for kind in rules::KINDS {
        let words: Vec<String> = kind
            .words
            .iter()
            .map(|word| match word.absent {
                rules::Absent::Required => word.word.to_owned(),
                _ => format!("[{}]", word.word),
            })
            .collect();
        text.push_str(&format!("  {:<16} {} — {}\n", kind.name, words.join(" "), kind.help));
    }
    text
}
