//! The declaration of a service.

/// Declares a service: a trait for producers, a client for consumers, and a table of operations.
///
/// An `op` is called at the producer's API root, a `callback` at the URI that a consumer
/// registered. The clauses of an operation have this order: `path(…)`, `query(Type)`, `body(Type)`,
/// `returns(Type)`, `errors[…]`; query and body are optional. `returns` takes any
/// [`Reply`](crate::Reply).
#[macro_export]
macro_rules! service {
    (
        $(#[$meta:meta])*
        pub $producer:ident / $client:ident / $table:ident = $api:literal / $version:literal {
            $(
                $(#[$op_meta:meta])*
                $kind:ident $method_name:ident $op_name:literal : $http:ident $path:literal,
                path($($param:ident),*),
                $(query($query:ty),)?
                $(body($body:ty),)?
                returns($returns:ty),
                errors[$($status:literal $cause:literal),* $(,)?];
            )+
        }
    ) => {
        $(#[$meta])*
        pub trait $producer: Send + Sync + 'static {
            $(
                $(#[$op_meta])*
                fn $method_name(
                    &self, $($param: &str,)* $(query: $query,)? $(body: $body,)?
                ) -> impl $crate::__private::Future<
                    Output = Result<$returns, $crate::Problem>,
                > + Send;
            )+
        }

        #[doc = concat!("The operations of `", $api, "`.")]
        #[allow(non_camel_case_types)]
        pub struct $table;

        #[allow(non_upper_case_globals)]
        const _: () = {
            $(
                static $method_name: $crate::OperationInfo = $crate::OperationInfo {
                    api: $api,
                    version: $version,
                    name: $op_name,
                    method: $crate::__private::Method::$http,
                    path: $path,
                    errors: &[$($crate::ErrorCause { status: $status, cause: $cause }),*],
                    body: [$(Some($crate::to_wire::<$body> as $crate::ToWire),)? None][0],
                };
            )+

            impl $table {
                /// API name in URIs.
                pub const API: &'static str = $api;
                /// API version in URIs.
                pub const VERSION: &'static str = $version;
                /// All operations.
                pub const OPERATIONS: &'static [&'static $crate::OperationInfo] =
                    &[$(&$method_name),+];

                $(
                    #[doc = concat!("The description of ", $op_name, ".")]
                    pub const fn $method_name() -> &'static $crate::OperationInfo {
                        &$method_name
                    }
                )+

                /// The routes to a producer.
                pub fn routes<T: $producer>(
                    &self,
                    producer: $crate::__private::Arc<T>,
                ) -> Vec<$crate::Route> {
                    vec![$({
                        let producer = producer.clone();
                        $crate::Route {
                            operation: &$method_name,
                            handler: $crate::__private::Arc::new(move |path, query, request| {
                                let producer = producer.clone();
                                Box::pin(async move {
                                    let _ = (&path, &query, &request);
                                    let mut _n = 0;
                                    $(let $param = { _n += 1; path.get(_n - 1) };)*
                                    let reply = $producer::$method_name(
                                        &*producer,
                                        $($param,)*
                                        $(<$query as $crate::QueryParams>::from_query(&query)?,)?
                                        $({
                                            $crate::tolerant::begin();
                                            request.body.take::<$body>()?
                                        },)?
                                    ).await?;
                                    Ok($crate::Reply::into_response(reply))
                                })
                            }),
                        }
                    }),+]
                }
            }

            impl $client {
                $($crate::service!(
                    @call $kind $(#[$op_meta])* $method_name
                    ($($param)*) ($($query)?) ($($body)?) $returns
                );)+
            }
        };

        #[doc = concat!("A client of a producer of `", $api, "`.")]
        #[derive(Clone)]
        pub struct $client($crate::Peer);

        impl $client {
            /// A client of `peer`.
            pub fn new(peer: $crate::Peer) -> Self {
                $client(peer)
            }
            /// The producer.
            pub fn peer(&self) -> &$crate::Peer {
                &self.0
            }
            /// The same producer, for requests about one UE (TS 29.500,
            /// `3gpp-Sbi-Correlation-Info`).
            pub fn about(&self, supi: &str) -> Self {
                $client(self.0.about(supi))
            }
        }
    };

    (
        @call op $(#[$meta:meta])* $name:ident
        ($($param:ident)*) ($($query:ty)?) ($($body:ty)?) $returns:ty
    ) => {
        $(#[$meta])*
        pub async fn $name(
            &self, $($param: &str,)* $(query: $query,)? $(body: $body,)?
        ) -> Result<$returns, $crate::Problem> {
            #[allow(unused_mut, unused_assignments)]
            let mut pairs = $crate::Query::default();
            $(pairs = <$query as $crate::QueryParams>::to_query(&query);)?
            #[allow(unused_mut, unused_assignments)]
            let mut sent = $crate::Body::empty();
            $(sent = $crate::Body::of::<$body>(body);)?
            self.0.call(&$name, &[$($param),*], pairs, sent).await
        }
    };

    (
        @call callback $(#[$meta:meta])* $name:ident
        ($($param:ident)*) () ($($body:ty)?) $returns:ty
    ) => {
        $(#[$meta])*
        pub async fn $name(
            &self, uri: &str, $(body: $body,)?
        ) -> Result<$returns, $crate::Problem> {
            #[allow(unused_mut, unused_assignments)]
            let mut sent = $crate::Body::empty();
            $(sent = $crate::Body::of::<$body>(body);)?
            self.0.call_back(uri, &$name, sent).await
        }
    };
}
