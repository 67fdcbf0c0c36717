// Sign-in with the identity provider in a real Chromium. The Rust test starts the core and the
// provider, and ends the provider when this script asks for it.
//
//     node sign_in.mjs TOOLS ADDRESS SCREENSHOTS
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async ({ page, base, please, check, signIn }) => {
  const button = page.getByRole("button", { name: "Sign in with Example" });
  const atProvider = async (user) => {
    await button.click();
    await page.locator("[name=login]").fill(user);
    await page.locator("[name=password]").fill("any");
    await page.getByRole("button", { name: "Sign-in" }).click();
    await page.getByRole("button", { name: "Continue" }).click();
  };

  await page.goto(base);
  await button.waitFor();
  await check("sign-in-provider");
  await atProvider("otto");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByText("otto@example (operator)").waitFor();
  assert.equal(new URL(page.url()).search, "", "the code is in the address");
  // The session outlives a reload, and ends with the sign-out.
  await page.reload();
  await page.getByText("otto@example (operator)").waitFor();
  await page.getByRole("button", { name: "Sign out" }).click();
  await button.waitFor();

  await page.context().clearCookies();
  await atProvider("unknown");
  await page.getByRole("alert").getByText(/has no role here/).waitFor();
  await check("sign-in-refused");

  // An address of another sign-in is of no use.
  await page.goto(`${base}/oidc?code=x&state=y`);
  await page.getByRole("alert").getByText(/no sign-in with this state/).waitFor();

  await please("stop the provider");
  await page.goto(base);
  await button.click();
  await page.getByRole("alert").getByText(/the provider does not answer/).waitFor();
  await check("sign-in-provider-down");
  await signIn("admin", "wrong password");
  await page.getByRole("alert").getByText("the name or the password is wrong").waitFor();
}, /status of (4\d\d|503)/);
