import { expect, test } from "vitest";
import { afterTests, betaCells, decide } from "../src/lessons";
import { naiveBayes, neighbors, type Point, tan, tree } from "../src/regions";
import { generator, Sampler } from "../src/topics";

test("a positive test of a rare illness", () => {
  expect(afterTests(0.01, 0.9, 0.09, 1)).toBeCloseTo(0.009 / (0.009 + 0.0891), 14);
  expect(afterTests(0.01, 0.9, 0.09, 2)).toBeCloseTo(afterTests(afterTests(0.01, 0.9, 0.09, 1), 0.9, 0.09, 1), 14);
});

test("the middle of a Beta belief", () => {
  const { density, low, high } = betaCells(1, 1);
  expect(density[10]).toBeCloseTo(1, 12);
  expect([low, high]).toEqual([expect.closeTo(0.025, 6), expect.closeTo(0.975, 6)]);
  // Beta(2, 1) has the distribution function x².
  expect(betaCells(2, 1).low).toBeCloseTo(Math.sqrt(0.025), 3);
});

test("two equal normals turn in the middle, and P(mistake) is a tail", () => {
  const equal = { m1: 4, s1: 1, m2: 6, s2: 1, prior: 0.5, miss: 1, alarm: 1 };
  const { mistake, turns } = decide(equal, -10, 20, 30000);
  expect(turns).toEqual([expect.closeTo(5, 2)]);
  expect(mistake).toBeCloseTo(0.1586553, 4);
  // With costs the turn moves by ln(cost ratio) / distance of the means.
  expect(decide({ ...equal, miss: Math.E }, -10, 20, 30000).turns[0]).toBeCloseTo(4.5, 2);
});

test("a sampler keeps its counts and draws by the conditional", () => {
  const sampler = new Sampler(["a a b", "b c"], 2, 0.5, 0.1, generator(3));
  for (let i = 0; i < 20; i++) sampler.sweep();
  expect(sampler.totals.reduce((a, b) => a + b)).toBe(5);
  sampler.topics.forEach((topic, i) => expect(sampler.byWord[sampler.tokens[i].word][topic]).toBeGreaterThan(0));
  const shares = sampler.shares(0);
  expect(shares[0] + shares[1]).toBeCloseTo(1, 14);
  expect(generator(1)()).toBe(generator(1)());
});

test("four models separate two clouds, and naive Bayes fails on exclusive or", () => {
  const random = generator(5);
  const clouds = Array.from({ length: 80 }, (_, i): Point => [0.3 * random() + 0.6 * (i % 2), 0.3 * random() + 0.6 * (i % 2), i % 2]);
  for (const fit of [naiveBayes, tan, tree, neighbors]) {
    const rule = fit(clouds);
    expect([rule(0.1, 0.1) > 0.5, rule(0.8, 0.8) > 0.5]).toEqual([false, true]);
  }
  const cross = Array.from({ length: 400 }, (): Point => {
    const [x, y] = [random(), random()];
    return [x, y, +(x > 0.5 !== y > 0.5)];
  });
  const right = (rule: (x: number, y: number) => number) => cross.filter(([x, y, label]) => +(rule(x, y) > 0.5) === label).length;
  expect(right(tan(cross))).toBeGreaterThan(390);
  expect(right(naiveBayes(cross))).toBeLessThan(280);
  for (const fit of [naiveBayes, tan, tree, neighbors]) expect(fit([])(0.5, 0.5)).toBeCloseTo(0.5, 14);
});
