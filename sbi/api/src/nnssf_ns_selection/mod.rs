//! Nnssf_NSSelection: the slices that a UE may use, and the AMFs that serve them (TS 29.531, 5.2
//! and 6.1).
mod models;

pub use models::*;

use crate::common::{NfInstanceId, PlmnId, Tac, Tai};
use crate::nnrf_nfmanagement::NfType;
use crate::query::Json;
use martlet_sbi::{QueryValue, json_payload, query_params, service};

json_payload!(AuthorizedNetworkSliceInfo);

/// A tracking area as query parameter: JSON text.
#[derive(Debug, Clone, PartialEq)]
pub struct QueriedTai {
    /// The area.
    pub tai: Tai,
    /// Its code is in decimal digits. Four or six digits are always read as hexadecimal.
    pub is_decimal: bool,
}

impl From<Tai> for QueriedTai {
    fn from(tai: Tai) -> Self {
        QueriedTai { tai, is_decimal: false }
    }
}

impl QueryValue for QueriedTai {
    fn to_text(&self) -> String {
        if !self.is_decimal {
            return serde_json::to_string(&self.tai).unwrap_or_default();
        }
        let mut members = serde_json::to_value(&self.tai).unwrap_or_default();
        if let Some(tac) = members.get_mut("tac") {
            *tac = self.tai.tac.to_u32().to_string().into();
        }
        members.to_string()
    }
    fn from_text(text: &str) -> Option<Self> {
        if let Ok(tai) = serde_json::from_str::<Tai>(text) {
            return Some(tai.into());
        }
        let mut members: serde_json::Value = serde_json::from_str(text).ok()?;
        let tac = members.get_mut("tac")?;
        let digits = tac.as_str().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        let code = digits.parse::<u32>().ok().filter(|code| *code <= 0xff_ffff)?;
        *tac = Tac::from_u32(code).to_string().into();
        let tai = serde_json::from_value(members).ok()?;
        Some(QueriedTai { tai, is_decimal: true })
    }
}

query_params! {
    /// The query for slices (TS 29.531, 6.1.3). Exactly one of the `slice_info_request_for_…` is
    /// set.
    pub struct NsSelectionQuery {
        /** Kind of NF that asks; mandatory. */
        pub nf_type: NfType = "nf-type",
        /** The NF that asks; mandatory. */
        pub nf_id: NfInstanceId = "nf-id",
        /** For a registration. */
        pub slice_info_request_for_registration: Json<SliceInfoForRegistration>
            = "slice-info-request-for-registration",
        /** For a PDU session. */
        pub slice_info_request_for_pdu_session: Json<SliceInfoForPduSession>
            = "slice-info-request-for-pdu-session",
        /** For a configuration update. */
        pub slice_info_request_for_ue_cu: Json<SliceInfoForUeConfigurationUpdate>
            = "slice-info-request-for-ue-cu",
        /** Home network, where the UE roams. */
        pub home_plmn_id: Json<PlmnId> = "home-plmn-id",
        /** Tracking area of the UE. */
        pub tai: QueriedTai = "tai",
        /** Features of the consumer. */
        pub supported_features: String = "supported-features",
    }
}

service! {
    /// The choice of slices (TS 29.531, 6.1.3).
    pub NssfNsSelection / NssfNsSelectionClient / NNSSF_NSSELECTION = "nnssf-nsselection" / "v2" {
        /// Chooses slices for a registration or a session.
        op ns_selection_get "NSSelectionGet": GET "/network-slice-information",
            path(), query(NsSelectionQuery), returns(AuthorizedNetworkSliceInfo),
            errors[400 "MANDATORY_QUERY_PARAM_MISSING", 403 "SNSSAI_NOT_SUPPORTED",
                403 "NOT_AUTHORIZED"];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracking_area_code_is_read_in_hexadecimal_or_decimal_digits() {
        let read = |tac: &str| {
            let text = format!(r#"{{"plmnId":{{"mcc":"001","mnc":"01"}},"tac":"{tac}"}}"#);
            let read = QueriedTai::from_text(&text)?;
            assert_eq!(QueriedTai::from_text(&read.to_text()), Some(read.clone()));
            Some((read.tai.tac.to_u32(), read.is_decimal))
        };
        for (tac, expected) in [
            ("000001", Some((1, false))),
            ("00A0", Some((160, false))),
            ("1", Some((1, true))),
            ("40960", Some((40960, true))),
            ("16777215", Some((0xff_ffff, true))),
            ("4096", Some((0x4096, false))),
            ("16777216", None),
            ("-1", None),
            ("0000a", None),
            ("", None),
        ] {
            assert_eq!(read(tac), expected, "{tac}");
        }
        for text in ["", "1", "{}", r#"{"tac":"1"}"#, r#"{"tac":1}"#, "[]"] {
            assert_eq!(QueriedTai::from_text(text), None, "{text}");
        }
    }
}
