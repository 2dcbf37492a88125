/** Lessons: Bayes' rule, a Beta belief, and two densities with costs. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { percent, short } from "./bars";
import { readLink, writeLink } from "./link";

/** Numbers of a lesson by name, which the link restores. */
export function useNumbers<T extends Record<string, number>>(start: T): [T, (part: Partial<T>) => void] {
  const read = (): T => {
    const link = readLink();
    const given = (name: string) => (link.get(name) === null ? NaN : Number(link.get(name)));
    return Object.fromEntries(Object.entries(start).map(([name, x]) => [name, Number.isFinite(given(name)) ? given(name) : x])) as T;
  };
  const [numbers, set] = useState(read);
  useEffect(() => {
    const restore = () => set(read());
    addEventListener("hashchange", restore);
    return () => removeEventListener("hashchange", restore);
  }, []);
  const change = (part: Partial<T>) => {
    const next = { ...numbers, ...part };
    set(next);
    writeLink(new URLSearchParams(Object.entries(next).map(([name, x]) => [name, String(x)])));
  };
  return [numbers, change];
}

export function Slider(props: { label: string; value: number; min: number; max: number; step: number; show?: (x: number) => string; set: (x: number) => void }) {
  const { label, value, min, max, step, set } = props;
  return (
    <div class="slider">
      <label>{label} <output>{(props.show ?? short)(value)}</output></label>
      <input type="range" aria-label={label} min={min} max={max} step={step} value={value} onInput={(e) => set(e.currentTarget.valueAsNumber)} />
    </div>
  );
}

export const Card = (props: { title: string; children: ComponentChildren; wide?: boolean }) => (
  <section class={props.wide ? "card wide" : "card"} aria-label={props.title}><h2>{props.title}</h2>{props.children}</section>
);

const WIDTH = 600;
const HEIGHT = 260;
const FOOT = 54; // of the chart, below its axis

interface Curve {
  points: [number, number][];
  kind: string;
}

/** Curves over an axis; `x` and `y` are the ranges of the axes; `up` names the vertical one and gives it numbers. */
export function Chart(props: { label: string; x: [number, number]; y: [number, number]; curves: Curve[]; across?: string; up?: string; children?: (x: (v: number) => number, y: (v: number) => number) => ComponentChildren }) {
  const { x: [x0, x1], y: [y0, y1] } = props;
  const left = props.up ? 56 : 36;
  const x = (v: number) => left + ((WIDTH - 16 - left) * (v - x0)) / (x1 - x0);
  const y = (v: number) => HEIGHT - FOOT - ((HEIGHT - FOOT - 22) * (Math.min(Math.max(v, y0), y1) - y0)) / (y1 - y0);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((t) => x0 + t * (x1 - x0));
  const path = ({ points, kind }: Curve) => {
    const line = points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L");
    return kind.startsWith("area") ? `M${x(points[0][0])} ${y(y0)}L${line}L${x(points[points.length - 1][0])} ${y(y0)}Z` : `M${line}`;
  };
  return (
    <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={props.label}>
      <line x1={x(x0)} x2={x(x1)} y1={y(y0)} y2={y(y0)} class="axis" />
      {props.up && [0, 0.25, 0.5, 0.75, 1].map((t) => y0 + t * (y1 - y0)).map((t) => (
        <g key={t}><line x1={x(x0)} x2={x(x1)} y1={y(t)} y2={y(t)} class="grid" /><text x={x(x0) - 8} y={y(t) + 5} class="tick" text-anchor="end">{short(t)}</text></g>
      ))}
      {props.up && <text x={x(x0)} y="10" class="tick">{props.up}</text>}
      {ticks.map((t) => <text key={t} x={x(t)} y={HEIGHT - FOOT + 24} class="tick" text-anchor="middle">{short(t)}</text>)}
      {props.curves.map((curve, i) => curve.points.length > 0 && <path key={i} d={path(curve)} class={`curve ${curve.kind}`} />)}
      {props.across && <text x={x(x1)} y={HEIGHT - 4} class="tick" text-anchor="end">{props.across}</text>}
      {props.children?.(x, y)}
    </svg>
  );
}

const grid = (a: number, b: number, n: number): number[] => Array.from({ length: n + 1 }, (_, i) => a + ((b - a) * i) / n);

// -- Bayes' rule -----------------------------------------------------------------------------------

/** P(ill | so many positive tests), the tests independent given the condition. */
export function afterTests(prior: number, sensitivity: number, alarms: number, tests: number): number {
  const ill = prior * sensitivity ** tests;
  const well = (1 - prior) * alarms ** tests;
  return ill + well > 0 ? ill / (ill + well) : prior;
}

const DOTS = 1000;
const COLUMNS = 50;

export function RulePage() {
  const [n, set] = useNumbers({ prior: 0.01, sensitivity: 0.9, alarms: 0.09, tests: 1 });
  const tests = Math.min(3, Math.max(1, Math.round(n.tests)));
  const ill = Math.round(DOTS * n.prior);
  const found = Math.round(ill * n.sensitivity ** tests);
  const alarmed = Math.round((DOTS - ill) * n.alarms ** tests);
  const after = afterTests(n.prior, n.sensitivity, n.alarms, tests);
  const dot = (i: number) => (i < ill ? (i < found ? "ill positive" : "ill") : i - ill < alarmed ? "well positive" : "well");
  const [a, b] = [n.prior * n.sensitivity ** tests, (1 - n.prior) * n.alarms ** tests];
  const power = tests > 1 ? ` ^ ${tests}` : "";
  return (
    <div class="play">
      <Card title="Before and after the test">
        <Slider label="Prior P(ill)" value={n.prior} min={0.001} max={0.999} step={0.001} show={percent} set={(prior) => set({ prior })} />
        <Slider label="Sensitivity P(positive | ill)" value={n.sensitivity} min={0} max={1} step={0.01} show={percent} set={(sensitivity) => set({ sensitivity })} />
        <Slider label="False alarms P(positive | well)" value={n.alarms} min={0} max={1} step={0.01} show={percent} set={(alarms) => set({ alarms })} />
        <p class="tools">
          <button type="button" disabled={tests === 3} onClick={() => set({ tests: tests + 1 })}>{tests === 1 ? "Second" : "Third"} positive test</button>
          <button type="button" disabled={tests === 1} onClick={() => set({ tests: 1 })}>One test</button>
        </p>
        <p class="large" aria-live="polite">P(ill | {tests === 1 ? "positive" : `${tests} positive`}) = <b>{percent(after)}</b></p>
        <p class="note">{short(n.prior)} · {short(n.sensitivity)}{power} / ({short(n.prior)} · {short(n.sensitivity)}{power} + {short(1 - n.prior)} · {short(n.alarms)}{power}) = {short(a)} / {short(a + b)}</p>
      </Card>
      <Card title="1,000 people">
        <svg class="dots" viewBox="0 0 500 200" role="img" aria-label={`${found} ill and ${alarmed} well people test positive`}>
          {Array.from({ length: DOTS }, (_, i) => <circle key={i} cx={(i % COLUMNS) * 10 + 5} cy={Math.floor(i / COLUMNS) * 10 + 5} r="3.6" class={dot(i)} />)}
        </svg>
        <p class="legend"><span><i class="ill positive" />ill, positive: {found}</span><span><i class="ill" />ill, negative: {ill - found}</span>
          <span><i class="well positive" />well, positive: {alarmed}</span><span><i class="well" />well, negative: {DOTS - ill - alarmed}</span></p>
        <p class="note">Of {found + alarmed} who test positive, {found} are ill.</p>
      </Card>
      <Card title="Posterior by prior" wide>
        <Chart label="P(ill) after the tests by P(ill) before" x={[0, 1]} y={[0, 1]} across="prior" up="posterior" curves={[
          { points: [[0, 0], [1, 1]], kind: "faint" },
          { points: grid(0, 1, 200).map((p) => [p, afterTests(p, n.sensitivity, n.alarms, tests)]), kind: "main" },
        ]}>{(x, y) => <circle cx={x(n.prior)} cy={y(after)} r="6" class="dot" />}</Chart>
      </Card>
    </div>
  );
}

// -- A Beta belief ---------------------------------------------------------------------------------

/** Density of Beta(a, b) at the middles of n cells, normalized by their sum; and the ends of its central 95%. */
export function betaCells(a: number, b: number, n = 1000): { density: number[]; low: number; high: number } {
  const logs = Array.from({ length: n }, (_, i) => (a - 1) * Math.log((i + 0.5) / n) + (b - 1) * Math.log(1 - (i + 0.5) / n));
  const top = Math.max(...logs);
  const shares = logs.map((log) => Math.exp(log - top));
  const whole = shares.reduce((sum, share) => sum + share, 0);
  const quantile = (q: number) => {
    let sum = 0;
    const cell = shares.findIndex((share) => (sum += share / whole) >= q);
    return (cell + 1 - (sum - q) / (shares[cell] / whole)) / n;
  };
  return { density: shares.map((share) => (share * n) / whole), low: quantile(0.025), high: quantile(0.975) };
}

export function BetaPage() {
  const [n, set] = useNumbers({ a: 1, b: 1, heads: 0, tails: 0 });
  const [last, remember] = useState<("heads" | "tails")[]>([]);
  const [a, b] = [Math.max(n.a, 0.5) + n.heads, Math.max(n.b, 0.5) + n.tails];
  const [before, after] = [betaCells(Math.max(n.a, 0.5), Math.max(n.b, 0.5)), betaCells(a, b)];
  const top = Math.max(2, ...after.density.slice(5, -5));
  const points = (density: number[]): [number, number][] => density.map((d, i) => [(i + 0.5) / density.length, d]);
  const toss = (side: "heads" | "tails") => {
    remember([...last, side]);
    set({ [side]: n[side] + 1 });
  };
  const undo = () => {
    const side = last[last.length - 1];
    remember(last.slice(0, -1));
    set({ [side]: n[side] - 1 });
  };
  return (
    <div class="play">
      <Card title="Toss the coin">
        <p class="tools">
          <button type="button" class="big" onClick={() => toss("heads")}>Heads</button>
          <button type="button" class="big" onClick={() => toss("tails")}>Tails</button>
          <button type="button" disabled={!last.length} onClick={undo}>Undo</button>
          <button type="button" onClick={() => { remember([]); set({ heads: 0, tails: 0 }); }}>Clear all</button>
        </p>
        <p>Heads: {n.heads}, tails: {n.tails}</p>
        <Slider label="Heads of the prior, a" value={n.a} min={0.5} max={50} step={0.5} set={(x) => set({ a: x })} />
        <Slider label="Tails of the prior, b" value={n.b} min={0.5} max={50} step={0.5} set={(x) => set({ b: x })} />
      </Card>
      <Card title="Posterior">
        <p class="large" aria-live="polite">Beta({short(a)}, {short(b)})</p>
        <p>P(next is heads) = {short(a)} / {short(a + b)} = <b>{short(a / (a + b))}</b></p>
        <p>With probability 95%, the share of heads lies between {short(after.low)} and {short(after.high)}.</p>
        <p class="note">Observed share of heads: {n.heads + n.tails ? short(n.heads / (n.heads + n.tails)) : "no toss yet"}. The prior counts as {short(n.a + n.b)} earlier tosses with {short(n.a)} heads.</p>
      </Card>
      <Card title="Density of the share of heads" wide>
        <Chart label="Prior and posterior density" x={[0, 1]} y={[0, top]} across="share of heads" curves={[
          { points: points(after.density).filter(([x]) => x >= after.low && x <= after.high), kind: "area" },
          { points: points(before.density), kind: "faint" },
          { points: points(after.density), kind: "main" },
        ]} />
        <p class="note">Gray: prior. Blue: posterior, with its central 95% filled.</p>
      </Card>
    </div>
  );
}

// -- Two densities ---------------------------------------------------------------------------------

const normal = (x: number, mean: number, deviation: number): number => Math.exp(-0.5 * ((x - mean) / deviation) ** 2) / (deviation * Math.sqrt(2 * Math.PI));

/** P(mistake), the cost and the points where the decision turns, for two normals over a grid. */
export function decide(p: { m1: number; s1: number; m2: number; s2: number; prior: number; miss: number; alarm: number }, low: number, high: number, n = 4000) {
  const step = (high - low) / n;
  const turns: number[] = [];
  let [mistake, cost, before] = [0, 0, null as boolean | null];
  for (let i = 0; i < n; i++) {
    const x = low + (i + 0.5) * step;
    const [first, second] = [(1 - p.prior) * normal(x, p.m1, p.s1), p.prior * normal(x, p.m2, p.s2)];
    const says = second * p.miss > first * p.alarm;
    mistake += (says ? first : second) * step;
    cost += (says ? first * p.alarm : second * p.miss) * step;
    if (before !== null && says !== before) turns.push(low + i * step);
    before = says;
  }
  return { mistake, cost, turns, saysAt: (x: number) => p.prior * normal(x, p.m2, p.s2) * p.miss > (1 - p.prior) * normal(x, p.m1, p.s1) * p.alarm };
}

export function DensitiesPage() {
  const [n, set] = useNumbers({ m1: 4, s1: 1, m2: 7, s2: 1.5, prior: 0.5, miss: 1, alarm: 1 });
  const [low, high] = [0, 12];
  const p = { ...n, s1: Math.max(n.s1, 0.2), s2: Math.max(n.s2, 0.2) };
  const { mistake, cost, turns, saysAt } = decide(p, low - 20, high + 20, 12000);
  const xs = grid(low, high, 400);
  const [first, second] = [(x: number) => (1 - p.prior) * normal(x, p.m1, p.s1), (x: number) => p.prior * normal(x, p.m2, p.s2)];
  const top = 1.1 * Math.max(...xs.map((x) => Math.max(first(x), second(x))));
  const drag = useRef<"m1" | "m2" | null>(null);
  const move = (e: PointerEvent & { currentTarget: Element }) => {
    if (!drag.current) return;
    const box = e.currentTarget.getBoundingClientRect();
    const at = ((e.clientX - box.left) / box.width) * WIDTH;
    set({ [drag.current]: +Math.min(high, Math.max(low, low + ((high - low) * (at - 36)) / (WIDTH - 52))).toFixed(2) });
  };
  const peak = (key: "m1" | "m2", x: (v: number) => number, y: (v: number) => number, f: (v: number) => number, name: string, kind: string) => (
    <circle cx={x(p[key])} cy={y(f(p[key]))} r="9" class={`dot ${kind}`} tabindex={0} role="slider" aria-label={name} aria-valuenow={p[key]} aria-valuemin={low} aria-valuemax={high}
      onPointerDown={(e) => { drag.current = key; e.preventDefault(); }}
      onKeyDown={(e) => { const by = { ArrowRight: 0.1, ArrowUp: 0.1, ArrowLeft: -0.1, ArrowDown: -0.1 }[e.key]; if (by) { e.preventDefault(); set({ [key]: +Math.min(high, Math.max(low, p[key] + by)).toFixed(2) }); } }} />
  );
  const inside = turns.filter((t) => t > low && t < high);
  return (
    <div class="play">
      <Card title="Densities of two classes" wide>
        <div onPointerMove={move} onPointerUp={() => { drag.current = null; }} onPointerLeave={() => { drag.current = null; }}>
          <Chart label="Density of each class times its prior" x={[low, high]} y={[0, top]} curves={[
            { points: xs.map((x) => [x, saysAt(x) ? first(x) : second(x)]), kind: "area mistake" },
            { points: xs.map((x) => [x, first(x)]), kind: "main" },
            { points: xs.map((x) => [x, second(x)]), kind: "second" },
          ]}>{(x, y) => (
            <>
              {inside.map((t) => <g key={t}><line x1={x(t)} x2={x(t)} y1="8" y2={y(0)} class="boundary" /><text x={x(t) + 4} y="18" class="tick">{short(+t.toFixed(2))}</text></g>)}
              {peak("m1", x, y, first, "Mean of class 1", "")}
              {peak("m2", x, y, second, "Mean of class 2", "second")}
            </>
          )}</Chart>
        </div>
        <p class="note">Drag the peaks, or move them with the arrow keys. The filled area is P(mistake): the density of the class that is not chosen.</p>
      </Card>
      <Card title="Decision">
        <p class="large" aria-live="polite">P(mistake) = <b>{percent(mistake)}</b></p>
        <p>Expected cost {short(+cost.toPrecision(4))}. {inside.length ? `Decision ${inside.length > 1 ? "boundaries" : "boundary"}: ${inside.map((t) => short(+t.toFixed(2))).join(" and ")}.` : `The decision is always class ${saysAt((low + high) / 2) ? 2 : 1} in this range.`}</p>
        <Slider label="Prior of class 2" value={n.prior} min={0.01} max={0.99} step={0.01} show={percent} set={(prior) => set({ prior })} />
        <Slider label="Cost of missing class 2" value={n.miss} min={0.1} max={20} step={0.1} set={(miss) => set({ miss })} />
        <Slider label="Cost of a false alarm" value={n.alarm} min={0.1} max={20} step={0.1} set={(alarm) => set({ alarm })} />
      </Card>
      <Card title="Standard deviations">
        <Slider label="Class 1" value={p.s1} min={0.2} max={4} step={0.1} set={(s1) => set({ s1 })} />
        <Slider label="Class 2" value={p.s2} min={0.2} max={4} step={0.1} set={(s2) => set({ s2 })} />
        <p class="note">Equal standard deviations give at most one decision boundary, different ones up to two.</p>
      </Card>
    </div>
  );
}
