/** Log-in by OpenID Connect: the authorization code flow with PKCE (RFC 7636), without a secret. */

import type { Configuration } from "./configuration";
import { BASE } from "./router";

type Provider = NonNullable<Configuration["oidc"]>;

interface Endpoints {
  authorization_endpoint: string;
  token_endpoint: string;
}

const VERIFIER = "graphtide.oidc.verifier";
const STATE = "graphtide.oidc.state";

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

async function endpoints(provider: Provider): Promise<Endpoints> {
  const response = await fetch(`${provider.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (!response.ok) throw new Error(`the identity provider answered ${response.status}`);
  return (await response.json()) as Endpoints;
}

const returnAddress = () => `${location.origin}${BASE}/`;

/** Leave the page for the provider's. */
export async function beginLogin(provider: Provider): Promise<void> {
  const { authorization_endpoint } = await endpoints(provider);
  const verifier = random();
  const state = random();
  sessionStorage.setItem(VERIFIER, verifier);
  sessionStorage.setItem(STATE, state);
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: provider.client_id,
    redirect_uri: returnAddress(),
    scope: provider.scope,
    state,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  });
  location.assign(`${authorization_endpoint}?${query}`);
}

let completing: Promise<string> | null = null;

/** Return the token for the code with which the provider sent the browser back; a code is used once. */
export function completeLogin(provider: Provider, query: URLSearchParams): Promise<string> {
  completing ??= exchange(provider, query);
  return completing;
}

async function exchange(provider: Provider, query: URLSearchParams): Promise<string> {
  const verifier = sessionStorage.getItem(VERIFIER);
  const state = sessionStorage.getItem(STATE);
  sessionStorage.removeItem(VERIFIER);
  sessionStorage.removeItem(STATE);
  if (verifier === null || state === null || query.get("state") !== state) {
    throw new Error("the answer of the identity provider belongs to another log-in: log in again");
  }
  const { token_endpoint } = await endpoints(provider);
  const response = await fetch(token_endpoint, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: query.get("code") ?? "",
      redirect_uri: returnAddress(),
      client_id: provider.client_id,
      code_verifier: verifier,
    }),
  });
  if (!response.ok) throw new Error(`the identity provider refused the log-in (${response.status})`);
  const { access_token } = (await response.json()) as { access_token: string };
  return access_token;
}
