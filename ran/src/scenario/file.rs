//! A scenario as it is written: gNBs, groups of UEs, and steps.
use super::positioning::PositioningSection;
use super::value::{Hex, Key, N2Address, PlmnText, SliceText, Span};
use serde::Deserialize;
use std::net::IpAddr;

/// A scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name in reports.
    #[serde(default = "unnamed")]
    pub name: String,
    /// The gNBs, which are set up before the first step.
    pub gnbs: Vec<GnbSection>,
    /// The groups of UEs.
    #[serde(default)]
    pub ues: Vec<UeSection>,
    /// What happens, one step after the other.
    pub steps: Vec<Step>,
}

fn unnamed() -> String {
    "scenario".into()
}

/// A gNB.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GnbSection {
    /// Its name.
    pub name: String,
    /// PLMN, `001-01`.
    pub plmn: PlmnText,
    /// gNB identifier.
    pub gnb_id: u32,
    /// Length of the gNB identifier in bits, 22 to 32.
    #[serde(default = "gnb_id_bits")]
    pub gnb_id_bits: u8,
    /// Tracking area code.
    #[serde(default = "one")]
    pub tac: u32,
    /// Slices of the tracking area: `1` or `1-010203`.
    #[serde(default = "default_slices")]
    pub slices: Vec<SliceText>,
    /// Address that N2 comes from.
    pub n2_local: Option<IpAddr>,
    /// The AMF.
    pub amf: N2Address,
    /// Address of N3; left out: no user plane.
    pub n3: Option<IpAddr>,
    /// A model of the air interface between the gNB and its UEs' interfaces; left out: packets
    /// take no time there.
    pub radio: Option<crate::user_plane::RadioConfig>,
    /// Transmission and reception points that LMFs can have UEs measured at; their identities
    /// count from 1.
    #[serde(default)]
    pub trps: Vec<super::positioning::CellSection>,
    /// SCTP implementation.
    #[serde(default)]
    pub sctp: Sctp,
    /// What NG setup is expected to end with.
    #[serde(default)]
    pub expect: Expect,
}

fn gnb_id_bits() -> u8 {
    24
}

fn one() -> u32 {
    1
}

fn default_slices() -> Vec<SliceText> {
    vec![SliceText(crate::ue::Slice { sst: 1, sd: None })]
}

/// SCTP implementation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sctp {
    /// The kernel's where it has one.
    #[default]
    Auto,
    /// The kernel's.
    Kernel,
    /// The one in user space.
    Usrsctp,
}

/// A group of UEs that differ in their IMSI alone.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UeSection {
    /// Its name.
    pub name: String,
    /// The gNB whose cell they are in; left out: they are spread over all.
    pub gnb: Option<String>,
    /// IMSI of the first, quoted; the others follow.
    pub imsi: String,
    /// How many.
    #[serde(default = "one")]
    pub count: u32,
    /// Digits of the MNC in the IMSI; left out: those of the gNB's PLMN.
    pub mnc_digits: Option<usize>,
    /// K.
    pub k: Key,
    /// OPc.
    pub opc: Option<Key>,
    /// OP, from which OPc is derived.
    pub op: Option<Key>,
    /// SQN_MS at the start.
    #[serde(default)]
    pub sqn: u64,
    /// SUCI protection.
    #[serde(default)]
    pub suci: SuciSection,
    /// Routing indicator.
    pub routing_indicator: Option<String>,
    /// IMEISV, quoted.
    pub imeisv: Option<String>,
    /// NEA identifiers of the security capability.
    pub nea: Option<Vec<u8>>,
    /// NIA identifiers of the security capability.
    pub nia: Option<Vec<u8>>,
    /// Requested NSSAI.
    #[serde(default)]
    pub slices: Vec<SliceText>,
    /// PDU sessions, by number in the steps: the first is 0.
    #[serde(default)]
    pub sessions: Vec<SessionSection>,
    /// Network namespaces: `none`, `auto` (one for each UE, `ue-IMSI`), or a name, which `{n}`
    /// makes distinct.
    #[serde(default)]
    pub netns: NetnsText,
    /// Positioning.
    pub positioning: Option<PositioningSection>,
    /// Whether UEs answer paging and uplink data by themselves.
    #[serde(default = "yes")]
    pub automatic: bool,
    /// NAS timers that differ from the specification's.
    #[serde(default)]
    pub timers: TimerSection,
}

fn yes() -> bool {
    true
}

/// SUCI protection.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuciSection {
    /// `null`-scheme (left out), `A` or `B`.
    pub profile: Option<Profile>,
    /// Home network public key identifier.
    #[serde(default)]
    pub key_id: u8,
    /// Home network public key: 32 octets for A, 33 (compressed) for B.
    pub key: Option<Hex>,
}

/// ECIES profile (TS 33.501, C.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Profile {
    /// X25519.
    A,
    /// secp256r1.
    B,
}

/// A PDU session that the UEs of a group can establish.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionSection {
    /// DNN.
    pub dnn: Option<String>,
    /// Slice.
    pub slice: Option<SliceText>,
    /// PDU session type.
    #[serde(default, rename = "type")]
    pub session_type: SessionType,
}

/// PDU session type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionType {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
    /// IPv4 and IPv6.
    Ipv4v6,
}

/// Where interfaces are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(transparent)]
pub struct NetnsText(pub Option<String>);

/// NAS timers that differ from the specification's.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct TimerSection {
    pub t3510: Option<Span>,
    pub t3511: Option<Span>,
    pub t3517: Option<Span>,
    pub t3520: Option<Span>,
    pub t3521: Option<Span>,
    pub t3540: Option<Span>,
    pub t3580: Option<Span>,
    pub t3582: Option<Span>,
    pub registration_attempts: Option<u8>,
}

/// What a step is expected to end with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expect {
    /// Success.
    #[default]
    Ok,
    /// A reject with this 5GMM or 5GSM cause.
    Rejected(u8),
    /// No success, whatever the reason.
    Failed,
}

/// Which UEs take a step, and how many at a time.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// Name of a group; left out: all UEs.
    pub ues: Option<String>,
    /// How many at once.
    #[serde(default = "one_at_a_time")]
    pub parallel: usize,
    /// How many are started in a second; left out: as soon as there is room.
    pub rate: Option<f64>,
    /// What is expected of each.
    #[serde(default)]
    pub expect: Expect,
}

fn one_at_a_time() -> usize {
    1
}

/// One step.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Initial registration: by 5G-GUTI where a UE has one.
    Register(Who),
    /// Initial registration by SUCI: what a UE knows of an earlier one is forgotten.
    RegisterBySuci(Who),
    /// Mobility registration update.
    UpdateRegistration(Who),
    /// PDU session establishment.
    Establish(OfSession),
    /// PDU session release by the UE.
    Release(OfSession),
    /// AN release: the UEs become idle.
    ReleaseToIdle(Who),
    /// Wait until the UEs are idle, whoever releases them.
    WaitIdle(Who),
    /// Wait until the UEs are paged.
    WaitForPaging(WithTimeout),
    /// Service request.
    ServiceRequest(Who),
    /// De-registration.
    Deregister(Who),
    /// De-registration because of switch-off.
    SwitchOff(Who),
    /// ICMP echo through a PDU session.
    Ping(Ping),
    /// A program in the UEs' network namespaces.
    Run(Run),
    /// A program outside of them, once for each UE: the data network's side.
    Host(Run),
    /// A pause.
    Wait(Span),
    /// Steps again and again.
    Repeat(Repeat),
    /// The last protected NAS message once more.
    Replay(Misbehave),
    /// A correctly protected message with a wrong MAC.
    WrongMac(Misbehave),
    /// Octets as NAS message.
    RawNas(RawNas),
    /// Octets as NGAP message.
    RawNgap(RawNgap),
    /// The gNB is gone: its association is aborted.
    GnbVanishes(String),
    /// The gNB ends its association in good order.
    GnbShutdown(String),
    /// A gNB connects (again): one that is gone, or one that is not to be there from the start.
    GnbConnects(String),
}

/// A step about one of the group's sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct OfSession {
    pub ues: Option<String>,
    #[serde(default = "one_at_a_time")]
    pub parallel: usize,
    pub rate: Option<f64>,
    #[serde(default)]
    pub expect: Expect,
    /// Number of the session in the group's list; the first is 0.
    #[serde(default)]
    pub session: usize,
}

/// A step that waits for something.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct WithTimeout {
    pub ues: Option<String>,
    #[serde(default)]
    pub expect: Expect,
    /// How long.
    pub within: Option<Span>,
}

/// ICMP echo.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Ping {
    pub ues: Option<String>,
    #[serde(default = "one_at_a_time")]
    pub parallel: usize,
    #[serde(default)]
    pub expect: Expect,
    /// Whom to ask.
    pub target: std::net::Ipv4Addr,
    /// How often.
    #[serde(default = "one")]
    pub count: u32,
    /// Number of the session in the group's list.
    #[serde(default)]
    pub session: usize,
    /// How long an answer may take.
    pub within: Option<Span>,
}

/// A program, in which `{ip}`, `{imsi}` and `{netns}` stand for the UE's.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Run {
    pub ues: Option<String>,
    #[serde(default = "one_at_a_time")]
    pub parallel: usize,
    #[serde(default)]
    pub expect: Expect,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may run.
    pub within: Option<Span>,
}

/// Steps again and again.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Repeat {
    pub times: u32,
    pub steps: Vec<Step>,
}

/// A step that does something wrong.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Misbehave {
    pub ues: Option<String>,
    /// The first octets of the NAS message that answers.
    pub answer: Option<Hex>,
    /// Cause of the 5GMM STATUS that answers. Without `answer` and `status`, nothing is expected
    /// to answer.
    pub status: Option<u8>,
    /// How long to wait for the answer, or in silence.
    pub within: Option<Span>,
}

/// Octets as NAS message.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RawNas {
    pub ues: Option<String>,
    pub hex: Hex,
    /// The first octets of the NAS message that answers.
    pub answer: Option<Hex>,
    /// Cause of the 5GMM STATUS that answers. Without `answer` and `status`, nothing is expected
    /// to answer.
    pub status: Option<u8>,
    /// How long to wait for the answer, or in silence.
    pub within: Option<Span>,
}

/// Octets as NGAP message.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RawNgap {
    pub gnb: String,
    pub hex: Hex,
    #[serde(default)]
    pub stream: u16,
    /// The first octets of the NGAP message that answers; left out: nothing is expected to answer.
    pub answer: Option<Hex>,
    /// How long to wait for the answer, or in silence.
    pub within: Option<Span>,
}

impl Step {
    /// Its name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Step::Register(_) => "register",
            Step::RegisterBySuci(_) => "register_by_suci",
            Step::UpdateRegistration(_) => "update_registration",
            Step::Establish(_) => "establish",
            Step::Release(_) => "release",
            Step::ReleaseToIdle(_) => "release_to_idle",
            Step::WaitIdle(_) => "wait_idle",
            Step::WaitForPaging(_) => "wait_for_paging",
            Step::ServiceRequest(_) => "service_request",
            Step::Deregister(_) => "deregister",
            Step::SwitchOff(_) => "switch_off",
            Step::Ping(_) => "ping",
            Step::Run(_) => "run",
            Step::Host(_) => "host",
            Step::Wait(_) => "wait",
            Step::Repeat(_) => "repeat",
            Step::Replay(_) => "replay",
            Step::WrongMac(_) => "wrong_mac",
            Step::RawNas(_) => "raw_nas",
            Step::RawNgap(_) => "raw_ngap",
            Step::GnbVanishes(_) => "gnb_vanishes",
            Step::GnbShutdown(_) => "gnb_shutdown",
            Step::GnbConnects(_) => "gnb_connects",
        }
    }

    /// The group that the step names.
    pub fn group(&self) -> Option<&str> {
        match self {
            Step::Register(w)
            | Step::RegisterBySuci(w)
            | Step::UpdateRegistration(w)
            | Step::ReleaseToIdle(w)
            | Step::WaitIdle(w)
            | Step::ServiceRequest(w)
            | Step::Deregister(w)
            | Step::SwitchOff(w) => w.ues.as_deref(),
            Step::Establish(s) | Step::Release(s) => s.ues.as_deref(),
            Step::WaitForPaging(w) => w.ues.as_deref(),
            Step::Ping(p) => p.ues.as_deref(),
            Step::Run(r) | Step::Host(r) => r.ues.as_deref(),
            Step::Replay(m) | Step::WrongMac(m) => m.ues.as_deref(),
            Step::RawNas(r) => r.ues.as_deref(),
            Step::Wait(_)
            | Step::Repeat(_)
            | Step::RawNgap(_)
            | Step::GnbVanishes(_)
            | Step::GnbShutdown(_)
            | Step::GnbConnects(_) => None,
        }
    }

    /// The gNB that the step names.
    pub fn gnb(&self) -> Option<&str> {
        match self {
            Step::RawNgap(r) => Some(&r.gnb),
            Step::GnbVanishes(name) | Step::GnbShutdown(name) | Step::GnbConnects(name) => {
                Some(name)
            }
            _ => None,
        }
    }
}
