//! What the UPF learns from other sections: where the core is, which UEs do not reach; its SMF; and
//! the LMF's listener for UEs, which they do reach.
use super::{Config, FUNCTIONS};
use martlet_upf::UpfConfig;
use martlet_upf::config::{AllowedService, ServiceProtocol};
use std::net::{IpAddr, SocketAddr};

impl Config {
    /// The section `upf` with what other sections say.
    pub fn upf_section(&self) -> UpfConfig {
        let mut upf = self.upf.clone();
        // Another vendor's SMF has an address that is not in this file.
        let external = self.sbi.external.iter().any(|name| name == "smf");
        if upf.n4.allow.is_empty() && !external {
            upf.n4.allow.push(self.smf.n4.bind.into());
        }
        upf.n6.core.extend(self.core_addresses());
        let lmf = &self.lmf.user_plane;
        if lmf.enabled {
            let service = |protocol| AllowedService {
                address: lmf.address.into(),
                protocol: Some(protocol),
                port: Some(lmf.bind.port()),
            };
            upf.n6.allow.extend([ServiceProtocol::Tcp, ServiceProtocol::Udp].map(service));
        }
        upf
    }

    /// The addresses of N2, N3 of other UPFs, N4, SBI, OAM, the database and the switch.
    fn core_addresses(&self) -> Vec<IpAddr> {
        let mut all = self.amf.n2.bind.clone();
        all.push(self.smf.n4.bind);
        all.extend(self.smf.upfs.iter().map(|upf| upf.n4.ip()));
        all.extend(self.smf.upfs.iter().filter_map(|upf| upf.n3_address));
        all.extend(FUNCTIONS.iter().filter_map(|name| Some(self.sbi.address(name)?.ip())));
        all.extend(self.oam.listen.map(|address| address.ip()));
        all.push(self.upf.switch.address.ip());
        all.extend(database(&self.udr.path));
        all.retain(|address| !address.is_unspecified());
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The address in the URL of a database, where it is no name.
fn database(path: &str) -> Option<IpAddr> {
    let (scheme, rest) = path.split_once("://")?;
    if !scheme.starts_with("postgres") {
        return None;
    }
    let authority = rest.split(['/', '?']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let socket = host.parse::<SocketAddr>().map(|socket| socket.ip());
    socket.or_else(|_| host.trim_matches(['[', ']']).parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_part_of_the_core() {
        for (url, address) in [
            ("postgresql://martlet@10.0.0.7/martlet", Some("10.0.0.7")),
            ("postgresql://martlet@10.0.0.7:5432/martlet?sslmode=require", Some("10.0.0.7")),
            ("postgres://[fd00::7]:5432/martlet", Some("fd00::7")),
            ("postgresql://[fd00::7]/martlet", Some("fd00::7")),
            ("postgresql://db.example/martlet", None),
            ("martlet.db", None),
        ] {
            assert_eq!(database(url), address.map(|text| text.parse().unwrap()), "{url}");
        }
    }

    #[test]
    fn the_upf_gets_its_smf_and_the_addresses_of_the_core() {
        let mut config = Config::default();
        config.amf.n2.bind = vec![[192, 168, 7, 10].into()];
        config.smf.upfs[0].n3_address = Some([192, 168, 8, 10].into());
        let upf = config.upf_section();
        assert_eq!(upf.n4.allow, [config.smf.n4.bind.into()]);
        assert!(upf.n6.core.contains(&[192, 168, 7, 10].into()));
        assert!(upf.n6.core.contains(&[192, 168, 8, 10].into()));
        assert!(upf.n6.core.contains(&config.sbi.udr.ip()));
        assert_eq!(upf.n6.allow.len(), 2);
        config.upf.n4.allow = vec!["10.0.0.0/24".parse().unwrap()];
        config.lmf.user_plane.enabled = false;
        let upf = config.upf_section();
        assert_eq!((upf.n4.allow, upf.n6.allow.len()), (config.upf.n4.allow, 0));
    }
}
