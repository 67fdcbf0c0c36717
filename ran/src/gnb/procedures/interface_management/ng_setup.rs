//! NG setup (TS 38.413, 8.7.1).
use crate::gnb::error::GnbError;
use crate::gnb::node::{AmfInfo, Gnb};
use crate::sample::Procedure;
use martlet_ngap::cause::{self, CauseNumber};
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind, build_ngap, extract_ngap_ies, helpers};
use std::time::Instant;

/// Runs NG setup. No other task receives from the link yet.
pub(crate) async fn run(gnb: &Gnb) -> Result<AmfInfo, GnbError> {
    let config = gnb.config();
    let name = || config.name.clone();
    let lost = |reason: String| GnbError::Lost { gnb: name(), reason };
    let request =
        request(gnb).map_err(|e| GnbError::Config { gnb: name(), reason: e.to_string() })?;
    let start = Instant::now();
    gnb.send(0, request.into()).await.map_err(|e| lost(e.to_string()))?;
    let answer = tokio::time::timeout(config.setup_timeout, gnb.link().recv()).await;
    let answer = match answer {
        Err(_) => return Err(GnbError::SetupTimeout { gnb: name() }),
        Ok(Err(error)) => return Err(lost(error.to_string())),
        Ok(Ok(None)) => return Err(lost("the AMF closed it".into())),
        Ok(Ok(Some(message))) => message,
    };
    let received = Instant::now();
    gnb.tap(&answer.data);
    let pdu = NGAP_PDU::decode(&answer.data).map_err(|e| lost(format!("no NGAP: {e}")))?;
    match pdu.kind() {
        NgapPduKind::Successful_NGSetup => {
            let info = read_response(&pdu).map_err(|e| lost(format!("NG SETUP RESPONSE: {e}")))?;
            gnb.record(
                Procedure::NgSetup,
                config.name.as_str().into(),
                start,
                received,
                received.saturating_duration_since(start),
                None,
            );
            Ok(info)
        }
        NgapPduKind::Unsuccessful_NGSetup => {
            let (cause, number) =
                read_failure(&pdu).unwrap_or_else(|e| (format!("unreadable: {e}"), None));
            gnb.record(
                Procedure::NgSetup,
                config.name.as_str().into(),
                start,
                received,
                received.saturating_duration_since(start),
                Some(cause.clone()),
            );
            Err(GnbError::SetupRefused { gnb: name(), cause, number })
        }
        other => Err(lost(format!("{other:?} instead of an answer to NG setup"))),
    }
}

fn request(gnb: &Gnb) -> Result<Vec<u8>, martlet_ngap::Error> {
    let (config, identity) = (gnb.config(), gnb.identity());
    let id = helpers::global_gnb_id(identity.plmn, config.gnb_id, config.gnb_id_bits.into())?;
    let slices = identity.slices.iter().map(|s| SliceSupportItem::new(s.clone(), None)).collect();
    let broadcast = BroadcastPLMNItem::new(identity.plmn, SliceSupportList(slices), None);
    let area = SupportedTAItem::new(TAC(identity.tac), BroadcastPLMNList(vec![broadcast]), None);
    build_ngap!(
        InitiatingMessage,
        NGSetup,
        NGSetupRequest,
        GlobalRANNodeID(GlobalRANNodeID::globalGNB_ID(id)),
        RANNodeName(config.name.as_str()),
        SupportedTAList(SupportedTAList(vec![area])),
        DefaultPagingDRX(PagingDRX::v128),
    )?
    .encode()
}

fn read_response(pdu: &NGAP_PDU) -> Result<AmfInfo, martlet_ngap::Error> {
    extract_ngap_ies!(pdu, NGSetupResponse,
        req name: String = AMFName(name) => name.0.into_owned(),
        req capacity: u8 = RelativeAMFCapacity(capacity) => capacity.0,
        lax guamis: ServedGUAMIList = ServedGUAMIList(list) => list,
    );
    let set = |item: &ServedGUAMIItem| item.guami.amf_set_id.0.value() as u16;
    let identity = |item: &ServedGUAMIItem| (set(item), item.guami.amf_pointer.0.value() as u8);
    let sets = guamis.iter().flat_map(|list| &list.0).map(set).collect();
    let guamis = guamis.iter().flat_map(|list| &list.0).map(identity).collect();
    Ok(AmfInfo { name, capacity, sets, guamis })
}

fn read_failure(pdu: &NGAP_PDU) -> Result<(String, Option<CauseNumber>), martlet_ngap::Error> {
    extract_ngap_ies!(pdu, NGSetupFailure, req why: Cause = Cause(cause) => cause,);
    Ok((format!("{why:?}"), cause::number(&why)))
}
