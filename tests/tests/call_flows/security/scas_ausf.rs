//! SCAS test cases of the AMF that need a misbehaving AUSF: a proxy AUSF misbehaves once on request
//! and otherwise forwards to the core's AUSF.
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use crate::security::scas::{challenge, peer, problem};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::UeError;
use martlet_ran::ue::{Abort, RegistrationOutcome};
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::common::{Hex, Links};
use martlet_sbi_api::nausf_ueauthentication::*;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfManagementClient, NfProfile, NfType};
use martlet_tests::{RawGnb, TestCore, in_namespace};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Address of the proxy.
const AT: &str = "127.0.0.77";

/// A misbehaviour, which happens once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misbehaviour {
    /// No answer to a synchronisation failure.
    NotResynchronise,
    /// An HXRES* that matches no RES*.
    GiveAnotherHxresStar,
    /// The RES* is reported as wrong.
    SayNo,
    /// No answer to a RES*.
    NotSay,
}

#[derive(Default)]
struct Recorded {
    next: VecDeque<Misbehaviour>,
    done: Vec<Misbehaviour>,
    requested: Vec<String>,
    null: bool,
}

/// The proxy.
pub struct ProxyAusf {
    real: AusfUeAuthenticationClient,
    recorded: Mutex<Recorded>,
}

impl ProxyAusf {
    /// Registers the proxy with the NRF in place of the core's AUSF.
    pub async fn replace(core: &TestCore) -> Result<Arc<ProxyAusf>> {
        let last = |at: &SocketAddr| {
            at.ip()
                .to_string()
                .rsplit('.')
                .next()
                .context("an address")?
                .parse()
                .context("not a number")
        };
        let real = AusfUeAuthenticationClient::new(peer(last(&core.config().sbi.ausf)?)?);
        let ausf = Arc::new(ProxyAusf { real, recorded: Mutex::default() });
        let router = Arc::new(martlet_sbi::Router::new().serve(NAUSF_AUTH.routes(ausf.clone())));
        let server = martlet_sbi_http::HttpServer::bind(
            format!("{AT}:7777").parse()?,
            router,
            Default::default(),
        )
        .await?;
        tokio::spawn(server.run());
        let nrf = peer(last(&core.config().sbi.nrf.first())?)?;
        let query = SearchQuery {
            target_nf_type: Some(NfType::Ausf),
            requester_nf_type: Some(NfType::Amf),
            ..Default::default()
        };
        let found = NfDiscoveryClient::new(nrf.clone())
            .search_nf_instances(query)
            .await
            .map_err(problem)?;
        let mut profile = found.nf_instances.into_iter().next().context("no AUSF")?;
        let management = NfManagementClient::new(nrf);
        let own = profile.nf_instance_id.to_string();
        let second_choice = NfProfile { priority: Some(10), ..profile.clone() };
        let at = AT.parse()?;
        profile.nf_instance_id = "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f77".parse()?;
        profile.ipv4_addresses = Some(vec![at]);
        let listed = profile.nf_service_list.iter_mut().flat_map(|list| list.values_mut());
        for service in listed.chain(profile.nf_services.iter_mut().flatten()) {
            for endpoint in service.ip_end_points.iter_mut().flatten() {
                endpoint.ipv4_address = Some(at);
            }
        }
        management
            .register_nf_instance(profile.nf_instance_id.as_ref(), profile.clone())
            .await
            .map_err(problem)?;
        // The core's AUSF would register again if it were removed.
        management.register_nf_instance(&own, second_choice).await.map_err(problem)?;
        Ok(ausf)
    }

    fn recorded(&self) -> std::sync::MutexGuard<'_, Recorded> {
        self.recorded.lock().expect("not poisoned")
    }

    /// Schedules a misbehaviour for the next matching request.
    pub fn next(&self, misbehaviour: Misbehaviour) {
        self.recorded().next.push_back(misbehaviour);
    }

    /// Whether the misbehaviour has happened since the last call.
    pub fn was(&self, misbehaviour: Misbehaviour) -> bool {
        std::mem::take(&mut self.recorded().done).contains(&misbehaviour)
    }

    /// The identities for which challenges were requested since the last call.
    pub fn requested(&self) -> Vec<String> {
        std::mem::take(&mut self.recorded().requested)
    }

    /// Whether the RES* of the misbehaviour was null.
    pub fn res_star_was_null(&self) -> bool {
        self.recorded().null
    }

    /// Takes the scheduled misbehaviour if it is one of these.
    fn take(&self, of: &[Misbehaviour]) -> Option<Misbehaviour> {
        let mut recorded = self.recorded();
        recorded.next.front().filter(|misbehaviour| of.contains(misbehaviour))?;
        let misbehaviour = recorded.next.pop_front()?;
        recorded.done.push(misbehaviour);
        Some(misbehaviour)
    }
}

impl AusfUeAuthentication for ProxyAusf {
    async fn ue_authentications_post(
        &self,
        body: AuthenticationInfo,
    ) -> Result<Created<UeAuthenticationCtx>, Problem> {
        self.recorded().requested.push(body.supi_or_suci.to_string());
        if body.resynchronization_info.is_some()
            && self.take(&[Misbehaviour::NotResynchronise]).is_some()
        {
            std::future::pending::<()>().await;
        }
        let mut created = self.real.ue_authentications_post(body).await?;
        // The confirmation must be sent to the proxy, too.
        for link in created.body.links.values_mut() {
            let path = link
                .uri()
                .and_then(|uri| uri.split_once("/nausf-auth/"))
                .map(|(_, path)| path.to_owned());
            *link = Links::to(format!("http://{AT}:7777/nausf-auth/{}", path.unwrap_or_default()));
        }
        if let AuthData::FiveGAka(vector) = &mut created.body.five_g_auth_data
            && self.take(&[Misbehaviour::GiveAnotherHxresStar]).is_some()
        {
            vector.hxres_star = Hex([0x5a; 16]);
            // The confirmation is recorded in any case.
            self.recorded().null = false;
        }
        Ok(created)
    }

    async fn confirm_5g_aka(
        &self,
        id: &str,
        body: ConfirmationData,
    ) -> Result<ConfirmationDataResponse, Problem> {
        self.recorded().null |= body.res_star.is_none();
        match self.take(&[Misbehaviour::SayNo, Misbehaviour::NotSay]) {
            Some(Misbehaviour::SayNo) => {
                self.recorded().null = body.res_star.is_none();
                Ok(ConfirmationDataResponse::new(AuthResult::AuthenticationFailure))
            }
            Some(_) => std::future::pending().await,
            None => self.real.confirm_5g_aka(id, body).await,
        }
    }

    async fn delete_5g_aka_authentication_result(&self, id: &str) -> Result<(), Problem> {
        self.real.delete_5g_aka_authentication_result(id).await
    }

    async fn delete_eap_authentication_result(&self, id: &str) -> Result<(), Problem> {
        self.real.delete_eap_authentication_result(id).await
    }

    async fn eap_auth_method(&self, id: &str, body: EapSession) -> Result<EapSession, Problem> {
        self.real.eap_auth_method(id, body).await
    }
}

/// TS 33.512, 4.2.2.1.1, TC_SYNC_FAIL_SEAF_AMF, with an AUSF that does not answer: no new challenge
/// before its answer.
#[test]
fn ts_33_512_4_2_2_1_1_synchronisation_failure_with_a_silent_ausf() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| config.sbi.timeout_ms = 1000).await?;
        let ausf = ProxyAusf::replace(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
        let (amf_id, _) = challenge(&gnb).await?;
        ausf.next(Misbehaviour::NotResynchronise);
        let mut failure = vec![0x7e, 0x00, 0x59, 21, 0x30, 14];
        failure.extend([0x5a; 14]);
        gnb.send(gnb.uplink_nas_transport(amf_id, 1, &failure)).await?;
        // The AMF sends REGISTRATION REJECT with #22, and no challenge.
        let (_, nas) = gnb.next_nas().await?;
        ensure!(
            nas.starts_with(&[0x7e, 0x00, 0x44, 22]),
            "expected REGISTRATION REJECT: {nas:02x?}"
        );
        ensure!(ausf.was(Misbehaviour::NotResynchronise), "the AUSF was not called");
        Ok(())
    });
}

/// TS 33.512, 4.2.2.1.2, TC_RES*_VERIFICATION_FAILURE, test cases A to F: the check of RES* fails
/// at the AMF or at the AUSF, or the AUSF does not answer. A UE identified by SUCI is rejected; a
/// UE identified by 5G-GUTI is asked for its SUCI and challenged again.
#[test]
fn ts_33_512_4_2_2_1_2_res_star_verification_failure_by_suci_and_by_5g_guti() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            config.sbi.timeout_ms = 1000;
            config.amf.security.always_authenticate = true;
        })
        .await?;
        let ausf = ProxyAusf::replace(&core).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        let rejected = |outcome: Result<_, UeError>| match outcome {
            Err(UeError::Aborted(Abort::AuthenticationRejected)) => Ok(()),
            other => Err(anyhow::anyhow!(
                "expected AUTHENTICATION REJECT: {:?}",
                other.map(|_: RegistrationOutcome| ())
            )),
        };
        // A, C and E: by SUCI. The AMF sends a null RES* if its own check failed (TS 29.509,
        // 5.2.2.2.2).
        for (misbehaviour, null) in
            [(Misbehaviour::GiveAnotherHxresStar, true), (Misbehaviour::SayNo, false)]
        {
            ausf.next(misbehaviour);
            ue.forget_registration().await?;
            rejected(ue.register().await).with_context(|| format!("{misbehaviour:?}, by SUCI"))?;
            ensure!(
                ausf.was(misbehaviour) && ausf.res_star_was_null() == null,
                "{misbehaviour:?}, by SUCI"
            );
        }
        ausf.next(Misbehaviour::NotSay);
        ue.forget_registration().await?;
        ue.register().await.context("identification and second challenge")?;
        ensure!(ausf.was(Misbehaviour::NotSay));
        // B, D and F: by 5G-GUTI, with a valid security context.
        for (misbehaviour, null) in [
            (Misbehaviour::GiveAnotherHxresStar, true),
            (Misbehaviour::SayNo, false),
            (Misbehaviour::NotSay, false),
        ] {
            ue.deregister().await?;
            ausf.requested();
            ausf.next(misbehaviour);
            ue.register().await.with_context(|| format!("{misbehaviour:?}, by 5G-GUTI"))?;
            let requested = ausf.requested();
            let by: Vec<_> = requested
                .iter()
                .map(|identity| identity.split('-').next().unwrap_or_default())
                .collect();
            ensure!(
                by == ["imsi", "suci"],
                "expected the SUPI of the 5G-GUTI and then the SUCI: {requested:?}"
            );
            ensure!(
                ausf.was(misbehaviour)
                    && (misbehaviour == Misbehaviour::NotSay || ausf.res_star_was_null() == null),
                "{misbehaviour:?}, by 5G-GUTI"
            );
        }
        // The second check fails, too.
        ue.deregister().await?;
        ausf.next(Misbehaviour::SayNo);
        ausf.next(Misbehaviour::SayNo);
        rejected(ue.register().await).context("two failures")?;
        core.until("no context is left at the AMF", |counts| counts.contexts == 0).await
    });
}
