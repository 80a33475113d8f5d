/** Checks of an ID token, as OpenID Connect Core 3.1.3.7 asks: signature, issuer, audience, times and nonce. */

/** Seconds by which the clocks of the browser and the provider may differ. */
const SKEW = 60;

type Scheme = { key: RsaHashedImportParams | EcKeyImportParams; proof: AlgorithmIdentifier | RsaPssParams | EcdsaParams };

/** Algorithms with a public key, by their names in tokens; `none` and those with a shared secret are not among them. */
const SCHEMES: Record<string, Scheme> = {
  RS256: { key: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, proof: { name: "RSASSA-PKCS1-v1_5" } },
  PS256: { key: { name: "RSA-PSS", hash: "SHA-256" }, proof: { name: "RSA-PSS", saltLength: 32 } },
  ES256: { key: { name: "ECDSA", namedCurve: "P-256" }, proof: { name: "ECDSA", hash: "SHA-256" } },
};

export interface PublicKey extends JsonWebKey {
  kid?: string;
}

export interface Expected {
  issuer: string;
  clientId: string;
  nonce: string;
  keys: PublicKey[];
}

interface Header {
  alg?: string;
  kid?: string;
}

interface Claims {
  iss?: unknown;
  aud?: unknown;
  azp?: unknown;
  exp?: unknown;
  iat?: unknown;
  nonce?: unknown;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
}

function read<T>(part: string): T {
  return JSON.parse(new TextDecoder().decode(bytesOf(part))) as T;
}

function refuse(reason: string): never {
  throw new Error(`the ID token of the identity provider is refused: ${reason}`);
}

/** Return if an ID token is for this log-in.
 *
 * @param now Seconds since 1970.
 * @throws Error: it is not; the message says why.
 */
export async function checkIdToken(token: string, expected: Expected, now = Date.now() / 1000): Promise<void> {
  const parts = token.split(".");
  const [head = "", body = "", proof = ""] = parts;
  if (parts.length !== 3) refuse("it is no token");
  let header: Header, claims: Claims, signature: Uint8Array<ArrayBuffer>;
  try {
    [header, claims, signature] = [read<Header>(head), read<Claims>(body), bytesOf(proof)];
  } catch {
    refuse("it is no token");
  }
  await checkSignature(header, `${head}.${body}`, signature, expected.keys);
  checkClaims(claims, expected, now);
}

async function checkSignature(header: Header, text: string, signature: Uint8Array<ArrayBuffer>, keys: PublicKey[]): Promise<void> {
  const scheme = Object.hasOwn(SCHEMES, header.alg ?? "") ? SCHEMES[header.alg ?? ""] : undefined;
  if (scheme === undefined) refuse("it is not signed by an algorithm with a public key");
  const type = header.alg === "ES256" ? "EC" : "RSA";
  const fitting = keys.filter((each) => each.kty === type && (header.kid === undefined || each.kid === header.kid));
  const [found] = fitting;
  if (found === undefined || fitting.length > 1) refuse("its key is none of the provider's");
  const { kty, n, e, crv, x, y } = found;
  const bare = kty === "EC" ? { kty, crv, x, y } : { kty, n, e };
  const key = await crypto.subtle.importKey("jwk", bare as JsonWebKey, scheme.key, false, ["verify"]);
  if (!(await crypto.subtle.verify(scheme.proof, key, signature, new TextEncoder().encode(text)))) refuse("its signature is wrong");
}

function checkClaims(claims: Claims, expected: Expected, now: number): void {
  if (claims.iss !== expected.issuer) refuse("another issuer made it");
  const audience = Array.isArray(claims.aud) ? (claims.aud as unknown[]) : [claims.aud];
  if (!audience.includes(expected.clientId)) refuse("it is for another application");
  if ((audience.length > 1 || claims.azp !== undefined) && claims.azp !== expected.clientId) refuse("it is for another application");
  if (typeof claims.exp !== "number" || claims.exp + SKEW <= now) refuse("it has expired; is the clock of this computer right?");
  if (typeof claims.iat !== "number" || claims.iat - SKEW > now) refuse("it is of a later time; is the clock of this computer right?");
  if (claims.nonce !== expected.nonce) refuse("it belongs to another log-in");
}
