//! Nudm_UEAuthentication: de-concealment of SUCIs and authentication vectors (TS 29.503, 5.4; TS
//! 33.501, 6.1.3 and 6.12).
use crate::{Udm, metrics};
use martlet_sbi::{Created, JsonPatch, PatchItem, Problem, path_segment};
use martlet_sbi_api::common::{Hex, SecretHex, SecretText, Supi};
use martlet_sbi_api::nudm_ueau::{
    AuthEvent, AuthType, AuthenticationInfoRequest, AuthenticationInfoResult, AuthenticationVector,
    Av5GHeAka, AvEapAkaPrime, UdmUeAuthentication,
};
use martlet_sbi_api::nudm_uecm::FeaturesQuery;
use martlet_sbi_api::nudr_dr::{AuthMethod, AuthenticationSubscription, UdrDataRepositoryClient};
use martlet_security::aka::{self, SubscriberKey};
use martlet_security::nas_5gs::ProtectionScheme;
use martlet_security::sidf::{self, SidfError};
use martlet_security::tuak::Bits;
use martlet_security::{Rand, SecurityError, sqn};
use rand::TryRngCore;
use serde_json::Value;

/// Attempts to increment a sequence number that others increment concurrently.
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
        // One event per subscriber is stored, so its identity is constant.
        let root = self.context.api_root();
        let location = format!("{root}/nudm-ueau/v1/{}/auth-events/1", path_segment(supi));
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
                .detail(format!("{supi} has no authentication event {auth_event_id}")));
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
        let supi = self.deconceal(supi_or_suci)?;
        let udr = self.udr(&supi).await?;
        let network = &body.serving_network_name;
        for _ in 0..ATTEMPTS {
            let data = udr.query_auth_subs_data(&supi, FeaturesQuery::default()).await?;
            let subscriber = Subscriber::read(&data, &supi)?;
            let mut last = subscriber.sqn;
            if let Some(info) = &body.resynchronization_info {
                match aka::verify_auts(&subscriber.key, &Rand::new(&info.rand.0), &info.auts.0) {
                    Ok(sqn_ms) => last = sqn::resynchronised(last, sqn_ms),
                    // TS 33.102, 6.3.5: a forged AUTS is ignored, and the UE gets a new challenge.
                    Err(error) => {
                        if let Some(suppressed) = martlet_log_limit::line("wrong_auts", 0) {
                            tracing::warn!(
                                %supi, %error, suppressed,
                                "resynchronisation ignored: wrong AUTS"
                            );
                        }
                    }
                }
            }
            let next = sqn::next(last);
            if !store_sqn(&udr, &supi, &subscriber.sqn_text, next).await? {
                continue;
            }
            let mut rand = [0; 16];
            let random = rand::rngs::OsRng.try_fill_bytes(&mut rand);
            random.map_err(|e| {
                Problem::system_failure(format!("the system's random number generator failed: {e}"))
            })?;
            let mut result = match subscriber.method {
                AuthMethod::EapAkaPrime => AuthenticationInfoResult::new(AuthType::EapAkaPrime),
                _ => AuthenticationInfoResult::new(AuthType::FiveGAka),
            };
            result.authentication_vector = Some(subscriber.vector(&rand, next, network)?);
            result.supi = Some(supi);
            return Ok(result);
        }
        Err(Problem::system_failure("too many concurrent changes of the sequence number"))
    }

    /// The SUPI of a SUPI or SUCI.
    fn deconceal(&self, supi_or_suci: &str) -> Result<Supi, Problem> {
        if let Ok(supi) = supi_or_suci.parse::<Supi>() {
            return Ok(supi);
        }
        let own = self.sidf();
        if !own.null_scheme && is_null_scheme(supi_or_suci) {
            if let Some(suppressed) = martlet_log_limit::line("null_scheme", 0) {
                tracing::warn!(
                    suci = supi_or_suci,
                    suppressed,
                    "SUCI rejected: null scheme (see udm.null_scheme)"
                );
            }
            return Err(Problem::new(403, "AUTHENTICATION_REJECTED")
                .detail("the null scheme is not accepted"));
        }
        let supi = own.keys.deconceal(supi_or_suci).map_err(|error| match error {
            SidfError::Text(_) => parse_problem(supi_or_suci, error.to_string()),
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
        supi.try_into()
            .map_err(|e| Problem::new(403, "INVALID_SCHEME_OUTPUT").detail(format!("{e}")))
    }
}

/// Whether a SUCI's protection scheme is the null scheme (TS 23.003, 2.2B). A user name in clear
/// may contain hyphens, so the SUCI is parsed.
fn is_null_scheme(suci: &str) -> bool {
    sidf::parse(suci).is_ok_and(|suci| suci.protection_scheme() == ProtectionScheme::NULL)
}

/// The problem for a text that does not parse as a SUCI: unsupported scheme, wrong scheme output,
/// or malformed.
fn parse_problem(text: &str, detail: String) -> Problem {
    // suci-0-MCC-MNC-routing-scheme-key-output (TS 29.571, 5.3.2); a network identifier may contain
    // hyphens.
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
            .detail(format!("protection scheme {scheme} is not null, profile A or profile B")),
    }
}

/// Stores the next sequence number if the stored one is still `read`; else returns false.
async fn store_sqn(
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

/// The subscriber's data for a vector.
struct Subscriber {
    key: SubscriberKey,
    sqn: u64,
    /// The sequence number as stored, for the comparison.
    sqn_text: String,
    amf: [u8; 2],
    method: AuthMethod,
}

impl Subscriber {
    /// The vector for a serving network, by the subscriber's authentication method.
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
                ck_prime: SecretHex(*vector.ck_prime),
                ik_prime: SecretHex(*vector.ik_prime),
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
            tracing::error!(
                %supi,
                "authentication data invalid: the subscriber's {what}; correct it with `martlet \
                 subscriber`"
            );
            Problem::new(403, "AUTHENTICATION_REJECTED").detail(format!("the subscriber's {what}"))
        };
        if !matches!(data.authentication_method, AuthMethod::FiveGAka | AuthMethod::EapAkaPrime) {
            return Err(rejected("authentication method is neither 5G_AKA nor EAP_AKA_PRIME"));
        }
        let k = text(&data.enc_permanent_key);
        let key = match data.algorithm_id.as_deref() {
            Some(algorithm) if algorithm.starts_with("tuak") => {
                let (iterations, res) = tuak_parameters(algorithm)
                    .ok_or_else(|| rejected("TUAK parameters are invalid"))?;
                let key =
                    SubscriberKey::tuak_from_hex(k, text(&data.enc_topc_key), iterations, res);
                key.map_err(|_| {
                    rejected("K or TOPc is missing or is not of its length in hexadecimal digits")
                })?
            }
            Some("milenage") | None => {
                let key = SubscriberKey::from_hex(k, text(&data.enc_opc_key));
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
        // The separation bit marks a 5G vector (TS 33.501, 6.1.3.2.0).
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

/// The digits of a key; none if it is missing.
fn text(secret: &Option<SecretText>) -> &str {
    secret.as_ref().map_or("", |secret| secret.0.as_str())
}

/// Keccak iterations and length of RES: `tuak`, or `tuak-ITERATIONS-BITS`.
fn tuak_parameters(algorithm: &str) -> Option<(u8, Bits)> {
    let mut parts = algorithm.strip_prefix("tuak")?.split('-').skip(1);
    let iterations = parts.next().map_or(Some(1), |text| text.parse().ok()).filter(|n| *n > 0)?;
    let res = parts.next().map_or(Some(64), |text| text.parse().ok()).and_then(Bits::of)?;
    parts.next().is_none().then_some((iterations, res))
}
