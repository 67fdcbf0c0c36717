//! The configurations that the Helm chart writes, in `deploy/helm/rendered`, are right.
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/helm/rendered")
}

/// Names and texts of the files in the ConfigMaps of manifests.
fn configurations(manifests: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for manifest in manifests.split("\n---\n").filter(|text| text.contains("kind: ConfigMap")) {
        let manifest: serde_json::Value = serde_saphyr::from_str(manifest).expect("a manifest");
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
        let manifests = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for (name, text) in configurations(&manifests) {
            count += 1;
            // Folders of the pod.
            let here = folder_of_test.display().to_string();
            let text = ["/etc/martlet/pki", "/etc/martlet/database", "/var/lib/martlet"]
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
    // Core, AMF, two SMFs and two UPFs of one; core, AMF, SMF and UPF of the other.
    assert_eq!(count, 10);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The root file system of the pods is read-only: sockets of OAM and API are in a folder in memory.
#[test]
fn every_pod_has_a_writable_folder_for_the_sockets_of_oam_and_api() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let manifests = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for text in manifests.split("\n---\n") {
            let manifest: serde_json::Value = serde_saphyr::from_str(text).expect("a manifest");
            let pod = &manifest["spec"]["template"]["spec"];
            for container in pod["containers"].as_array().into_iter().flatten() {
                count += 1;
                let name = container["name"].as_str().expect("a name");
                let mounts = container["volumeMounts"].as_array().expect("mounts");
                let mount = mounts.iter().find(|mount| mount["mountPath"] == "/run/martlet");
                let mount = mount.unwrap_or_else(|| panic!("{name} has no /run/martlet"));
                assert!(mount["readOnly"] != true, "{name}: {mount}");
                let volumes = pod["volumes"].as_array().expect("volumes");
                let is_its = |volume: &&serde_json::Value| volume["name"] == mount["name"];
                let volume = volumes.iter().find(is_its).expect("a volume");
                assert!(volume["emptyDir"].is_object(), "{name}: {volume}");
            }
        }
    }
    assert!(count >= 8, "{count} containers");
}

/// The commands of the tutorial make certificates for the names in the configurations.
#[test]
fn certificates_of_the_tutorial_have_the_names_of_the_chart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/tutorials/kubernetes.md")).unwrap();
    let block = |start: &str| {
        let rest = page.split_once(start).expect("a block").1;
        rest.split_once("```").expect("its end").0.to_string()
    };
    let names = block("```yaml\n# names.yaml\n");
    let folder = std::env::temp_dir().join(format!("martlet-helm-pki-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("names.yaml"), &names).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_martlet")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("bash")
        .args(["-euc", &block("```sh\n# central\n")])
        .env("PATH", path)
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let manifests =
        std::fs::read_to_string(root.join("deploy/helm/rendered/external.yaml")).unwrap();
    for (component, functions) in [("core", "nrf"), ("amf", "amf"), ("smf", "smf")] {
        let bundle = folder.join(format!("pki-{component}"));
        let status = Command::new(env!("CARGO_BIN_EXE_martlet"))
            .args(["pki", "status", "--pki", &bundle.display().to_string()])
            .output()
            .unwrap();
        let status = String::from_utf8_lossy(&status.stdout).into_owned();
        let host = match component {
            "core" => "core-core.5g.svc".to_string(),
            _ => format!("core-{component}-1.core-{component}.5g.svc"),
        };
        assert!(status.contains(&host) && status.contains(functions), "{host}: {status}");
        // What the chart advertises.
        let advertised = host.replace(&format!("core-{component}-1."), "${POD_NAME}.");
        assert!(manifests.contains(&advertised), "{advertised}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
