/** Answers of the page to random cases, beside those of Python, which `make page` writes into cases.json. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type Clique, JunctionTree, type NetworkNode } from "../src/junction";
import { type Form, logJoint, normalize, type Row } from "../src/score";
import { type HiddenStates, unroll } from "../src/trellis";

interface Cases {
  rows: { name: string; form: Form; rows: Row[]; logs: (number | null)[][] }[];
  networks: { nodes: NetworkNode[]; cliques: Clique[]; findings: [number, number[]][][]; posteriors: (number[][] | null)[] }[];
  sequences: { name: string; model: HiddenStates; steps: Row[][]; logs: (number | null)[]; posteriors: (number[][] | null)[] }[];
}

const CASES: Cases = JSON.parse(readFileSync(new URL("./cases.json", import.meta.url), "utf8"));
/** Compare logarithms of probabilities by their relative difference, null being that of zero. */
const near = (found: number, expected: number | null) =>
  expected === null ? expect(found).toBe(-Infinity) : expect(Math.abs(found - expected)).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(expected)));

test.each(CASES.rows)("rows: $name", ({ form, rows, logs }) => {
  rows.forEach((row, i) => {
    const z = logJoint(form, row)!;
    const shares = normalize(z, form.temperature) ?? form.undecidable!;
    logs[i].forEach((log, c) => {
      if (log === null || log > -700) near(Math.log(shares[c]), log);
    });
  });
});

test.each(CASES.networks)("networks", ({ nodes, cliques, findings, posteriors }) => {
  const tree = new JunctionTree(nodes, cliques);
  findings.forEach((given, i) => {
    const found = tree.propagate(new Map(given)).posteriors;
    if (!posteriors[i]) return expect(found).toBeNull();
    posteriors[i].forEach((states, v) => states.forEach((p, k) => expect(Math.abs(found![v][k] - p)).toBeLessThanOrEqual(1e-12)));
  });
});

test.each(CASES.sequences)("sequences: $name", ({ model, steps, logs, posteriors }) => {
  steps.forEach((rows, i) => {
    const trellis = unroll(model, rows);
    near(trellis.logLikelihood, logs[i]);
    if (!posteriors[i]) return expect(trellis.posteriors).toBeNull();
    posteriors[i].forEach((states, t) => states.forEach((p, s) => expect(Math.abs(trellis.posteriors![t][s] - p)).toBeLessThanOrEqual(1e-12)));
  });
});
