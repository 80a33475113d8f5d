/** The frame of all pages: navigation, log-in, keyboard. */

import { useQueryClient } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useEffect, useState } from "react";

import { setCredential, useCredential } from "./api/session";
import { Loading } from "./components/basics";
import { ErrorBoundary } from "./components/ErrorBoundary";
import type { Configuration } from "./configuration";
import { Login } from "./pages/Login";
import { completeLogin, endSession, isAnswer } from "./oidc";
import { BASE, Link, navigate, usePlace } from "./router";
import { applyTheme, theme, type Theme } from "./theme";

const Overview = lazy(() => import("./pages/Overview"));
const Streams = lazy(() => import("./pages/Streams"));
const Stream = lazy(() => import("./pages/Stream"));
const Patterns = lazy(() => import("./pages/Patterns"));
const Pattern = lazy(() => import("./pages/Pattern"));
const Editor = lazy(() => import("./pages/Editor"));
const Matches = lazy(() => import("./pages/Matches"));
const Match = lazy(() => import("./pages/Match"));
const Alerts = lazy(() => import("./pages/Alerts"));
const History = lazy(() => import("./pages/History"));
const Operations = lazy(() => import("./pages/Operations"));
const Access = lazy(() => import("./pages/Access"));

/** Pages of the navigation: path, title, and the key that leads there after `g`. */
const PAGES: [string, string, string][] = [
  ["", "Overview", "o"],
  ["streams", "Streams", "s"],
  ["patterns", "Patterns", "p"],
  ["editor", "Editor", "e"],
  ["matches", "Matches", "m"],
  ["alerts", "Alerts", "t"],
  ["history", "History", "h"],
  ["operations", "Operations", "r"],
  ["access", "Access", "a"],
];

function page(parts: string[], query: URLSearchParams, configuration: Configuration): ReactNode {
  const [first = "", second, third] = parts;
  switch (first) {
    case "":
      return <Overview />;
    case "streams":
      return second === undefined ? <Streams /> : <Stream key={second} name={second} tab={third ?? "state"} />;
    case "patterns":
      return second === undefined ? <Patterns /> : <Pattern key={second} name={second} tab={third ?? "state"} />;
    case "editor":
      return <Editor key={second ?? ""} name={second ?? null} />;
    case "matches":
      return second !== undefined && third !== undefined ? (
        <Match key={`${second}/${third}`} pattern={second} place={third} />
      ) : (
        <Matches query={query} />
      );
    case "alerts":
      return <Alerts />;
    case "history":
      return <History />;
    case "operations":
      return <Operations />;
    case "access":
      return <Access configuration={configuration} />;
    default:
      return (
        <>
          <h1>There is no such page</h1>
          <Link to="/">To the overview</Link>
        </>
      );
  }
}

export function App({ configuration }: { configuration: Configuration }) {
  const who = useCredential();
  const queries = useQueryClient();
  const [refused, setRefused] = useState<string | null>(null);
  const { parts, query } = usePlace();
  useKeyboard();

  useEffect(() => {
    if (configuration.oidc === null || !isAnswer(query)) return;
    completeLogin(configuration.oidc, query).then(
      (token) => setCredential({ kind: "token", value: token }),
      (error: unknown) => setRefused(error instanceof Error ? error.message : String(error)),
    );
    // The code does not stay in the address, nor in the history of the browser.
    navigate("/", { replace: true });
  }, [configuration.oidc, query]);

  // A key that is no longer valid leads back to the log-in.
  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        const error = event.query.state.error as { problem?: { status: number } } | null;
        if (configuration.asks_for_login && error?.problem?.status === 401 && who !== null) {
          setRefused("You are no longer logged in.");
          setCredential(null);
          queries.clear();
        }
      }),
    [queries, configuration.asks_for_login, who],
  );

  const logOut = () => {
    const { oidc } = configuration;
    setRefused(null);
    setCredential(null);
    queries.clear();
    if (oidc !== null && who?.kind === "token") {
      endSession(oidc).catch((error: unknown) => setRefused(`You are logged out here, but not at the identity provider: ${String(error)}`));
    }
  };

  if (configuration.asks_for_login && who === null) return <Login configuration={configuration} refused={refused} />;
  const current = parts[0] ?? "";
  return (
    <div className="shell">
      <a className="skip" href="#content">
        To the content
      </a>
      <nav className="side" aria-label="Pages">
        <Link className="brand" to="/">
          <img src={`${BASE}/icon.svg`} alt="" width="27" height="27" />
          graphtide
        </Link>
        {PAGES.map(([path, title]) => (
          <Link key={path} className="page" to={`/${path}`} {...(current === path ? { "aria-current": "page" as const } : {})}>
            {title}
          </Link>
        ))}
        <div className="foot">
          <ThemeChoice />
          <a href="/docs">API</a>
          {who !== null && (
            <button type="button" onClick={logOut}>
              Log out
            </button>
          )}
          <span>{configuration.version}</span>
        </div>
      </nav>
      <main id="content">
        <ErrorBoundary key={parts.join("/")}>
          <Suspense fallback={<Loading />}>{page(parts, query, configuration)}</Suspense>
        </ErrorBoundary>
      </main>
    </div>
  );
}

function ThemeChoice() {
  const [chosen, setChosen] = useState<Theme>(theme);
  const choose = (next: Theme) => {
    applyTheme(next);
    setChosen(next);
  };
  return (
    <label className="field">
      Colours
      <select value={chosen} onChange={(event) => choose(event.target.value as Theme)}>
        <option value="system">as the system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

/** Let `g` and a letter lead to a page, and `/` to the first field that filters. */
function useKeyboard(): void {
  useEffect(() => {
    let isGoing = false;
    const press = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)) return;
      if (isGoing) {
        const found = PAGES.find(([, , letter]) => letter === event.key);
        if (found !== undefined) navigate(`/${found[0]}`);
        isGoing = false;
      } else if (event.key === "g") {
        isGoing = true;
      } else if (event.key === "/") {
        const field = document.querySelector<HTMLInputElement>("input[type=search]");
        if (field !== null) {
          event.preventDefault();
          field.focus();
        }
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
