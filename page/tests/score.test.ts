import { expect, test } from "vitest";
import { type Form, fractions, posterior, type Row, tippingPrior, logJoint, withPrior } from "../src/score";

// Fourteen days of tennis: rows of each value with no and with yes, and α = 1.
const COUNTS: Record<string, [number, number][]> = {
  outlook: [[0, 4], [2, 3], [3, 2]], // overcast, rain, sunny
  temperature: [[1, 3], [2, 2], [2, 4]], // cool, hot, mild
  humidity: [[4, 3], [1, 6]], // high, normal
  wind: [[3, 3], [2, 6]], // strong, weak
};
const DAYS = [5, 9];
const FORM: Form = {
  model: "NaiveBayes",
  target: "play",
  classes: ["no", "yes"],
  base: DAYS.map((n) => Math.log(n / 14)),
  temperature: 1,
  undecidable: null,
  terms: Object.entries(COUNTS).map(([column, counts]) => ({
    kind: "table",
    column,
    n_codes: counts.length,
    missing: [0, 0],
    unseen: [0, 0],
    scores: counts.map((row) => row.map((n, c) => Math.log((n + 1) / (DAYS[c] + counts.length)))),
    counts: { counts: [[0, 0], ...counts], pseudo: [null, ...counts.map(() => 1)], power: 1 },
  })),
};
const DAY: Row = { outlook: 3, temperature: 1, humidity: 1, wind: 1 };
const PRODUCTS = [
  (5 / 14) * (4 / 8) * (2 / 8) * (5 / 7) * (4 / 7),
  (9 / 14) * (3 / 12) * (4 / 12) * (4 / 11) * (4 / 11),
];

test("the posterior is the product of prior and factors", () => {
  const [no, yes] = posterior(FORM, DAY)!;
  expect(no).toBeCloseTo(PRODUCTS[0] / (PRODUCTS[0] + PRODUCTS[1]), 13);
  expect(no + yes).toBeCloseTo(1, 14);
});

test("missing cells leave the prior", () => {
  expect(posterior(FORM, {})![1]).toBeCloseTo(9 / 14, 14);
});

test("α given equals α fitted, and zero counts are impossible without it", () => {
  const [fitted, given] = [logJoint(FORM, DAY)!, logJoint(FORM, DAY, 1)!];
  given.forEach((z, c) => expect(z).toBeCloseTo(fitted[c], 13));
  expect(logJoint(FORM, { outlook: 1 }, 0)![0]).toBe(-Infinity);
});

test("a fraction has its counts", () => {
  const term = FORM.terms[0];
  const counts = term.kind === "table" ? term.counts! : null!;
  expect(fractions(counts, 3, null)[0]).toEqual({ n: 3, total: 5, added: 1, whole: 3 });
});

test("at the tipping point the classes are equally probable", () => {
  const p = tippingPrior(FORM, logJoint(FORM, DAY)!, 1);
  const [no, yes] = posterior({ ...FORM, base: withPrior(FORM.base, 1, p) }, DAY)!;
  expect(no).toBeCloseTo(yes, 12);
});
