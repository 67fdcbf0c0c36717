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

/// Whether the consumer may change a registered instance: see [`owns`].
pub fn check_instance_owner(
    peer: Option<&PeerCertificate>,
    owner: Option<&str>,
    instance: &str,
) -> Result<(), Problem> {
    check_owner(peer, owner, Some(instance), "the instance")
}

/// Whether the consumer may change a subscription: see [`owns`].
pub fn check_subscription_owner(
    peer: Option<&PeerCertificate>,
    owner: Option<&str>,
) -> Result<(), Problem> {
    check_owner(peer, owner, None, "the subscription")
}

fn check_owner(
    peer: Option<&PeerCertificate>,
    owner: Option<&str>,
    instance: Option<&str>,
    what: &str,
) -> Result<(), Problem> {
    if peer.is_none_or(|peer| owns(peer, owner, instance)) {
        return Ok(());
    }
    let of = match owner {
        Some(_) => "the holder of another certificate",
        None => "a function without a certificate",
    };
    Err(refused(format!("{what} belongs to {of}")))
}

/// Whether this certificate is that of what the owner has created: the instance with this identity,
/// or a subscription. What has no owner was created by a function of this machine, without a
/// certificate: no certificate changes it but that of the same instance, which now uses HTTP/2.
fn owns(peer: &PeerCertificate, owner: Option<&str>, instance: Option<&str>) -> bool {
    match owner {
        Some(owner) => peer.identity() == owner,
        None => instance.is_some_and(|id| lists(peer, id)),
    }
}

fn lists(peer: &PeerCertificate, instance: &str) -> bool {
    peer.instances.iter().any(|own| own.eq_ignore_ascii_case(instance))
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
    match peer.instances.is_empty() || lists(peer, id) {
        true => Ok(()),
        false => Err(refused(format!("the certificate of the consumer is not of instance {id}"))),
    }
}

/// Whether the consumer is this registered instance. An instance without an owner has registered
/// without a certificate, so that a certificate has to name it.
pub fn is_instance(
    peer: Option<&PeerCertificate>,
    owner: Option<&str>,
    profile: &NfProfile,
) -> bool {
    let id = profile.nf_instance_id.as_str();
    peer.is_none_or(|peer| {
        peer.is_of_type(profile.nf_type.as_str())
            && owns(peer, owner, Some(id))
            && (peer.instances.is_empty() || lists(peer, id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::nnrf_nfmanagement::{NfStatus, NfType};

    const ID: &str = "00000000-0000-4000-8000-00000000000a";

    fn certificate(name: &str, instances: &[&str]) -> PeerCertificate {
        PeerCertificate {
            common_name: name.into(),
            nf_types: vec!["UDM".into()],
            instances: instances.iter().map(ToString::to_string).collect(),
            names: vec!["127.0.0.8".into()],
        }
    }

    #[test]
    fn only_a_certificate_of_the_instance_changes_what_was_registered_without_one() {
        let (udm, any) = (certificate("udm", &[ID]), certificate("udm", &[]));
        let other = certificate("lmf", &["00000000-0000-4000-8000-00000000000b"]);
        let own = any.identity();
        for (peer, owner, instance, is_right) in [
            (None, None, Some(ID), true),
            (None, Some(own.as_str()), Some(ID), true),
            (Some(&any), Some(own.as_str()), Some(ID), true),
            (Some(&other), Some(own.as_str()), Some(ID), false),
            (Some(&udm), None, Some(ID), true),
            (Some(&udm), None, None, false),
            (Some(&any), None, Some(ID), false),
            (Some(&other), None, Some(ID), false),
        ] {
            let answer = check_owner(peer, owner, instance, "it");
            assert_eq!(answer.is_ok(), is_right, "{peer:?} {owner:?} {instance:?}");
        }
        let profile = NfProfile::new(ID.parse().unwrap(), NfType::Udm, NfStatus::Registered);
        for (peer, owner, is_right) in [
            (None, None, true),
            (Some(&udm), None, true),
            (Some(&any), None, false),
            (Some(&any), Some(own.as_str()), true),
            (Some(&udm), Some(own.as_str()), false),
        ] {
            assert_eq!(is_instance(peer, owner, &profile), is_right, "{peer:?} {owner:?}");
        }
    }
}
