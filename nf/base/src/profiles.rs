//! The profiles of all functions of the network.
use futures_util::future::join_all;
use martlet_interop::{Quirk, SbiQuirk};
use martlet_sbi::{BoxFuture, Peer, Problem};
use martlet_sbi_api::common::Links;
use martlet_sbi_api::nnrf_nfmanagement::{
    NfInstanceQuery, NfInstancesQuery, NfManagementClient, NfProfile, NfType, UriList,
};

/// Maximum number of instances of a type in a list that needs a limit.
const MAX_INSTANCES: u32 = 1000;
/// The types of functions that are requested if the NRF lists those of one type only.
const TYPES: [NfType; 14] = [
    NfType::Amf,
    NfType::Smf,
    NfType::Ausf,
    NfType::Udm,
    NfType::Udr,
    NfType::Pcf,
    NfType::Nssf,
    NfType::Chf,
    NfType::Lmf,
    NfType::Upf,
    NfType::Nef,
    NfType::Gmlc,
    NfType::Bsf,
    NfType::Nwdaf,
];

/// A client of the NRF for the profiles of all functions.
#[derive(Clone)]
pub(crate) struct Profiles {
    nrf: Peer,
    requester: NfType,
    /// Refuse deviations of the NRF.
    is_strict: bool,
}

impl Profiles {
    pub fn new(nrf: Peer, requester: NfType, is_strict: bool) -> Self {
        Profiles { nrf, requester, is_strict }
    }

    /// The profiles of all functions that the NRF knows.
    async fn request_all(&self) -> Result<Vec<NfProfile>, Problem> {
        let nrf = NfManagementClient::new(self.nrf.clone());
        let list = match nrf.get_nf_instances(NfInstancesQuery::default()).await {
            Ok(list) => list,
            Err(problem) if problem.status() == 400 && !self.is_strict => {
                let peer = &self.nrf.root().authority;
                SbiQuirk::TypedInstanceList.met(self.requester.as_str(), peer);
                return self.of_each_type(&nrf).await;
            }
            Err(problem) => return Err(problem),
        };
        fetch(&nrf, uris(list)).await
    }

    /// The same, boxed: the crate of each network function would compile it again otherwise.
    pub fn all(&self) -> BoxFuture<'_, Result<Vec<NfProfile>, Problem>> {
        Box::pin(self.request_all())
    }

    /// The profiles of the functions of one type.
    pub fn of_type(&self, nf_type: NfType) -> BoxFuture<'_, Result<Vec<NfProfile>, Problem>> {
        Box::pin(async move {
            let nrf = NfManagementClient::new(self.nrf.clone());
            let list = nrf.get_nf_instances(query(nf_type)).await?;
            fetch(&nrf, uris(list)).await
        })
    }

    /// The same for each type.
    async fn of_each_type(&self, nrf: &NfManagementClient) -> Result<Vec<NfProfile>, Problem> {
        let asked = TYPES.map(|nf_type| nrf.get_nf_instances(query(nf_type)));
        let mut all = Vec::new();
        for list in join_all(asked).await {
            all.extend(uris(list?));
        }
        fetch(nrf, all).await
    }
}

/// The query for the instances of a type.
fn query(nf_type: NfType) -> NfInstancesQuery {
    NfInstancesQuery { nf_type: Some(nf_type), limit: Some(MAX_INSTANCES), ..Default::default() }
}

/// The URIs of a list's instances.
fn uris(list: UriList) -> Vec<String> {
    let mut links = list.links.unwrap_or_default();
    // Older NRFs of Open5GS and Martlet write `items`.
    let items = links.remove("item").or_else(|| links.remove("items"));
    let links = match items {
        Some(Links::Many(list)) => list,
        Some(Links::One(one)) => vec![one],
        None => Vec::new(),
    };
    links.into_iter().filter_map(|link| link.href).collect()
}

/// The profiles of instances.
async fn fetch(nrf: &NfManagementClient, uris: Vec<String>) -> Result<Vec<NfProfile>, Problem> {
    let mut all = Vec::new();
    for uri in uris {
        let id = uri.rsplit('/').next().unwrap_or_default();
        // It may have deregistered meanwhile.
        all.extend(nrf.get_nf_instance(id, NfInstanceQuery::default()).await);
    }
    Ok(all)
}
