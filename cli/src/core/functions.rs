//! Starts network functions by name.
use crate::config::{Config, FUNCTIONS, PkiFile};
use anyhow::{Context, Result, bail};
use martlet_nf::{
    AskSource, Environment, NetworkFunction, NfHandle, NfIdentity, RunningNf, StartError, Tasks,
    start,
};
use martlet_sbi::Problem;
use std::sync::Arc;

/// The names of the functions of a configuration, in start order.
pub fn function_names(config: &Config) -> impl Iterator<Item = &'static str> {
    let chf = config.chf.enabled;
    let is_external = |name: &str| config.sbi.external.iter().any(|other| other == name);
    FUNCTIONS.into_iter().filter(move |name| (*name != "chf" || chf) && !is_external(name))
}

/// Starts a function by its name.
///
/// # Errors
/// The name is unknown, or the function failed to start.
pub async fn start_function(
    name: &str,
    config: &Config,
    environment: &Environment,
) -> Result<RunningNf> {
    start_again(name, config, environment, None).await
}

/// Starts a function again, with its former `nfInstanceId`: other functions have it.
///
/// # Errors
/// As [`start_function`].
pub async fn start_again(
    name: &str,
    config: &Config,
    environment: &Environment,
    former: Option<String>,
) -> Result<RunningNf> {
    async fn one<F: NetworkFunction>(
        own: F::Config,
        config: &Config,
        name: &str,
        environment: &Environment,
        former: Option<String>,
    ) -> Result<RunningNf> {
        let common = config.sbi.of(name);
        let mut common = common.with_context(|| format!("{name} has no services on the SBI"))?;
        // The certificate belongs to one instance (TS 33.310, 6.1.3c.2).
        if common.instance_id.is_none() {
            let own = environment.limits.tls.as_ref().and_then(|tls| tls.own());
            let instance = own.and_then(|own| own.instance_of(F::TYPE.as_str()));
            common.instance_id = instance.map(String::from);
        }
        // Peers know the contexts that outlive the process under its instance ID.
        if matches!(name, "amf" | "smf") && common.instance_id.is_none() {
            common.instance_id = Some(martlet_context_store::stable_instance_id(&[
                name,
                &common.authority(),
                &config.udr.path,
            ]));
        }
        common.instance_id = common.instance_id.or(former);
        Ok(start::<F>(own, &common, environment).await?)
    }
    let derive = |store: &mut martlet_context_store::ContextStoreConfig| {
        store.derive_database(&config.udr.path, &config.udr.key_file, name)
    };
    match name {
        "nrf" => {
            let mut own = config.nrf.clone();
            derive(&mut own.context_store);
            if config.sbi.is_secured() && own.token_key.is_none() {
                own.token_key = Some(config.sbi.pki_file(PkiFile::TOKEN_PRIVATE));
            }
            one::<martlet_nrf::Nrf>(own, config, name, environment, former).await
        }
        "udr" => {
            one::<martlet_udr::Udr>(config.udr.clone(), config, name, environment, former).await
        }
        "udm" => {
            one::<martlet_udm::Udm>(config.udm.clone(), config, name, environment, former).await
        }
        "ausf" => {
            one::<martlet_ausf::Ausf>(config.ausf.clone(), config, name, environment, former).await
        }
        "pcf" => {
            one::<martlet_pcf::Pcf>(config.pcf.clone(), config, name, environment, former).await
        }
        "nssf" => {
            one::<martlet_nssf::Nssf>(config.nssf.clone(), config, name, environment, former).await
        }
        "chf" => {
            let mut own = config.chf.clone();
            derive(&mut own.context_store);
            one::<martlet_chf::Chf>(own, config, name, environment, former).await
        }
        "smf" => {
            let mut own = config.smf.clone();
            derive(&mut own.context_store);
            one::<martlet_smf::Smf>(own, config, name, environment, former).await
        }
        "amf" => {
            let mut own = config.amf.clone();
            derive(&mut own.context_store);
            one::<martlet_amf::Amf>(own, config, name, environment, former).await
        }
        "lmf" => {
            one::<martlet_lmf::Lmf>(config.lmf.clone(), config, name, environment, former).await
        }
        "upf" => upf(config, environment).await,
        _ => bail!("there is no network function {name:?}; there are {}", FUNCTIONS.join(", ")),
    }
}

async fn upf(config: &Config, environment: &Environment) -> Result<RunningNf> {
    let shutdown = environment.shutdown.clone();
    let own = config.upf_section();
    let tasks = Tasks::new("upf");
    let started = tasks.handle(martlet_upf::start(own, async move { shutdown.wait().await }));
    let Ok(started) = started.await else { bail!("the UPF panicked at its start") };
    let handle = started?;
    let status = handle.status_source();
    let answers = handle.ask_source();
    let ask: AskSource = Arc::new(move |question: &str| {
        let question = match question {
            "drain/upf" => "drain",
            "undrain/upf" => "undrain",
            other => other.strip_prefix("upf/")?,
        };
        let answer = answers(question)?;
        let answer =
            answer.map_err(|why| Problem::new(501, "NOT_IMPLEMENTED").detail(why.to_string()));
        Some(Box::pin(std::future::ready(answer)))
    });
    Ok(RunningNf {
        name: "upf",
        identity: NfIdentity::default(),
        handle: NfHandle {
            status,
            ask,
            reload: None,
            ready: Arc::new(|| Ok(())),
            tasks,
            function: None,
        },
        finished: Box::pin(async move {
            let outcome = handle.finished().await;
            outcome.map_err(|error| StartError::Failed(error.into()).of("upf"))
        }),
    })
}
