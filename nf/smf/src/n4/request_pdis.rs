//! The packet detection information of a request.
use martlet_pfcp::Message;
use martlet_pfcp::ie::{CreatePdr, Pdi, UpdatePdr};

/// That of each PDR that a request creates or changes.
pub(super) fn pdis_of(message: &mut Message) -> Vec<&mut Pdi> {
    let (created, updated): (&mut [CreatePdr], &mut [UpdatePdr]) = match message {
        Message::SessionEstablishmentRequest(request) => {
            (&mut request.create_pdrs, Default::default())
        }
        Message::SessionModificationRequest(request) => {
            (&mut request.create_pdrs, &mut request.update_pdrs)
        }
        _ => return Vec::new(),
    };
    let updated = updated.iter_mut().filter_map(|pdr| pdr.pdi.as_mut());
    created.iter_mut().map(|pdr| &mut pdr.pdi).chain(updated).collect()
}
