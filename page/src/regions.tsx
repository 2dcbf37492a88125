import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Card } from "./lessons";
import { readLink, writeLink } from "./link";
import { generator } from "./topics";

/** A point of the square [0, 1)² with class 0 or 1. */
export type Point = [x: number, y: number, label: number];

/** P(class 1 | x, y). */
export type Rule = (x: number, y: number) => number;

const share = (n0: number, n1: number, alpha: number): number => (n1 + alpha) / (n0 + n1 + 2 * alpha);

/** Naive Bayes of two normals with their own variances. */
export function naiveBayes(points: Point[]): Rule {
  const parts = [0, 1].map((label) => {
    const own = points.filter((point) => point[2] === label);
    const of = [0, 1].map((j) => {
      const mean = own.reduce((sum, point) => sum + point[j], 0) / (own.length || 1);
      const variance = own.reduce((sum, point) => sum + (point[j] - mean) ** 2, 0) / (own.length || 1);
      return { mean, variance: Math.max(variance, 1e-4) };
    });
    return { n: own.length, of };
  });
  return (x, y) => {
    const [a, b] = parts.map(({ n, of }) => {
      if (!n) return -Infinity;
      return [x, y].reduce((sum, v, j) => sum - 0.5 * Math.log(of[j].variance) - (v - of[j].mean) ** 2 / (2 * of[j].variance), Math.log(n));
    });
    return a === b ? 0.5 : 1 / (1 + Math.exp(a - b));
  };
}

const BINS = 6;
const bin = (v: number): number => Math.min(BINS - 1, Math.max(0, Math.floor(v * BINS)));

/** TAN of two columns cut into six: y depends on the class and on x. */
export function tan(points: Point[]): Rule {
  const columns = [0, 1].map(() => new Array<number>(BINS).fill(0));
  const cells = [0, 1].map(() => new Array<number>(BINS * BINS).fill(0));
  for (const [x, y, label] of points) {
    columns[label][bin(x)]++;
    cells[label][bin(x) * BINS + bin(y)]++;
  }
  const n = columns.map((column) => column.reduce((sum, count) => sum + count, 0));
  return (x, y) => {
    const [a, b] = [0, 1].map((c) => {
      const count = columns[c][bin(x)];
      return ((n[c] + 1) * (count + 0.5) * (cells[c][bin(x) * BINS + bin(y)] + 0.5)) / ((n[c] + 0.5 * BINS) * (count + 0.5 * BINS));
    });
    return b / (a + b);
  };
}

/** A tree of cuts with the lowest Gini impurity, at most four deep. */
export function tree(points: Point[], depth = 4): Rule {
  const n1 = points.reduce((sum, point) => sum + point[2], 0);
  const p = share(points.length - n1, n1, 0.5);
  if (!depth || points.length < 4 || n1 === 0 || n1 === points.length) return () => p;
  const impurity = (n: number, ones: number) => (n ? 2 * ones * (1 - ones / n) : 0);
  let best = { value: impurity(points.length, n1) - 1e-9, j: -1, cut: 0 };
  for (const j of [0, 1]) {
    const sorted = [...points].sort((a, b) => a[j] - b[j]);
    let ones = 0;
    for (let i = 1; i < sorted.length; i++) {
      ones += sorted[i - 1][2];
      if (sorted[i][j] === sorted[i - 1][j]) continue;
      const value = impurity(i, ones) + impurity(sorted.length - i, n1 - ones);
      if (value < best.value) best = { value, j, cut: (sorted[i][j] + sorted[i - 1][j]) / 2 };
    }
  }
  if (best.j < 0) return () => p;
  const [low, high] = [points.filter((point) => point[best.j] <= best.cut), points.filter((point) => point[best.j] > best.cut)].map((part) => tree(part, depth - 1));
  return (x, y) => ((best.j ? y : x) <= best.cut ? low : high)(x, y);
}

/** The share of class 1 among the five nearest points. */
export function neighbors(points: Point[], k = 5): Rule {
  return (x, y) => {
    const distances: [number, number][] = [];
    for (const [a, b, label] of points) {
      const d = (a - x) ** 2 + (b - y) ** 2;
      if (distances.length === k && d >= distances[k - 1][0]) continue;
      let at = distances.length;
      while (at > 0 && distances[at - 1][0] > d) at--;
      distances.splice(at, 0, [d, label]);
      distances.length = Math.min(distances.length, k);
    }
    return distances.length ? distances.reduce((sum, [, label]) => sum + label, 0) / distances.length : 0.5;
  };
}

const MODELS: [string, (points: Point[]) => Rule][] = [["Naive Bayes", naiveBayes], ["TAN", tan], ["Tree", tree], ["5 nearest neighbors", neighbors]];

/** Standard normal by Box and Muller. */
const bell = (random: () => number): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const inside = (v: number): number => Math.min(0.999, Math.max(0, v));

export const SHAPES: Record<string, (random: () => number) => Point> = {
  "two clouds": (random) => {
    const c = +(random() < 0.5);
    return [inside(0.33 + 0.34 * c + 0.12 * bell(random)), inside(0.35 + 0.3 * c + 0.12 * bell(random)), c];
  },
  diagonal: (random) => {
    const [c, t] = [+(random() < 0.5), 0.1 + 0.8 * random()];
    return [inside(t + 0.03 * bell(random)), inside(t + (c ? 0.12 : -0.12) + 0.05 * bell(random)), c];
  },
  "exclusive or": (random) => {
    const [x, y] = [random(), random()];
    return [x, y, +((x > 0.5) !== (y > 0.5))];
  },
  ring: (random) => {
    const [c, angle] = [+(random() < 0.5), 2 * Math.PI * random()];
    const radius = c ? 0.34 + 0.03 * bell(random) : Math.abs(0.12 * bell(random));
    return [inside(0.5 + radius * Math.cos(angle)), inside(0.5 + radius * Math.sin(angle)), c];
  },
};

const SIZE = 64;

function Region({ name, points, fit, add }: { name: string; points: Point[]; fit: (points: Point[]) => Rule; add: (x: number, y: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const rule = useMemo(() => fit(points), [points]);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const image = context.createImageData(SIZE, SIZE);
    for (let i = 0; i < SIZE; i++)
      for (let j = 0; j < SIZE; j++) {
        const p = rule((j + 0.5) / SIZE, 1 - (i + 0.5) / SIZE);
        const strength = Math.abs(2 * p - 1);
        const [r, g, b] = p > 0.5 ? [214, 96, 62] : [44, 125, 178];
        image.data.set([r, g, b, 40 + 150 * strength], 4 * (i * SIZE + j));
      }
    context.putImageData(image, 0, 0);
  }, [rule]);
  const [cross, move] = useState<[number, number] | null>(null);
  const press = (e: KeyboardEvent) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key];
    if (!cross || (!by && e.key !== "Enter")) return;
    e.preventDefault();
    if (by) move([inside(cross[0] + by[0] / 50), inside(cross[1] + by[1] / 50)]);
    else add(...cross);
  };
  const right = points.filter(([x, y, label]) => +(rule(x, y) > 0.5) === label).length;
  return (
    <figure class="region">
      <figcaption>{name}</figcaption>
      <div class="plane" tabIndex={0} role="group" aria-label={`${name}: arrow keys move a cross, Enter adds a point`} onFocus={() => move([0.5, 0.5])} onBlur={() => move(null)} onKeyDown={press}
        onClick={(e) => {
          const box = e.currentTarget.getBoundingClientRect();
          add((e.clientX - box.left) / box.width, 1 - (e.clientY - box.top) / box.height);
        }}>
        <canvas ref={canvas} width={SIZE} height={SIZE} />
        <svg viewBox="0 0 100 100" role="img" aria-label={`Regions of ${name}: ${right} of ${points.length} points correct`}>
          {points.map(([x, y, label], i) => (label
            ? <rect key={i} x={100 * x - 1.3} y={100 - 100 * y - 1.3} width="2.6" height="2.6" class="one" />
            : <circle key={i} cx={100 * x} cy={100 - 100 * y} r="1.5" class="zero" />))}
          {cross && <path d={`M${100 * cross[0] - 4} ${100 - 100 * cross[1]}h8m-4-4v8`} class="cross" />}
        </svg>
      </div>
      <p class="note">{right} of {points.length} points correct</p>
    </figure>
  );
}

interface Scene {
  shape: string;
  seed: number;
  /** True where the points of the shape are removed. */
  bare: boolean;
  added: Point[];
}

function fromLink(): Scene {
  const link = readLink();
  const shape = link.get("shape") ?? "";
  const added = (link.get("points") ?? "").split(",").map((text) => text.split(" ").map(Number)).filter((point) => point.length === 3 && point.every(Number.isFinite));
  return {
    shape: Object.hasOwn(SHAPES, shape) ? shape : "diagonal", seed: Math.trunc(Number(link.get("seed") ?? 1)) || 1, bare: link.has("bare"),
    added: added.map(([x, y, label]): Point => [inside(x / 1000), inside(y / 1000), +(label > 0)]),
  };
}

export function RegionsPage() {
  const [scene, set] = useState(fromLink);
  const [label, choose] = useState(1);
  useEffect(() => {
    const restore = () => set(fromLink());
    addEventListener("hashchange", restore);
    return () => removeEventListener("hashchange", restore);
  }, []);
  const change = (part: Partial<Scene>) => {
    const next = { ...scene, ...part };
    set(next);
    const link = new URLSearchParams({ shape: next.shape, seed: String(next.seed) });
    if (next.bare) link.set("bare", "");
    if (next.added.length) link.set("points", next.added.map(([x, y, of]) => `${Math.round(1000 * x)} ${Math.round(1000 * y)} ${of}`).join(","));
    writeLink(link);
  };
  const points = useMemo(() => {
    const random = generator(scene.seed);
    return [...Array.from({ length: scene.bare ? 0 : 120 }, () => SHAPES[scene.shape](random)), ...scene.added];
  }, [scene]);
  const start = (shape: string, seed: number) => change({ shape, seed, bare: false, added: [] });
  return (
    <Card title="Decision regions">
      <p class="tools">
        {Object.keys(SHAPES).map((shape) => <button key={shape} type="button" aria-pressed={shape === scene.shape} onClick={() => start(shape, scene.seed)}>{shape}</button>)}
        <button type="button" onClick={() => start(scene.shape, scene.seed + 1)}>New sample</button>
        <button type="button" onClick={() => change({ bare: true, added: [] })}>Clear all</button>
      </p>
      <p class="tools">A click adds a point of
        {["circles", "squares"].map((name, of) => <button key={name} type="button" aria-pressed={label === of} onClick={() => choose(of)}>{name}</button>)}
      </p>
      <div class="regions">
        {MODELS.map(([name, fit]) => <Region key={name} name={name} points={points} fit={fit} add={(x, y) => change({ added: [...scene.added, [inside(x), inside(y), label]] })} />)}
      </div>
      <p class="note">The stronger the color, the more certain the model. TAN uses six intervals of each coordinate; the tree has at most four levels.</p>
    </Card>
  );
}
