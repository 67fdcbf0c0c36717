//! An AUSF in place of the core's own, that does once what it is told, and else as the core's own
//! does; and what the AMF makes of it.
use crate::security::five_g_aka::{REGISTRATION_REQUEST, octets};
use crate::security::scas::{challenge, peer, problem};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::UeError;
use martlet_ran::ue::{Abort, RegistrationOutcome};
use martlet_sbi::{Created, Problem};
use martlet_sbi_api::common::{Hex, Links};
use martlet_sbi_api::nausf_ueauthentication::*;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfManagementClient, NfType};
use martlet_tests::{RawGnb, TestCore, in_namespace};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// Where it is.
const AT: &str = "127.0.0.77";

/// What it does once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// It does not answer to a synchronisation failure.
    NotResynchronise,
    /// It gives an HXRES* that no RES* fits.
    GiveAnotherHxresStar,
    /// It says of a RES* that it is wrong.
    SayNo,
    /// It says nothing of a RES*.
    NotSay,
}

#[derive(Default)]
struct Heard {
    next: VecDeque<Does>,
    done: Vec<Does>,
    asked_for: Vec<String>,
    null: bool,
}

/// The AUSF.
pub struct OtherAusf {
    real: AusfUeAuthenticationClient,
    heard: Mutex<Heard>,
}

impl OtherAusf {
    /// Registers it with the NRF, and the core's own no longer.
    pub async fn in_place_of_the_cores(core: &TestCore) -> Result<Arc<OtherAusf>> {
        let last = |at: &SocketAddr| {
            at.ip()
                .to_string()
                .rsplit('.')
                .next()
                .context("an address")?
                .parse()
                .context("an octet")
        };
        let real = AusfUeAuthenticationClient::new(peer(last(&core.config().sbi.ausf)?)?);
        let ausf = Arc::new(OtherAusf { real, heard: Mutex::default() });
        let router = Arc::new(martlet_sbi::Router::new().serve(NAUSF_AUTH.routes(ausf.clone())));
        let server = martlet_sbi_http::HttpServer::bind(
            format!("{AT}:7777").parse()?,
            router,
            Default::default(),
        )
        .await?;
        tokio::spawn(server.run());
        let nrf = peer(last(&core.config().sbi.nrf)?)?;
        let query = SearchQuery {
            target_nf_type: Some(NfType::Ausf),
            requester_nf_type: Some(NfType::Amf),
            ..Default::default()
        };
        let found = NfDiscoveryClient::new(nrf.clone())
            .search_nf_instances(query)
            .await
            .map_err(problem)?;
        let mut profile = found.nf_instances.into_iter().next().context("the AUSF")?;
        let management = NfManagementClient::new(nrf);
        let own = profile.nf_instance_id.to_string();
        let at = AT.parse()?;
        profile.nf_instance_id = "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f77".parse()?;
        profile.ipv4_addresses = Some(vec![at]);
        for service in profile.nf_service_list.iter_mut().flat_map(|list| list.values_mut()) {
            for endpoint in service.ip_end_points.iter_mut().flatten() {
                endpoint.ipv4_address = Some(at);
            }
        }
        management
            .register_nf_instance(profile.nf_instance_id.as_ref(), profile.clone())
            .await
            .map_err(problem)?;
        management.deregister_nf_instance(&own).await.map_err(problem)?;
        Ok(ausf)
    }

    fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().expect("nobody panics with it")
    }

    /// Has it do something once, when it is asked for that.
    pub fn next(&self, does: Does) {
        self.heard().next.push_back(does);
    }

    /// Whether it has done it since this was asked.
    pub fn was(&self, does: Does) -> bool {
        std::mem::take(&mut self.heard().done).contains(&does)
    }

    /// For whom challenges were asked since this was asked.
    pub fn asked_for(&self) -> Vec<String> {
        std::mem::take(&mut self.heard().asked_for)
    }

    /// Whether the RES* of which it said what it was told to was null.
    pub fn res_star_was_null(&self) -> bool {
        self.heard().null
    }

    /// Whether it is the turn of one of them; it is done then.
    fn turn(&self, of: &[Does]) -> Option<Does> {
        let mut heard = self.heard();
        heard.next.front().filter(|does| of.contains(does))?;
        let does = heard.next.pop_front()?;
        heard.done.push(does);
        Some(does)
    }
}

impl AusfUeAuthentication for OtherAusf {
    async fn ue_authentications_post(
        &self,
        body: AuthenticationInfo,
    ) -> Result<Created<UeAuthenticationCtx>, Problem> {
        self.heard().asked_for.push(body.supi_or_suci.to_string());
        if body.resynchronization_info.is_some() && self.turn(&[Does::NotResynchronise]).is_some() {
            std::future::pending::<()>().await;
        }
        let mut created = self.real.ue_authentications_post(body).await?;
        // What the UE answers comes here, too.
        for link in created.body.links.values_mut() {
            let path = link
                .uri()
                .and_then(|uri| uri.split_once("/nausf-auth/"))
                .map(|(_, path)| path.to_owned());
            *link = Links::to(format!("http://{AT}:7777/nausf-auth/{}", path.unwrap_or_default()));
        }
        if let AuthData::FiveGAka(vector) = &mut created.body.five_g_auth_data
            && self.turn(&[Does::GiveAnotherHxresStar]).is_some()
        {
            vector.hxres_star = Hex([0x5a; 16]);
            // What then comes of RES* is heard as well.
            self.heard().null = false;
        }
        Ok(created)
    }

    async fn confirm_5g_aka(
        &self,
        id: &str,
        body: ConfirmationData,
    ) -> Result<ConfirmationDataResponse, Problem> {
        self.heard().null |= body.res_star.is_none();
        match self.turn(&[Does::SayNo, Does::NotSay]) {
            Some(Does::SayNo) => {
                self.heard().null = body.res_star.is_none();
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

/// TS 33.512, 4.2.2.1.1, TC_SYNC_FAIL_SEAF_AMF, the AUSF does not answer: no new challenge before
/// it does.
#[test]
fn ts_33_512_4_2_2_1_1_synchronisation_failure_with_a_silent_ausf() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| config.sbi.timeout_ms = 1000).await?;
        let ausf = OtherAusf::in_place_of_the_cores(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(gnb.initial(1, &octets(REGISTRATION_REQUEST))).await?;
        let (amf_id, _) = challenge(&gnb).await?;
        ausf.next(Does::NotResynchronise);
        let mut failure = vec![0x7e, 0x00, 0x59, 21, 0x30, 14];
        failure.extend([0x5a; 14]);
        gnb.send(gnb.uplink(amf_id, 1, &failure)).await?;
        // It gives up, and does not challenge the UE anew: REGISTRATION REJECT with #22.
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas.starts_with(&[0x7e, 0x00, 0x44, 22]), "REGISTRATION REJECT is due: {nas:02x?}");
        ensure!(ausf.was(Does::NotResynchronise), "the AUSF was asked");
        Ok(())
    });
}

/// TS 33.512, 4.2.2.1.2, TC_RES*_VERIFICATION_FAILURE, test cases A to F: RES* is wrong for the
/// AMF, for the AUSF, or the AUSF does not say. A UE that came with its SUCI is rejected, one that
/// came with its 5G-GUTI is asked for its SUCI and challenged again; where the AUSF does not say,
/// either.
#[test]
fn ts_33_512_4_2_2_1_2_res_star_verification_failure_by_suci_and_by_5g_guti() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            config.sbi.timeout_ms = 1000;
            config.amf.security.always_authenticate = true;
        })
        .await?;
        let ausf = OtherAusf::in_place_of_the_cores(&core).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        let rejected = |outcome: Result<_, UeError>| match outcome {
            Err(UeError::Aborted(Abort::AuthenticationRejected)) => Ok(()),
            other => Err(anyhow::anyhow!(
                "AUTHENTICATION REJECT is due: {:?}",
                other.map(|_: RegistrationOutcome| ())
            )),
        };
        // A and C, E: by SUCI. Null goes to the AUSF where the AMF sees it (TS 29.509, 5.2.2.2.2).
        for (does, null) in [(Does::GiveAnotherHxresStar, true), (Does::SayNo, false)] {
            ausf.next(does);
            phone.forget_registration().await?;
            rejected(phone.register().await).with_context(|| format!("{does:?}, by SUCI"))?;
            ensure!(ausf.was(does) && ausf.res_star_was_null() == null, "{does:?}, by SUCI");
        }
        ausf.next(Does::NotSay);
        phone.forget_registration().await?;
        phone.register().await.context("it is asked who it is, and challenged again")?;
        ensure!(ausf.was(Does::NotSay));
        // B, D and F: by its 5G-GUTI, with a security context that is in order.
        for (does, null) in
            [(Does::GiveAnotherHxresStar, true), (Does::SayNo, false), (Does::NotSay, false)]
        {
            phone.deregister().await?;
            ausf.asked_for();
            ausf.next(does);
            phone.register().await.with_context(|| format!("{does:?}, by 5G-GUTI"))?;
            let asked_for = ausf.asked_for();
            let by: Vec<_> = asked_for
                .iter()
                .map(|identity| identity.split('-').next().unwrap_or_default())
                .collect();
            ensure!(
                by == ["imsi", "suci"],
                "first for who has the 5G-GUTI, then for who it says it is: {asked_for:?}"
            );
            ensure!(
                ausf.was(does) && (does == Does::NotSay || ausf.res_star_was_null() == null),
                "{does:?}, by 5G-GUTI"
            );
        }
        // Wrong with its SUCI, too.
        phone.deregister().await?;
        ausf.next(Does::SayNo);
        ausf.next(Does::SayNo);
        rejected(phone.register().await).context("twice")?;
        core.until("the AMF keeps no context of it", |counts| counts.contexts == 0).await
    });
}
