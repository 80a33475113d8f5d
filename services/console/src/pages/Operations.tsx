/** Hosts, shards and their lag. */

import { useHealth } from "../api/monitoring";
import { useMatchers } from "../api/queries";
import { Answer, Badge, Notice, Page, Panel } from "../components/basics";
import { bytes, count, decimal, moment, seconds } from "../format";
import { toneOf } from "./Overview";

export default function Operations() {
  const matchers = useMatchers();
  const health = useHealth();
  return (
    <Page title="Operations" lead="The services that run your patterns: how busy they are, how far behind, and how many they should be.">
      <Answer of={health}>
        {({ findings, services }) => (
          <>
            {findings.map((each) => (
              <Notice key={`${each.code} ${each.subject.name}`} tone={each.severity === "error" ? "bad" : "warn"}>
                <strong>{each.sentence}</strong> {each.help}
              </Notice>
            ))}
            <Panel title="Services">
              <div className="scroll" tabIndex={0}>
                <table>
                  <thead>
                    <tr>
                      <th>Service</th>
                      <th>State</th>
                      <th>Heard of</th>
                    </tr>
                  </thead>
                  <tbody>
                    {services.map((each) => (
                      <tr key={each.name}>
                        <td>{each.name}</td>
                        <td>
                          <Badge tone={toneOf(each.state)}>{each.state}</Badge>
                        </td>
                        <td>{moment(each.seen)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </Panel>
          </>
        )}
      </Answer>
      <Answer of={matchers}>
        {({ matchers: list }) => (
          <>
            {list.map((each) => (
              <Panel key={each.service} title={each.service}>
                <div className="scroll" tabIndex={0}>
                  <table>
                    <thead>
                      <tr>
                        <th>Shard</th>
                        <th className="num">Busy</th>
                        <th className="num">Memory</th>
                        <th className="num">Patterns</th>
                        <th>Streams, and seconds behind</th>
                        <th>Heard of</th>
                      </tr>
                    </thead>
                    <tbody>
                      {each.shards.map((shard) => (
                        <tr key={shard.shard}>
                          <td>{shard.shard}</td>
                          <td className="num">{decimal(shard.busy * 100)} %</td>
                          <td className="num">{bytes(shard.memory_bytes)}</td>
                          <td className="num">{count(shard.patterns)}</td>
                          <td>{shard.streams.map((stream) => `${stream.stream}: ${seconds(stream.lag_seconds ?? null)}`).join(", ")}</td>
                          <td>{moment(shard.at)}</td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </div>
                {each.scaling !== null && <p className="muted">{JSON.stringify(each.scaling)}</p>}
              </Panel>
            ))}
            {list.length === 0 && <Notice>No matcher service has been heard of yet.</Notice>}
          </>
        )}
      </Answer>
    </Page>
  );
}
