/** Log-in by OpenID Connect: the authorization code flow with PKCE (RFC 7636), state and nonce, without a secret. */

import { ask } from "./api/client";
import type { Configuration } from "./configuration";
import { checkIdToken, type PublicKey } from "./idToken";
import { BASE } from "./router";

type Provider = NonNullable<Configuration["oidc"]>;

interface Endpoints {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  jwks_uri: string;
  end_session_endpoint?: string;
}

/** What a log-in under way keeps in its tab. */
interface UnderWay {
  verifier: string;
  state: string;
  nonce: string;
}

const PLACE = "graphtide.oidc";
const PATIENCE = 15_000;
const MOST = 1_000_000;

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

/** Ask the provider, for as long as a person may wait. */
async function askProvider<T>(address: string, body?: URLSearchParams): Promise<T> {
  const how = body === undefined ? {} : { method: "POST", body };
  let response: Response, text: string;
  try {
    response = await fetch(address, { ...how, credentials: "omit", signal: AbortSignal.timeout(PATIENCE) });
    text = await response.text();
  } catch {
    throw new Error("the identity provider does not answer");
  }
  if (!response.ok) throw new Error(`the identity provider refused the log-in (${response.status})`);
  try {
    if (text.length <= MOST) return JSON.parse(text) as T;
  } catch {
    // It is said below.
  }
  throw new Error("the identity provider gave an answer that is not understood");
}

async function endpoints(provider: Provider): Promise<Endpoints> {
  const found = await askProvider<Endpoints>(`${provider.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (found.issuer !== provider.issuer) throw new Error(`the identity provider says that it is another: ${String(found.issuer)}`);
  return found;
}

const returnAddress = () => `${location.origin}${BASE}/`;

/** Leave the page for the provider's. */
export async function beginLogin(provider: Provider): Promise<void> {
  const { authorization_endpoint } = await endpoints(provider);
  const underWay: UnderWay = { verifier: random(), state: random(), nonce: random() };
  sessionStorage.setItem(PLACE, JSON.stringify(underWay));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(underWay.verifier));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: provider.client_id,
    redirect_uri: returnAddress(),
    scope: provider.scope,
    state: underWay.state,
    nonce: underWay.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  });
  location.assign(`${authorization_endpoint}?${query}`);
}

/** Whether an address is one to which the provider sends a browser back. */
export function isAnswer(query: URLSearchParams): boolean {
  return query.has("state") && (query.has("code") || query.has("error"));
}

let completing: Promise<string> | null = null;

/** Return the token for the code with which the provider sent the browser back; a code is used once.
 *
 * @throws Error: there is none, the ID token is not for this log-in, or the API refuses the token; the message says why.
 */
export function completeLogin(provider: Provider, query: URLSearchParams): Promise<string> {
  completing ??= exchange(provider, query);
  return completing;
}

async function exchange(provider: Provider, query: URLSearchParams): Promise<string> {
  const kept = sessionStorage.getItem(PLACE);
  sessionStorage.removeItem(PLACE);
  const underWay = kept === null ? null : (JSON.parse(kept) as UnderWay);
  if (underWay === null || query.get("state") !== underWay.state) {
    throw new Error("the answer of the identity provider belongs to another log-in: log in again");
  }
  const refusal = query.get("error");
  if (refusal !== null) throw new Error(`the identity provider refused the log-in: ${query.get("error_description") ?? refusal}`);
  const { token_endpoint, jwks_uri } = await endpoints(provider);
  const given = await askProvider<{ access_token?: string; id_token?: string }>(
    token_endpoint,
    new URLSearchParams({
      grant_type: "authorization_code",
      code: query.get("code") ?? "",
      redirect_uri: returnAddress(),
      client_id: provider.client_id,
      code_verifier: underWay.verifier,
    }),
  );
  if (given.access_token === undefined || given.id_token === undefined) {
    throw new Error("the identity provider gave no token; is openid in the scope that the console asks for?");
  }
  const { keys } = await askProvider<{ keys: PublicKey[] }>(jwks_uri);
  const { issuer, client_id } = provider;
  await checkIdToken(given.id_token, { issuer, clientId: client_id, nonce: underWay.nonce, keys });
  // The API looks at the token by itself, and says what is wrong with it.
  await ask("/api/v1/me", { headers: { Authorization: `Bearer ${given.access_token}` } });
  return given.access_token;
}

/** End the session at the provider too, if it can be ended there; the browser comes back to the console. */
export async function endSession(provider: Provider): Promise<void> {
  const { end_session_endpoint } = await endpoints(provider);
  if (end_session_endpoint === undefined) return;
  const query = new URLSearchParams({ client_id: provider.client_id, post_logout_redirect_uri: returnAddress() });
  location.assign(`${end_session_endpoint}?${query}`);
}
