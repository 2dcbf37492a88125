import { Component } from "preact";
import type { Column } from "./classifier";
import { percent, short } from "./bars";
import * as s from "./score";

const MOST_AXES = 20;
const GRID = 60;
const REACH = 12; // log odds at which a ruler ends; P = 0.999994
const PAD = 0.1; // of the longest ruler, between the possible values and an impossible one
const NARROW = 560; // pixels; below, the name of a column stands above its ruler

interface Props {
  form: s.Form;
  /** Terms of one column each. */
  terms: s.Term[];
  columns: Column[];
  row: s.Row;
  alpha: number | null;
  /** What missing parents add to the terms. */
  rest: number[] | null;
  a: number;
  b: number;
  set: (name: string, cell: s.Cell) => void;
}

/** A labeled value of a ruler; labels of falling parts of a ruler stand above it, the others below. */
interface Mark {
  points: number;
  text: string;
  side: number;
}

interface Label {
  odds: number;
  text: string;
  side: number;
}

interface Axis {
  column: Column;
  cells: number[];
  points: number[];
  length: number;
  at: number;
  marks: Mark[];
}

/** Points of every value for class a against b; the points of the row can be dragged. */
export class Nomogram extends Component<Props, { width: number }> {
  state = { width: 720 };
  drag: Axis | null = null;
  rulers = new Map<s.Term, { key: string; odds: number[]; labels: Label[] }>();
  svg: SVGSVGElement | null = null;
  observer = new ResizeObserver(([entry]) => this.setState({ width: Math.max(280, Math.floor(entry.contentRect.width)) }));

  componentDidMount(): void {
    this.observer.observe(this.svg!.parentElement!);
  }

  componentWillUnmount(): void {
    this.observer.disconnect();
  }

  /** Return the left end and the length of the rulers, and the height of one. */
  layout(): { left: number; span: number; height: number } {
    const { width } = this.state;
    return width < NARROW ? { left: 24, span: width - 56, height: 68 } : { left: 172, span: width - 222, height: 46 };
  }

  odds(term: s.Term, cell: s.Cell): number {
    const { form, alpha, a, b } = this.props;
    const z = s.termScores(term, { ...this.props.row, [term.column]: cell }, form.classes.length, alpha);
    return z[a] === z[b] ? 0 : (z[a] - z[b]) / form.temperature;
  }

  /** Log odds of the cells and the labels of a ruler; only those of a column with parents depend on the row. */
  ruler(term: s.Term, column: Column, cells: number[]): { odds: number[]; labels: Label[] } {
    const { form, alpha, a, b } = this.props;
    const key = `${alpha} ${a} ${b} ${form.temperature}`;
    const known = this.rulers.get(term);
    if (known?.key === key && term.kind !== "contexts") return known;
    const odds = cells.map((cell) => this.odds(term, cell));
    const labels = column.kind === "choice"
      ? column.labels.map((label, i) => ({ odds: odds[i], text: Number.isFinite(odds[i]) ? clip(label, 14) : `${clip(label, 14)} (${short(odds[i])})`, side: 0 }))
      : roundValues(...ends(cells, odds), column.step).map((x) => {
          const at = this.odds(term, x);
          return { odds: at, text: short(x), side: this.odds(term, x + column.step) < at ? -1 : 1 };
        });
    const found = { key, odds, labels };
    this.rulers.set(term, found);
    return found;
  }

  axes(): { axes: Axis[]; scale: number; total: number; offset: number; hidden: number; cut: boolean } {
    const { form, terms, columns, row, rest, a, b } = this.props;
    const byName = new Map(columns.map((column) => [column.name, column]));
    const clamp = (odds: number) => Math.max(-REACH, Math.min(REACH, odds));
    const parts = terms.map((term) => {
      const column = byName.get(term.column)!;
      const cells = column.kind === "choice"
        ? column.labels.map((_, i) => i + 1)
        : numbersOf(column);
      const { odds, labels } = this.ruler(term, column, cells);
      const finite = [...odds, ...labels.map((label) => label.odds), this.odds(term, null)].filter(Number.isFinite).map(clamp);
      const low = finite.length ? Math.min(...finite) : 0;
      const high = finite.length ? Math.max(...finite) : 0;
      return { column, cells, odds, labels, low, high, own: this.odds(term, row[term.column] ?? null) };
    });
    // An impossible value stands at the end of its ruler, apart from the others.
    const pad = PAD * Math.max(...parts.map((part) => part.high - part.low)) || 1;
    for (const part of parts) {
      if (part.odds.includes(-Infinity)) part.low -= pad;
      if (part.odds.includes(Infinity)) part.high += pad;
    }
    const scale = 100 / Math.max(1e-9, ...parts.map((part) => part.high - part.low));
    parts.sort((x, y) => y.high - y.low - (x.high - x.low));
    const axes = parts.slice(0, MOST_AXES).map((part) => {
      const points = (odds: number) => ((Number.isFinite(odds) ? clamp(odds) : odds < 0 ? part.low : part.high) - part.low) * scale;
      const marks = part.labels.filter((label) => part.column.kind === "choice" || Math.abs(label.odds) <= REACH)
        .map((label) => ({ points: points(label.odds), text: label.text, side: label.side }));
      return { column: part.column, cells: part.cells, marks, points: part.odds.map(points), length: (part.high - part.low) * scale, at: points(part.own) };
    });
    const others = form.terms.filter((term) => !terms.includes(term)).reduce((sum, term) => sum + this.odds(term, row[term.column] ?? null), 0);
    const of = (z: (number | null)[]) => ((z[a] ?? -Infinity) - (z[b] ?? -Infinity)) / form.temperature;
    const base = others + of(form.base) + (rest ? of(rest) : 0);
    const offset = base + parts.reduce((sum, part) => sum + part.low, 0);
    const total = parts.reduce((sum, part) => sum + (part.own - part.low) * scale, 0);
    const cut = parts.some((part) => part.odds.some((o) => Number.isFinite(o) && Math.abs(o) > REACH));
    return { axes, scale, total, offset, hidden: parts.length - axes.length, cut };
  }

  move = (event: PointerEvent): void => {
    if (!this.drag || !this.svg) return;
    const box = this.svg.getBoundingClientRect();
    const { left, span } = this.layout();
    this.pick(this.drag, ((event.clientX - box.left - left) / span) * 100);
  };

  pick(axis: Axis, points: number): void {
    let found = 0;
    axis.points.forEach((p, i) => {
      if (Math.abs(p - points) < Math.abs(axis.points[found] - points)) found = i;
    });
    this.props.set(axis.column.name, axis.cells[found]);
  }

  step(axis: Axis, event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") this.props.set(axis.column.name, null);
    if (!by) return;
    event.preventDefault();
    const cell = this.props.row[axis.column.name] as number | null;
    const now = cell === null ? -1 : axis.cells.reduce((best, c, i) => (Math.abs(c - cell) < Math.abs(axis.cells[best] - cell) ? i : best), 0);
    const next = cell === null ? 0 : Math.min(axis.cells.length - 1, Math.max(0, now + by));
    this.props.set(axis.column.name, axis.cells[next]);
  }

  render() {
    const { form, row, a, b } = this.props;
    const { axes, scale, total, offset, hidden, cut } = this.axes();
    const { width } = this.state;
    const { left, span, height } = this.layout();
    const narrow = width < NARROW;
    const x = (points: number) => left + (span * Math.min(105, Math.max(-5, points))) / 100;
    const y0 = axes.length * height + (narrow ? 44 : 30);
    const name = (y: number, text: string) => (
      <text x={narrow ? 0 : left - 36} y={narrow ? y - 25 : y + 4} class="label" text-anchor={narrow ? "start" : "end"}>{clip(text, narrow ? 40 : 17)}</text>
    );
    const most = Math.max(1, axes.reduce((sum, axis) => sum + axis.length, 0));
    const onTotal = (points: number) => left + (span * Math.min(most, Math.max(0, points))) / most;
    const chance = (points: number) => 1 / (1 + Math.exp(-(offset + points / scale)));
    const [least, largest] = [chance(0), chance(most)];
    const usual = [0.5, 0.01, 0.99, 0.1, 0.9, 0.25, 0.75].filter((p) => p >= least && p <= largest);
    const chances = spread((usual.length > 2 ? usual : roundValues(least, largest, 1e-6).filter((p) => p > 0 && p < 1)).map((p) => (
      { at: onTotal((Math.log(p / (1 - p)) - offset) * scale), text: String(p), side: 1 })));
    return (
      <div>
        <svg ref={(e: SVGSVGElement | null) => { this.svg = e; }} class="nomogram" width={width} height={y0 + 46}
          onPointerMove={this.move} onPointerUp={() => { this.drag = null; }} onPointerLeave={() => { this.drag = null; }}>
          {axes.map((axis, i) => {
            const y = i * height + (narrow ? 44 : 24);
            const cell = (row[axis.column.name] ?? null) as number | null;
            const value = cell === null ? "missing" : axis.column.kind === "choice" ? (axis.column.labels[cell - 1] ?? "(never seen)") : short(cell);
            return (
              <g key={axis.column.name}>
                {name(y, axis.column.name)}
                <line x1={x(0)} x2={x(axis.length)} y1={y} y2={y} class="axis" />
                {spread(axis.marks.map((mark) => ({ ...mark, at: x(mark.points) }))).map(({ at, text, side }) => (
                  <g><line x1={at} x2={at} y1={y} y2={y + 5 * side} class="axis" />
                    <text x={Math.max(at, (narrow ? 0 : left - 32) + 3.2 * text.length)} y={side < 0 ? y - 8 : y + 18} class="tick" text-anchor="middle">{text}</text></g>
                ))}
                <circle cx={x(axis.at)} cy={y} r="7" class={cell === null ? "dot none" : "dot"} tabindex={0} role="slider"
                  aria-label={axis.column.name} aria-valuetext={`${value}, ${short(axis.at)} points`} aria-valuenow={+axis.at.toFixed(1)} aria-valuemin={0} aria-valuemax={100}
                  onPointerDown={(e) => { this.drag = axis; e.preventDefault(); (e.currentTarget as unknown as SVGElement).focus(); }} onKeyDown={(e) => this.step(axis, e)}>
                  <title>{`${axis.column.name} ${value}: ${short(axis.at)} points`}</title></circle>
              </g>
            );
          })}
          {name(y0, "total")}
          <line x1={left} x2={left + span} y1={y0} y2={y0} class="axis" />
          {chances.map(({ at, text }) => <g><line x1={at} x2={at} y1={y0} y2={y0 + 6} class="axis" /><text x={at} y={y0 + 20} class="tick" text-anchor="middle">{text}</text></g>)}
          {Number.isFinite(total) && <circle cx={onTotal(total)} cy={y0} r="7" class="dot sum" />}
          <text x={left} y={y0 + 38} class="tick">{`P(${clip(form.classes[a], 24)}) against ${clip(form.classes[b], 24)} = ${percent(chance(total))}`}</text>
        </svg>
        {cut && <p class="note">Rulers are cut at log odds of ±{REACH}; the total includes all evidence.</p>}
        {hidden > 0 && <p class="note">The {MOST_AXES} longest rulers; the total includes {hidden} more columns.</p>}
      </div>
    );
  }
}

const clip = (text: string, n: number): string => (text.length > n ? `${text.slice(0, n - 1)}…` : text);

/** Return at most GRID + 1 multiples of the step of a column. */
function numbersOf({ low, high, step }: Column): number[] {
  const stride = step * Math.max(1, Math.ceil((high - low) / step / GRID));
  return Array.from({ length: Math.floor((high - low) / stride + 1e-9) + 1 }, (_, i) => Number((low + i * stride).toPrecision(12)));
}

/** Return the first and the last number whose evidence a ruler shows. */
function ends(cells: number[], odds: number[]): [number, number] {
  const inside = cells.filter((_, i) => Math.abs(odds[i]) <= REACH);
  return inside.length > 1 ? [inside[0], inside[inside.length - 1]] : [cells[0], cells[cells.length - 1]];
}

/** Return about five round numbers between two, at least a step apart. */
export function roundValues(low: number, high: number, least: number): number[] {
  const rough = Math.log10((high - low) / 5);
  const [power, rest] = [10 ** Math.floor(rough), 10 ** (rough - Math.floor(rough))];
  const step = Math.max(least, power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10));
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Return the labels that do not overlap; those of side 0 stand above the line, or below it where there is more room. */
function spread<T extends { at: number; text: string; side: number }>(wanted: T[]): T[] {
  const taken = new Map([-1, 1].map((side) => [side, [] as [number, number][]]));
  return wanted.flatMap((mark) => {
    const half = (mark.text.length * 6 + 8) / 2;
    const free = (k: number) => taken.get(k)!.every(([low, high]) => mark.at + half < low || mark.at - half > high);
    const side = (mark.side ? [mark.side] : [-1, 1]).find(free);
    if (!side) return [];
    taken.get(side)!.push([mark.at - half, mark.at + half]);
    return [{ ...mark, side }];
  });
}
