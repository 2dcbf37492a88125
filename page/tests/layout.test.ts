import { expect, test } from "vitest";
import { layers } from "../src/network";
import { roundValues } from "../src/nomogram";

test("parents stand above their children, and nodes of a row apart", () => {
  // The sprinkler, with a long arc and a node alone.
  const parents = [[], [0], [0], [1, 2], [0, 3], []];
  const { x, y, width, height } = layers(parents);
  parents.forEach((above, v) => above.forEach((p) => expect(y[p]).toBeLessThan(y[v])));
  x.forEach((a, v) => x.forEach((b, w) => v < w && y[v] === y[w] && expect(Math.abs(a - b)).toBeGreaterThan(110)));
  expect(Math.min(...x)).toBeGreaterThan(50);
  expect(Math.max(...x)).toBeLessThan(width);
  expect(Math.max(...y)).toBeLessThan(height);
});

test("labels of rulers are round numbers of the range", () => {
  expect(roundValues(-0.3, 9.7, 0.1)).toEqual([0, 2, 4, 6, 8]);
  expect(roundValues(0, 3, 1)).toEqual([0, 1, 2, 3]);
  expect(roundValues(0.1, 0.3, 0.001)).toEqual([0.1, 0.15, 0.2, 0.25, 0.3]);
});
