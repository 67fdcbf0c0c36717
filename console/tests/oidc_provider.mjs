// An OpenID provider on the loopback for tests: oidc-provider (MIT), a certified implementation.
// Whoever writes a name into its form is signed in. Names that begin with `fault-` get an ID token
// that no provider should issue.
//
//     node oidc_provider.mjs TOOLS PORT REDIRECT_URI
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [tools, port, redirect] = process.argv.slice(2);
const require = createRequire(join(tools, "package.json"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { Provider } = await load("oidc-provider");
const jose = await load("jose");

const issuer = `http://127.0.0.1:${port}`;
const make = async (kid) => {
  const pair = await jose.generateKeyPair("RS256", { extractable: true });
  return { ...(await jose.exportJWK(pair.privateKey)), kid, use: "sig", alg: "RS256" };
};
const [own, foreign] = [await make("own"), await make("foreign")];
const GROUPS = { anna: ["core-admins", "staff"], otto: ["noc"], vera: ["staff"] };

const provider = new Provider(issuer, {
  jwks: { keys: [own] },
  clients: [{
    client_id: "martlet", client_secret: "a secret of the client", redirect_uris: [redirect],
    grant_types: ["authorization_code"], response_types: ["code"],
  }],
  cookies: { keys: ["a key of the cookies"] },
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  pkce: { required: () => true },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({
      sub, preferred_username: `${sub}@example`,
      groups: sub.startsWith("fault-") ? ["core-admins"] : GROUPS[sub] ?? [],
    }),
  }),
});

const sign = async (claims, key, header = {}) => new jose.SignJWT(claims)
  .setProtectedHeader({ alg: "RS256", kid: key.kid, ...header })
  .sign(await jose.importJWK(key, "RS256"));
const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const FAULTS = {
  // No fault: the user had a second factor.
  second: (claims) => sign({ ...claims, acr: "mfa" }, own),
  nonce: (claims) => sign({ ...claims, nonce: "another" }, own),
  audience: (claims) => sign({ ...claims, aud: "another client" }, own),
  issuer: (claims) => sign({ ...claims, iss: "http://127.0.0.1:1" }, own),
  expired: (claims) => sign({ ...claims, iat: claims.iat - 7200, exp: claims.exp - 7200 }, own),
  unknown: (claims) => sign(claims, foreign),
  // A key that the provider has is named, and another one has signed.
  signature: (claims) => sign(claims, { ...foreign, kid: "own" }),
  none: (claims) => `${part({ alg: "none" })}.${part(claims)}.`,
  // The public key as the secret of a MAC.
  hmac: (claims) => new jose.SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "own" })
    .sign(Buffer.from(own.n, "base64url")),
};
provider.use(async (ctx, next) => {
  await next();
  if (!ctx.body?.id_token) return;
  const claims = jose.decodeJwt(ctx.body.id_token);
  const fault = FAULTS[claims.sub.replace(/^fault-/, "")];
  if (fault && claims.sub.startsWith("fault-")) ctx.body.id_token = await fault(claims);
});
provider.on("server_error", (_, error) => console.log(`error ${error.stack}`));

const server = createServer(provider.callback());
server.listen(Number(port), "127.0.0.1", () => console.log("ready"));
