//! Configuration of a simulated gNB.
use super::deviations::Deviations;
use crate::radio_environment::Cell;
use crate::ue::Slice;
use martlet_ngap::ngap::{
    NRCGI, PLMNIdentity, SNSSAI, TAI, UserLocationInformation, UserLocationInformationNR,
};
use martlet_ngap::transfer::SessionType;
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
    /// Local N2 address; `None`: chosen by the kernel.
    pub n2_local: Option<IpAddr>,
    /// The AMF's N2 address and SCTP port (38412).
    pub amf: SocketAddr,
    /// N2 addresses of further AMFs. With them, the gNB selects an AMF for each UE that begins a
    /// connection, by 5G-S-TMSI and relative capacity.
    pub further_amfs: Vec<SocketAddr>,
    /// N3 address of the GTP-U endpoint; `None`: no user plane.
    pub n3: Option<IpAddr>,
    /// UDP port of N3: 2152, except for tests in which gNBs share an address.
    pub n3_port: u16,
    /// Model of the air interface between the gNB and its UEs' interfaces; `None`: no delay.
    pub radio: Option<crate::user_plane::RadioConfig>,
    /// Round trip of RRC messages between a UE and the gNB. Signalling waits for it: 1.5 round
    /// trips for a connection and its first NAS message, half of one for each further NAS message,
    /// one for the security mode command and one for each reconfiguration (TS 38.331, 5.3).
    pub rrc_round_trip: Duration,
    /// Transmission and reception points, which the gNB reports to LMFs and measures UEs at.
    pub trps: Vec<Trp>,
    /// SCTP implementation.
    pub sctp: StackChoice,
    /// Requested SCTP streams.
    pub streams: u16,
    /// Other SCTP options, such as the heartbeat interval.
    pub sctp_options: martlet_sctp::Options,
    /// Time limit of NG setup.
    pub setup_timeout: Duration,
    /// Time limit of a UE procedure.
    pub procedure_timeout: Duration,
    /// Whether a K_gNB mismatch makes initial context setup fail, as access stratum security
    /// would.
    pub check_k_gnb: bool,
    /// Whether it supports user plane integrity protection.
    pub up_integrity: bool,
    /// Whether it supports user plane ciphering.
    pub up_ciphering: bool,
    /// 5QIs for which it is not configured: it sets up no QoS flow with one of them.
    pub unsupported_5qis: Vec<u8>,
    /// Types of PDU sessions that it does not set up.
    pub unsupported_session_types: Vec<SessionType>,
    /// What it does otherwise than the specifications have it.
    pub deviations: Deviations,
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
            further_amfs: Vec::new(),
            n3: None,
            n3_port: 2152,
            radio: None,
            rrc_round_trip: Duration::ZERO,
            trps: Vec::new(),
            sctp: StackChoice::Auto,
            streams: 8,
            sctp_options: martlet_sctp::Options::default(),
            setup_timeout: Duration::from_secs(10),
            procedure_timeout: Duration::from_secs(30),
            check_k_gnb: true,
            up_integrity: true,
            up_ciphering: true,
            unsupported_5qis: Vec::new(),
            unsupported_session_types: Vec::new(),
            deviations: Deviations::default(),
        }
    }

    /// The gNB's N3 address in PDU session transfers.
    pub(crate) fn n3_address(&self) -> IpAddr {
        self.n3.or(self.n2_local).unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
}

/// The parts of a configuration as NGAP IEs.
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

    /// NR CGI of the first cell.
    pub(crate) fn cell(&self) -> NRCGI {
        self.cell_of(1)
    }

    /// NR CGI of a cell.
    pub(crate) fn cell_of(&self, number: u16) -> NRCGI {
        let (id, bits) = self.gnb_id;
        // The gNB identifier leaves 36 - bits for the cell number. It was checked in `of`.
        let max = (1u32 << (36 - u32::from(bits)).min(16)) - 1;
        let number = u32::from(number).min(max) as u16;
        helpers::nr_cgi(self.plmn, id, bits.into(), number).expect("a checked gNB identity")
    }

    /// User location in the first cell.
    pub(crate) fn location(&self) -> UserLocationInformation<'static> {
        self.location_in(1)
    }

    /// User location in a cell.
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
