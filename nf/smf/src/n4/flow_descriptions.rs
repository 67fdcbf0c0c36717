//! Flow descriptions of SDF filters as a UPF reads them (TS 29.244, 8.2.5).
use super::request_pdis::pdis_of;
use martlet_pfcp::Message;

/// Names the protocols of a request, which are numbers before (RFC 6733, 4.3.1).
pub(super) fn with_protocol_names(message: &mut Message) {
    for filter in pdis_of(message).into_iter().flat_map(|pdi| &mut pdi.sdf_filters) {
        if let Some(description) = &mut filter.flow_description
            && let Some(named) = named(description)
        {
            *description = named;
        }
    }
}

/// A flow description with the name of its protocol; `None` if it has no name.
fn named(description: &str) -> Option<String> {
    let mut words: Vec<&str> = description.split_ascii_whitespace().collect();
    let protocol = words.get_mut(2)?;
    *protocol = match *protocol {
        "1" => "icmp",
        "6" => "tcp",
        "17" => "udp",
        _ => return None,
    };
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::SessionModificationRequest;
    use martlet_pfcp::ie::{CreatePdr, Interface, Pdi, SdfFilter, UpdatePdr};

    #[test]
    fn protocols_with_a_name_are_named_in_each_filter() {
        let pdi = |protocol: &str| {
            let text = format!("permit out {protocol} from any 17 to assigned");
            let filter = SdfFilter { flow_description: Some(text), ..SdfFilter::default() };
            Pdi { sdf_filters: vec![filter], ..Pdi::of(Interface::Core) }
        };
        let created = |protocol| CreatePdr { pdi: pdi(protocol), ..CreatePdr::default() };
        let mut message = Message::from(SessionModificationRequest {
            create_pdrs: ["ip", "1", "6", "17", "132"].map(created).into(),
            update_pdrs: vec![UpdatePdr { pdi: Some(pdi("17")), ..UpdatePdr::default() }],
            ..Default::default()
        });
        with_protocol_names(&mut message);
        let Message::SessionModificationRequest(request) = message else { panic!() };
        let created = request.create_pdrs.into_iter().map(|pdr| pdr.pdi);
        let pdis: Vec<Pdi> =
            created.chain(request.update_pdrs.into_iter().filter_map(|pdr| pdr.pdi)).collect();
        assert_eq!(pdis, ["ip", "icmp", "tcp", "udp", "132", "udp"].map(pdi));
    }
}
