//! Nnrf_AccessToken: the NRF issues access tokens (TS 29.510, 5.4 and 6.3; RFC 6749, 4.4). Its
//! path, `/oauth2/token`, has no version.
use bytes::Bytes;
use martlet_sbi::{BodyError, Compact, Encoded, Payload, json_payload, service};
use serde::{Deserialize, Serialize};

json_payload!(AccessTokenRsp);

service! {
    /// Access tokens (TS 29.510, 5.4.2).
    pub NrfAccessToken / NrfAccessTokenClient / NNRF_OAUTH2 = "oauth2" / "token" {
        /// Issues an access token for services of an NF type.
        op access_token_request "AccessTokenRequest": POST "",
            path(), body(AccessTokenReq), returns(AccessTokenRsp), errors[400 "invalid_request"];
    }
}

/// An access token request (TS 29.510, 6.3.5.2.2). It is encoded as a form, not as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccessTokenReq {
    /// `client_credentials`
    pub grant_type: String,
    /// The consumer
    pub nf_instance_id: String,
    /// Its type
    pub nf_type: Option<String>,
    /// Type of the producers
    pub target_nf_type: Option<String>,
    /// One producer
    pub target_nf_instance_id: Option<String>,
    /// Names of services, with spaces between them
    pub scope: String,
}

impl AccessTokenReq {
    fn fields(&self) -> [(&'static str, Option<&String>); 6] {
        [
            ("grant_type", Some(&self.grant_type)),
            ("nfInstanceId", Some(&self.nf_instance_id)),
            ("nfType", self.nf_type.as_ref()),
            ("targetNfType", self.target_nf_type.as_ref()),
            ("targetNfInstanceId", self.target_nf_instance_id.as_ref()),
            ("scope", Some(&self.scope)),
        ]
    }
}

/// Percent-decoding, with `+` for a space.
fn plain(text: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(octets).ok()
}

impl Payload for AccessTokenReq {
    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        let mut text = String::new();
        for (name, value) in self.fields() {
            let Some(value) = value else { continue };
            if !text.is_empty() {
                text.push('&');
            }
            text.push_str(name);
            text.push('=');
            for octet in value.bytes() {
                match octet {
                    b' ' => text.push('+'),
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => {
                        text.push(char::from(octet))
                    }
                    other => text.push_str(&format!("%{other:02X}")),
                }
            }
        }
        Ok(Some(Encoded {
            content_type: "application/x-www-form-urlencoded".into(),
            bytes: Bytes::from(text),
        }))
    }

    fn decode(encoded: Option<Encoded>) -> Result<Self, BodyError> {
        let wrong = BodyError::InvalidRequest;
        let encoded = encoded.ok_or(wrong("there is no body"))?;
        let text = std::str::from_utf8(&encoded.bytes).map_err(|_| wrong("the form is no text"))?;
        let mut request = AccessTokenReq::default();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = plain(value).ok_or(wrong("a field is not form-encoded"))?;
            match name {
                "grant_type" => request.grant_type = value,
                "nfInstanceId" => request.nf_instance_id = value,
                "nfType" => request.nf_type = Some(value),
                "targetNfType" => request.target_nf_type = Some(value),
                "targetNfInstanceId" => request.target_nf_instance_id = Some(value),
                "scope" => request.scope = value,
                _ => {}
            }
        }
        Ok(request)
    }
}

/// A token (TS 29.510, 6.3.5.2.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Compact)]
pub struct AccessTokenRsp {
    /// A JSON web token
    pub access_token: String,
    /// `Bearer`
    pub token_type: String,
    /// Lifetime in seconds
    pub expires_in: Option<u32>,
    /// Names of services
    pub scope: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_form() {
        let request = AccessTokenReq {
            grant_type: "client_credentials".into(),
            nf_instance_id: "a-1".into(),
            nf_type: Some("AMF".into()),
            target_nf_type: Some("5G_EIR".into()),
            target_nf_instance_id: None,
            scope: "nudm-sdm nudm-uecm".into(),
        };
        let encoded = request.encode().unwrap().unwrap();
        let text = "grant_type=client_credentials&nfInstanceId=a-1&nfType=AMF&targetNfType=5G_EIR&\
                    scope=nudm-sdm+nudm-uecm";
        assert_eq!(encoded.bytes, text);
        assert_eq!(AccessTokenReq::decode(Some(encoded)).unwrap(), request);
        let odd = Encoded { content_type: "".into(), bytes: Bytes::from_static(b"scope=%zz") };
        assert!(AccessTokenReq::decode(Some(odd)).is_err());
    }
}
