//! Execution of a caller's commands.
use super::command::{Command, Reply, UeStatus};
use super::context::UeContext;
use crate::gnb::error::UeError;
use crate::gnb::procedures::handover::{handover_preparation, path_switch_request};
use crate::gnb::procedures::location_reporting;
use crate::gnb::procedures::nas_transport::{initial_ue_message, uplink_nas_transport};
use crate::gnb::procedures::ue_context::ue_context_release_request::{self, ReleaseReason};
use crate::ue::{EstablishmentCause, Initial, MmState};
use bytes::Bytes;
use std::time::Instant;
use tokio::sync::broadcast;

impl UeContext {
    /// A command that starts with an initial NAS message waits until the previous connection is
    /// released.
    fn has_to_wait(&self, command: &Command) -> bool {
        match command {
            Command::Register { .. } => {
                self.nas.is_connected() && self.nas.state() == MmState::Deregistered
            }
            Command::Forget { .. } => self.connection.ran_id.is_some(),
            _ => false,
        }
    }

    /// The next waiting command that can run now.
    pub(super) fn next_deferred(&mut self) -> Option<Command> {
        match self.deferred.front() {
            Some(command) if !self.has_to_wait(command) => self.deferred.pop_front(),
            _ => None,
        }
    }

    pub(super) async fn on_command(&mut self, command: Command) {
        if self.has_to_wait(&command) {
            // A UE without its security context cannot use the connection.
            let gives_up = matches!(command, Command::Forget { .. });
            self.deferred.push_back(command);
            if gives_up {
                if let Err(error) = self.release_connection().await {
                    self.link_lost(&error.to_string());
                }
                Box::pin(self.flush()).await;
            }
            return;
        }
        self.received = Instant::now();
        match command {
            Command::Register { kind, reply } => match self.nas.register(kind, self.received) {
                Ok(()) => {
                    self.waiters.registration.add(reply);
                    let sent = self.flush().await;
                    self.starts.registration = sent;
                }
                Err(error) => reply.done(Err(error.into())),
            },
            Command::Establish { request, reply } => {
                match self.nas.establish_session(&request, self.received) {
                    Ok(psi) => {
                        if let Some(waiting) = self.waiters.establishment.get_mut(usize::from(psi))
                        {
                            waiting.add(reply);
                        }
                        let sent = self.flush().await;
                        if let Some(start) = self.starts.establishment.get_mut(usize::from(psi)) {
                            *start = sent;
                        }
                    }
                    Err(error) => reply.done(Err(error.into())),
                }
            }
            Command::Modify { psi, request, reply } => {
                match self.nas.modify_session(psi, &request, self.received) {
                    Ok(()) => {
                        if let Some(waiting) = self.waiters.modification.get_mut(usize::from(psi)) {
                            waiting.add(reply);
                        }
                        self.flush().await;
                    }
                    Err(error) => reply.done(Err(error.into())),
                }
            }
            Command::Release { psi, reply } => match self.nas.release_session(psi, self.received) {
                Ok(()) => {
                    if let Some(waiting) = self.waiters.session_release.get_mut(usize::from(psi)) {
                        waiting.add(reply);
                    }
                    let sent = self.flush().await;
                    if let Some(start) = self.starts.session_release.get_mut(usize::from(psi)) {
                        *start = sent;
                    }
                }
                Err(error) => reply.done(Err(error.into())),
            },
            Command::Service { purpose, uplink_data, reply } => {
                if self.nas.is_requesting_service() {
                    return self.waiters.service.add(reply);
                }
                if self.nas.is_connected() && uplink_data.is_empty() {
                    return reply.done(Ok(()));
                }
                match self.nas.request_service(purpose, &uplink_data, self.received) {
                    Ok(()) => {
                        self.waiters.service.add(reply);
                        self.starts.service = self.flush().await;
                    }
                    Err(error) => reply.done(Err(error.into())),
                }
            }
            Command::Deregister { switch_off, reply } => {
                match self.nas.deregister(switch_off, self.received) {
                    Ok(()) => {
                        self.waiters.deregistration.add(reply);
                        // Set first, because the events of a switch-off follow at once.
                        self.starts.deregistration = Some(Instant::now());
                        if let Some(sent) = self.flush().await
                            && self.starts.deregistration.is_some()
                        {
                            self.starts.deregistration = Some(sent);
                        }
                    }
                    Err(error) => reply.done(Err(error.into())),
                }
            }
            Command::ReleaseToIdle { reply } => self.release_to_idle(reply).await,
            Command::WaitIdle { reply } => match self.connection.ran_id {
                None => reply.done(Ok(())),
                Some(_) => self.waiters.idle.add(reply),
            },
            Command::WaitPaging { reply } => match std::mem::take(&mut self.paged) {
                true => reply.done(Ok(())),
                false => self.waiters.paging.add(reply),
            },
            Command::Positioning { kind, message, routing, reply } => {
                let sent = self.nas.send_positioning(kind, &message, routing.as_deref());
                self.flush().await;
                reply.done(sent.map_err(Into::into));
            }
            Command::SendIp { psi, packet, reply } => reply.done(self.send_ip(psi, packet)),
            Command::SendRawNas { nas, reply } => {
                let outcome = self.send_raw_nas(nas).await;
                reply.done(outcome);
            }
            Command::SendNas { message, reply } => {
                self.nas.send_message(&message);
                self.flush().await;
                reply.done(Ok(()));
            }
            Command::SendSessionMessage { psi, message, reply } => {
                self.nas.send_session_message(psi, &message);
                self.flush().await;
                reply.done(Ok(()));
            }
            Command::Replay { reply } => {
                let last = self.nas.last_protected().map(<[u8]>::to_vec);
                let outcome = match last {
                    Some(nas) => self.send_raw_nas(nas).await,
                    None => Err(UeError::State("the UE has sent no protected message yet")),
                };
                reply.done(outcome);
            }
            Command::Withhold { messages, reply } => {
                self.withheld = messages;
                reply.done(Ok(()));
            }
            Command::WrongMac { message, reply } => {
                let outcome = match self.nas.with_wrong_mac(&message) {
                    Ok(nas) => self.send_raw_nas(nas).await,
                    Err(error) => Err(error.into()),
                };
                reply.done(outcome);
            }
            Command::Status { reply } => reply.done(Ok(self.status())),
            Command::Forget { reply } => {
                self.nas.forget_registration();
                self.flush().await;
                reply.done(Ok(()));
            }
            Command::SetEnvironment { environment, reply } => {
                self.measurements.environment = Some(*environment);
                reply.done(Ok(()));
            }
            Command::Subscribe { reply } => {
                let sender = self.events.get_or_insert_with(|| broadcast::channel(64).0);
                reply.done(Ok(sender.subscribe()));
            }
            Command::ChangeCell { cell, reply } => {
                let done = location_reporting::cell_changed(self, cell).await;
                reply.done(done.map_err(|error| UeError::Handover(error.to_string())));
            }
            Command::Move { gnb, reply } => reply.done(self.move_to(gnb)),
            Command::Handover { gnb, plan, reply } => {
                handover_preparation::run(self, gnb, plan, reply).await
            }
            Command::PathSwitch { gnb, plan, reply } => {
                path_switch_request::run(self, gnb, &plan, reply).await
            }
        }
    }

    async fn release_to_idle(&mut self, reply: Reply<()>) {
        if self.connection.ran_id.is_none() {
            return reply.done(Ok(()));
        }
        match ue_context_release_request::run(self, ReleaseReason::UserInactivity).await {
            Ok(Some(sent)) => {
                self.starts.an_release = Some(sent);
                self.waiters.idle.add(reply);
            }
            Ok(None) => reply.done(Err(UeError::State("the AMF has not answered the UE yet"))),
            Err(error) => {
                self.link_lost(&error.to_string());
                reply.done(Err(error.into()));
            }
        }
    }

    async fn send_raw_nas(&mut self, nas: Vec<u8>) -> Result<(), UeError> {
        let sent = match self.connection.ran_id {
            Some(_) => uplink_nas_transport::run(self, nas).await.map(|_| ()),
            None => {
                let initial = Initial { cause: EstablishmentCause::MoSignalling, s_tmsi: None };
                initial_ue_message::run(self, nas, &initial).await.map(|_| ())
            }
        };
        Ok(sent?)
    }

    fn send_ip(&mut self, psi: u8, packet: Bytes) -> Result<(), UeError> {
        match self.ports.get(&psi) {
            Some(port) => port.send(&packet).map_err(|error| UeError::Interface(error.to_string())),
            None => Err(UeError::State(
                "the PDU session has no user plane: it is not established, or the gNB has no N3",
            )),
        }
    }

    fn status(&self) -> UeStatus {
        UeStatus {
            state: self.nas.state(),
            connected: self.connection.ran_id.is_some(),
            guti: self.nas.guti(),
            settings: self.nas.settings().clone(),
            key_changes: self.key_changes,
            sessions: self.nas.sessions().cloned().collect(),
            active_user_planes: self.sessions.keys().copied().collect(),
            algorithms: self.nas.security().algorithms().map(|(nea, nia)| (nea as u8, nia as u8)),
            protected: self
                .sessions
                .iter()
                .filter_map(|(psi, s)| s.security.map(|(done, _)| (*psi, done)))
                .collect(),
            netns: self.interface.netns().map(str::to_owned),
        }
    }
}
