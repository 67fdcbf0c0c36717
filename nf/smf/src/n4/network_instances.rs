//! Network instances in the encoding that a UPF reads (TS 29.244, 8.2.4).
use super::request_pdis::pdis_of;
use martlet_pfcp::Message;
use martlet_pfcp::ie::{CreateFar, NetworkInstance, UpdateFar};

/// Encodes the network instances of a request in labels. They are text before.
pub(super) fn in_labels(message: &mut Message) {
    pdis_of(message).into_iter().for_each(|pdi| encode(&mut pdi.network_instance));
    let (created, updated): (&mut [CreateFar], &mut [UpdateFar]) = match message {
        Message::SessionEstablishmentRequest(request) => {
            (&mut request.create_fars, Default::default())
        }
        Message::SessionModificationRequest(request) => {
            (&mut request.create_fars, &mut request.update_fars)
        }
        _ => return,
    };
    for parameters in created.iter_mut().filter_map(|far| far.forwarding_parameters.as_mut()) {
        encode(&mut parameters.network_instance);
    }
    let updated = updated.iter_mut().filter_map(|far| far.update_forwarding_parameters.as_mut());
    updated.for_each(|parameters| encode(&mut parameters.network_instance));
}

fn encode(instance: &mut Option<NetworkInstance>) {
    if let Some(instance) = instance {
        *instance = NetworkInstance::in_labels(&instance.text());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::SessionModificationRequest;
    use martlet_pfcp::ie::{
        CreatePdr, ForwardingParameters, Interface, Pdi, UpdateForwardingParameters, UpdatePdr,
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
