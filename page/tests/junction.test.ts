import { expect, test } from "vitest";
import { type Clique, JunctionTree, type NetworkNode } from "../src/junction";

const YES_NO = ["yes", "no"];
const ALARM: NetworkNode[] = [
  { name: "burglary", states: YES_NO, parents: [], table: [0.001, 0.999] },
  { name: "earthquake", states: YES_NO, parents: [], table: [0.002, 0.998] },
  { name: "alarm", states: YES_NO, parents: [0, 1], table: [0.95, 0.05, 0.94, 0.06, 0.29, 0.71, 0.001, 0.999] },
  { name: "john", states: YES_NO, parents: [2], table: [0.9, 0.1, 0.05, 0.95] },
  { name: "mary", states: YES_NO, parents: [2], table: [0.7, 0.3, 0.01, 0.99] },
];
const CLIQUES: Clique[] = [
  { variables: [2, 4], separator: [], parent: -1 },
  { variables: [2, 3], separator: [2], parent: 0 },
  { variables: [2, 0, 1], separator: [2], parent: 0 },
];

/** Sum, or list the largest, over all rows of the joint distribution. */
function joint(nodes: NetworkNode[], likelihood: (v: number, k: number) => number) {
  const rows: { states: number[]; p: number }[] = [];
  const walk = (states: number[]): void => {
    if (states.length < nodes.length) {
      nodes[states.length].states.forEach((_, k) => walk([...states, k]));
      return;
    }
    const p = nodes.reduce((product, node, v) => {
      const context = node.parents.reduce((at, parent) => at * nodes[parent].states.length + states[parent], 0);
      return product * node.table[context * node.states.length + states[v]] * likelihood(v, states[v]);
    }, 1);
    rows.push({ states, p });
  };
  walk([]);
  return rows;
}

test("burglary given two calls", () => {
  const { posteriors } = new JunctionTree(ALARM, CLIQUES).propagate(new Map([[3, [1, 0]], [4, [1, 0]]]));
  expect(posteriors![0][0]).toBeCloseTo(0.2841718, 7);
});

test("posteriors and explanations of random tables are those of the joint distribution", () => {
  let seed = 1;
  const random = () => ((seed = (seed * 48271) % 2147483647) / 2147483647);
  for (let round = 0; round < 50; round++) {
    const nodes = ALARM.map((node) => {
      const table = node.table.map(random);
      return { ...node, table: table.map((x, i) => x / (x + table[i ^ 1])) };
    });
    const findings = new Map([[3, [random(), random()]], [0, [1, random() < 0.5 ? 0 : 0.5]]]);
    const rows = joint(nodes, (v, k) => findings.get(v)?.[k] ?? 1);
    const whole = rows.reduce((sum, row) => sum + row.p, 0);
    const tree = new JunctionTree(nodes, CLIQUES);
    const { posteriors, logEvidence } = tree.propagate(findings);
    expect(logEvidence).toBeCloseTo(Math.log(whole), 12);
    nodes.forEach((_, v) => expect(posteriors![v][0]).toBeCloseTo(rows.filter((row) => row.states[v] === 0).reduce((sum, row) => sum + row.p, 0) / whole, 12));
    const top = rows.reduce((a, b) => (b.p > a.p ? b : a));
    expect(tree.mostProbable(findings)!.states).toEqual(top.states);
  }
});

test("contradictory findings have no posterior", () => {
  const nodes = ALARM.map((node, v) => (v === 3 ? { ...node, table: [1, 0, 0, 1] } : node));
  const findings = new Map([[3, [1, 0]], [2, [0, 1]]]);
  const tree = new JunctionTree(nodes, CLIQUES);
  expect(tree.propagate(findings)).toEqual({ posteriors: null, logEvidence: -Infinity });
  expect(tree.mostProbable(findings)).toBeNull();
});
