//! Nnrf_NFDiscovery_NFDiscover (TS 29.510, 5.3.2.2).
use crate::{Nrf, matching};
use martlet_sbi::Problem;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscovery, SearchQuery, SearchResult};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfStatus};

/// Maximum number of instances in an answer if the consumer requests no limit.
const DEFAULT_LIMIT: usize = 64;

impl NfDiscovery for Nrf {
    async fn search_nf_instances(&self, query: SearchQuery) -> Result<SearchResult, Problem> {
        for (name, there) in [
            ("target-nf-type", query.target_nf_type.is_some()),
            ("requester-nf-type", query.requester_nf_type.is_some()),
        ] {
            if !there {
                return Err(Problem::new(400, "MANDATORY_QUERY_PARAM_MISSING").detail(name));
            }
        }
        let state = self.state();
        let registered = state.registry.iter().map(|entry| &entry.profile);
        let there = |p: &&NfProfile| {
            p.nf_status == NfStatus::Registered && matching::matches_query(p, &query)
        };
        let all: Vec<&NfProfile> = registered.filter(there).collect();
        let mut found: Vec<&NfProfile> =
            all.iter().copied().filter(|p| matching::matches_and_allowed(p, &query)).collect();
        if found.is_empty() && !all.is_empty() {
            // TS 29.510, 5.3.2.2.2.
            return Err(Problem::new(403, "REQUEST_NOT_ALLOWED")
                .detail("the consumer is not allowed to discover these instances"));
        }
        // Preferences sort, they exclude nothing (6.2.3.2.3.1): locality, then priority, then load.
        let far = |p: &NfProfile| {
            query.preferred_locality.is_some() && p.locality != query.preferred_locality
        };
        found.sort_by_key(|p| (far(p), p.priority.unwrap_or(0), p.load.unwrap_or(0)));
        let complete = found.len();
        found.truncate(query.limit.map_or(DEFAULT_LIMIT, |n| n as usize));
        let mut shown: Vec<NfProfile> =
            found.into_iter().map(|p| matching::as_result(p, &query)).collect();
        if self.config.interop.absolute_prefixes {
            shown.iter_mut().for_each(matching::with_absolute_prefixes);
        }
        Ok(SearchResult {
            validity_period: self.config.validity_s,
            num_nf_inst_complete: (shown.len() < complete).then_some(complete as u32),
            nf_instances: shown,
            ..Default::default()
        })
    }
}
