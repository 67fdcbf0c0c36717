//! Nnrf_AccessToken_Get (TS 29.510, 5.4.2.2; TS 33.501, 13.4.1.1): JSON web tokens signed with the
//! NRF's key.
use crate::Nrf;
use martlet_nf::tokens::{Claims, KeyError, SigningKey};
use martlet_sbi::Problem;
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, AccessTokenRsp, NrfAccessToken};

/// Signs tokens.
pub struct Signer(SigningKey);

impl Signer {
    /// Loads a private key in PEM.
    pub fn load(file: &str) -> Result<Signer, KeyError> {
        SigningKey::load(file.as_ref()).map(Signer)
    }
}

impl NrfAccessToken for Nrf {
    async fn access_token_request(&self, body: AccessTokenReq) -> Result<AccessTokenRsp, Problem> {
        let refused =
            |cause: &str, detail: &str| Problem::new(400, cause).detail(detail.to_string());
        let Some(signer) = &self.signer else {
            return Err(refused(
                "unauthorized_client",
                "this NRF issues no tokens: nrf.token_key is not configured",
            ));
        };
        if body.grant_type != "client_credentials" {
            return Err(refused(
                "unsupported_grant_type",
                "grant_type has to be client_credentials",
            ));
        }
        let target = body
            .target_nf_type
            .ok_or_else(|| refused("invalid_request", "targetNfType is missing"))?;
        if body.scope.is_empty() || body.nf_instance_id.is_empty() {
            return Err(refused("invalid_request", "nfInstanceId or scope is missing"));
        }
        // The consumer has to be registered; its registered NF type counts.
        let known = self.state().registry.iter().any(|entry| {
            let profile = &entry.profile;
            let claimed =
                body.nf_type.as_deref().is_none_or(|claimed| claimed == profile.nf_type.as_str());
            profile.nf_instance_id.as_str() == body.nf_instance_id && claimed
        });
        if !known {
            return Err(refused("invalid_client", "this NF instance is not registered"));
        }
        let claims = Claims {
            iss: self.context.instance_id().to_string(),
            sub: body.nf_instance_id,
            aud: target,
            scope: body.scope.clone(),
            exp: martlet_nf::tokens::now() + u64::from(self.config.token_s),
        };
        let token = signer.0.sign(&claims);
        Ok(AccessTokenRsp {
            access_token: token.map_err(|error| Problem::system_failure(error.to_string()))?,
            token_type: "Bearer".into(),
            expires_in: Some(self.config.token_s),
            scope: Some(body.scope),
        })
    }
}
