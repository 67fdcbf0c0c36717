//! Bodies as other vendors' functions send them are read as what they stand for.
use martlet_sbi_api::nnrf_nfdiscovery::SearchResult;
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, SubscriptionData, UriList};
use martlet_sbi_api::nudm_sdm::{AccessAndMobilitySubscriptionData, SdmSubscription};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

const VECTORS: &str = include_str!("vendors.tsv");

fn check<T: Serialize + DeserializeOwned + Debug + PartialEq>(body: &str, stands_for: &str) {
    let read: T = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
    let due: T =
        serde_json::from_str(stands_for).unwrap_or_else(|error| panic!("{error}: {stands_for}"));
    assert_eq!(read, due, "{body}");
    let again = serde_json::to_value(&read).expect("it encodes");
    let due: serde_json::Value = serde_json::from_str(stands_for).expect("JSON");
    for (name, value) in due.as_object().expect("an object") {
        assert_eq!(again[name], *value, "{name} in {body}");
    }
}

#[test]
fn bodies_of_other_vendors_are_decoded() {
    let mut bodies = 0;
    for line in VECTORS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [kind, _vendor, body, stands_for] = fields[..] else { panic!("four fields: {line}") };
        match kind {
            "NfProfile" => check::<NfProfile>(body, stands_for),
            "SearchResult" => check::<SearchResult>(body, stands_for),
            "SubscriptionData" => check::<SubscriptionData>(body, stands_for),
            "UriList" => check::<UriList>(body, stands_for),
            "SdmSubscription" => check::<SdmSubscription>(body, stands_for),
            "AccessAndMobilitySubscriptionData" => {
                check::<AccessAndMobilitySubscriptionData>(body, stands_for);
            }
            other => panic!("unknown type {other}"),
        }
        bodies += 1;
    }
    assert_eq!(bodies, 7);
}
