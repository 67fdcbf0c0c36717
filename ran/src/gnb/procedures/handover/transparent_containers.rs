//! What source and target gNB tell each other through the core, which passes it on unread (TS
//! 38.413, 9.3.1.29 and 9.3.1.30). There is no radio interface behind them: their RRC messages are
//! the shortest that TS 38.331 allows.
use crate::gnb::Gnb;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, aper};

/// id-UEContextReferenceAtSource (TS 38.413, 9.4.7): RAN UE NGAP ID at the source.
const REFERENCE_AT_SOURCE: u16 = 288;
/// HandoverPreparationInformation without a capability and without a configuration.
const PREPARATION_INFORMATION: [u8; 2] = [0, 0];
/// HandoverCommand with an RRCReconfiguration that changes nothing.
const RRC_COMMAND: [u8; 4] = [0x00, 0x20, 0x00, 0x00];

/// What the source has for the target: which UE it is, by its identifier at the source.
pub(crate) fn source_to_target(source: &Gnb, target: &Gnb, ran_id: u32) -> Result<Vec<u8>, Error> {
    let visited = LastVisitedNGRANCellInformation::new(
        NGRANCGI::nR_CGI(source.identity().cell()),
        CellType::new(CellSize::small, None),
        TimeUEStayedInCell(1),
        None,
        None,
        None,
    );
    let history = UEHistoryInformation(vec![LastVisitedCellItem::new(
        LastVisitedCellInformation::nGRANCell(visited),
        None,
    )]);
    let reference = ProtocolExtensionField::new(
        ProtocolExtensionID(REFERENCE_AT_SOURCE),
        Criticality::ignore,
        aper::encode(&RANUENGAPID(ran_id))?.into(),
    );
    aper::encode(&SourceNGRANNodeToTargetNGRANNodeTransparentContainer::new(
        RRCContainer(PREPARATION_INFORMATION.to_vec().into()),
        None,
        None,
        NGRANCGI::nR_CGI(target.identity().cell()),
        None,
        history,
        Some(ProtocolExtensionContainer(vec![reference])),
    ))
}

/// Which UE the source means: the source's cell identity, and the UE's identifier there; `None` for
/// a source that does not say.
pub(crate) fn meant(container: &[u8]) -> Option<(u64, u32)> {
    let container: SourceNGRANNodeToTargetNGRANNodeTransparentContainer<'_> =
        aper::decode(container).ok()?;
    let extensions = container.ie_extensions?;
    let reference = extensions.0.iter().find(|field| field.id.0 == REFERENCE_AT_SOURCE)?;
    let ran_id: RANUENGAPID = aper::decode(&reference.extension_value).ok()?;
    let item = container.ue_history_information.0.first()?;
    let LastVisitedCellInformation::nGRANCell(visited) = &item.last_visited_cell_information else {
        return None;
    };
    let NGRANCGI::nR_CGI(cell) = &visited.global_cell_id else { return None };
    Some((cell.nr_cell_identity.0.value(), ran_id.0))
}

/// What the target has for the source, and through it for the UE.
pub(crate) fn target_to_source() -> Result<Vec<u8>, Error> {
    let rrc = RRCContainer(RRC_COMMAND.to_vec().into());
    aper::encode(&TargetNGRANNodeToSourceNGRANNodeTransparentContainer::new(rrc, None))
}
