//! What it costs to write and read a body as JSON, in compact form, and in two other
//! self-describing forms: `cargo bench -p martlet-sbi-api`, or of one body and form `cargo bench -p
//! martlet-sbi-api -- RetrieveSmContext compact`.
use martlet_sbi::compact::{self, Compact};
use martlet_sbi_api::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 200;
const CALLS: usize = 100;

fn main() {
    println!(
        "{:<30}{:<12}{:>8}{:>12}{:>12}  µs, median",
        "body", "form", "octets", "write", "read"
    );
    measure::<nsmf_pdusession::SmContextRetrievedData>(
        "nsmf-pdusession",
        "RetrieveSmContext",
        "response",
    );
    measure::<namf_communication::N1N2MessageTransferReqData>(
        "namf-comm",
        "N1N2MessageTransfer",
        "request",
    );
    measure::<npcf_am_policy_control::PolicyAssociationRequest>(
        "npcf-am-policy-control",
        "CreateIndividualAMPolicyAssociation",
        "request",
    );
    measure::<nudm_ueau::AuthenticationInfoResult>("nudm-ueau", "GenerateAuthData", "response");
    measure::<nnrf_nfmanagement::NfProfile>("nnrf-nfm", "RegisterNFInstance", "request");
}

/// The longest sample of a body.
fn sample<T: DeserializeOwned>(service: &str, operation: &str, direction: &str) -> T {
    let path = format!("{}/tests/samples/{service}.json", env!("CARGO_MANIFEST_DIR"));
    let all: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(path).expect("samples")).expect("JSON");
    let fits = all.iter().filter(|s| s["operation"] == operation && s["direction"] == direction);
    let longest = fits.max_by_key(|s| s["body"].to_string().len()).expect("a sample");
    serde_json::from_value(longest["body"].clone()).expect("a body of the type")
}

fn measure<T: Serialize + DeserializeOwned + Compact>(
    service: &str,
    operation: &str,
    direction: &str,
) {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if wanted.first().is_some_and(|wanted| wanted != operation) {
        return;
    }
    let value: T = sample(service, operation, direction);
    let mut out = Vec::with_capacity(1 << 16);
    let mut row =
        |form: &str, write: &mut dyn FnMut(&T, &mut Vec<u8>), read: &mut dyn FnMut(&[u8]) -> T| {
            if wanted.get(1).is_some_and(|wanted| wanted != form) {
                return;
            }
            out.clear();
            write(&value, &mut out);
            let octets = out.clone();
            let written = time(|| {
                out.clear();
                write(black_box(&value), &mut out);
            });
            let read = time(|| {
                black_box(read(black_box(&octets)));
            });
            println!(
                "{operation:.29}{:<1$}{form:<12}{2:>8}{written:>12.2}{read:>12.2}",
                "",
                30 - operation.len().min(29),
                octets.len()
            );
        };
    row("JSON", &mut |v, out| serde_json::to_writer(out, v).expect("JSON"), &mut |o| {
        serde_json::from_slice(o).expect("JSON")
    });
    row("compact", &mut |v, out| compact::to_vec(v, out), &mut |o| {
        compact::from_slice(o).expect("compact")
    });
    row(
        "MessagePack",
        &mut |v, out| {
            let mut to = rmp_serde::Serializer::new(out).with_struct_map().with_human_readable();
            v.serialize(&mut to).expect("MessagePack");
        },
        &mut |o| {
            let mut from = rmp_serde::Deserializer::from_read_ref(o).with_human_readable();
            T::deserialize(&mut from).expect("MessagePack")
        },
    );
    row("CBOR", &mut |v, out| ciborium::into_writer(v, out).expect("CBOR"), &mut |o| {
        ciborium::from_reader(o).expect("CBOR")
    });
}

/// Median of a call in µs.
fn time(mut call: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            (0..CALLS).for_each(|_| call());
            started.elapsed().as_secs_f64() * 1e6 / CALLS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}
