//! N4: an SMF that establishes, modifies and deletes sessions over UDP as fast as the UPF answers;
//! and packets lost while sessions are modified.
use super::dut::{configuration, session};
use super::links::{self, Testbed};
use super::{Rules, UpfArgs};
use crate::process_usage::resident_kb;
use crate::progress::Progress;
use crate::{Figure, Output};
use anyhow::{Context, Result, ensure};
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf::config::DatapathChoice;
use martlet_upf::datapath::Change;
use martlet_upf_xdp::bench_ue;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

const SMF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 7);
const UPF: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 8);
/// Maximum number of outstanding requests.
const WINDOW: usize = 64;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A minimal SMF.
struct Smf {
    socket: UdpSocket,
    sequence: u32,
}

fn pdr(id: u16, pdi: Pdi, removal: Option<OuterHeaderRemoval>) -> CreatePdr {
    CreatePdr {
        pdr_id: PdrId(id),
        precedence: Precedence(255),
        pdi,
        outer_header_removal: removal,
        far_id: Some(FarId(id.into())),
        urr_ids: vec![UrrId(1), UrrId(2)],
        qer_ids: vec![QerId(1)],
        activate_predefined_rules: vec![],
    }
}

/// The request for a session with one PDR, FAR, QER and two URRs in each direction.
fn establishment(n: u32) -> SessionEstablishmentRequest {
    let pdi = |interface, local_fteid, is_destination| Pdi {
        local_fteid,
        network_instance: Some(NetworkInstance::new("internet")),
        ue_ip_addresses: vec![UeIpAddress {
            is_destination,
            ipv4: Some(bench_ue(n)),
            ..Default::default()
        }],
        ..Pdi::of(interface)
    };
    let choose = FTeid::Choose { ipv4: true, ipv6: false, choose_id: None };
    let far = |id, interface, outer_header_creation| CreateFar {
        far_id: FarId(id),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface(interface),
            network_instance: None,
            outer_header_creation,
            ..Default::default()
        }),
        bar_id: None,
        ..Default::default()
    };
    let header = OuterHeaderCreation::gtpu(n + 1, Ipv4Addr::new(127, 0, 0, 2).into());
    let fast = 1_000_000_000;
    SessionEstablishmentRequest {
        node_id: NodeId::Ip(SMF.into()),
        cp_fseid: FSeid::new(u64::from(n) + 1, SMF.into()),
        create_pdrs: vec![
            pdr(
                1,
                pdi(Interface::Access, Some(choose), false),
                Some(OuterHeaderRemoval { description: 0 }),
            ),
            pdr(2, pdi(Interface::Core, None, true), None),
        ],
        create_fars: vec![far(1, Interface::Core, None), far(2, Interface::Access, Some(header))],
        create_urrs: [1, 2]
            .map(|id| CreateUrr {
                urr_id: UrrId(id),
                measurement_method: MeasurementMethod(2),
                reporting_triggers: ReportingTriggers::VOLTH,
                measurement_period: None,
                volume_threshold: Some(VolumeThreshold {
                    total: Some(1 << 50),
                    ..Default::default()
                }),
                volume_quota: None,
                time_threshold: None,
                time_quota: None,
                ..Default::default()
            })
            .into(),
        create_qers: vec![CreateQer {
            qer_id: QerId(1),
            correlation_id: None,
            gate_status: GateStatus::default(),
            mbr: Some(Mbr { uplink: fast, downlink: fast }),
            gbr: None,
            qfi: Some(Qfi(9)),
            rqi: None,
            ..Default::default()
        }],
        create_bar: None,
        pdn_type: Some(PdnType(1)),
        inactivity_timer: None,
        flags: None,
        create_traffic_endpoints: vec![],
        fq_csids: vec![],
    }
}

/// The request for a UE in CM-IDLE: downlink packets are buffered.
fn buffer_downlink() -> SessionModificationRequest {
    let update = UpdateFar {
        far_id: FarId(2),
        apply_action: Some(ApplyAction::BUFF),
        update_forwarding_parameters: None,
        bar_id: None,
        ..Default::default()
    };
    SessionModificationRequest { update_fars: vec![update], ..Default::default() }
}

impl Smf {
    fn request(&mut self, message: impl Into<Message>) -> Result<Packet> {
        self.sequence += 1;
        self.socket.send(&Packet::node(self.sequence, message).encode())?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Packet> {
        let mut buffer = [0; 4096];
        loop {
            let length = self.socket.recv(&mut buffer).context("the UPF does not answer")?;
            let packet = Packet::decode(&buffer[..length])?;
            // Heartbeat requests of the UPF are ignored.
            if !matches!(packet.message, Message::HeartbeatRequest(_)) {
                return Ok(packet);
            }
        }
    }

    /// Sends requests, up to a window of them at a time, and maps the answers.
    fn request_all<T>(
        &mut self,
        requests: impl Iterator<Item = (u64, Message)>,
        mut map: impl FnMut(Packet) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut requests = requests.peekable();
        let (mut waiting, mut results) = (0, Vec::new());
        while waiting > 0 || requests.peek().is_some() {
            while waiting < WINDOW
                && let Some((seid, message)) = requests.next()
            {
                self.sequence = (self.sequence + 1) & 0xff_ffff;
                self.socket.send(&Packet::session(seid, self.sequence, message).encode())?;
                waiting += 1;
            }
            results.push(map(self.answer()?)?);
            waiting -= 1;
        }
        Ok(results)
    }
}

/// Establishes, modifies and deletes sessions of a UPF in this process.
fn sessions(output: &mut Output, sessions: u32, progress: &mut Progress) -> Result<()> {
    crate::namespace::enter_new()?;
    let mut config = configuration(Rules::Full, sessions);
    config.n3.address = (UPF, 2152).into();
    config.n4.address = SocketAddr::from((UPF, martlet_pfcp::PORT));
    config.xdp.interfaces = vec!["lo".into()];
    config.n4.heartbeat_s = 0;
    let pid = std::process::id();
    let before = resident_kb(pid);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The UPF's thread inherits this thread's network namespace.
    let (started, ready) = std::sync::mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = std::thread::spawn(move || {
        runtime.block_on(async {
            let stopped = async { drop(stopped.await) };
            match martlet_upf::start(config, stopped).await {
                Ok(upf) => {
                    let _ = started.send(Ok(()));
                    let _ = upf.finished().await;
                }
                Err(error) => drop(started.send(Err(error))),
            }
        });
    });
    ready.recv().context("the UPF failed to start")??;
    let socket = UdpSocket::bind((SMF, martlet_pfcp::PORT))?;
    socket.connect((UPF, martlet_pfcp::PORT))?;
    socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let mut smf = Smf { socket, sequence: 0 };
    let setup = AssociationSetupRequest {
        node_id: NodeId::Ip(IpAddr::V4(SMF)),
        recovery: RecoveryTimeStamp(1),
        retention: None,
        up_features: None,
        cp_features: None,
    };
    let answer = smf.request(setup)?;
    ensure!(
        matches!(answer.message, Message::AssociationSetupResponse(_)),
        "no association: {answer:?}"
    );
    let mut timed =
        |name: &str, act: &mut dyn FnMut() -> Result<()>, output: &mut Output| -> Result<()> {
            let start = Instant::now();
            act()?;
            let rate = f64::from(sessions) / start.elapsed().as_secs_f64();
            output.row(format_args!("control,{name},xdp,,0,{rate},{sessions}"))?;
            output.figure(Figure::once(format!("n4.xdp.{name}_{sessions}"), "sessions/s", rate));
            progress.step(name);
            Ok(())
        };
    let mut seids = Vec::new();
    let mut establish = || {
        let requests = (0..sessions).map(|n| (0, establishment(n).into()));
        seids = smf.request_all(requests, |answer| {
            let Message::SessionEstablishmentResponse(answer) = answer.message else {
                anyhow::bail!("{answer:?}")
            };
            ensure!(answer.cause == Cause::ACCEPTED, "{answer:?}");
            Ok(answer.up_fseid.context("the answer has no UP F-SEID")?.seid)
        })?;
        Ok(())
    };
    timed("establish", &mut establish, output)?;
    let grown = (resident_kb(pid).saturating_sub(before) * 1024) as f64 / 1e6;
    output.figure(Figure::once(format!("resident.xdp.sessions{sessions}"), "MB", grown));
    output.figure(Figure::once(
        format!("resident_whole.xdp.sessions{sessions}"),
        "MB",
        (resident_kb(pid) * 1024) as f64 / 1e6,
    ));
    let mut modify = || {
        let request = buffer_downlink();
        let requests = seids.iter().map(|seid| (*seid, request.clone().into()));
        smf.request_all(requests, |answer| {
            let Message::SessionModificationResponse(answer) = answer.message else {
                anyhow::bail!("{answer:?}")
            };
            ensure!(answer.cause == Cause::ACCEPTED, "{answer:?}");
            Ok(())
        })?;
        Ok(())
    };
    timed("modify", &mut modify, output)?;
    let mut delete = || {
        let requests = seids.iter().map(|seid| (*seid, SessionDeletionRequest {}.into()));
        smf.request_all(requests, |_| Ok(()))?;
        Ok(())
    };
    timed("delete", &mut delete, output)?;
    drop(stop);
    let _ = serving.join();
    Ok(())
}

/// Counts packets lost while each of 1,000 sessions is modified: its rules are rewritten with
/// another QFI.
fn while_modified(output: &mut Output, args: &UpfArgs) -> Result<()> {
    const SESSIONS: u32 = 1000;
    let round = links::on_one_cpu(|| {
        let mut testbed = Testbed::new(Some(DatapathChoice::Xdp), Rules::Full, SESSIONS)?;
        let mut datapath = testbed.datapath.take().context("the testbed has no datapath")?;
        let testbed = &testbed;
        std::thread::scope(|scope| {
            let changing = scope.spawn(move || -> Result<(u32, Duration)> {
                let start = Instant::now();
                let limits = martlet_upf::UpfConfig::default().rules;
                for n in 0..SESSIONS {
                    let mut session = session(Rules::Full, n);
                    session.qers.values_mut().for_each(|qer| qer.qfi = Some(5));
                    session.resolve(&limits)?;
                    datapath.apply(&Change::to(&session))?;
                    if n % 10 == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                let elapsed = start.elapsed();
                // The datapath keeps its programs loaded until all packets are forwarded.
                std::thread::sleep(Duration::from_secs(3));
                drop(datapath);
                Ok((SESSIONS, elapsed))
            });
            let time = Duration::from_millis(args.pick(2500, 1000, 1000));
            let round = testbed.paced(false, 64, 200_000.0, time);
            let (_, elapsed) =
                changing.join().map_err(|_| anyhow::anyhow!("the modifying thread panicked"))??;
            Ok((round?, elapsed))
        })
    })?;
    let (round, elapsed) = round;
    let lost = round.sent - round.received.packets;
    output.row(format_args!("control,lost_while_modified,xdp,downlink,0,{lost},{}", round.sent))?;
    output.figure(Figure::once("lost.xdp.while_1000_modified", "packets", lost as f64));
    output.figure(Figure::once("sent.xdp.while_1000_modified", "packets", round.sent as f64));
    output.figure(Figure::once("modified.xdp.1000_sessions", "s", elapsed.as_secs_f64()));
    Ok(())
}

/// Measures N4.
pub(super) fn measure(output: &mut Output, args: &UpfArgs) -> Result<()> {
    let mut progress = Progress::new("steps", 4);
    let max = args.pick(100_000, 20_000, 500);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| sessions(output, max, &mut progress));
        thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the measurement thread panicked")))
    })?;
    while_modified(output, args)?;
    progress.step("packets while sessions change");
    progress.done();
    Ok(())
}
