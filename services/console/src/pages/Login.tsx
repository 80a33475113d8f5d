/** Say who you are: an API key, or a log-in at the organisation's provider. */

import { type FormEvent, useState } from "react";

import { ask } from "../api/client";
import { setCredential } from "../api/session";
import { Failure, Notice } from "../components/basics";
import type { Configuration } from "../configuration";
import { beginLogin } from "../oidc";
import { BASE } from "../router";

export function Login({ configuration, refused }: { configuration: Configuration; refused: string | null }) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);

  const login = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get("key") ?? "").trim();
    setBusy(true);
    try {
      await ask("/api/v1/streams", { headers: { "X-API-Key": key } });
      setCredential({ kind: "key", value: key });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };

  return (
    <main style={{ maxWidth: "26rem", margin: "10vh auto" }}>
      <h1>
        <img src={`${BASE}/icon.svg`} alt="" width="27" height="27" /> graphtide
      </h1>
      {refused && <Notice tone="warn">{refused}</Notice>}
      {error !== null && <Failure error={error} />}
      {configuration.oidc !== null && (
        <button type="button" className="main" onClick={() => beginLogin(configuration.oidc!).catch(setError)}>
          Log in
        </button>
      )}
      <form className="panel stack" onSubmit={login}>
        <label className="field">
          API key
          <input name="key" type="password" autoComplete="off" required />
        </label>
        <button type="submit" className="main" disabled={isBusy}>
          Use this key
        </button>
        <p className="muted">The key stays in this tab, and is forgotten when you close it.</p>
      </form>
    </main>
  );
}
