//! Checks of values that belong together but stand in different sections, and of the machine's
//! folders.
use super::Config;
use martlet_config::Finding;
use martlet_store::DatabaseUrl;
use martlet_upf::config::{DatapathChoice, N6Mode, Pool};
use nix::net::if_::if_nametoindex;
use std::net::Ipv6Addr;
use std::path::Path;

/// UDP port of GTP-U (TS 29.281, 4.4.2.3).
const GTPU_PORT: u16 = 2152;

/// An IPv4 pool as its first and last address.
fn range4(text: &str) -> Option<(u32, u32)> {
    let pool = Pool::parse(text).ok()?;
    let first = pool.network.to_bits();
    Some((first, first | (u32::MAX >> pool.prefix)))
}

/// An IPv6 pool as its first and last address.
fn range6(text: &str) -> Option<(u128, u128)> {
    let (address, prefix) = text.split_once('/')?;
    let (address, prefix): (Ipv6Addr, u32) = (address.parse().ok()?, prefix.parse().ok()?);
    let first = address.to_bits();
    Some((first, first | u128::MAX.checked_shr(prefix).unwrap_or(0)))
}

fn overlaps<T: PartialOrd>(one: (T, T), other: (T, T)) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}

fn contains<T: PartialOrd>(outer: &(T, T), inner: &(T, T)) -> bool {
    outer.0 <= inner.0 && inner.1 <= outer.1
}

impl Config {
    /// Errors between sections.
    pub(super) fn check_consistency(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let dnns = &self.smf.dnns;
        for (n, dnn) in dnns.iter().enumerate() {
            for other in &dnns[..n] {
                let (one, two) = (range4(&dnn.pool), range4(&other.pool));
                if one.zip(two).is_some_and(|(one, two)| overlaps(one, two)) {
                    findings.push(Finding::new(
                        format!("smf.dnns[{n}].pool"),
                        format!(
                            "{} overlaps {} of {}, so two UEs could get one address: write a pool \
                             of its own, such as 10.{}.0.0/16",
                            dnn.pool,
                            other.pool,
                            other.name,
                            46 + n
                        ),
                    ));
                }
                let (one, two) = (range6(&dnn.pool6), range6(&other.pool6));
                if one.zip(two).is_some_and(|(one, two)| overlaps(one, two)) {
                    findings.push(Finding::new(
                        format!("smf.dnns[{n}].pool6"),
                        format!(
                            "{} overlaps {} of {}, so two UEs could get one prefix: write a pool \
                             of its own, such as fd46:{n}::/48",
                            dnn.pool6, other.pool6, other.name
                        ),
                    ));
                }
            }
        }
        // The UPF of this file carries the sessions of this SMF.
        let is_own = self.smf.upfs.iter().any(|upf| upf.n4 == self.upf.n4.address);
        let runs = |name: &str| !self.sbi.external.iter().any(|external| external == name);
        // Without N6 nothing is routed.
        let has_n6 = self.upf.n6.mode != N6Mode::None;
        if is_own && has_n6 && runs("upf") && runs("smf") {
            findings.extend(self.pools_of_upf());
        }
        findings
    }

    /// Pools of the SMF that the UPF does not route.
    fn pools_of_upf(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let pools: Vec<(u32, u32)> = self
            .upf
            .pools()
            .iter()
            .map(|pool| {
                let first = pool.network.to_bits();
                (first, first | (u32::MAX >> pool.prefix))
            })
            .collect();
        let pools6: Vec<(u128, u128)> =
            self.upf.n6.pools6.iter().filter_map(|text| range6(text)).collect();
        // Only UEs of the UPFs without a list, or with this data network, use the own one.
        let own = self.smf.upfs.iter().find(|upf| upf.n4 == self.upf.n4.address);
        let is_served =
            |name: &String| own.is_some_and(|upf| upf.dnns.is_empty() || upf.dnns.contains(name));
        let dnns = self.smf.dnns.iter().enumerate();
        let served: Vec<_> = dnns.filter(|(_, dnn)| is_served(&dnn.name)).collect();
        // A list in the file replaces the default one, so the remedies have all pools.
        let (mut all4, mut all6) = (Vec::new(), Vec::new());
        for (_, dnn) in &served {
            if !dnn.pool.is_empty() {
                all4.push(format!("{{ name: {}, pools: [{}] }}", dnn.name, dnn.pool));
            }
            if !dnn.pool6.is_empty() {
                all6.push(format!("\"{}\"", dnn.pool6));
            }
        }
        for (n, dnn) in served {
            let range = range4(&dnn.pool);
            if range.is_some_and(|range| !pools.iter().any(|pool| contains(pool, &range))) {
                findings.push(Finding::new(
                    format!("smf.dnns[{n}].pool"),
                    format!(
                        "the UPF does not route {}: write it in upf.dnns too, beside the others, \
                         such as `upf: {{ dnns: [{}] }}`",
                        dnn.pool,
                        all4.join(", ")
                    ),
                ));
            }
            let range = range6(&dnn.pool6);
            if range.is_some_and(|range| !pools6.iter().any(|pool| contains(pool, &range))) {
                findings.push(Finding::new(
                    format!("smf.dnns[{n}].pool6"),
                    format!(
                        "the UPF does not route {}: write it in upf.n6.pools6 too, beside the \
                         others, such as `upf: {{ n6: {{ pools6: [{}] }} }}`",
                        dnn.pool6,
                        all6.join(", ")
                    ),
                ));
            }
        }
        findings
    }

    /// What is allowed, and works with special peers only.
    pub fn notes(&self) -> Vec<String> {
        let port = self.upf.n3.address.port();
        let is_external = self.sbi.external.iter().any(|external| external == "upf");
        if is_external || port == GTPU_PORT {
            return Vec::new();
        }
        vec![format!(
            "upf.n3.address: gNBs send GTP-U to port {GTPU_PORT} whatever is configured here (TS \
             29.281, 4.4.2.3), and not to {port}: write {GTPU_PORT}"
        )]
    }

    /// Interfaces for XDP programs that this machine does not have. Those in another network
    /// namespace are left out.
    pub fn absent_interfaces(&self) -> Vec<&str> {
        let is_external = self.sbi.external.iter().any(|external| external == "upf");
        let is_used = self.upf.datapath == DatapathChoice::Xdp && !is_external;
        if !is_used || self.upf.n3.netns.is_some() {
            return Vec::new();
        }
        let names = self.upf.xdp.interfaces.iter().map(String::as_str);
        names.filter(|name| if_nametoindex(*name).is_err()).collect()
    }

    /// Folders and files of the configuration that do not exist on this machine.
    pub fn check_machine(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let stores = [
            ("amf", &self.amf.context_store),
            ("smf", &self.smf.context_store),
            ("chf", &self.chf.context_store),
            ("nrf", &self.nrf.context_store),
        ];
        findings.extend(wrong_database("udr.path", &self.udr.path));
        for (name, store) in stores.iter().filter(|(_, store)| !store.database.is_empty()) {
            let path = format!("{name}.context_store.database");
            findings.extend(wrong_database(&path, &store.database));
        }
        let mut parent = |path: &str, file: &Path| findings.extend(without_folder(path, file));
        for (name, store) in stores {
            parent(&format!("{name}.context_store.key_file"), Path::new(&store.key_file));
        }
        parent("udr.key_file", Path::new(&self.udr.key_file));
        parent("oam.history.path", Path::new(&self.oam.history.path));
        let user_plane = &self.lmf.user_plane;
        if let Some(file) = &user_plane.write_certificate {
            parent("lmf.user_plane.write_certificate", file);
        }
        let folders = [("upf.telemetry.captures", self.upf.telemetry.captures.as_deref())];
        let pki = Some(Path::new(&self.sbi.pki)).filter(|_| self.sbi.is_secured());
        for (path, folder) in folders.into_iter().chain([("sbi.pki", pki)]) {
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                let message = match path {
                    "sbi.pki" => without_certificates(folder),
                    _ => missing(folder),
                };
                findings.push(Finding::new(path, message));
            }
        }
        let files = [
            ("lmf.user_plane.certificate", &user_plane.certificate),
            ("lmf.user_plane.key", &user_plane.key),
        ];
        for (path, file) in files {
            if let Some(file) = file.as_ref().filter(|file| !file.is_file()) {
                let message = format!(
                    "there is no file {}: write the path of a PEM file, or leave certificate and \
                     key out",
                    file.display()
                );
                findings.push(Finding::new(path, message));
            }
        }
        findings
    }
}

/// A database that cannot be opened as it is written.
fn wrong_database(path: &str, text: &str) -> Option<Finding> {
    match DatabaseUrl::parse(text) {
        DatabaseUrl::File(_) if text.contains(":/") => Some(Finding::new(
            path,
            "neither a file nor PostgreSQL: write postgresql://USER@HOST/DATABASE, or a file such \
             as martlet.db",
        )),
        DatabaseUrl::File(file) => without_folder(path, &file),
        url => url.check().err().map(|error| Finding::new(path, error.to_string())),
    }
}

/// A file whose folder does not exist.
fn without_folder(path: &str, file: &Path) -> Option<Finding> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty())?;
    (!folder.is_dir()).then(|| Finding::new(path, missing(folder)))
}

fn without_certificates(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "there is no folder {folder}: make it with `martlet pki init -c FILE --out {folder}`, FILE \
         being this file, or write another one"
    )
}

fn missing(folder: &Path) -> String {
    let folder = folder.display();
    format!("there is no folder {folder}: make it with `mkdir -p {folder}`, or write another one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_port_of_gtpu_is_noted() {
        let mut config = Config::default();
        assert!(config.notes().is_empty());
        config.upf.n3.address.set_port(2153);
        let notes = config.notes();
        assert!(notes[0].contains("upf.n3.address") && notes[0].contains("2153"), "{notes:?}");
        config.sbi.external = vec!["upf".into()];
        assert!(config.notes().is_empty());
    }

    #[test]
    fn ranges_overlap_and_contain_each_other() {
        let (a, b) = (range4("10.45.0.0/16").unwrap(), range4("10.45.128.0/17").unwrap());
        let c = range4("10.46.0.0/16").unwrap();
        assert!(overlaps(a, b) && overlaps(b, a) && !overlaps(a, c));
        assert!(contains(&a, &b) && !contains(&b, &a));
        let (a, b) = (range6("fd45::/48").unwrap(), range6("fd45:0:0:1::/64").unwrap());
        assert!(contains(&a, &b) && !overlaps(a, range6("fd46::/48").unwrap()));
    }
}
