//! The configurations that the Helm chart writes, in `deploy/helm/rendered`, are right.
use martlet_sbi_http::Tls;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/helm/rendered")
}

/// The manifests of a file.
fn manifests(text: &str) -> Vec<Value> {
    let parse = |text: &str| serde_saphyr::from_str::<Value>(text).expect("a manifest");
    text.split("\n---\n").map(parse).collect()
}

/// Names and texts of the files in the ConfigMaps of manifests.
fn configurations(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for manifest in manifests(text).iter().filter(|manifest| manifest["kind"] == "ConfigMap") {
        let name = manifest["metadata"]["name"].as_str().expect("a name");
        for (file, text) in manifest["data"].as_object().into_iter().flatten() {
            found.push((format!("{name}/{file}"), text.as_str().expect("a text").to_string()));
        }
    }
    found
}

#[test]
fn configurations_of_the_chart_are_right() {
    let folder_of_test = std::env::temp_dir().join(format!("martlet-helm-{}", std::process::id()));
    std::fs::create_dir_all(&folder_of_test).unwrap();
    // The certificate of the database's secret.
    let certificate = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop/keys");
    std::fs::copy(certificate.join("certificate.pem"), folder_of_test.join("ca.crt")).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(folder()).unwrap() {
        let rendered = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for (name, text) in configurations(&rendered) {
            count += 1;
            // Folders of the pod.
            let here = folder_of_test.display().to_string();
            let pki = "/etc/martlet/pki/${POD_NAME}";
            let text = [pki, "/etc/martlet/database", "/var/lib/martlet"]
                .into_iter()
                .fold(text, |text, folder| text.replace(folder, &here));
            let file = folder_of_test.join("martlet.yaml");
            std::fs::write(&file, &text).unwrap();
            let key = "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d";
            let checked = Command::new(env!("CARGO_BIN_EXE_martlet"))
                .args(["check", &file.display().to_string()])
                .envs([("POD_NAME", "core-amf-1"), ("POD_IP", "10.244.1.7"), ("POD_INDEX", "1")])
                .envs([("DATABASE_URI", "postgresql://m:pw@db/martlet"), ("HOME_NETWORK_KEY", key)])
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&checked.stderr);
            assert!(!error.contains(":pw@") && !error.contains(key), "{error}");
            if !checked.status.success() {
                wrong.push(format!("{name}: {error}\n{text}"));
            }
        }
    }
    std::fs::remove_dir_all(&folder_of_test).unwrap();
    // Two pods of the core, AMF, two SMFs and two UPFs of one; two pods of the core, AMF, SMF and
    // UPF of the other.
    assert_eq!(count, 12);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The NRFs of a configuration: the first one by its name for others.
fn nrfs(configuration: &Value) -> Vec<String> {
    let sbi = &configuration["sbi"];
    let text = |value: &Value| value.as_str().expect("an address").to_string();
    let all = sbi["nrf"].as_array().expect("a list of NRFs");
    assert_eq!(all[0], "0.0.0.0:7710");
    std::iter::once(text(&sbi["advertise"]["nrf"])).chain(all[1..].iter().map(text)).collect()
}

#[test]
fn all_functions_know_the_nrf_of_each_pod_of_the_core() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let set = manifests(&text);
        let set = set.iter().find(|one| one["kind"] == "StatefulSet" && is_named(one, "core-core"));
        let set = set.expect("the StatefulSet of the core");
        let pods = set["spec"]["replicas"].as_u64().expect("a number");
        assert!(pods >= 2, "{pods}");
        let host = |pod: u64| format!("core-core-{pod}.core-core.5g.svc");
        let all: BTreeSet<String> = (0..pods).map(|pod| format!("{}:7710", host(pod))).collect();
        let mut of_core = 0;
        for (name, text) in configurations(&text) {
            if name.starts_with("core-upf/") {
                continue;
            }
            let configuration: Value = serde_saphyr::from_str(&text).expect("a configuration");
            let nrfs = nrfs(&configuration);
            assert_eq!(nrfs.iter().cloned().collect::<BTreeSet<_>>(), all, "{name}");
            assert_eq!(nrfs.len(), all.len(), "{name}: {nrfs:?}");
            if !name.starts_with("core-core/") {
                continue;
            }
            // Each pod is reached at a name of its own, and its CHF is another member of the set.
            assert_eq!(name, format!("core-core/core-core-{of_core}.yaml"));
            let (advertised, own) = (&configuration["sbi"]["advertise"], host(of_core));
            for (function, reached) in advertised.as_object().expect("addresses") {
                let port = configuration["sbi"][function].as_str();
                let port = port.unwrap_or("0.0.0.0:7710").trim_start_matches("0.0.0.0:");
                assert_eq!(reached, &format!("{own}:{port}"), "{name}: {function}");
            }
            if configuration["chf"]["enabled"] == true {
                assert!(advertised["chf"].is_string(), "{name}: {advertised}");
                assert_eq!(configuration["chf"]["set"]["member"], of_core, "{name}");
            }
            of_core += 1;
        }
        assert_eq!(of_core, pods);
    }
}

fn is_named(manifest: &Value, name: &str) -> bool {
    manifest["metadata"]["name"] == name
}

/// A certificate belongs to one instance of a function: pods with the same one would replace each
/// other at the NRF.
#[test]
fn each_pod_has_certificates_of_its_own() {
    let text = std::fs::read_to_string(folder().join("external.yaml")).unwrap();
    let mut secrets = BTreeSet::new();
    for set in manifests(&text).iter().filter(|manifest| manifest["kind"] == "StatefulSet") {
        let name = set["metadata"]["name"].as_str().expect("a name");
        let pod = &set["spec"]["template"]["spec"];
        let list = |list: &Value| list.as_array().cloned().expect("a list");
        let mounts = list(&pod["containers"][0]["volumeMounts"]);
        let volumes: BTreeMap<String, Value> = list(&pod["volumes"])
            .into_iter()
            .map(|volume| (volume["name"].to_string(), volume["secret"]["secretName"].clone()))
            .collect();
        let pods = set["spec"]["replicas"].as_u64().expect("a number");
        for member in 0..pods {
            let path = format!("/etc/martlet/pki/{name}-{member}");
            let mount = mounts.iter().find(|mount| mount["mountPath"] == path.as_str());
            let volume = mount.unwrap_or_else(|| panic!("{path} is missing"))["name"].to_string();
            secrets.insert(volumes[&volume].as_str().expect("a Secret").to_string());
        }
    }
    let of = |name: &str| [0, 1].map(|member| format!("martlet-pki-{name}-{member}"));
    let expected: BTreeSet<String> = ["core", "amf", "smf"].into_iter().flat_map(of).collect();
    assert_eq!(secrets, expected);
}

/// The root file system of the pods is read-only: sockets of OAM and API are in a folder in memory.
/// Kubernetes cannot count the pods of a DaemonSet: a budget for them permits no eviction at all.
#[test]
fn disruption_budgets_are_for_pods_that_kubernetes_can_count() {
    for entry in std::fs::read_dir(folder()).unwrap() {
        let all = manifests(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
        let of_kind = |kind: &'static str| all.iter().filter(move |one| one["kind"] == kind);
        let component = |labels: &Value| labels["app.kubernetes.io/component"].clone();
        let sets = of_kind("StatefulSet");
        let sets: Vec<Value> =
            sets.map(|set| component(&set["spec"]["selector"]["matchLabels"])).collect();
        let mut budgets = 0;
        for budget in of_kind("PodDisruptionBudget") {
            budgets += 1;
            let of = component(&budget["spec"]["selector"]["matchLabels"]);
            assert!(sets.contains(&of), "{of} is in no StatefulSet");
        }
        assert!(budgets > 0, "no budget was found");
    }
}

#[test]
fn every_pod_has_a_writable_folder_for_the_sockets_of_oam_and_api() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for manifest in manifests(&text) {
            let pod = &manifest["spec"]["template"]["spec"];
            for container in pod["containers"].as_array().into_iter().flatten() {
                count += 1;
                let name = container["name"].as_str().expect("a name");
                let mounts = container["volumeMounts"].as_array().expect("mounts");
                let mount = mounts.iter().find(|mount| mount["mountPath"] == "/run/martlet");
                let mount = mount.unwrap_or_else(|| panic!("{name} has no /run/martlet"));
                assert!(mount["readOnly"] != true, "{name}: {mount}");
                let volumes = pod["volumes"].as_array().expect("volumes");
                let is_its = |volume: &&Value| volume["name"] == mount["name"];
                let volume = volumes.iter().find(is_its).expect("a volume");
                assert!(volume["emptyDir"].is_object(), "{name}: {volume}");
            }
        }
    }
    assert!(count >= 8, "{count} containers");
}

/// The instance identity in a function's certificate.
fn instance(bundle: &Path, function: &str) -> Option<String> {
    let file = |name: String| bundle.join(name);
    let (certificate, key) = (format!("{function}.pem"), format!("{function}-key.pem"));
    let tls = Tls::load(&file("authority.pem".into()), &file(certificate), &file(key)).unwrap();
    let own = tls.own().expect("its certificate");
    own.instance_of(&function.to_ascii_uppercase()).map(String::from)
}

/// The commands of the tutorial make certificates for the names in the configurations, and of an
/// instance of its own for each pod.
#[test]
fn certificates_of_the_tutorial_have_the_names_of_the_chart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/tutorials/kubernetes.md")).unwrap();
    let commands = page.split_once("```sh\n# central\n").expect("the commands").1;
    let commands = commands.split_once("```").expect("their end").0;
    let folder = std::env::temp_dir().join(format!("martlet-helm-pki-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_martlet")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("bash")
        .args(["-euc", commands])
        .env("PATH", path)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = std::fs::read_to_string(root.join("deploy/helm/rendered/external.yaml")).unwrap();
    let mut instances = BTreeSet::new();
    let components: [(&str, &[&str]); 3] = [
        ("core", &["nrf", "udr", "udm", "ausf", "pcf", "nssf", "lmf", "chf"]),
        ("amf", &["amf"]),
        ("smf", &["smf"]),
    ];
    for (component, functions) in components {
        for member in 0..2 {
            let bundle = folder.join(format!("pki-{component}-{member}"));
            let status = Command::new(env!("CARGO_BIN_EXE_martlet"))
                .args(["pki", "status", "--pki", &bundle.display().to_string()])
                .output()
                .unwrap();
            let status = String::from_utf8_lossy(&status.stdout).into_owned();
            let service = format!("core-{component}.5g.svc");
            let host = format!("core-{component}-{member}.{service}");
            assert!(status.contains(&host), "{host}: {status}");
            // What the chart advertises.
            assert!(
                text.contains(&host) || text.contains(&format!("${{POD_NAME}}.{service}")),
                "{host}"
            );
            for function in functions {
                instances.insert(instance(&bundle, function).expect("an instance"));
            }
        }
    }
    assert_eq!(instances.len(), 2 * 10);
    std::fs::remove_dir_all(&folder).unwrap();
}
