//! Binding indications (TS 29.500, 5.2.3.2.5, 5.2.3.2.6 and 6.12): a producer in an NF set
//! indicates that any member serves the resource that it created; a consumer that reselects a
//! member sends the binding with its request.
use http::HeaderValue;
use martlet_sbi::{BoxFuture, PathParams, Problem, Query, Request, Response, Route, headers};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType};
use std::sync::Arc;

/// The header of a request to a producer selected by a binding.
pub(crate) const ROUTING_BINDING: &str = "3gpp-sbi-routing-binding";

/// A binding to an NF set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// NF set identity (TS 23.003, 28.12), such as `set001.region01.amfset.5gc.mnc001.mcc001`.
    pub set: String,
    /// The preferred instance.
    pub instance: Option<String>,
}

impl Binding {
    /// The binding of an NF instance with this profile, if it is a member of a set.
    pub fn of(profile: &NfProfile) -> Option<Self> {
        let set = profile.nf_set_id_list.as_ref()?.first()?.clone();
        Some(Binding { set, instance: Some(profile.nf_instance_id.to_string()) })
    }

    /// Parses a header's value: returns the first indication that names a set.
    pub fn parse(text: &str) -> Option<Self> {
        text.split(',').find_map(|indication| {
            let all: Vec<(&str, &str)> = indication
                .split(';')
                .filter_map(|parameter| parameter.trim().split_once('='))
                .collect();
            let of = |name: &str| {
                all.iter()
                    .find(|(own, _)| own.eq_ignore_ascii_case(name))
                    .map(|(_, value)| value.trim().to_string())
            };
            let level = of("bl")?;
            // A binding to one instance may name its set, whose members serve the resource if the
            // instance fails (6.12.1).
            let known = matches!(level.as_str(), "nf-set" | "nf-instance");
            let set = of("nfset").filter(|_| known)?;
            Some(Binding { set, instance: of("nfinst") })
        })
    }

    /// The NF type of the set's members, from its identity.
    pub fn nf_type(&self) -> Option<NfType> {
        let kind = self
            .set
            .split('.')
            .find_map(|label| label.strip_suffix("set").filter(|kind| !kind.is_empty()))?;
        Some(NfType::from(kind.to_ascii_uppercase().as_str()))
    }

    /// The header's value.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        let instance =
            self.instance.as_ref().map(|id| format!("; nfinst={id}")).unwrap_or_default();
        HeaderValue::from_str(&format!("bl=nf-set; nfset={}{instance}", self.set)).ok()
    }

    /// The binding in a response's header.
    pub(crate) fn of_response(response: &Response) -> Option<Self> {
        Binding::parse(response.headers.get(headers::BINDING)?.to_str().ok()?)
    }
}

/// Adds the binding indication to responses with status 201.
pub(crate) fn indicate(routes: Vec<Route>, binding: Option<&Binding>) -> Vec<Route> {
    let Some(value) = binding.and_then(Binding::header) else { return routes };
    let with_header = |route: Route| {
        let (handler, value) = (route.handler.clone(), value.clone());
        let handler = Arc::new(
            move |parameters: PathParams,
                  query: Query,
                  request: Request|
                  -> BoxFuture<'static, Result<Response, Problem>> {
                let (answer, value) = (handler(parameters, query, request), value.clone());
                Box::pin(async move {
                    let mut response = answer.await?;
                    if response.status == 201 {
                        response.headers.insert(headers::BINDING, value);
                    }
                    Ok(response)
                })
            },
        );
        Route { operation: route.operation, handler }
    };
    routes.into_iter().map(with_header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_is_parsed_as_it_is_encoded() {
        let binding = Binding {
            set: "set1.smfset.5gc.mnc001.mcc001".into(),
            instance: Some("54804518".into()),
        };
        let text = binding.header().unwrap();
        assert_eq!(text, "bl=nf-set; nfset=set1.smfset.5gc.mnc001.mcc001; nfinst=54804518");
        assert_eq!(Binding::parse(text.to_str().unwrap()), Some(binding.clone()));
        assert_eq!(binding.nf_type(), Some(NfType::Smf));
        // The example of TS 29.500, 5.2.3.2.6.
        let example = "bl=nf-instance; nfinst=54804518-4191-46b3-955c-ac631f953ed8; \
                       nfset=set1.udmset.5gc.mnc012.mcc345";
        assert_eq!(Binding::parse(example).unwrap().nf_type(), Some(NfType::Udm));
    }

    #[test]
    fn an_indication_without_a_set_is_no_binding() {
        for text in [
            "",
            "bl=nf-instance; nfinst=1",
            "nfset=set1.smfset",
            "bl=nfservice-set; nfset=x",
            "bl=nf-set",
            ";;=,",
        ] {
            assert_eq!(Binding::parse(text), None, "{text}");
        }
        let second = Binding::parse(
            "bl=nf-instance; nfinst=1, bl=nf-set;nfset=set2.region01.amfset.5gc.mnc001.mcc001",
        );
        assert_eq!(second.unwrap().nf_type(), Some(NfType::Amf));
    }
}
