//! The format of a scenario file: gNBs, groups of UEs, and steps.
use super::positioning::PositioningSection;
use super::value::{Hex, Key, N2Address, PlmnText, SliceText, Span};
use serde::Deserialize;
use std::net::IpAddr;

/// A scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name in reports.
    #[serde(default = "unnamed")]
    pub name: String,
    /// The gNBs. They are set up before the first step.
    pub gnbs: Vec<GnbSection>,
    /// The groups of UEs.
    #[serde(default)]
    pub ues: Vec<UeSection>,
    /// The steps, in order.
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
    /// Local N2 address.
    pub n2_local: Option<IpAddr>,
    /// The AMF.
    pub amf: N2Address,
    /// Further AMFs, among which the gNB selects one for each UE.
    #[serde(default)]
    pub further_amfs: Vec<N2Address>,
    /// N3 address; absent: no user plane.
    pub n3: Option<IpAddr>,
    /// Model of the air interface between the gNB and the UEs' interfaces; absent: no delay.
    pub radio: Option<crate::user_plane::RadioConfig>,
    /// Transmission and reception points for positioning; their identities count from 1.
    #[serde(default)]
    pub trps: Vec<super::positioning::CellSection>,
    /// SCTP implementation.
    #[serde(default)]
    pub sctp: Sctp,
    /// Expected result of NG setup.
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
    /// The kernel's if it has one, else usrsctp.
    #[default]
    Auto,
    /// The kernel's.
    Kernel,
    /// usrsctp in user space.
    Usrsctp,
}

/// A group of UEs that differ in their IMSI only.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UeSection {
    /// Its name.
    pub name: String,
    /// The gNB of the group; absent: the UEs are spread over all gNBs.
    pub gnb: Option<String>,
    /// IMSI of the first UE, quoted; the others follow.
    pub imsi: String,
    /// Number of UEs.
    #[serde(default = "one")]
    pub count: u32,
    /// Network-specific identifier, `user@realm`, which is the SUPI in place of the IMSI
    /// (TS 23.003, 28.7.2); `{n}` is the number of the UE in the group, from 0. The IMSI still
    /// names the namespace.
    pub nai: Option<String>,
    /// Digits of the MNC in the IMSI; absent: as in the gNB's PLMN.
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
    /// PDU sessions. Steps refer to them by number; the first is 0.
    #[serde(default)]
    pub sessions: Vec<SessionSection>,
    /// Network namespaces: `none`, `auto` (one for each UE, `ue-IMSI`), or a name, which `{n}`
    /// makes distinct.
    #[serde(default)]
    pub netns: NetnsText,
    /// Positioning.
    pub positioning: Option<PositioningSection>,
    /// Whether UEs request service on paging and uplink data without a step.
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
    /// `A` or `B`; absent: null scheme.
    pub profile: Option<Profile>,
    /// Home network public key identifier.
    #[serde(default)]
    pub key_id: u8,
    /// Home network public key: 32 bytes for A, 33 (compressed) for B.
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

/// Network namespaces of a group.
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

/// Expected result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expect {
    /// Success.
    #[default]
    Ok,
    /// A reject by the core with this 5GMM or 5GSM cause; for NG setup, with this value of the NGAP
    /// cause in its group.
    Rejected(u8),
    /// Any failure.
    Failed,
}

/// The UEs that take a step, and how many at a time.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Name of a group; absent: all UEs.
    pub ues: Option<String>,
    /// Number of UEs at a time.
    #[serde(default = "one_at_a_time")]
    pub parallel: usize,
    /// UEs started per second; absent: no limit.
    pub rate: Option<f64>,
    /// Expected result for each UE.
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
    /// Initial registration, by 5G-GUTI if the UE has one.
    Register(Selection),
    /// Initial registration by SUCI, after deleting the 5G-GUTI and security context.
    RegisterBySuci(Selection),
    /// Mobility registration update.
    UpdateRegistration(Selection),
    /// PDU session establishment.
    Establish(SessionStep),
    /// PDU session release by the UE.
    Release(SessionStep),
    /// AN release: the UEs enter CM-IDLE.
    ReleaseToIdle(Selection),
    /// Waits until the UEs are in CM-IDLE.
    WaitIdle(Selection),
    /// Waits until the UEs are paged.
    WaitForPaging(PagingStep),
    /// Service request.
    ServiceRequest(Selection),
    /// De-registration.
    Deregister(Selection),
    /// De-registration because of switch-off.
    SwitchOff(Selection),
    /// ICMP echo through a PDU session.
    Ping(Ping),
    /// A program in the UEs' network namespaces.
    Run(Run),
    /// A program outside the namespaces, once for each UE: the data network's side.
    Host(Run),
    /// A pause.
    Wait(Span),
    /// Repeats steps.
    Repeat(Repeat),
    /// Sends the last protected NAS message again.
    Replay(Misbehave),
    /// Sends a protected message with a wrong MAC.
    WrongMac(Misbehave),
    /// Sends bytes as a NAS message.
    RawNas(RawNas),
    /// Sends bytes as an NGAP message.
    RawNgap(RawNgap),
    /// Aborts the gNB's association.
    GnbAbort(String),
    /// Shuts the gNB's association down gracefully.
    GnbShutdown(String),
    /// Connects a gNB that lost its association, or that was expected to fail at the start.
    GnbConnects(String),
}

/// A step about a PDU session of the group.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct SessionStep {
    pub ues: Option<String>,
    #[serde(default = "one_at_a_time")]
    pub parallel: usize,
    pub rate: Option<f64>,
    #[serde(default)]
    pub expect: Expect,
    /// Number of the session in the group's list, from 0.
    #[serde(default)]
    pub session: usize,
}

/// Waits for paging.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct PagingStep {
    pub ues: Option<String>,
    #[serde(default)]
    pub expect: Expect,
    /// Time limit.
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
    /// Destination address.
    pub target: std::net::Ipv4Addr,
    /// Number of requests.
    #[serde(default = "one")]
    pub count: u32,
    /// Number of the session in the group's list.
    #[serde(default)]
    pub session: usize,
    /// Time limit of each reply.
    pub within: Option<Span>,
}

/// A program. `{ip}`, `{imsi}` and `{netns}` are replaced by the UE's values.
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
    /// Time limit.
    pub within: Option<Span>,
}

/// Repeats steps.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Repeat {
    pub times: u32,
    pub steps: Vec<Step>,
}

/// A step that sends an invalid message.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Misbehave {
    pub ues: Option<String>,
    /// First bytes of the expected NAS answer.
    pub answer: Option<Hex>,
    /// Cause of the expected 5GMM STATUS. Without `answer` and `status`, no answer is expected.
    pub status: Option<u8>,
    /// Time limit of the answer, or how long to check that there is none.
    pub within: Option<Span>,
}

/// Sends bytes as a NAS message.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RawNas {
    pub ues: Option<String>,
    pub hex: Hex,
    /// First bytes of the expected NAS answer.
    pub answer: Option<Hex>,
    /// Cause of the expected 5GMM STATUS. Without `answer` and `status`, no answer is expected.
    pub status: Option<u8>,
    /// Time limit of the answer, or how long to check that there is none.
    pub within: Option<Span>,
}

/// Sends bytes as an NGAP message.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct RawNgap {
    pub gnb: String,
    pub hex: Hex,
    #[serde(default)]
    pub stream: u16,
    /// First bytes of the expected NGAP answer; absent: no answer is expected.
    pub answer: Option<Hex>,
    /// Time limit of the answer, or how long to check that there is none.
    pub within: Option<Span>,
}

impl Step {
    /// The name of the step in files and reports.
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
            Step::GnbAbort(_) => "gnb_abort",
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
            | Step::GnbAbort(_)
            | Step::GnbShutdown(_)
            | Step::GnbConnects(_) => None,
        }
    }

    /// The gNB that the step names.
    pub fn gnb(&self) -> Option<&str> {
        match self {
            Step::RawNgap(r) => Some(&r.gnb),
            Step::GnbAbort(name) | Step::GnbShutdown(name) | Step::GnbConnects(name) => Some(name),
            _ => None,
        }
    }
}
