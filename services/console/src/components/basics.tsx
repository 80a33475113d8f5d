/** Small parts that every page uses. */

import { type ReactNode, useEffect, useId, useRef } from "react";

import { ProblemError, sentenceOf } from "../api/problems";

export function Page({ title, lead, actions, children }: { title: string; lead?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · graphtide`;
  }, [title]);
  return (
    <>
      <header className="head">
        <h1 tabIndex={-1}>{title}</h1>
        {actions && <div className="row push">{actions}</div>}
        {lead && <p className="lead">{lead}</p>}
      </header>
      {children}
    </>
  );
}

export function Panel({ title, actions, children }: { title?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  const id = useId();
  return (
    <section className="panel" {...(title ? { "aria-labelledby": id } : {})}>
      {title && (
        <div className="row">
          <h2 id={id}>{title}</h2>
          {actions && <div className="row push" style={{ marginLeft: "auto" }}>{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

export type Tone = "good" | "warn" | "bad" | "plain";

export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}

export function Notice({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div className={`notice ${tone}`} role={tone === "bad" ? "alert" : "status"}>
      {children}
    </div>
  );
}

/** What went wrong, with the place in a text where the service names one. */
export function Failure({ error }: { error: unknown }) {
  const problem = error instanceof ProblemError ? error.problem : null;
  const retry = error instanceof ProblemError ? error.retryAfter : null;
  return (
    <Notice tone="bad">
      <strong>{sentenceOf(error)}</strong>
      {problem?.source_line && (
        <pre>
          {problem.source_line}
          {"\n"}
          {" ".repeat(Math.max(0, (problem.column ?? 1) - 1))}^
        </pre>
      )}
      {problem?.hint && <div>{problem.hint}</div>}
      {retry !== null && <div>Try again in {retry} s.</div>}
    </Notice>
  );
}

export function Loading() {
  return (
    <p className="muted" role="status">
      Loading …
    </p>
  );
}

interface Asked<T> {
  data: T | undefined;
  error: unknown;
}

/** Show an answer; before it comes, that it loads; where it failed, why. */
export function Answer<T>({ of, children }: { of: Asked<T>; children: (data: T) => ReactNode }) {
  if (of.data !== undefined)
    return (
      <>
        {of.error ? <Failure error={of.error} /> : null}
        {children(of.data)}
      </>
    );
  return of.error ? <Failure error={of.error} /> : <Loading />;
}

export function Facts({ of }: { of: [string, ReactNode][] }) {
  return (
    <dl className="facts">
      {of.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A dialog over the page; Escape closes it. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

/** Offer a text as a file. */
export function download(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}
