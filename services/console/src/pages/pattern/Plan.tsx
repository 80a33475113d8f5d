/** How a pattern is matched: the steps with estimate and count, and why this plan was chosen. */

import { lazy, Suspense } from "react";

import { ProblemError } from "../../api/problems";
import { type Plan as Chosen, usePlan } from "../../api/queries";
import { Answer, Facts, Loading, Notice, Panel } from "../../components/basics";
import { decimal } from "../../format";

const Steps = lazy(() => import("../../drawing/Steps"));

export function Plan({ name }: { name: string }) {
  const plan = usePlan(name);
  if (plan.error instanceof ProblemError && plan.error.problem.code === "no-plan") {
    return <Notice>The planner has not planned this pattern yet.</Notice>;
  }
  return (
    <>
      <Answer of={plan}>{(data) => <Content plan={data} />}</Answer>

    </>
  );
}

/** Return in plain words where matches end: the step with most partial matches, and the first that lets none through. */
export function explain(plan: Chosen): string | null {
  const counted = plan.nodes.filter((each) => each.actual !== null);
  if (counted.length === 0) return null;
  const empty = counted.find((each) => each.actual === 0);
  const fullest = counted.reduce((a, b) => ((b.actual ?? 0) > (a.actual ?? 0) ? b : a));
  if (empty !== undefined && (fullest.actual ?? 0) > 0) {
    return `${decimal(fullest.actual)} partial matches wait in step ${fullest.name} (${fullest.does}). None has come to step ${empty.name} (${empty.does}), so this is what is missing.`;
  }
  if (empty !== undefined) return `Nothing is in step ${empty.name} (${empty.does}): no edge of the window begins a match.`;
  return `Most partial matches, ${decimal(fullest.actual)}, wait in step ${fullest.name} (${fullest.does}).`;
}

function Content({ plan }: { plan: Chosen }) {
  const words = explain(plan);
  return (
    <>
      {words !== null && <Notice>{words}</Notice>}
      <div className="halves">
        <Panel title="Steps">
          <Suspense fallback={<Loading />}>
            <Steps nodes={plan.nodes} />
          </Suspense>
          <div className="scroll" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  <th>Step</th>
                  <th>What it does</th>
                  <th className="num">Estimate</th>
                  <th className="num">Now</th>
                </tr>
              </thead>
              <tbody>
                {plan.nodes.map((each) => (
                  <tr key={each.name}>
                    <td>{each.name}</td>
                    <td>{each.does}</td>
                    <td className="num">{decimal(each.estimate)}</td>
                    <td className="num">{decimal(each.actual)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </Panel>
        <Panel title={`Why ${plan.engine}`}>
          <div className="scroll" tabIndex={0}>
            <table>
              <thead>
                <tr>
                  <th>Engine</th>
                  <th className="num">ns an edge</th>
                  <th className="num">Partial matches</th>
                  <th>Where its time goes</th>
                </tr>
              </thead>
              <tbody>
                {plan.considered?.map((each) => (
                  <tr key={each.engine}>
                    <td>{each.engine === plan.engine ? <strong>{each.engine}</strong> : each.engine}</td>
                    <td className="num">{decimal(each.nanoseconds)}</td>
                    <td className="num">{decimal(each.partial_matches)}</td>
                    <td>{each.reason}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <Facts of={Object.entries(plan.settings ?? {}).map(([name, each]): [string, string] => [name, String(each)])} />
        </Panel>
      </div>
    </>
  );
}
