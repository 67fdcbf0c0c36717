//! Who may change what at the NRF: with `sbi.pki`, the certificate of an instance alone
//! (TS 33.501, 13.3.1). Instances that register over the fabric or within the process have no
//! certificate, and no owner: the fabric trusts its domain.
use martlet_nf::{PeerCertificate, callbacks};
use martlet_sbi::Problem;
use martlet_sbi_api::nnrf_nfmanagement::NfProfile;

fn refused(detail: String) -> Problem {
    let suppressed = martlet_log_limit::line("nrf_owner", 0);
    if let Some(suppressed) = suppressed {
        tracing::warn!(detail, suppressed, "request refused: not by the instance itself");
    }
    Problem::new(403, "REQUEST_NOT_ALLOWED").detail(detail)
}

/// Whether the consumer owns what this owner has created.
pub fn check_owner(
    peer: Option<&PeerCertificate>,
    owner: Option<&str>,
    what: &str,
) -> Result<(), Problem> {
    match (peer, owner) {
        (Some(peer), Some(owner)) if peer.identity() != owner => {
            Err(refused(format!("{what} belongs to the holder of another certificate")))
        }
        _ => Ok(()),
    }
}

/// Whether the consumer may register this profile: the certificate has its NF type, its instance
/// identity if it has any, and the hosts of its services and of its notifications.
pub fn check_profile(peer: Option<&PeerCertificate>, profile: &NfProfile) -> Result<(), Problem> {
    let Some(peer) = peer else { return Ok(()) };
    let nf_type = profile.nf_type.as_str();
    if !peer.is_of_type(nf_type) {
        return Err(refused(format!(
            "the certificate of the consumer is not of NF type {nf_type}"
        )));
    }
    check_instance(peer, profile)?;
    let ipv4 = profile.ipv4_addresses.iter().flatten().map(|ip| ip.to_string());
    let ipv6 = profile.ipv6_addresses.iter().flatten().map(|ip| ip.to_string());
    let own = ipv4.chain(ipv6).chain(profile.fqdn.clone());
    let mut authorities = callbacks::authorities(profile);
    let services = profile.nf_service_list.iter().flat_map(|list| list.values());
    let services = services.chain(profile.nf_services.iter().flatten());
    let of_services = services.flat_map(|service| &service.default_notification_subscriptions);
    let subscriptions = profile.default_notification_subscriptions.iter().chain(of_services);
    for subscription in subscriptions.flatten() {
        let uri = &subscription.callback_uri;
        authorities.push(callbacks::authority(uri).ok_or_else(|| callbacks::refusal(uri))?);
    }
    let listed = authorities.iter().map(|authority| {
        let host = authority.rsplit_once(':').map_or(authority.as_str(), |(host, _)| host);
        host.trim_matches(['[', ']']).to_string()
    });
    for host in own.chain(listed) {
        if !peer.names.iter().any(|own| own.eq_ignore_ascii_case(&host)) {
            return Err(refused(format!("the certificate of the consumer is not for {host}")));
        }
    }
    Ok(())
}

fn check_instance(peer: &PeerCertificate, profile: &NfProfile) -> Result<(), Problem> {
    let id = profile.nf_instance_id.as_str();
    match peer.instances.is_empty() || peer.instances.iter().any(|own| own.eq_ignore_ascii_case(id))
    {
        true => Ok(()),
        false => Err(refused(format!("the certificate of the consumer is not of instance {id}"))),
    }
}

/// Whether the consumer is this registered instance.
pub fn is_instance(
    peer: Option<&PeerCertificate>,
    owner: Option<&str>,
    profile: &NfProfile,
) -> bool {
    peer.is_none_or(|peer| {
        owner.is_none_or(|owner| peer.identity() == owner)
            && peer.is_of_type(profile.nf_type.as_str())
            && (peer.instances.is_empty()
                || peer
                    .instances
                    .iter()
                    .any(|own| own.eq_ignore_ascii_case(profile.nf_instance_id.as_str())))
    })
}
