/** Hidden Markov models: forward and backward sums and Viterbi's path, in log space. */
import type { Cell, Row } from "./score";

type Scores = (number | null)[];

export type Emission =
  | { kind: "symbols"; columns: string[]; scores: Scores[] }
  | { kind: "normals"; columns: string[]; mean: number[][]; precision: number[][]; constant: number[][] }
  | { kind: "rates"; columns: string[]; rate: number[][] }
  | { kind: "count shares"; columns: string[]; share: number[][] }
  | { kind: "joint normals"; columns: string[]; mean: number[][]; covariance: number[][][] };

export interface HiddenStates {
  states: string[];
  /** State of each copy; a state with a minimum stay has several. */
  owner: number[];
  start: Scores;
  moves: Scores[];
  emissions: Emission[];
}

export interface Trellis {
  /** ln P(observations up to the step, copy), shape (steps, copies). */
  forward: number[][];
  /** P(state | all observations), shape (steps, states); null where they are impossible. */
  posteriors: number[][] | null;
  /** ln P of the best path to each copy, and the copy before it. */
  best: number[][];
  back: number[][];
  logLikelihood: number;
  /** First step that is impossible after those before it, -1 if none is. */
  impossible: number;
}

const log = (x: number | null): number => x ?? -Infinity;

export function logSum(values: ArrayLike<number>): number {
  let top = -Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > top) top = values[i];
  if (top === -Infinity) return top;
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += Math.exp(values[i] - top);
  return top + Math.log(sum);
}

/** ln n!, by Stirling's series from 64 on. */
export function logFactorial(n: number): number {
  let sum = 0;
  if (n < 64) {
    for (let i = 2; i <= n; i++) sum += Math.log(i);
    return sum;
  }
  return (n + 0.5) * Math.log(n) - n + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * n) - 1 / (360 * n ** 3) + 1 / (1260 * n ** 5);
}

const measured = (cell: Cell | undefined): number => (typeof cell === "number" ? cell : NaN);
const counted = (cell: Cell | undefined): number => (typeof cell === "number" && cell >= 0 && Number.isInteger(cell) ? cell : NaN);

/** Return ln P(row | state) of one kind of columns for each of n states; missing cells add nothing. */
export function emissionScores(emission: Emission, row: Row, n: number): number[] {
  const states = Array.from({ length: n }, (_, s) => s);
  switch (emission.kind) {
    case "symbols":
      return emission.scores[Number(row[emission.columns[0]] ?? 0)].map(log);
    case "normals": {
      const x = emission.columns.map((name) => measured(row[name]));
      return states.map((s) => x.reduce((sum, v, j) => (Number.isNaN(v) ? sum : sum + emission.constant[s][j] - 0.5 * emission.precision[s][j] * (v - emission.mean[s][j]) ** 2), 0));
    }
    case "rates": {
      const x = emission.columns.map((name) => counted(row[name]));
      return states.map((s) => x.reduce((sum, v, j) => (Number.isNaN(v) ? sum : sum + (v && v * Math.log(emission.rate[s][j])) - emission.rate[s][j] - logFactorial(v)), 0));
    }
    case "count shares": {
      const x = emission.columns.map((name) => counted(row[name]));
      const total = x.reduce((sum, v) => sum + (v || 0), 0);
      const ways = logFactorial(total) - x.reduce((sum, v) => sum + logFactorial(v || 0), 0);
      return states.map((s) => {
        const there = x.some(Number.isNaN) ? x.reduce((sum, v, j) => (Number.isNaN(v) ? sum : sum + emission.share[s][j]), 0) : 1;
        return x.reduce((sum, v, j) => (v > 0 ? sum + v * Math.log(emission.share[s][j]) : sum), ways) - (total && total * Math.log(there));
      });
    }
    case "joint normals":
      return states.map((s) => jointNormal(emission.columns.map((name) => measured(row[name])), emission.mean[s], emission.covariance[s]));
  }
}

/** Log density of the numbers that are there, by Cholesky's factors. */
function jointNormal(x: number[], mean: number[], covariance: number[][]): number {
  const there = x.flatMap((v, j) => (Number.isNaN(v) ? [] : [j]));
  const root: number[][] = [];
  const away: number[] = [];
  let sum = 0;
  there.forEach((a, i) => {
    root[i] = [];
    let rest = x[a] - mean[a];
    for (let k = 0; k < i; k++) {
      let value = covariance[a][there[k]];
      for (let m = 0; m < k; m++) value -= root[i][m] * root[k][m];
      root[i][k] = value / root[k][k];
      rest -= root[i][k] * away[k];
    }
    const spread = Math.sqrt(covariance[a][a] - root[i].reduce((total, value) => total + value * value, 0));
    root[i][i] = spread;
    away[i] = rest / spread;
    sum -= 0.5 * Math.log(2 * Math.PI) + Math.log(spread) + 0.5 * away[i] ** 2;
  });
  return sum;
}

/** Run the forward, the backward and Viterbi's algorithm over the steps. */
export function unroll(model: HiddenStates, steps: Row[]): Trellis {
  const { owner } = model;
  const size = owner.length;
  const start = model.start.map(log);
  const moves = model.moves.map((row) => row.map(log));
  const scores = steps.map((row) => {
    const sums = new Array<number>(model.states.length).fill(0);
    for (const emission of model.emissions) emissionScores(emission, row, sums.length).forEach((score, s) => (sums[s] += score));
    return owner.map((s) => sums[s]);
  });
  const [forward, best, back]: number[][][] = [[], [], []];
  const terms = new Float64Array(size);
  steps.forEach((_, t) => {
    forward.push([]);
    best.push([]);
    back.push([]);
    for (let s = 0; s < size; s++) {
      if (t === 0) {
        forward[0][s] = best[0][s] = start[s] + scores[0][s];
        back[0][s] = -1;
        continue;
      }
      for (let r = 0; r < size; r++) terms[r] = forward[t - 1][r] + moves[r][s];
      forward[t][s] = logSum(terms) + scores[t][s];
      let top = 0;
      for (let r = 1; r < size; r++) if (best[t - 1][r] + moves[r][s] > best[t - 1][top] + moves[top][s]) top = r;
      best[t][s] = best[t - 1][top] + moves[top][s] + scores[t][s];
      back[t][s] = top;
    }
  });
  const impossible = forward.findIndex((row) => row.every((value) => value === -Infinity));
  const logLikelihood = steps.length ? logSum(forward[steps.length - 1]) : 0;
  if (impossible >= 0) return { forward, posteriors: null, best, back, logLikelihood, impossible };
  const posteriors: number[][] = [];
  let behind = new Array<number>(size).fill(0);
  for (let t = steps.length - 1; t >= 0; t--) {
    posteriors[t] = model.states.map(() => 0);
    forward[t].forEach((value, s) => (posteriors[t][owner[s]] += Math.exp(value + behind[s] - logLikelihood)));
    const before = new Array<number>(size);
    for (let r = 0; r < size; r++) {
      for (let s = 0; s < size; s++) terms[s] = moves[r][s] + scores[t][s] + behind[s];
      before[r] = logSum(terms);
    }
    behind = before;
  }
  return { forward, posteriors, best, back, logLikelihood, impossible };
}

/** Follow the back-pointers from the best copy at a step to the first step. */
export function pathTo(trellis: Trellis, step: number): number[] {
  const path: number[] = [];
  let at = trellis.best[step].reduce((top, value, s, row) => (value > row[top] ? s : top), 0);
  for (let t = step; t >= 0; t--) {
    path[t] = at;
    at = trellis.back[t][at];
  }
  return path;
}
