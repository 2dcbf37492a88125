/** Scores of a row: z_c = base_c + Σ terms, P(c) = exp(z_c / T) / Σ exp(z_k / T). See docs/export.md. */

import { readDocument, type WordsTerm } from "./words";

/** A cell: a code (0 missing, 1 … V the values, V + 1 never seen), a number, a document, or null where it is missing. */
export type Cell = number | string | null;
export type Row = Record<string, Cell>;
type Scores = (number | null)[];

export interface Coding {
  column: string;
  cuts?: number[];
  n_codes: number;
}

export interface Counts {
  /** Rows of each value and class, values in the order of the codes; missing cells first. */
  counts: number[][];
  /** Pseudo-count of each code; null where the code takes no part. */
  pseudo: (number | null)[];
  /** Exponent of the column. */
  power: number;
}

export type Term =
  | (Coding & { kind: "table"; missing: Scores; unseen: Scores; scores: Scores[]; counts?: Counts })
  | { kind: "normal"; column: string; mean: number[]; precision: number[]; constant: number[] }
  | { kind: "linear"; column: string; center: number; slope: number[]; present: number[] }
  | { kind: "lognormal"; column: string; mean: number[]; precision: number[]; constant: number[]; power: number }
  | { kind: "student"; column: string; location: number[]; width: number[]; freedom: number[]; constant: number[]; power: number }
  | { kind: "poisson"; column: string; size: number[]; rows: number[]; power: number }
  | { kind: "kernel"; column: string; points: number[][]; log_counts: number[][]; bandwidth: number[]; constant: number[]; power: number }
  | WordsTerm
  | JointTerm
  | (Coding & { kind: "contexts"; parents: Coding[]; levels: { codes: number[][]; scores: Scores[][]; counts?: number[][][] }[] });

/** The full joint: rows of each class by the values of all columns; `pseudo` is added to each possible row. */
export interface JointTerm {
  kind: "joint";
  column: string;
  columns: Coding[];
  cells: number[][];
  counts: number[][];
  pseudo: number;
}

/** (n + added) / (total + whole). */
export interface Fraction {
  n: number;
  total: number;
  added: number;
  whole: number;
}

export interface Form {
  model: string;
  target: string;
  classes: string[];
  base: Scores;
  temperature: number;
  undecidable: number[] | null;
  terms: Term[];
  class_counts?: number[];
}

const score = (x: number | null): number => x ?? -Infinity;

/** Return the code of a cell; numbers are read as their interval. */
export function codeOf(coding: Coding, cell: Cell): number {
  if (typeof cell !== "number" || Number.isNaN(cell)) return 0;
  if (!coding.cuts) return cell;
  let low = 0;
  let high = coding.cuts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (coding.cuts[middle] < cell) low = middle + 1;
    else high = middle;
  }
  return 1 + low;
}

/** Return P(value | class) = (n + a) / (N + A) of a code as its four numbers, for each class. */
export function fractions(counts: Counts, code: number, alpha: number | null): Fraction[] {
  const pseudo = counts.pseudo.map((a) => (a === null ? null : (alpha ?? a)));
  const whole = pseudo.reduce<number>((sum, a) => sum + (a ?? 0), 0);
  return counts.counts[0].map((_, c) => {
    const total = counts.counts.reduce((sum, row, i) => sum + (pseudo[i] === null ? 0 : row[c]), 0);
    return { n: counts.counts[code]?.[c] ?? 0, total, added: pseudo[code] ?? 0, whole };
  });
}

/** Return the known codes of a row of the full joint by place, and P(them | class) as four numbers for each class. */
export function jointFractions(term: JointTerm, row: Row, alpha: number | null): { known: [number, number][]; fractions: Fraction[] } {
  const codes = term.columns.map((coding) => codeOf(coding, row[coding.column] ?? null));
  const known = codes.flatMap((code, j): [number, number][] => (code > 0 && code <= term.columns[j].n_codes ? [[j, code]] : []));
  const n = term.counts[0]?.length ?? 0;
  const [counted, total] = [new Array<number>(n).fill(0), new Array<number>(n).fill(0)];
  term.cells.forEach((cells, i) => {
    if (!known.every(([j]) => cells[j] > 0)) return;
    const same = known.every(([j, code]) => cells[j] === code);
    term.counts[i].forEach((count, c) => {
      total[c] += count;
      if (same) counted[c] += count;
    });
  });
  const whole = term.columns.reduce((size, coding) => size * coding.n_codes, alpha ?? term.pseudo);
  const added = whole / known.reduce((size, [j]) => size * term.columns[j].n_codes, 1);
  return { known, fractions: counted.map((k, c) => ({ n: k, total: total[c], added, whole })) };
}

function logSumExp(values: number[]): number {
  const top = Math.max(...values);
  return top === -Infinity ? top : top + Math.log(values.reduce((sum, v) => sum + Math.exp(v - top), 0));
}

/** ln Γ(k + x) / (Γ(k) x!), a sum of x logarithms. */
function logWays(k: number, x: number): number {
  let sum = 0;
  for (let i = x; i > 0; i--) sum += Math.log1p((k - 1) / i);
  return sum;
}

/** Return the scores that a term adds for each class. */
export function termScores(term: Term, row: Row, n: number, alpha: number | null = null): number[] {
  const cell = row[term.column] ?? null;
  const zero = () => new Array<number>(n).fill(0);
  if (term.kind === "table") {
    const code = codeOf(term, cell);
    if (alpha !== null && term.counts && term.counts.pseudo[code] !== null) {
      const { power } = term.counts;
      return fractions(term.counts, code, alpha).map((f) => {
        const p = (f.n + f.added) / (f.total + f.whole);
        return p > 0 ? power * Math.log(p) : power > 0 ? -Infinity : 0;
      });
    }
    return (code === 0 ? term.missing : code > term.scores.length ? term.unseen : term.scores[code - 1]).map(score);
  }
  if (term.kind === "contexts") {
    const found = contextOf(term, row);
    return found ? found.scores[found.code - 1].map(score) : zero();
  }
  if (term.kind === "words") return typeof cell === "string" ? readDocument(term, cell, n, alpha).scores : zero();
  if (term.kind === "joint") {
    const { known, fractions } = jointFractions(term, row, alpha);
    if (!known.length) return zero();
    return fractions.map((f) => (f.total + f.whole > 0 ? Math.log((f.n + f.added) / (f.total + f.whole)) : -Infinity));
  }
  if (typeof cell !== "number" || Number.isNaN(cell)) return zero();
  const x = cell;
  switch (term.kind) {
    case "normal":
      return term.mean.map((mean, c) => term.constant[c] - 0.5 * term.precision[c] * (x - mean) ** 2);
    case "linear":
      return term.slope.map((slope, c) => term.present[c] + slope * (x - term.center));
    case "lognormal": {
      if (x <= 0) return zero();
      const log = Math.log(x);
      return term.mean.map((mean, c) => term.power * (term.constant[c] - 0.5 * term.precision[c] * (log - mean) ** 2 - log));
    }
    case "student":
      return term.location.map((location, c) => {
        const away = (x - location) / term.width[c];
        return term.power * (term.constant[c] - ((term.freedom[c] + 1) / 2) * Math.log1p(away * away));
      });
    case "poisson":
      if (x < 0 || x !== Math.floor(x)) return zero();
      return term.size.map((k, c) => term.power * (logWays(k, x) - k * Math.log1p(1 / term.rows[c]) - x * Math.log1p(term.rows[c])));
    case "kernel":
      return term.points.map((points, c) => {
        const h = term.bandwidth[c];
        return term.power * (term.constant[c] + logSumExp(points.map((v, i) => term.log_counts[c][i] - 0.5 * ((x - v) / h) ** 2)));
      });
  }
}

/** Return the table of a column for the longest known context of a row, and the code of its cell; null if it is not known. */
function contextOf(term: Extract<Term, { kind: "contexts" }>, row: Row): { code: number; scores: Scores[]; counts?: number[][] } | null {
  const code = codeOf(term, row[term.column] ?? null);
  if (code === 0 || code > term.n_codes) return null;
  const parents = term.parents.map((parent) => codeOf(parent, row[parent.column] ?? null));
  for (let depth = term.parents.length; depth >= 0; depth--) {
    const { codes, scores, counts } = term.levels[depth];
    const found = codes.findIndex((context) => context.every((value, i) => value === parents[i]));
    if (found >= 0) return { code, scores: scores[found], counts: counts?.[found] };
  }
  return null;
}

/** Return the counts of a cell given its parents, for each class. */
export function contextFractions(term: Extract<Term, { kind: "contexts" }>, row: Row): Fraction[] | null {
  const { code, counts } = contextOf(term, row) ?? {};
  if (!code || !counts) return null;
  return counts[code - 1].map((n, c) => ({ n, total: counts.reduce((sum, cell) => sum + cell[c], 0), added: 0, whole: 0 }));
}

/** Most combinations of missing parents that are summed. */
export const MOST_SUMMED = 200_000;

/** Return the columns that are missing and a parent of a known or summed cell, with their number of values. */
function openParents(form: Form, row: Row): Map<string, Coding> {
  const terms = new Map(form.terms.flatMap((t) => (t.kind === "contexts" ? [[t.column, t] as const] : [])));
  const known = (coding: Coding) => {
    const code = codeOf(coding, row[coding.column] ?? null);
    return code > 0 && code <= coding.n_codes;
  };
  const open = new Map<string, Coding>();
  const todo = [...terms.values()].filter(known);
  for (let term = todo.pop(); term; term = todo.pop()) {
    for (const parent of term.parents) {
      if (known(parent) || open.has(parent.column)) continue;
      open.set(parent.column, parent);
      const above = terms.get(parent.column);
      if (above) todo.push(above);
    }
  }
  return open;
}

/** Return what missing parents, summed out, add to the prior and the terms of a row; null where they add nothing. */
export function summedOut(form: Form, z: number[], terms: number[][]): number[] | null {
  const rest = z.map((value, c) => value - score(form.base[c]) - terms.reduce((sum, term) => sum + term[c], 0));
  return rest.some((x) => Math.abs(x) > 1e-9 && Number.isFinite(x)) ? rest : null;
}

/** Return ln P(x, class); missing parents are summed out. Null where there are too many combinations of them. */
export function logJoint(form: Form, row: Row, alpha: number | null = null): number[] | null {
  const n = form.classes.length;
  const total = (of: Row) => {
    const z = form.base.map(score);
    for (const term of form.terms) termScores(term, of, n, alpha).forEach((s, c) => (z[c] += s));
    return z;
  };
  const open = [...openParents(form, row).values()];
  if (!open.length) return total(row);
  if (open.reduce((size, coding) => size * coding.n_codes, 1) > MOST_SUMMED) return null;
  const sums = form.classes.map(() => [] as number[]);
  const part = { ...row };
  const walk = (i: number): void => {
    if (i === open.length) {
      total(part).forEach((z, c) => sums[c].push(z));
      return;
    }
    const { column, cuts, n_codes } = open[i];
    for (let code = 1; code <= n_codes; code++) {
      part[column] = cuts ? (cuts[code - 1] ?? Infinity) : code;
      walk(i + 1);
    }
  };
  walk(0);
  return sums.map((values) => values.reduce((a, b) => logAdd(a, b), -Infinity));
}

function logAdd(a: number, b: number): number {
  const top = Math.max(a, b);
  return top === -Infinity ? top : top + Math.log1p(Math.exp(Math.min(a, b) - top));
}

/** Return the probabilities of log scores; null where the row is impossible under every class. */
export function normalize(z: number[], temperature: number): number[] | null {
  const top = Math.max(...z);
  if (top === -Infinity) return null;
  const shares = z.map((s) => Math.exp((s - top) / temperature));
  const sum = shares.reduce((a, b) => a + b, 0);
  return shares.map((share) => share / sum);
}

/** Return P(class | row); `undecidable` where the row is impossible under every class, null where it has no answer. */
export function posterior(form: Form, row: Row): number[] | null {
  const z = logJoint(form, row);
  return z && (normalize(z, form.temperature) ?? form.undecidable);
}

/** Return the base scores with P(class c) = p, the other classes in their proportions. */
export function withPrior(base: Scores, c: number, p: number): number[] {
  const others = logSumExp(base.map(score).filter((_, k) => k !== c));
  return base.map((b, k) => (k === c ? Math.log(p) : score(b) - others + Math.log1p(-p)));
}

/** Return the prior of class c at which it is as probable as the best of the others. */
export function tippingPrior(form: Form, z: number[], c: number): number {
  const base = form.base.map(score);
  const others = logSumExp(base.filter((_, k) => k !== c));
  const best = Math.max(...z.filter((_, k) => k !== c)) - others;
  return 1 / (1 + Math.exp(z[c] - base[c] - best));
}

export const best = (values: number[]): number => values.reduce((top, value, i) => (value > values[top] ? i : top), 0);

/** Return the pseudo-counts between `low` and `high` at which the most probable class changes. */
export function tippingAlphas(form: Form, row: Row, low: number, high: number): number[] {
  const winner = (log: number) => best(logJoint(form, row, Math.exp(log)) ?? [0]);
  const [start, end, found] = [Math.log(low), Math.log(high), [] as number[]];
  const steps = 24;
  for (let i = 0; i < steps; i++) {
    let a = start + ((end - start) * i) / steps;
    let b = start + ((end - start) * (i + 1)) / steps;
    if (winner(a) === winner(b)) continue;
    const first = winner(a);
    for (let k = 0; k < 30; k++) {
      const middle = (a + b) / 2;
      if (winner(middle) === first) a = middle;
      else b = middle;
    }
    found.push(Math.exp(b));
  }
  return found;
}
