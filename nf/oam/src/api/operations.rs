//! Registers operations at the path and the methods of their `utoipa::path` attribute. The program
//! has no code that describes them: it serves the file that a test makes of the description.
use crate::state::Oam;
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use std::sync::Arc;
use utoipa::openapi::HttpMethod;

/// Operations that the router serves. [`routes`] makes them.
#[derive(Default)]
pub struct Operations {
    router: Router<Arc<Oam>>,
    /// What the description has of each operation.
    #[cfg(test)]
    pub descriptions: Vec<utoipa_axum::router::UtoipaMethodRouter<Arc<Oam>>>,
}

impl Operations {
    /// Adds the operation that `P` declares.
    pub fn on<P, H, T>(mut self, handler: H) -> Self
    where
        P: utoipa::Path,
        H: Handler<T, Arc<Oam>>,
        T: 'static,
    {
        let path = P::path();
        self.router = P::methods().into_iter().fold(self.router, |router, method| {
            router.route(&path, on(filter(method), handler.clone()))
        });
        self
    }

    /// Adds what the description has of an operation.
    #[cfg(test)]
    pub fn described(
        mut self,
        description: utoipa_axum::router::UtoipaMethodRouter<Arc<Oam>>,
    ) -> Self {
        self.descriptions.push(description);
        self
    }

    /// Adds other operations.
    pub fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        #[cfg(test)]
        self.descriptions.extend(other.descriptions);
        self
    }

    /// Limits the bodies of these operations to `max` bytes.
    pub fn body_limit(mut self, max: usize) -> Self {
        self.router = self.router.layer(DefaultBodyLimit::max(max));
        self
    }

    pub fn into_router(self) -> Router<Arc<Oam>> {
        self.router
    }
}

fn filter(method: HttpMethod) -> MethodFilter {
    match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    }
}

/// The [`Operations`] of handlers, each named as `module::handler`. In place of
/// `utoipa_axum::routes`, whose code for the descriptions would be in the program.
macro_rules! routes {
    ($($module:ident::$handler:ident),+ $(,)?) => {{
        let operations = $crate::api::operations::Operations::default();
        $(
            let operations = operations
                .on::<pastey::paste!($module::[<__path_ $handler>]), _, _>($module::$handler);
            #[cfg(test)]
            let operations = operations.described(utoipa_axum::routes!($module::$handler));
        )+
        operations
    }};
}
pub(super) use routes;
