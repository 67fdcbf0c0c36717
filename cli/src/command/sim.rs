//! `martlet sim`: subscribers with new keys, and the files to program their cards.
use super::subscriber::DatabaseArgs;
use crate::api_client::Api;
use anyhow::{Context, Result, anyhow, ensure};
use clap::{Args, Subcommand, ValueEnum};
use martlet::exchange::{self, Format, Writer};
use martlet_security::sidf::HomeNetworkKeys;
use martlet_store::{Secret, StoreError, SubscribedDnn, SubscribedSlice, Subscriber};
use martlet_udm::{HomeNetworkKey, Scheme};
use serde_json::json;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Commands for SIM cards.
#[derive(Subcommand)]
pub enum SimCommand {
    /// Make subscribers with new keys, and the files to program their cards with pySim
    Generate(Box<GenerateArgs>),
}

/// How a card conceals its identity (TS 33.501, annex C).
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SuciProfile {
    /// Profile A: X25519
    A,
    /// Profile B: secp256r1
    B,
    /// Null scheme: the identity is not concealed
    None,
}

/// Arguments of `martlet sim generate`.
#[derive(Args)]
pub struct GenerateArgs {
    /// Number of cards
    #[arg(long, default_value_t = 1)]
    count: u64,
    /// MCC and MNC, such as 00101 or 001-01 [default: network.plmn of the configuration]
    #[arg(long)]
    plmn: Option<String>,
    /// Number of the first subscriber in its PLMN (MSIN)
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// How the cards conceal their identity
    #[arg(long, value_enum, default_value = "a")]
    profile: SuciProfile,
    /// Slice as SST or SST-SD
    #[arg(long, default_value = "1")]
    slice: String,
    /// Data network; repeat for more, the first is the default
    #[arg(long = "dnn", default_value = "internet")]
    dnns: Vec<String>,
    /// The manufacturer's list of the cards, CSV with the columns iccid and adm1, whose cards are
    /// programmed in its order
    #[arg(long, value_name = "FILE")]
    cards: Option<PathBuf>,
    /// New folder for the files, readable by its owner only
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Only write the files, and add no subscriber to the database
    #[arg(long)]
    files_only: bool,
    #[command(flatten)]
    database: DatabaseArgs,
}

/// Runs the command.
pub fn run(command: SimCommand) -> Result<()> {
    let SimCommand::Generate(args) = command;
    generate(&args)
}

/// A card of the manufacturer's list.
struct Card {
    iccid: String,
    adm1: String,
}

fn generate(args: &GenerateArgs) -> Result<()> {
    let config = args.database.config()?;
    let plmn = plmn_digits(args.plmn.as_deref().unwrap_or(&config.network.plmn))?;
    let plmn = plmn.as_str();
    let cards = args.cards.as_deref().map(cards).transpose()?;
    if let Some(cards) = &cards {
        ensure!(
            cards.len() as u64 >= args.count,
            "the list has {} cards, and --count is {}",
            cards.len(),
            args.count
        );
    }
    let mut subscribers = subscribers(args, plmn)?;
    let key = suci_key(args.profile, &config.udm.home_network_keys)?;

    let folder = &args.output;
    std::fs::DirBuilder::new().mode(0o700).create(folder).with_context(|| {
        format!("{}: the folder must not exist, and the one around it must", folder.display())
    })?;
    if !args.files_only
        && let Err(error) = add(args, &mut subscribers)
    {
        // It has no file yet.
        let _ = std::fs::remove_dir(folder);
        return Err(error);
    }
    let mut writer = Writer::new(Format::Csv, new_file(folder, "subscribers.csv")?, plmn)?;
    subscribers.iter().try_for_each(|subscriber| writer.write(subscriber))?;
    writer.finish()?;
    let mut programming = new_file(folder, "pysim.csv")?;
    write_programming(&mut programming, &subscribers, plmn, cards.as_deref())?;
    if let Some((key, is_new)) = &key {
        new_file(folder, "suci.pysim")?.write_all(suci_script(key)?.as_bytes())?;
        if *is_new {
            let text = key_lines(key, &config.udm.home_network_keys);
            new_file(folder, "home_network_key.yaml")?.write_all(text.as_bytes())?;
        }
    }

    // The screen shows no key.
    let folder = folder.display();
    println!("{} cards, from {} on. Files in {folder}:", subscribers.len(), subscribers[0].supi);
    println!("  subscribers.csv        the subscribers, for `martlet subscriber import`");
    println!("  pysim.csv              identities and keys, for `pySim-prog.py --source csv`");
    match &key {
        Some((_, true)) => {
            println!("  suci.pysim             concealment, for `pySim-shell.py --script`");
            println!(
                "  home_network_key.yaml  the private key: add it to the core's configuration"
            );
        }
        Some((key, false)) => println!(
            "  suci.pysim             concealment with the core's key {}, for `pySim-shell.py \
             --script`",
            key.id
        ),
        None => {}
    }
    match args.files_only {
        true => println!("No subscriber was added to the database."),
        false => println!("The subscribers are in the database."),
    }
    Ok(())
}

/// MCC and MNC without a hyphen.
fn plmn_digits(text: &str) -> Result<String> {
    let digits = match text.split_once('-') {
        Some((mcc, mnc)) if mcc.len() == 3 => format!("{mcc}{mnc}"),
        _ => text.to_string(),
    };
    ensure!(
        (5..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()),
        "--plmn {text:?}: write MCC and MNC in five or six digits, such as 00101 or 001-01"
    );
    Ok(digits)
}

/// What to do if subscribers with these numbers exist.
const OTHERS_EXIST: &str = "--first begins with another number";

/// Adds the subscribers to the database, with keys of the core if one runs.
fn add(args: &GenerateArgs, subscribers: &mut [Subscriber]) -> Result<()> {
    let added = match args.database.api()? {
        Some(api) => crate::runtime::block_on(make_batches(&api, args, subscribers)),
        None => args.database.add(subscribers),
    };
    added.map_err(with_remedy)
}

/// An error with what to do if a subscriber exists, in place of the remedy of store and API.
fn with_remedy(error: anyhow::Error) -> anyhow::Error {
    if let Some(StoreError::Exists(who)) = error.downcast_ref::<StoreError>() {
        return anyhow!("{who} exists: {OTHERS_EXIST}");
    }
    match error.to_string().split_once(" exists") {
        Some((who, _)) if who.starts_with("imsi-") => anyhow!("{who} exists: {OTHERS_EXIST}"),
        _ => error,
    }
}

fn subscribers(args: &GenerateArgs, plmn: &str) -> Result<Vec<Subscriber>> {
    let (sst, sd) = super::subscriber::slice(&args.slice)?;
    let dnn =
        |(n, name): (usize, &String)| SubscribedDnn { default: n == 0, ..SubscribedDnn::new(name) };
    let dnns: Vec<_> = args.dnns.iter().enumerate().map(dnn).collect();
    let digits = 15 - plmn.len();
    let end = 10u64.pow(digits as u32);
    ensure!(args.count > 0, "--count 0 makes no card");
    ensure!(
        args.first.checked_add(args.count).is_some_and(|last| last <= end),
        "--first and --count go beyond the last number of {digits} digits"
    );
    (args.first..args.first + args.count)
        .map(|n| {
            let supi = format!("imsi-{plmn}{n:0digits$}");
            let (mut key, mut opc) = ([0; 16], [0; 16]);
            for bytes in [&mut key, &mut opc] {
                getrandom::fill(bytes).map_err(|e| anyhow!("no random numbers: {e}"))?;
            }
            let mut subscriber = Subscriber::new(&supi, Secret(key), Secret(opc), "internet");
            subscriber.slices =
                vec![SubscribedSlice { sst, sd, default: true, dnns: dnns.clone() }];
            subscriber.check()?;
            Ok(subscriber)
        })
        .collect()
}

/// SIMs of a batch of the API.
const BATCH: usize = 10_000;
/// Maximum length of the name of a batch of the API in bytes.
const MAX_NAME: usize = 100;

/// The name of a batch: that of the folder, shortened to what the API takes, with the number of the
/// batch if there are several.
fn batch_name(folder: &str, number: usize, count: usize) -> String {
    let end = match count {
        1 => String::new(),
        _ => format!(" {number} of {count}"),
    };
    let mut name = folder.to_string();
    if name.len() + end.len() > MAX_NAME {
        let room = MAX_NAME - end.len() - '…'.len_utf8();
        let length = (0..=room).rev().find(|at| name.is_char_boundary(*at));
        name.truncate(length.unwrap_or_default());
        name.push('…');
    }
    name + &end
}

/// Has a running core make the SIM batches, which then name them. The keys are the core's.
async fn make_batches(
    api: &Api,
    args: &GenerateArgs,
    subscribers: &mut [Subscriber],
) -> Result<()> {
    let name = args.output.file_name().map_or("cards".into(), |name| name.to_string_lossy());
    let count = subscribers.len().div_ceil(BATCH);
    for (n, part) in subscribers.chunks_mut(BATCH).enumerate() {
        let name = batch_name(&name, n + 1, count);
        let Some(first) = part.first() else { continue };
        let template = json!({"supi": first.supi, "slices": first.slices});
        let body = json!({"name": name, "count": part.len(), "template": template});
        let made = api.post("/sim-batches", &body).await?;
        let sims = made["sims"].as_array().context("the API sent no keys")?;
        ensure!(sims.len() == part.len(), "the API made {} SIMs", sims.len());
        for (subscriber, sim) in part.iter_mut().zip(sims) {
            let is_same = sim["imsi"].as_str() == subscriber.supi.strip_prefix("imsi-");
            ensure!(is_same, "the API made other SIMs");
            let key = |name: &str| {
                let key = sim[name].as_str().and_then(Secret::from_hex);
                key.with_context(|| format!("the API sent no {name}"))
            };
            (subscriber.key, subscriber.opc) = (key("key")?, key("opc")?);
        }
    }
    Ok(())
}

/// The key for concealment: the first of the core with this profile, else a new one.
fn suci_key(
    profile: SuciProfile,
    known: &[HomeNetworkKey],
) -> Result<Option<(HomeNetworkKey, bool)>> {
    let scheme = match profile {
        SuciProfile::None => return Ok(None),
        SuciProfile::A => Scheme::A,
        SuciProfile::B => Scheme::B,
    };
    if let Some(key) = known.iter().find(|key| key.scheme == scheme) {
        return Ok(Some((key.clone(), false)));
    }
    let id = (1..=254).find(|id| known.iter().all(|key| key.id != *id)).unwrap_or(1);
    let private = martlet_udm::generate_key_pair(scheme)?.private;
    Ok(Some((HomeNetworkKey { id, scheme, private }, true)))
}

/// The public key of a private one, hexadecimal.
fn public_key(key: &HomeNetworkKey) -> Result<String> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(&key.private, &mut bytes).ok().context("a home network key is wrong")?;
    let mut keys = HomeNetworkKeys::new();
    match key.scheme {
        Scheme::A => keys.add_profile_a(key.id, &bytes),
        Scheme::B => {
            let added = keys.add_profile_b(key.id, &bytes);
            added.map_err(|error| anyhow!("home network key {}: {error}", key.id))?;
        }
    }
    let (_, _, public) = keys.public_keys().pop().context("a home network key is wrong")?;
    Ok(hex::encode(public))
}

/// Commands of pySim-shell that make a card conceal its identity (TS 31.102, 4.4.11 and 4.2.8).
fn suci_script(key: &HomeNetworkKey) -> Result<String> {
    let scheme = match key.scheme {
        Scheme::A => 1,
        Scheme::B => 2,
    };
    let calculation = json!({
        "prot_scheme_id_list": [{"priority": 0, "identifier": scheme, "key_index": 1}],
        "hnet_pubkey_list": [
            {"hnet_pubkey_identifier": key.id, "hnet_pubkey": public_key(key)?},
        ],
    });
    Ok(format!(
        "# For each card, after `verify_adm` with its ADM1.\n\
         select MF/ADF.USIM/DF.5GS/EF.SUCI_Calc_Info\n\
         update_binary_decoded '{calculation}'\n\
         # Routing indicator 0.\n\
         select MF/ADF.USIM/DF.5GS/EF.Routing_Indicator\n\
         update_binary f0ffffff\n\
         # Service 124: concealed identities. Without service 125 the phone computes them.\n\
         select MF/ADF.USIM/EF.UST\n\
         ust_service_activate 124\n\
         ust_service_deactivate 125\n"
    ))
}

/// The lines of the configuration that hold the keys of the core and the new one.
fn key_lines(new: &HomeNetworkKey, known: &[HomeNetworkKey]) -> String {
    let line = |key: &HomeNetworkKey| {
        format!(
            "    - {{ id: {}, scheme: {:?}, private: \"{}\" }}\n",
            key.id, key.scheme, key.private
        )
    };
    let keys: String = known.iter().chain([new]).map(line).collect();
    format!(
        "# Replaces `udm.home_network_keys` in the core's configuration.\nudm:\n  \
             home_network_keys:\n{keys}"
    )
}

/// The batch file of pySim-prog.
fn write_programming(
    out: &mut impl Write,
    subscribers: &[Subscriber],
    plmn: &str,
    cards: Option<&[Card]>,
) -> Result<()> {
    let (mcc, mnc) = plmn.split_at(3);
    writeln!(out, "name,iccid,mcc,mnc,imsi,ki,opc,acc,adm1")?;
    for (n, subscriber) in subscribers.iter().enumerate() {
        let imsi = subscriber.supi.trim_start_matches("imsi-");
        let (iccid, adm1) = match cards {
            Some(cards) => (cards[n].iccid.clone(), cards[n].adm1.as_str()),
            None => (iccid(plmn, &imsi[plmn.len()..]), ""),
        };
        // The access class is the last digit of the IMSI (TS 22.011, 4.2).
        let class = imsi.bytes().last().map_or(0, |digit| digit - b'0');
        writeln!(
            out,
            "Martlet,{iccid},{mcc},{mnc},{imsi},{},{},{:04x},{adm1}",
            subscriber.key.to_hex(),
            subscriber.opc.to_hex(),
            1u16 << class,
        )?;
    }
    Ok(out.flush()?)
}

/// A card number of 19 digits for a card that has none: 89 for telecommunications, the PLMN and the
/// number in it, and Luhn's check digit (ITU-T E.118).
fn iccid(plmn: &str, msin: &str) -> String {
    let digits = format!("89{plmn:0<6}{:0>10}", msin.get(..10).unwrap_or(msin));
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(n, digit)| {
            let digit = u32::from(digit - b'0') * if n % 2 == 0 { 2 } else { 1 };
            digit / 10 + digit % 10
        })
        .sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// The cards of a manufacturer's list.
fn cards(file: &Path) -> Result<Vec<Card>> {
    let name = file.display();
    let opened = std::fs::File::open(file).with_context(|| name.to_string())?;
    let mut text = BufReader::new(opened);
    let delimiter = exchange::delimiter(text.fill_buf().with_context(|| name.to_string())?);
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).trim(csv::Trim::All).from_reader(text);
    let columns: HashMap<String, usize> = reader
        .headers()?
        .iter()
        .enumerate()
        .map(|(n, column)| (column.to_ascii_lowercase(), n))
        .collect();
    let column =
        |of: &str| columns.get(of).copied().with_context(|| format!("{name} has no column {of}"));
    let (iccid, adm1) = (column("iccid")?, column("adm1")?);
    let mut cards = Vec::new();
    for record in reader.records() {
        let record = record?;
        let text = |n: usize| record.get(n).unwrap_or_default().to_string();
        cards.push(Card { iccid: text(iccid), adm1: text(adm1) });
    }
    Ok(cards)
}

/// A new file that only its owner can read.
fn new_file(folder: &Path, name: &str) -> Result<std::fs::File> {
    let file = folder.join(name);
    let mut open = std::fs::OpenOptions::new();
    let opened = open.write(true).create_new(true).mode(0o600).open(&file);
    opened.with_context(|| file.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_number_has_its_check_digit() {
        let number = iccid("00101", "0000000001");
        assert_eq!(number.len(), 19);
        // Luhn's sum over all digits is a multiple of 10.
        let sum: u32 = number
            .bytes()
            .rev()
            .enumerate()
            .map(|(n, digit)| {
                let digit = u32::from(digit - b'0') * if n % 2 == 1 { 2 } else { 1 };
                digit / 10 + digit % 10
            })
            .sum();
        assert_eq!(sum % 10, 0, "{number}");
    }

    #[test]
    fn the_error_about_a_subscriber_that_exists_begins_with_the_subscriber() {
        let expected = "imsi-001010000000001 exists: --first begins with another number";
        let who = "imsi-001010000000001";
        let of_store = anyhow::Error::from(StoreError::Exists(who.into()));
        let of_api = anyhow!("{who} exists: change it instead, or use another identity");
        for error in [of_store, of_api] {
            assert_eq!(format!("{:#}", with_remedy(error)), expected);
        }
        let other = "template.slices: no slice exists";
        assert_eq!(with_remedy(anyhow!(other)).to_string(), other);
    }

    #[test]
    fn a_plmn_is_written_with_and_without_a_hyphen() {
        for (text, digits) in [("99970", "99970"), ("999-70", "99970"), ("310-410", "310410")] {
            assert_eq!(plmn_digits(text).unwrap(), digits);
        }
        for wrong in ["", "9997", "99-970", "999-7", "999-70-1", "9997000"] {
            assert!(plmn_digits(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_name_of_a_batch_is_not_longer_than_the_api_takes() {
        assert_eq!(batch_name("cards", 1, 1), "cards");
        assert_eq!(batch_name("cards", 2, 3), "cards 2 of 3");
        let whole = "c".repeat(100);
        assert_eq!(batch_name(&whole, 1, 1), whole);
        // An `ä` has two bytes, and one of them does not remain.
        for letter in ["c", "ä", "c\u{1f4f1}"] {
            for (folder, count) in [(letter.repeat(120), 1), (letter.repeat(100), 12)] {
                let name = batch_name(&folder, 11, count);
                assert!((95..=100).contains(&name.len()) && name.contains('…'), "{name}");
                assert_eq!(name.ends_with(" 11 of 12"), count == 12, "{name}");
            }
        }
    }

    #[test]
    fn the_key_of_the_core_is_used_if_it_has_one() {
        let known = HomeNetworkKey {
            id: 7,
            scheme: Scheme::A,
            private: "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d".into(),
        };
        let (key, is_new) =
            suci_key(SuciProfile::A, std::slice::from_ref(&known)).unwrap().unwrap();
        assert_eq!((key.id, is_new), (7, false));
        // The public key of TS 33.501, annex C.4.3.
        let public = "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650";
        assert_eq!(public_key(&key).unwrap(), public);
        let (key, is_new) =
            suci_key(SuciProfile::B, std::slice::from_ref(&known)).unwrap().unwrap();
        assert_eq!((key.id, is_new), (1, true));
        assert!(suci_script(&key).unwrap().contains("\"identifier\":2"));
    }
}
