/** Who uses the console: an API key or a token, which the browser forgets when its tab is closed. */

import { useSyncExternalStore } from "react";

const PLACE = "graphtide.credential";

export type Credential = { kind: "key"; value: string } | { kind: "token"; value: string };

const listeners = new Set<() => void>();
let current: Credential | null = read();

function read(): Credential | null {
  try {
    const text = sessionStorage.getItem(PLACE);
    return text === null ? null : (JSON.parse(text) as Credential);
  } catch {
    return null;
  }
}

export function credential(): Credential | null {
  return current;
}

export function setCredential(next: Credential | null): void {
  current = next;
  if (next === null) sessionStorage.removeItem(PLACE);
  else sessionStorage.setItem(PLACE, JSON.stringify(next));
  for (const listener of listeners) listener();
}

export function useCredential(): Credential | null {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, credential);
}

/** Return the headers that name the user. */
export function headersOf(who: Credential | null): Record<string, string> {
  if (who === null) return {};
  return who.kind === "key" ? { "X-API-Key": who.value } : { Authorization: `Bearer ${who.value}` };
}
