//! Nudm_UEAuthentication: who a SUCI is, and vectors for it (TS 29.503, 5.4; TS 33.501, 6.1.3 and
//! 6.12).
use crate::{Udm, metrics};
use martlet_sbi::{Created, JsonPatch, PatchItem, Problem};
use martlet_sbi_api::common::{Hex, SecretHex, Supi};
use martlet_sbi_api::nudm_ueau::{
    AuthEvent, AuthType, AuthenticationInfoRequest, AuthenticationInfoResult, AuthenticationVector,
    Av5GHeAka, AvEapAkaPrime, UdmUeAuthentication,
};
use martlet_sbi_api::nudm_uecm::FeaturesQuery;
use martlet_sbi_api::nudr_dr::{AuthMethod, AuthenticationSubscription, UdrDataRepositoryClient};
use martlet_security::aka::{self, SubscriberKey};
use martlet_security::sidf::SidfError;
use martlet_security::tuak::Bits;
use martlet_security::{Rand, SecurityError, sqn};
use rand::TryRngCore;
use serde_json::Value;

/// Attempts to move a sequence number on that others move at the same time.
const ATTEMPTS: usize = 8;

impl UdmUeAuthentication for Udm {
    async fn generate_auth_data(
        &self,
        supi_or_suci: &str,
        body: AuthenticationInfoRequest,
    ) -> Result<AuthenticationInfoResult, Problem> {
        let outcome = self.generate(supi_or_suci, body).await;
        metrics::vector(&outcome);
        outcome
    }

    async fn confirm_auth(
        &self,
        supi: &str,
        body: AuthEvent,
    ) -> Result<Created<AuthEvent>, Problem> {
        self.udr(supi).await?.create_authentication_status(supi, body.clone()).await?;
        // One event a subscriber is kept, so its identity need not tell several apart.
        let location = format!("{}/nudm-ueau/v1/{supi}/auth-events/1", self.context.api_root());
        Ok(Created { location, body })
    }

    async fn delete_auth(
        &self,
        supi: &str,
        auth_event_id: &str,
        _: AuthEvent,
    ) -> Result<(), Problem> {
        if auth_event_id != "1" {
            return Err(Problem::new(404, "DATA_NOT_FOUND")
                .detail(format!("{supi} has no event {auth_event_id}")));
        }
        self.udr(supi).await?.delete_authentication_status(supi).await
    }
}

impl Udm {
    async fn generate(
        &self,
        supi_or_suci: &str,
        body: AuthenticationInfoRequest,
    ) -> Result<AuthenticationInfoResult, Problem> {
        let supi = self.reveal(supi_or_suci)?;
        let udr = self.udr(&supi).await?;
        let network = &body.serving_network_name;
        for _ in 0..ATTEMPTS {
            let data = udr.query_auth_subs_data(&supi, FeaturesQuery::default()).await?;
            let subscriber = Subscriber::read(&data, &supi)?;
            let mut last = subscriber.sqn;
            if let Some(info) = &body.resynchronization_info {
                match aka::verify_auts(&subscriber.key, &Rand::new(&info.rand.0), &info.auts.0) {
                    Ok(sqn_ms) => last = sqn::resynchronised(last, sqn_ms),
                    // TS 33.102, 6.3.5: a forged AUTS changes nothing, and the UE gets a fresh
                    // challenge.
                    Err(error) => {
                        tracing::warn!(%supi, %error, "the resynchronisation is not the subscriber's and is ignored")
                    }
                }
            }
            let next = sqn::next(last);
            if !move_on(&udr, &supi, &subscriber.sqn_text, next).await? {
                continue;
            }
            let mut rand = [0; 16];
            let random = rand::rngs::OsRng.try_fill_bytes(&mut rand);
            random.map_err(|e| Problem::system_failure(format!("no random numbers: {e}")))?;
            let mut result = match subscriber.method {
                AuthMethod::EapAkaPrime => AuthenticationInfoResult::new(AuthType::EapAkaPrime),
                _ => AuthenticationInfoResult::new(AuthType::FiveGAka),
            };
            result.authentication_vector = Some(subscriber.vector(&rand, next, network)?);
            result.supi = Some(supi);
            return Ok(result);
        }
        Err(Problem::system_failure("the sequence number is moved on by too many at once"))
    }

    /// The SUPI behind a SUPI or SUCI.
    fn reveal(&self, supi_or_suci: &str) -> Result<Supi, Problem> {
        if let Ok(supi) = supi_or_suci.parse::<Supi>() {
            return Ok(supi);
        }
        let sidf = self.sidf();
        if !sidf.null_scheme && is_null_scheme(supi_or_suci) {
            tracing::warn!(
                suci = supi_or_suci,
                "an identity that is not concealed is refused: see udm.null_scheme"
            );
            return Err(Problem::new(403, "AUTHENTICATION_REJECTED")
                .detail("the null scheme is not allowed here"));
        }
        let revealed = sidf.keys.deconceal(supi_or_suci).map_err(|error| match error {
            SidfError::Text(_) => not_parsed(supi_or_suci, error.to_string()),
            SidfError::UnknownKey { scheme: 1 | 2, .. } => {
                Problem::new(403, "INVALID_HN_PUBLIC_KEY_IDENTIFIER").detail(error.to_string())
            }
            SidfError::UnknownKey { .. } => {
                Problem::new(501, "UNSUPPORTED_PROTECTION_SCHEME").detail(error.to_string())
            }
            SidfError::Suci(_) => {
                Problem::new(403, "INVALID_SCHEME_OUTPUT").detail(error.to_string())
            }
        })?;
        revealed
            .try_into()
            .map_err(|e| Problem::new(403, "INVALID_SCHEME_OUTPUT").detail(format!("{e}")))
    }
}

/// Whether a SUCI's protection scheme is the null scheme: suci-0-MCC-MNC-routing-scheme-key-output
/// (TS 29.571, 5.3.2).
fn is_null_scheme(suci: &str) -> bool {
    suci.starts_with("suci-") && suci.rsplit('-').nth(2) == Some("0")
}

/// A text that is no SUCI we know: for a scheme that is not ours, for a scheme output that is too
/// short, or altogether.
fn not_parsed(text: &str, detail: String) -> Problem {
    // suci-0-MCC-MNC-routing-scheme-key-output (TS 29.571, 5.3.2); a network identifier may have
    // hyphens itself.
    let mut parts = text.rsplit('-');
    let (output, key, scheme) = (parts.next(), parts.next(), parts.next());
    let is_hex =
        |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let formed = output.is_some_and(is_hex) && key.is_some_and(|key| key.parse::<u8>().is_ok());
    match scheme
        .filter(|scheme| text.starts_with("suci-") && formed && scheme.len() == 1 && is_hex(scheme))
    {
        Some("1" | "2") => Problem::new(403, "INVALID_SCHEME_OUTPUT").detail(detail),
        Some("0") | None => Problem::mandatory_ie_incorrect("supiOrSuci", detail),
        Some(scheme) => Problem::new(501, "UNSUPPORTED_PROTECTION_SCHEME")
            .detail(format!("protection scheme {scheme} is none of null, profile A and profile B")),
    }
}

/// Writes the next sequence number where the last one is still the one that was read: false where
/// it is not.
async fn move_on(
    udr: &UdrDataRepositoryClient,
    supi: &str,
    read: &str,
    next: u64,
) -> Result<bool, Problem> {
    let item = |op: &str, value: &str| PatchItem {
        op: op.into(),
        path: "/sequenceNumber/sqn".into(),
        from: None,
        value: Some(Value::String(value.into())),
    };
    let patch = JsonPatch(vec![item("test", read), item("replace", &sqn::to_text(next))]);
    match udr.modify_authentication_subscription(supi, patch).await {
        Ok(_) => Ok(true),
        Err(problem) if matches!(problem.status(), 409 | 412) => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// What of a subscriber's data goes into a vector.
struct Subscriber {
    key: SubscriberKey,
    sqn: u64,
    /// As the UDR has it, for the comparison.
    sqn_text: String,
    amf: [u8; 2],
    method: AuthMethod,
}

impl Subscriber {
    /// The vector for a serving network, of the subscriber's method.
    fn vector(
        &self,
        rand: &[u8; 16],
        sqn: u64,
        network: &str,
    ) -> Result<AuthenticationVector, Problem> {
        let refused =
            |e: SecurityError| Problem::new(403, "AUTHENTICATION_REJECTED").detail(e.to_string());
        let (key, amf, random) = (&self.key, self.amf, Rand::new(rand));
        if self.method == AuthMethod::EapAkaPrime {
            let vector = aka::eap_vector(key, &random, sqn, amf, network).map_err(refused)?;
            return Ok(AuthenticationVector::EapAkaPrime(AvEapAkaPrime {
                rand: Hex(*rand),
                xres: hex::encode(&vector.xres),
                autn: Hex(*vector.autn.as_octets()),
                ck_prime: SecretHex(vector.ck_prime),
                ik_prime: SecretHex(vector.ik_prime),
            }));
        }
        let vector = aka::vector(key, &random, sqn, amf, network).map_err(refused)?;
        Ok(AuthenticationVector::FiveGHeAka(Av5GHeAka {
            rand: Hex(*rand),
            xres_star: SecretHex(*vector.xres_star.as_octets()),
            autn: Hex(*vector.autn.as_octets()),
            kausf: SecretHex(*vector.k_ausf.as_octets()),
        }))
    }

    fn read(data: &AuthenticationSubscription, supi: &str) -> Result<Self, Problem> {
        let rejected = |what: &str| {
            tracing::error!(%supi, "the subscriber's {what}; mend the subscriber with `martlet subscriber`");
            Problem::new(403, "AUTHENTICATION_REJECTED").detail(format!("the subscriber's {what}"))
        };
        if !matches!(data.authentication_method, AuthMethod::FiveGAka | AuthMethod::EapAkaPrime) {
            return Err(rejected("authentication method is neither 5G_AKA nor EAP_AKA_PRIME"));
        }
        let text = |secret: &Option<martlet_sbi_api::common::SecretText>| {
            secret.as_ref().map_or(String::new(), |s| s.0.clone())
        };
        let k = text(&data.enc_permanent_key);
        let key = match data.algorithm_id.as_deref() {
            Some(algorithm) if algorithm.starts_with("tuak") => {
                let (iterations, res) = tuak_parameters(algorithm)
                    .ok_or_else(|| rejected("TUAK has no such parameters"))?;
                let key =
                    SubscriberKey::tuak_from_hex(&k, &text(&data.enc_topc_key), iterations, res);
                key.map_err(|_| {
                    rejected("K or TOPc is missing or is not of its length in hexadecimal digits")
                })?
            }
            Some("milenage") | None => {
                let key = SubscriberKey::from_hex(&k, &text(&data.enc_opc_key));
                key.map_err(|_| rejected("K or OPc is missing or is not of 32 hexadecimal digits"))?
            }
            Some(_) => return Err(rejected("algorithm is neither milenage nor tuak")),
        };
        let number = data
            .sequence_number
            .as_ref()
            .and_then(|s| s.sqn.clone())
            .unwrap_or_else(|| "000000000000".into());
        let sqn = sqn::from_text(&number)
            .ok_or_else(|| rejected("sequence number is not of 12 hexadecimal digits"))?;
        let mut amf = [0x80, 0x00];
        if let Some(field) = &data.authentication_management_field {
            hex::decode_to_slice(field, &mut amf)
                .map_err(|_| rejected("AMF is not of 4 hexadecimal digits"))?;
        }
        // The separation bit tells a 5G vector from others (TS 33.501, 6.1.3.2.0).
        amf[0] |= 0x80;
        Ok(Subscriber {
            key,
            sqn,
            sqn_text: number,
            amf,
            method: data.authentication_method.clone(),
        })
    }
}

/// How often Keccak is applied, and how long RES is: `tuak`, or `tuak-ITERATIONS-BITS`.
fn tuak_parameters(algorithm: &str) -> Option<(u8, Bits)> {
    let mut parts = algorithm.strip_prefix("tuak")?.split('-').skip(1);
    let iterations = parts.next().map_or(Some(1), |text| text.parse().ok()).filter(|n| *n > 0)?;
    let res = parts.next().map_or(Some(64), |text| text.parse().ok()).and_then(Bits::of)?;
    parts.next().is_none().then_some((iterations, res))
}
