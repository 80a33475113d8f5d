/** Pages by address: a small router over the browser's history. */

import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from "react";

export const BASE = "/console";

const listeners = new Set<() => void>();
const notify = () => {
  for (const listener of listeners) listener();
};
window.addEventListener("popstate", notify);

export function navigate(to: string, { replace = false } = {}): void {
  const address = BASE + to;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  notify();
}

export interface Place {
  /** Parts of the path, decoded. */
  parts: string[];
  query: URLSearchParams;
}

/** Return the path and query of an address below the base. */
export function placeOf(address: string): Place {
  const [path = "", query = ""] = address.slice(BASE.length).split("?");
  return { parts: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function usePlace(): Place {
  const address = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => location.pathname + location.search,
  );
  return placeOf(address);
}

/** Return an address of parts, each percent-encoded. */
export function address(...parts: string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  to: string;
}

export function Link({ to, ...rest }: LinkProps) {
  const go = (event: MouseEvent<HTMLAnchorElement>) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return <a href={BASE + to} onClick={go} {...rest} />;
}
