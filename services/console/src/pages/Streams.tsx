/** All streams. */

import { type FormEvent, useState } from "react";

import { useStreams } from "../api/queries";
import { Answer, Page, Panel } from "../components/basics";
import { VirtualTable } from "../components/VirtualTable";
import { count } from "../format";
import { address, Link, navigate } from "../router";

export default function Streams() {
  const streams = useStreams();
  const [filter, setFilter] = useState("");
  const create = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = String(new FormData(event.currentTarget).get("name") ?? "").trim();
    if (name !== "") navigate(address("streams", name, "statement"));
  };
  return (
    <Page title="Streams" lead="Where edges and events come from: how far they are in order, what they have, and what was rejected.">
      <div className="row">
        <input type="search" aria-label="Filter streams" placeholder="Filter by name" value={filter} onChange={(event) => setFilter(event.target.value)} />
        <form className="row" onSubmit={create}>
          <input name="name" aria-label="Name of a new stream" placeholder="Name of a new stream" required pattern="[A-Za-z_][A-Za-z0-9_.\-]*" />
          <button type="submit">Describe a new stream</button>
        </form>
      </div>
      <Panel>
        <Answer of={streams}>
          {({ streams: list }) => (
            <VirtualTable
              label="Streams"
              rows={list.filter((each) => each.name.includes(filter))}
              keyOf={(each) => each.name}
              onOpen={(each) => navigate(address("streams", each.name))}
              columns={[
                { title: "Stream", width: "minmax(8rem, 2fr)", cell: (each) => <Link to={address("streams", each.name)}>{each.name}</Link> },
                { title: "Patterns", width: "minmax(6rem, 2fr)", cell: (each) => each.patterns.join(", ") },
                { title: "Parts", width: "5rem", isNumber: true, cell: (each) => count(each.parts ?? 1) },
                { title: "Dead letters", width: "7rem", isNumber: true, cell: (each) => count(each.dead_letters) },
              ]}
            />
          )}
        </Answer>
      </Panel>
    </Page>
  );
}
