/** Searches in history, over all patterns. */

import { useState } from "react";

import { useOperations, usePatterns } from "../api/queries";
import { Answer, Page } from "../components/basics";
import { address, navigate } from "../router";
import { OperationList } from "./OperationList";

export default function History() {
  const operations = useOperations();
  const patterns = usePatterns();
  const [name, setName] = useState("");
  return (
    <Page title="History" lead="Run a pattern over edges that came before it was registered.">
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (name !== "") navigate(address("patterns", name, "history"));
        }}
      >
        <label className="field">
          Pattern
          <select value={name} onChange={(event) => setName(event.target.value)} required>
            <option value="">choose one</option>
            {patterns.data?.slice(0, 2_000).map((each) => (
              <option key={each.name}>{each.name}</option>
            ))}
          </select>
        </label>
        <button type="submit" className="main">
          Choose times
        </button>
      </form>
      <Answer of={operations}>{({ operations: list }) => <OperationList of={list} onChange={() => void operations.refetch()} />}</Answer>
    </Page>
  );
}
