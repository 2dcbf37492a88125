import { expect, test } from "vitest";
import { type HiddenStates, logFactorial, pathTo, unroll } from "../src/trellis";

const UMBRELLA: HiddenStates = {
  states: ["dry", "rain"],
  owner: [0, 1],
  start: [Math.log(0.5), Math.log(0.5)],
  moves: [[0.7, 0.3], [0.3, 0.7]].map((row) => row.map(Math.log)),
  emissions: [{ kind: "symbols", columns: ["x"], scores: [[1, 1], [0.8, 0.1], [0.2, 0.9], [1, 1]].map((row) => row.map(Math.log)) }],
};
const steps = (codes: (number | null)[]) => codes.map((x) => ({ x }));

test("two umbrellas", () => {
  const trellis = unroll(UMBRELLA, steps([2, 2]));
  expect(Math.exp(trellis.forward[0][1])).toBeCloseTo(0.45, 14);
  expect(trellis.posteriors![1][1]).toBeCloseTo(0.883357, 6);
  expect(pathTo(trellis, 1)).toEqual([1, 1]);
});

test("sums and the best path are those of all paths", () => {
  const codes = [2, 1, null, 3, 2, 2, 1];
  const p = (log: number | null) => Math.exp(log!);
  const emitted = UMBRELLA.emissions[0].kind === "symbols" ? UMBRELLA.emissions[0].scores : [];
  let [whole, top, second] = [0, 0, 0];
  for (let bits = 0; bits < 2 ** codes.length; bits++) {
    const path = codes.map((_, t) => (bits >> t) & 1);
    const product = path.reduce((q, s, t) => q * p(emitted[codes[t] ?? 0][s]) * p(t ? UMBRELLA.moves[path[t - 1]][s] : UMBRELLA.start[s]), 1);
    whole += product;
    top = Math.max(top, product);
    if (path[1]) second += product;
  }
  const trellis = unroll(UMBRELLA, steps(codes));
  expect(trellis.logLikelihood).toBeCloseTo(Math.log(whole), 13);
  expect(Math.max(...trellis.best[6])).toBeCloseTo(Math.log(top), 13);
  expect(trellis.posteriors![1][1]).toBeCloseTo(second / whole, 13);
});

test("factorials", () => {
  expect(logFactorial(10)).toBeCloseTo(Math.log(3628800), 12);
  let sum = 0;
  for (let i = 1; i <= 100; i++) sum += Math.log(i);
  expect(logFactorial(100)).toBeCloseTo(sum, 11);
});
