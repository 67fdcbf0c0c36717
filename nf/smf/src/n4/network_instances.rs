//! Network instances in the encoding that a UPF reads (TS 29.244, 8.2.4).
use martlet_pfcp::Message;
use martlet_pfcp::ie::{CreateFar, CreatePdr, NetworkInstance};

/// Encodes the network instances of a request in labels. They are text before.
pub(super) fn in_labels(message: &mut Message) {
    let mut all: Vec<&mut Option<NetworkInstance>> = Vec::new();
    match message {
        Message::SessionEstablishmentRequest(request) => {
            all.extend(of_pdrs(&mut request.create_pdrs));
            all.extend(of_fars(&mut request.create_fars));
        }
        Message::SessionModificationRequest(request) => {
            all.extend(of_pdrs(&mut request.create_pdrs));
            all.extend(of_fars(&mut request.create_fars));
            let pdis = request.update_pdrs.iter_mut().filter_map(|pdr| pdr.pdi.as_mut());
            all.extend(pdis.map(|pdi| &mut pdi.network_instance));
            let fars = request.update_fars.iter_mut();
            let to = fars.filter_map(|far| far.update_forwarding_parameters.as_mut());
            all.extend(to.map(|parameters| &mut parameters.network_instance));
        }
        _ => {}
    }
    for instance in all.into_iter().flatten() {
        *instance = NetworkInstance::in_labels(&instance.text());
    }
}

fn of_pdrs(pdrs: &mut [CreatePdr]) -> impl Iterator<Item = &mut Option<NetworkInstance>> {
    pdrs.iter_mut().map(|pdr| &mut pdr.pdi.network_instance)
}

fn of_fars(fars: &mut [CreateFar]) -> impl Iterator<Item = &mut Option<NetworkInstance>> {
    let to = fars.iter_mut().filter_map(|far| far.forwarding_parameters.as_mut());
    to.map(|parameters| &mut parameters.network_instance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::SessionModificationRequest;
    use martlet_pfcp::ie::{
        ForwardingParameters, Interface, Pdi, UpdateFar, UpdateForwardingParameters, UpdatePdr,
    };

    #[test]
    fn each_network_instance_of_a_request_is_written_in_labels() {
        let named = || Some(NetworkInstance::new("internet"));
        let pdi = || Pdi { network_instance: named(), ..Pdi::of(Interface::Core) };
        let to = ForwardingParameters { network_instance: named(), ..Default::default() };
        let changed =
            UpdateForwardingParameters { network_instance: named(), ..Default::default() };
        let mut message = Message::from(SessionModificationRequest {
            create_pdrs: vec![CreatePdr { pdi: pdi(), ..Default::default() }],
            update_pdrs: vec![UpdatePdr { pdi: Some(pdi()), ..Default::default() }],
            create_fars: vec![CreateFar { forwarding_parameters: Some(to), ..Default::default() }],
            update_fars: vec![
                UpdateFar { update_forwarding_parameters: Some(changed), ..Default::default() },
                UpdateFar::default(),
            ],
            ..Default::default()
        });
        in_labels(&mut message);
        let Message::SessionModificationRequest(request) = message else { panic!() };
        let written = [
            request.create_pdrs[0].pdi.network_instance.clone(),
            request.update_pdrs[0].pdi.clone().unwrap().network_instance,
            request.create_fars[0].forwarding_parameters.clone().unwrap().network_instance,
            request.update_fars[0].update_forwarding_parameters.clone().unwrap().network_instance,
        ];
        // As Open5GS's UPF, which aborts if it reads anything else.
        assert_eq!(written, [(); 4].map(|()| Some(NetworkInstance(b"\x08internet".to_vec()))));
    }
}
