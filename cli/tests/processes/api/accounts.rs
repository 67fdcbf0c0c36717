//! Accounts, roles, sessions and tokens, and the audit log of what they do.
use super::*;
use martlet_tests::in_namespace;

#[test]
fn first_administrator_roles_tokens_and_the_audit_log() {
    in_namespace(|| async {
        let site = api_site("api-accounts")?;
        let core = site.start(&[])?;
        let password = first_password(&site)?;
        ensure!(Caller::tcp().request("GET", "/ues", None)?.status == 401, "no user is signed in");
        let wrong = json!({"user": "admin", "password": "not the password"});
        Caller::tcp().post("/session", wrong)?.expect(401)?;

        // The one-time password opens nothing but its own change.
        let admin = Caller::tcp().sign_in("admin", &password)?;
        admin.request("GET", "/ues", None)?.expect(403)?;
        let weak = json!({"old": password, "new": "short"});
        let refused = admin.request("PUT", "/session/password", Some(weak))?.expect(400)?;
        ensure!(refused.body["remedy"].is_string(), "{}", refused.body);
        admin.change_password(&password, "a correct horse battery")?;
        admin.get("/ues")?;
        // Without the CSRF token a session changes nothing.
        let without = Caller { headers: vec![admin.headers[0].clone()], ..Caller::default() };
        without.post("/subscribers", subscriber(7))?.expect(403)?;

        let add = |name: &str, role: &str| -> Result<Caller> {
            let body = json!({"name": name, "role": role, "password": "first passphrase"});
            admin.post("/users", body)?.expect(201)?;
            let caller = Caller::tcp().sign_in(name, "first passphrase")?;
            caller.change_password("first passphrase", "another passphrase")?;
            Ok(caller)
        };
        let (viewer, operator) = (add("vera", "viewer")?, add("otto", "operator")?);
        viewer.get("/subscribers")?;
        for (path, body) in [("/subscribers", subscriber(7)), ("/users", json!({}))] {
            viewer.post(path, body)?.expect(403)?;
        }
        operator.post("/subscribers", subscriber(7))?.expect(201)?;
        for path in ["/users", "/tokens", "/audit", "/configuration"] {
            operator.request("GET", path, None)?.expect(403)?;
        }

        // A token has its scopes and no more, not even of its own user.
        let body = json!({"name": "ci", "scopes": ["read"], "days": 1});
        let made = admin.post("/tokens", body)?.expect(201)?.body;
        let text = made["token"].as_str().context("a token")?;
        let token = Caller::tcp().with("authorization", &format!("Bearer {text}"));
        token.get("/subscribers")?;
        token.post("/subscribers", subscriber(8))?.expect(403)?;
        token.request("GET", "/users", None)?.expect(403)?;
        let bad = Caller::tcp().with("authorization", &format!("Bearer {text}x"));
        bad.request("GET", "/subscribers", None)?.expect(401)?;

        // The session of a removed user ends.
        admin.request("DELETE", "/users/vera", None)?.expect(204)?;
        viewer.request("GET", "/subscribers", None)?.expect(401)?;
        admin.request("DELETE", "/users/admin", None)?.expect(409)?;

        let audit = admin.get("/audit?limit=1000")?;
        ensure!(audit["intact"] == true, "{audit}");
        let text = audit.to_string();
        for what in ["session.start", "user.create", "user.remove", "subscriber.create"] {
            ensure!(text.contains(what), "{what} is not in {text}");
        }
        for secret in [KEY, OPC, "passphrase", "argon2", &password] {
            ensure!(!text.contains(secret), "the audit log has a secret");
        }

        audit_filters(&admin, &audit)?;

        // Ten wrong passwords lock the user out, with the right one, too: no more are compared,
        // although they are sent together.
        let wrong = json!({"user": "otto", "password": "not the password"});
        let begin = |_| Caller::tcp().begin("POST", "/session", Some(&wrong));
        let mut compared = 0;
        for mut guess in (0..30).map(begin).collect::<Result<Vec<_>>>()? {
            let mut answer = String::new();
            guess.read_to_string(&mut answer)?;
            match answer.split(' ').nth(1) {
                Some("401") => compared += 1,
                status => ensure!(status == Some("429"), "{answer}"),
            }
        }
        ensure!(compared == 10, "{compared} passwords were compared");
        let right = json!({"user": "otto", "password": "another passphrase"});
        let locked = Caller::tcp().post("/session", right)?.expect(429)?;
        ensure!(locked.header("retry-after").is_some(), "{locked:?}");
        core.stop()
    });
}

/// Each filter of the audit log selects what the whole log has of it, page by page.
fn audit_filters(admin: &Caller, whole: &Value) -> Result<()> {
    let entries = whole["items"].as_array().context("entries")?;
    let at = |entry: &Value| entry["at"].as_u64().unwrap_or_default();
    let (earliest, latest) = (entries.last().map_or(0, at), entries.first().map_or(0, at));
    let (next, former) = (latest + 1, earliest - 1);
    let who = |name: &'static str| move |entry: &Value| entry["who"] == name;
    let is_of_users =
        |entry: &Value| entry["what"].as_str().is_some_and(|what| what.starts_with("user."));
    type Selects<'a> = Box<dyn Fn(&Value) -> bool + 'a>;
    let filters: [(String, Selects, bool); 11] = [
        ("user=admin".into(), Box::new(who("admin")), true),
        ("user=otto".into(), Box::new(who("otto")), true),
        ("user=unknown".into(), Box::new(who("unknown")), false),
        ("action=user".into(), Box::new(is_of_users), true),
        ("action=user.remove".into(), Box::new(|e: &Value| e["what"] == "user.remove"), true),
        ("action=use".into(), Box::new(|_: &Value| false), false),
        ("target=vera".into(), Box::new(|e: &Value| e["target"] == "vera"), true),
        (format!("from={earliest}&to={latest}"), Box::new(|_: &Value| true), true),
        (format!("from={next}"), Box::new(|_: &Value| false), false),
        (format!("to={former}"), Box::new(|_: &Value| false), false),
        (
            format!("user=admin&action=user&to={latest}"),
            Box::new(|e: &Value| e["who"] == "admin" && is_of_users(e)),
            true,
        ),
    ];
    for (filter, selects, is_found) in filters {
        let expected: Vec<&Value> = entries.iter().filter(|entry| selects(entry)).collect();
        ensure!(expected.is_empty() != is_found, "{filter}: {whole}");
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = admin.get(&format!("/audit?limit=2&{filter}{cursor}"))?;
            ensure!(page["intact"] == true, "{page}");
            found.extend(page["items"].as_array().context("entries")?.clone());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        ensure!(found.iter().eq(expected.iter().copied()), "{filter}: {found:?}");
    }
    let wrong = admin.request("GET", "/audit?from=2&to=1", None)?.expect(400)?;
    ensure!(wrong.body["field"] == "from", "{}", wrong.body);
    admin.request("GET", "/audit?path=x", None)?.expect(400)?;
    Ok(())
}

/// OWASP ASVS V2.3.1, V3.3.1: the one-time password is printed once, also if it was not used; a
/// sign-out ends the session.
#[test]
fn the_one_time_password_is_printed_once_and_a_sign_out_ends_the_session() {
    in_namespace(|| async {
        let site = api_site("api-once")?;
        let core = site.start(&[])?;
        let password = first_password(&site)?;
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(log.matches(&password).count() == 1, "{log}");
        core.stop()?;
        // The log of the next process is another one.
        let core = site.start(&[])?;
        let log = std::fs::read_to_string(site.0.join("core.log"))?;
        ensure!(!log.contains("one-time password") && !log.contains(&password), "{log}");
        let admin = Caller::tcp().sign_in("admin", &password)?;
        admin.change_password(&password, "a correct horse battery")?;
        admin.get("/users")?;
        admin.request("DELETE", "/session", None)?.expect(204)?;
        admin.request("GET", "/users", None)?.expect(401)?;
        // It was one-time.
        let body = json!({"user": "admin", "password": password});
        Caller::tcp().post("/session", body)?.expect(401)?;
        // No caller changes or removes an entry of the audit log.
        let local = Caller::socket(&site);
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            for path in ["/audit", "/audit/1"] {
                let status = local.request(method, path, Some(json!({})))?.status;
                ensure!([404, 405].contains(&status), "{method} {path}: {status}");
            }
        }
        core.stop()
    });
}
