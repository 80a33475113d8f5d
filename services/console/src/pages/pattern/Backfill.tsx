/** Find the matches of a pattern in history. */

import { type FormEvent, useState } from "react";

import { api, bodyOf } from "../../api/client";
import { type Pattern, useOperations } from "../../api/queries";
import { Answer, Failure, Panel } from "../../components/basics";
import { ticksOf } from "../../format";
import { OperationList } from "../OperationList";

export function Backfill({ of }: { of: Pattern }) {
  const operations = useOperations();
  const [error, setError] = useState<unknown>(null);

  const start = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const body: { from?: number; to?: number } = {};
    for (const end of ["from", "to"] as const) {
      const given = String(form.get(end) ?? "");
      if (given !== "") body[end] = ticksOf(new Date(`${given}Z`));
    }
    try {
      await bodyOf(api.POST("/api/v1/patterns/{name}:backfill", { params: { path: { name: of.name } }, body }));
      setError(null);
      await operations.refetch();
    } catch (problem) {
      setError(problem);
    }
  };

  return (
    <>
      <Panel title="Search history">
        {error !== null && <Failure error={error} />}
        <form className="row" onSubmit={start}>
          <label className="field">
            From (UTC)
            <input type="datetime-local" name="from" step="1" />
          </label>
          <label className="field">
            To (UTC)
            <input type="datetime-local" name="to" step="1" />
          </label>
          <button type="submit" className="main">
            Start
          </button>
        </form>
        <p className="muted">Without times it searches all that the log holds. Matches that are found have the pattern's ids.</p>
      </Panel>
      <Answer of={operations}>
        {({ operations: list }) => <OperationList of={list.filter((each) => (each as { pattern?: string }).pattern === of.name)} onChange={() => void operations.refetch()} />}
      </Answer>
    </>
  );
}
