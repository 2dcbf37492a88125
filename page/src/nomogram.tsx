import { Component } from "preact";
import type { Column } from "./classifier";
import { percent, short } from "./bars";
import * as s from "./score";

const MOST_AXES = 20;
const GRID = 60;
const NARROW = 560; // pixels; below, the name of a column stands above its ruler

interface Props {
  form: s.Form;
  /** Terms of one column each. */
  terms: s.Term[];
  columns: Column[];
  row: s.Row;
  alpha: number | null;
  a: number;
  b: number;
  set: (name: string, cell: s.Cell) => void;
}

interface Axis {
  column: Column;
  cells: number[];
  points: number[];
  at: number;
  low: number;
}

/** Points of every value for class a against b; the points of the row can be dragged. */
export class Nomogram extends Component<Props, { width: number }> {
  state = { width: 720 };
  drag: Axis | null = null;
  rulers = new Map<s.Term, { key: string; odds: number[] }>();
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

  /** Log odds of the cells of a ruler; only those of a column with parents depend on the row. */
  ruler(term: s.Term, cells: number[]): number[] {
    const { form, alpha, a, b } = this.props;
    const key = `${alpha} ${a} ${b} ${form.temperature}`;
    const known = this.rulers.get(term);
    if (known?.key === key && term.kind !== "contexts") return known.odds;
    const odds = cells.map((cell) => this.odds(term, cell));
    this.rulers.set(term, { key, odds });
    return odds;
  }

  axes(): { axes: Axis[]; scale: number; total: number; offset: number; hidden: number } {
    const { form, terms, columns, row, a, b } = this.props;
    const byName = new Map(columns.map((column) => [column.name, column]));
    const parts = terms.map((term) => {
      const column = byName.get(term.column)!;
      const cells = column.kind === "choice"
        ? column.labels.map((_, i) => i + 1)
        : Array.from({ length: GRID + 1 }, (_, i) => column.low + ((column.high - column.low) * i) / GRID);
      const odds = this.ruler(term, cells);
      const finite = odds.filter(Number.isFinite);
      const low = finite.length ? Math.min(...finite) : 0;
      const high = finite.length ? Math.max(...finite) : 0;
      return { column, cells, odds, low, high, own: this.odds(term, row[term.column] ?? null) };
    });
    const scale = 100 / Math.max(1e-9, ...parts.map((part) => part.high - part.low));
    parts.sort((x, y) => y.high - y.low - (x.high - x.low));
    const axes = parts.slice(0, MOST_AXES).map((part) => ({
      column: part.column, cells: part.cells, low: part.low,
      points: part.odds.map((o) => (o - part.low) * scale), at: (part.own - part.low) * scale,
    }));
    const others = form.terms.filter((term) => !terms.includes(term)).reduce((sum, term) => sum + this.odds(term, row[term.column] ?? null), 0);
    const base = others + ((form.base[a] ?? -Infinity) - (form.base[b] ?? -Infinity)) / form.temperature;
    const offset = base + parts.reduce((sum, part) => sum + part.low, 0);
    const total = parts.reduce((sum, part) => sum + (part.own - part.low) * scale, 0);
    return { axes, scale, total, offset, hidden: parts.length - axes.length };
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
    this.props.set(axis.column.name, Number(axis.cells[found].toPrecision(6)));
  }

  step(axis: Axis, event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") this.props.set(axis.column.name, null);
    if (!by) return;
    event.preventDefault();
    const cell = this.props.row[axis.column.name] as number | null;
    const now = cell === null ? -1 : axis.cells.reduce((best, c, i) => (Math.abs(c - cell) < Math.abs(axis.cells[best] - cell) ? i : best), 0);
    const next = cell === null ? 0 : Math.min(axis.cells.length - 1, Math.max(0, now + by));
    this.props.set(axis.column.name, Number(axis.cells[next].toPrecision(6)));
  }

  render() {
    const { form, row, a, b } = this.props;
    const { axes, scale, total, offset, hidden } = this.axes();
    const { width } = this.state;
    const { left, span, height } = this.layout();
    const narrow = width < NARROW;
    const x = (points: number) => left + (span * Math.min(105, Math.max(-5, points))) / 100;
    const y0 = axes.length * height + (narrow ? 44 : 30);
    const name = (y: number, text: string) => (
      <text x={narrow ? 0 : left - 36} y={narrow ? y - 25 : y + 4} class="label" text-anchor={narrow ? "start" : "end"}>{clip(text, narrow ? 40 : 17)}</text>
    );
    const most = Math.max(1, ...[axes.reduce((sum, axis) => sum + Math.max(0, ...axis.points.filter(Number.isFinite)), 0)]);
    const onTotal = (points: number) => left + (span * Math.min(most, Math.max(0, points))) / most;
    const chances = spread([0.5, 0.01, 0.99, 0.1, 0.9, 0.25, 0.75].flatMap((p) => {
      const points = (Math.log(p / (1 - p)) - offset) * scale;
      return points >= 0 && points <= most ? [{ at: onTotal(points), text: String(p) }] : [];
    }), [1]);
    return (
      <div>
        <svg ref={(e: SVGSVGElement | null) => { this.svg = e; }} class="nomogram" width={width} height={y0 + 46}
          onPointerMove={this.move} onPointerUp={() => { this.drag = null; }} onPointerLeave={() => { this.drag = null; }}>
          {axes.map((axis, i) => {
            const y = i * height + (narrow ? 44 : 24);
            const cell = (row[axis.column.name] ?? null) as number | null;
            const value = cell === null ? "missing" : axis.column.kind === "choice" ? (axis.column.labels[cell - 1] ?? "(never seen)") : short(cell);
            const finite = axis.points.filter(Number.isFinite);
            return (
              <g key={axis.column.name}>
                {name(y, axis.column.name)}
                <line x1={x(0)} x2={x(Math.max(0, ...finite))} y1={y} y2={y} class="axis" />
                {spread(marks(axis).map((mark) => ({ at: x(mark.points), text: mark.text })), [-1, 1]).map(({ at, text, side }) => (
                  <g><line x1={at} x2={at} y1={y} y2={y + 5 * side} class="axis" />
                    <text x={at} y={side < 0 ? y - 8 : y + 18} class="tick" text-anchor="middle">{text}</text></g>
                ))}
                {Number.isFinite(axis.at) && <circle cx={x(axis.at)} cy={y} r="7" class={cell === null ? "dot none" : "dot"} tabindex={0} role="slider"
                  aria-label={axis.column.name} aria-valuetext={`${value}, ${short(axis.at)} points`} aria-valuenow={+axis.at.toFixed(1)} aria-valuemin={0} aria-valuemax={100}
                  onPointerDown={(e) => { this.drag = axis; e.preventDefault(); (e.currentTarget as unknown as SVGElement).focus(); }} onKeyDown={(e) => this.step(axis, e)}>
                  <title>{`${axis.column.name} ${value}: ${short(axis.at)} points`}</title></circle>}
              </g>
            );
          })}
          {name(y0, "total")}
          <line x1={left} x2={left + span} y1={y0} y2={y0} class="axis" />
          {chances.map(({ at, text }) => <g><line x1={at} x2={at} y1={y0} y2={y0 + 6} class="axis" /><text x={at} y={y0 + 20} class="tick" text-anchor="middle">{text}</text></g>)}
          {Number.isFinite(total) && <circle cx={onTotal(total)} cy={y0} r="7" class="dot sum" />}
          <text x={left} y={y0 + 38} class="tick">{`P(${clip(form.classes[a], 24)}) against ${clip(form.classes[b], 24)}: ${percent(1 / (1 + Math.exp(-(offset + total / scale))))}`}</text>
        </svg>
        {hidden > 0 && <p class="note">The {MOST_AXES} longest rulers; {hidden} more columns count in the total.</p>}
      </div>
    );
  }
}

const clip = (text: string, n: number): string => (text.length > n ? `${text.slice(0, n - 1)}…` : text);

/** Return the values of a ruler that get a label, the most important first. */
function marks(axis: Axis): { points: number; text: string }[] {
  const { kind, labels } = axis.column;
  const wanted = kind === "choice" ? axis.cells.map((_, i) => i) : [0, GRID, GRID / 2, GRID / 4, (3 * GRID) / 4];
  return wanted
    .map((i) => ({ points: axis.points[i], text: kind === "choice" ? clip(labels[i], 14) : short(axis.cells[i]) }))
    .filter(({ points }) => Number.isFinite(points));
}

/** Return the labels that do not overlap, each at the first of the sides (-1 above, 1 below the line) with room. */
function spread(wanted: { at: number; text: string }[], sides: number[]): { at: number; text: string; side: number }[] {
  const taken = new Map(sides.map((side) => [side, [] as [number, number][]]));
  return wanted.flatMap(({ at, text }) => {
    const half = (text.length * 6 + 8) / 2;
    const side = sides.find((k) => taken.get(k)!.every(([low, high]) => at + half < low || at - half > high));
    if (!side) return [];
    taken.get(side)!.push([at - half, at + half]);
    return [{ at, text, side }];
  });
}
