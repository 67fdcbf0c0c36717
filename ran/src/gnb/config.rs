//! Configuration of a simulated gNB.
use crate::radio_environment::Cell;
use crate::ue::Slice;
use martlet_ngap::ngap::{
    NRCGI, PLMNIdentity, SNSSAI, TAI, UserLocationInformation, UserLocationInformationNR,
};
use martlet_ngap::{Error, helpers};
use martlet_sctp::StackChoice;
use martlet_security::Plmn;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// A transmission and reception point of a gNB (TS 38.305).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trp {
    /// TRP ID, 1 to 65,535.
    pub id: u16,
    /// The cell of the TRP.
    pub cell: Cell,
}

/// A simulated gNB.
#[derive(Debug, Clone)]
pub struct GnbConfig {
    /// RAN node name.
    pub name: String,
    /// PLMN that the gNB broadcasts.
    pub plmn: Plmn,
    /// gNB identifier, of `gnb_id_bits` bits.
    pub gnb_id: u32,
    /// Length of the gNB identifier, 22 to 32 bits.
    pub gnb_id_bits: u8,
    /// Tracking area code, 24 bits.
    pub tac: u32,
    /// Slices of the tracking area.
    pub slices: Vec<Slice>,
    /// Address that N2 comes from; `None`: the system chooses.
    pub n2_local: Option<IpAddr>,
    /// The AMF's N2 address and SCTP port (38412).
    pub amf: SocketAddr,
    /// Address of N3. A GTP-U endpoint is opened there unless it is `None`: then the gNB has no
    /// user plane.
    pub n3: Option<IpAddr>,
    /// UDP port of N3: 2152 unless several gNBs share an address in a test.
    pub n3_port: u16,
    /// A model of the air interface between the gNB and its UEs' interfaces; `None`: packets take
    /// no time there.
    pub radio: Option<crate::user_plane::RadioConfig>,
    /// Transmission and reception points that the gNB tells LMFs of, and measures UEs at.
    pub trps: Vec<Trp>,
    /// SCTP implementation.
    pub sctp: StackChoice,
    /// SCTP streams asked for.
    pub streams: u16,
    /// SCTP's other settings: among them, how soon an AMF that is gone is missed.
    pub sctp_options: martlet_sctp::Options,
    /// How long NG SETUP may take.
    pub setup_timeout: Duration,
    /// How long a procedure of a UE may take before its caller is told that it failed.
    pub procedure_timeout: Duration,
    /// Whether a K_gNB that is not the UE's own makes the initial context setup fail, as it makes
    /// access stratum security fail on a real radio interface.
    pub check_k_gnb: bool,
    /// Whether it can protect the integrity of the user plane.
    pub up_integrity: bool,
    /// Whether it can cipher the user plane.
    pub up_ciphering: bool,
}

impl GnbConfig {
    /// A gNB with one slice (SST 1), TAC 1 and a 24-bit identifier, on loopback.
    pub fn new(name: &str, plmn: Plmn, gnb_id: u32, amf: SocketAddr) -> Self {
        GnbConfig {
            name: name.to_owned(),
            plmn,
            gnb_id,
            gnb_id_bits: 24,
            tac: 1,
            slices: vec![Slice { sst: 1, sd: None }],
            n2_local: None,
            amf,
            n3: None,
            n3_port: 2152,
            radio: None,
            trps: Vec::new(),
            sctp: StackChoice::Auto,
            streams: 8,
            sctp_options: martlet_sctp::Options::default(),
            setup_timeout: Duration::from_secs(10),
            procedure_timeout: Duration::from_secs(30),
            check_k_gnb: true,
            up_integrity: true,
            up_ciphering: true,
        }
    }

    /// The address that PDU session transfers name as the gNB's end of N3.
    pub(crate) fn n3_address(&self) -> IpAddr {
        self.n3.or(self.n2_local).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
}

/// The parts of a configuration in the form that NGAP messages have them, made once.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) plmn: PLMNIdentity,
    pub(crate) tac: [u8; 3],
    pub(crate) slices: Vec<SNSSAI>,
    gnb_id: (u32, u8),
}

impl Identity {
    pub(crate) fn of(config: &GnbConfig) -> Result<Self, Error> {
        let plmn = helpers::plmn(config.plmn.mcc(), config.plmn.mnc())?;
        let [_, tac @ ..] = config.tac.to_be_bytes();
        helpers::nr_cgi(plmn, config.gnb_id, config.gnb_id_bits.into(), 1)?;
        Ok(Identity {
            plmn,
            tac,
            slices: config.slices.iter().map(|s| helpers::s_nssai(s.sst, s.sd)).collect(),
            gnb_id: (config.gnb_id, config.gnb_id_bits),
        })
    }

    /// Its first cell.
    pub(crate) fn cell(&self) -> NRCGI {
        self.cell_of(1)
    }

    /// One of its cells.
    pub(crate) fn cell_of(&self, number: u16) -> NRCGI {
        let (id, bits) = self.gnb_id;
        // Checked when it was made; a gNB has as many cells as its identity leaves bits for.
        let most = (1u32 << (36 - u32::from(bits)).min(16)) - 1;
        let number = u32::from(number).min(most) as u16;
        helpers::nr_cgi(self.plmn, id, bits.into(), number)
            .unwrap_or_else(|_| unreachable!("its identity was checked"))
    }

    /// In the first cell of the gNB.
    pub(crate) fn location(&self) -> UserLocationInformation<'static> {
        self.location_in(1)
    }

    /// In one of its cells.
    pub(crate) fn location_in(&self, cell: u16) -> UserLocationInformation<'static> {
        let tai: TAI = helpers::tai(self.plmn, self.tac);
        UserLocationInformation::userLocationInformationNR(UserLocationInformationNR::new(
            self.cell_of(cell),
            tai,
            None,
            None,
        ))
    }
}
