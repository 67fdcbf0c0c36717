//! The commands for subscribers over the northbound API.
use crate::api_client::Api;
use anyhow::{Context, Result, bail, ensure};
use hyper::Method;
use martlet_sbi::path_segment;
use martlet_store::{Secret, Subscriber};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// Text of an import in bytes: the API takes bodies of 16 MiB, in which quotes are longer.
const MAX_TEXT: usize = 10 << 20;
/// Subscribers of a page.
const PAGE: usize = 1000;
/// Attempts to change a subscriber that others change at the same time.
const ATTEMPTS: u32 = 4;

/// An import. All subscribers of a part of some ten thousand are added, or none.
pub struct Import {
    api: Api,
    runtime: Runtime,
    replace: bool,
    text: String,
    added: u64,
}

impl Import {
    /// An import, which replaces existing subscribers or not.
    pub fn new(api: Api, replace: bool) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Import { api, runtime, replace, text: String::new(), added: 0 })
    }

    /// Adds a subscriber.
    pub fn add(&mut self, subscriber: &Subscriber) -> Result<()> {
        let subscriber = serde_json::to_string(subscriber)?;
        if self.text.len() + subscriber.len() > MAX_TEXT {
            self.send()?;
        }
        self.text += &subscriber;
        self.text.push('\n');
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return Ok(());
        }
        let body = json!({"format": "martlet", "text": text, "replace": self.replace});
        let report = self.runtime.block_on(self.api.job("/subscriber-imports", &body));
        let report = report.map_err(|error| match error.to_string().contains("exist") {
            true => error.context("--replace replaces existing subscribers"),
            false => error,
        });
        let report = match self.added {
            0 => report?,
            n => report.with_context(|| format!("{n} subscribers were added before"))?,
        };
        let numbers = ["new", "changed", "equal"].map(|name| report[name].as_u64().unwrap_or(0));
        self.added += numbers.iter().sum::<u64>();
        Ok(())
    }

    /// Sends the rest. Returns the number of subscribers.
    pub fn finish(mut self) -> Result<u64> {
        self.send()?;
        Ok(self.added)
    }
}

/// Values that are written and never read back.
pub struct Written<'a> {
    pub key: Option<&'a Secret>,
    pub opc: Option<&'a Secret>,
    pub amf: Option<[u8; 2]>,
}

/// A subscriber of the API, with meaningless keys.
fn parse(mut view: Value) -> Result<Subscriber> {
    let members = view.as_object_mut().context("the API answered otherwise")?;
    for name in ["key", "opc"] {
        members.insert(name.into(), json!(Secret([0; 16])));
    }
    serde_json::from_value(view).context("the API answered otherwise")
}

/// Changes a subscriber, and keeps concurrent changes of others. Returns whether it differs now.
pub async fn change(
    api: &Api,
    supi: &str,
    written: &Written<'_>,
    change: impl Fn(&mut Subscriber) -> Result<()>,
) -> Result<bool> {
    let path = format!("/subscribers/{}", path_segment(supi));
    for _ in 0..ATTEMPTS {
        let read = api.request(Method::GET, &path, &[], None).await?;
        ensure!(read.status != 404, "there is no subscriber {supi}");
        let tag = read.tag.clone().context("the API sent no ETag")?;
        let mut subscriber = parse(read.ok()?)?;
        change(&mut subscriber)?;
        let mut body = json!(subscriber);
        if let Some(members) = body.as_object_mut() {
            members.retain(|name, _| !["key", "opc", "amf", "sqn"].contains(&name.as_str()));
            for (name, key) in [("key", written.key), ("opc", written.opc)] {
                if let Some(key) = key {
                    members.insert(name.into(), key.to_hex().into());
                }
            }
            if let Some([high, low]) = written.amf {
                members.insert("amf".into(), format!("{high:02x}{low:02x}").into());
            }
        }
        let headers = [("if-match", tag.as_str())];
        let changed = api.request(Method::PUT, &path, &headers, Some(&body)).await?;
        if changed.status == 412 {
            continue;
        }
        // The tag is of all fields, also of those that are never read back.
        let new_tag = changed.tag.clone();
        changed.ok()?;
        return Ok(new_tag.as_deref() != Some(tag.as_str()));
    }
    bail!("others change {supi} all the time: try again")
}

/// Passes the first subscribers on. Returns the number of all.
pub async fn list(
    api: &Api,
    limit: usize,
    mut each: impl FnMut(Subscriber) -> Result<()>,
) -> Result<u64> {
    let (mut cursor, mut left, mut total) = (String::new(), limit, 0);
    loop {
        // With no limit left, the number of all is asked for.
        let page = left.clamp(1, PAGE);
        let mut page = api.get(&format!("/subscribers?limit={page}{cursor}")).await?;
        total = page["total"].as_u64().unwrap_or(total);
        let items = page["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
        for item in items.into_iter().take(left) {
            each(parse(item)?)?;
            left -= 1;
        }
        match page["next"].as_str().filter(|_| left > 0) {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return Ok(total),
        }
    }
}

/// Removes subscribers. Returns how many there were.
pub async fn remove(api: &Api, supis: &[String]) -> Result<u64> {
    let mut removed = 0;
    for supi in supis {
        let (path, any) = (format!("/subscribers/{}", path_segment(supi)), [("if-match", "*")]);
        let response = api.request(Method::DELETE, &path, &any, None).await?;
        if response.status == 404 {
            continue;
        }
        response.ok()?;
        removed += 1;
    }
    Ok(removed)
}
