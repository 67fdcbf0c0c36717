//! Transparent containers between source and target gNB (TS 38.413, 9.3.1.29 and 9.3.1.30). Without
//! a radio interface, their RRC messages are the shortest that TS 38.331 allows.
use crate::gnb::node::Gnb;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, aper};

/// id-UEContextReferenceAtSource (TS 38.413, 9.4.7): RAN UE NGAP ID at the source.
const REFERENCE_AT_SOURCE: u16 = 288;
/// HandoverPreparationInformation without UE capabilities and without a configuration.
const PREPARATION_INFORMATION: [u8; 2] = [0, 0];
/// HandoverCommand with an empty RRCReconfiguration.
const RRC_COMMAND: [u8; 4] = [0x00, 0x20, 0x00, 0x00];

/// Source to target: identifies the UE by its RAN UE NGAP ID at the source.
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

/// The UE that the source announced: the source's NR cell identity and the RAN UE NGAP ID there;
/// `None` without that extension.
pub(crate) fn announced_ue(container: &[u8]) -> Option<(u64, u32)> {
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

/// Target to source: the RRC message for the UE.
pub(crate) fn target_to_source() -> Result<Vec<u8>, Error> {
    let rrc = RRCContainer(RRC_COMMAND.to_vec().into());
    aper::encode(&TargetNGRANNodeToSourceNGRANNodeTransparentContainer::new(rrc, None))
}
