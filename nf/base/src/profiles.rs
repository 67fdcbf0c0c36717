//! The profiles of all functions of the network.
use martlet_sbi::Problem;
use martlet_sbi_api::common::Links;
use martlet_sbi_api::nnrf_nfmanagement::{
    NfInstanceQuery, NfInstancesQuery, NfManagementClient, NfProfile,
};

/// The profiles of all functions that an NRF knows.
pub(crate) async fn profiles(nrf: &NfManagementClient) -> Result<Vec<NfProfile>, Problem> {
    let list = nrf.get_nf_instances(NfInstancesQuery::default()).await?;
    let items = list.links.and_then(|mut links| links.remove("items"));
    let uris = match items {
        Some(Links::Many(list)) => list,
        Some(Links::One(one)) => vec![one],
        None => Vec::new(),
    };
    let mut all = Vec::new();
    for uri in uris.into_iter().filter_map(|link| link.href) {
        let id = uri.rsplit('/').next().unwrap_or_default();
        // It may have deregistered meanwhile.
        all.extend(nrf.get_nf_instance(id, NfInstanceQuery::default()).await);
    }
    Ok(all)
}
