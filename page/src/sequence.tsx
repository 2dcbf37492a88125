import { Component } from "preact";
import { Bars, short } from "./bars";
import { type Column, Control, plain } from "./classifier";
import { linkKey, readLink, writeLink } from "./link";
import type { Cell, Row } from "./score";
import { emissionScores, type HiddenStates, logSum, pathTo, type Trellis, unroll } from "./trellis";

export interface SequenceData extends HiddenStates {
  columns: Column[];
}

interface State {
  steps: Row[];
  at: number;
}

const MOST_STEPS = 2000;
const MOST_ROWS = 24; // copies of a drawn trellis
const MOST_WORKED = 8; // states whose sums are written out

/** A probability from its logarithm, also below the smallest float. */
const probability = (log: number): string => (log === -Infinity ? "0" : log > -700 ? short(Math.exp(log)) : `e^${short(log)}`);

/** Observations to click, and what they say about the hidden states. */
export class SequencePage extends Component<{ data: SequenceData }, State> {
  state: State = this.fromLink();
  restore = (): void => this.setState(this.fromLink());
  last: { steps: Row[]; trellis: Trellis } | null = null;

  componentDidMount(): void {
    addEventListener("hashchange", this.restore);
  }

  componentWillUnmount(): void {
    removeEventListener("hashchange", this.restore);
  }

  fromLink(): State {
    const link = readLink();
    const steps: Row[] = [];
    for (const column of this.props.data.columns) {
      const cells = (link.get(linkKey(column.name)) ?? "").split(",");
      if (cells.length === 1 && !cells[0]) continue;
      cells.slice(0, MOST_STEPS).forEach((text, t) => {
        const given = unescape(text);
        const code = column.kind === "choice" ? column.labels.indexOf(given) + 1 : given === "" ? NaN : Number(given);
        (steps[t] ??= this.blank())[column.name] = column.kind === "choice" ? code || null : Number.isFinite(code) ? code : null;
      });
    }
    const at = Number(link.get("~step") ?? steps.length) - 1;
    return { steps, at: Math.min(Math.max(Math.floor(at) || 0, 0), Math.max(steps.length - 1, 0)) };
  }

  blank(): Row {
    return Object.fromEntries(this.props.data.columns.map((column) => [column.name, null]));
  }

  change(part: Partial<State>): void {
    this.setState(part, () => {
      const { steps, at } = this.state;
      const link = new URLSearchParams();
      for (const column of this.props.data.columns) link.set(linkKey(column.name), steps.map((row) => escape(this.shown(column, row[column.name]))).join(","));
      if (steps.length) link.set("~step", String(at + 1));
      writeLink(link);
    });
  }

  shown(column: Column, cell: Cell): string {
    if (cell === null) return "";
    return column.kind === "choice" ? (column.labels[Number(cell) - 1] ?? "") : String(cell);
  }

  add = (name?: string, cell?: Cell): void => {
    const row = this.blank();
    if (name !== undefined) row[name] = cell ?? null;
    const steps = [...this.state.steps, row].slice(0, MOST_STEPS);
    this.change({ steps, at: steps.length - 1 });
  };

  set = (name: string, cell: Cell): void => {
    const { steps, at } = this.state;
    this.change({ steps: steps.map((row, t) => (t === at ? { ...row, [name]: cell } : row)) });
  };

  remove = (): void => {
    const { steps, at } = this.state;
    this.change({ steps: steps.filter((_, t) => t !== at), at: Math.max(0, Math.min(at, steps.length - 2)) });
  };

  render() {
    const { data } = this.props;
    const { steps, at } = this.state;
    if (this.last?.steps !== steps) this.last = { steps, trellis: unroll(data, steps) };
    const { trellis } = this.last!;
    const [only] = data.columns;
    const oneClick = data.columns.length === 1 && only.kind === "choice";
    const possible = trellis.impossible < 0 || at < trellis.impossible;
    const filtered = steps.length && possible ? ofStates(data, trellis.forward[at]) : null;
    return (
      <div class="sequence">
        <section class="card" aria-label="Observations">
          <header class="tools">
            {oneClick && only.labels.map((label, i) => (
              <button key={label} type="button" onClick={() => this.add(only.name, i + 1)}>+ <bdi>{label}</bdi></button>
            ))}
            <button type="button" onClick={() => this.add()}>+ {oneClick ? "missing" : "step"}</button>
            <button type="button" disabled={!steps.length} onClick={this.remove}>Remove step</button>
            <button type="button" disabled={!steps.length} onClick={() => this.change({ steps: [], at: 0 })}>Clear all</button>
          </header>
          {steps.length === 0 && <p class="note">{oneClick ? "Click an observation to add a step." : "Add a step, then choose its values."}</p>}
          <div class="strip">
            {steps.map((row, t) => (
              <button key={t} type="button" class={t === at ? "step picked" : "step"} aria-pressed={t === at} onClick={() => this.change({ at: t })}>
                <small>{t + 1}</small> <bdi>{data.columns.map((column) => (row[column.name] === null ? "?" : this.shown(column, row[column.name]))).join(" · ")}</bdi>
              </button>
            ))}
          </div>
          {steps.length > 0 && (
            <div class="controls">
              <label class="walk">Step {at + 1} of {steps.length}
                <input type="range" min="1" max={steps.length} value={at + 1} onInput={(e) => this.change({ at: e.currentTarget.valueAsNumber - 1 })} />
              </label>
              {data.columns.map((column) => <Control key={`${at} ${column.name}`} column={column} cell={steps[at][column.name]} set={this.set} />)}
            </div>
          )}
        </section>
        {trellis.impossible >= 0 && <p class="note warn" role="alert">Step {trellis.impossible + 1} is impossible after the steps before it: no path of states produces it.</p>}
        {steps.length > 0 && (
          <>
            <div class="play">
              <section class="card" aria-label="Posterior" aria-live="polite">
                <h2>P(state at step {at + 1} | all steps)</h2>
                {trellis.posteriors && <Bars labels={data.states} values={trellis.posteriors[at]} />}
              </section>
              <section class="card" aria-label="Filtered">
                <h2>P(state at step {at + 1} | steps up to it)</h2>
                {filtered && <Bars labels={data.states} values={filtered} />}
              </section>
            </div>
            {trellis.posteriors && <Areas data={data} posteriors={trellis.posteriors} at={at} />}
            <section class="card" aria-label="Trellis">
              <h2>Trellis up to step {at + 1}</h2>
              <Drawing data={data} trellis={trellis} at={at} />
              <p class="note">Numbers: forward P(observations so far, state). Lines: where the best path to each state comes from; the thick one is the best path to step {at + 1}.
                P(observations) = {probability(trellis.logLikelihood)}, log-likelihood {short(trellis.logLikelihood)}.</p>
            </section>
            {data.owner.length <= MOST_WORKED && <Work data={data} trellis={trellis} row={steps[at]} at={at} />}
          </>
        )}
      </div>
    );
  }
}

/** Commas part the steps of a link. */
const escape = (text: string): string => text.replace(/[%,]/g, encodeURIComponent);

function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function ofStates(data: SequenceData, logs: number[]): number[] {
  const whole = logSum(logs);
  const shares = data.states.map(() => 0);
  logs.forEach((value, s) => (shares[data.owner[s]] += Math.exp(value - whole)));
  return shares;
}

/** Return the names of the copies. */
const copies = ({ states, owner }: SequenceData): string[] =>
  owner.map((s, i) => (owner.indexOf(s) === owner.lastIndexOf(s) ? states[s] : `${states[s]} ${i - owner.indexOf(s) + 1}`));

const color = (s: number, n: number): string => `hsl(${Math.round((360 * s) / n + 205) % 360} 55% ${45 + 12 * (s % 2)}%)`;

/** The posterior of every step, states one upon the other. */
function Areas({ data, posteriors, at }: { data: SequenceData; posteriors: number[][]; at: number }) {
  const [width, height] = [posteriors.length, 100];
  const tops = posteriors.map(() => 0);
  return (
    <section class="card" aria-label="Posterior of all steps">
      <h2>P(state | all steps)</h2>
      <svg class="areas" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label="Posterior of each state by step">
        {data.states.map((state, s) => {
          const lower = tops.slice();
          posteriors.forEach((row, t) => (tops[t] += row[s] * height));
          const up = tops.map((y, t) => `${t} ${height - y} H${t + 1}`).join("L");
          const down = lower.map((y, t) => `${t + 1} ${height - y} H${t}`).reverse().join("L");
          return <path key={state} d={`M${up}L${down}Z`} fill={color(s, data.states.length)} />;
        })}
        <rect x={at} y="0" width="1" height={height} class="cursor" />
      </svg>
      <p class="legend">{data.states.map((state, s) => <span key={state}><i style={{ background: color(s, data.states.length) }} /><bdi>{state}</bdi></span>)}</p>
    </section>
  );
}

class Drawing extends Component<{ data: SequenceData; trellis: Trellis; at: number }, { width: number }> {
  state = { width: 720 };
  box: HTMLDivElement | null = null;
  observer = new ResizeObserver(([entry]) => this.setState({ width: Math.max(260, Math.floor(entry.contentRect.width)) }));

  componentDidMount(): void {
    this.observer.observe(this.box!);
  }

  componentWillUnmount(): void {
    this.observer.disconnect();
  }

  render() {
    const { data, trellis, at } = this.props;
    const [left, least] = this.state.width < 480 ? [64, 66] : [84, 88];
    const gap = Math.min(1.6 * least, Math.max(least, (this.state.width - left) / (at + 1)));
    const shown = Math.max(2, Math.floor((this.state.width - left) / gap));
    const first = Math.max(0, at + 1 - shown);
    const names = copies(data);
    const rows = names.map((_, s) => s);
    if (rows.length > MOST_ROWS) rows.sort((a, b) => trellis.best[at][b] - trellis.best[at][a]).splice(MOST_ROWS);
    const place = new Map(rows.map((s, i) => [s, i]));
    const path = pathTo(trellis, at);
    const possible = trellis.best[at].some((value) => value > -Infinity);
    const [x, y] = [(t: number) => left + gap / 2 + (t - first) * gap, (s: number) => 40 + place.get(s)! * 52];
    const steps = Array.from({ length: at + 1 - first }, (_, i) => first + i);
    return (
      <div ref={(e) => { this.box = e; }} class="scroll">
        <svg class="trellis" width={left + steps.length * gap} height={30 + rows.length * 52} role="img" aria-label="Trellis">
          {rows.map((s) => <text key={s} x="0" y={y(s) + 4} class="label">{names[s].length > left / 8 ? `${names[s].slice(0, left / 8 - 1)}…` : names[s]}</text>)}
          {steps.map((t) => (
            <g key={t}>
              <text x={x(t)} y="12" text-anchor="middle" class="tick">{t + 1}</text>
              {t > first && rows.map((s) => {
                const from = trellis.back[t][s];
                if (trellis.best[t][s] === -Infinity || !place.has(from)) return null;
                const main = possible && path[t] === s && path[t - 1] === from;
                return <line x1={x(t - 1) + 13} x2={x(t) - 13} y1={y(from)} y2={y(s)} class={main ? "path" : "back"} />;
              })}
              {rows.map((s) => (
                <g key={s}>
                  <circle cx={x(t)} cy={y(s)} r="12" class={possible && path[t] === s ? "best" : ""} />
                  <text x={x(t)} y={y(s) + 25} text-anchor="middle" class="tick">{probability(trellis.forward[t][s])}</text>
                </g>
              ))}
            </g>
          ))}
        </svg>
        {rows.length < names.length && <p class="note">The {MOST_ROWS} most probable of {names.length} rows.</p>}
      </div>
    );
  }
}

/** The forward sum and Viterbi's product of one step, worked. */
function Work({ data, trellis, row, at }: { data: SequenceData; trellis: Trellis; row: Row; at: number }) {
  const names = copies(data);
  const emitted = data.states.map((_, s) => data.emissions.reduce((sum, emission) => sum + emissionScores(emission, row, data.states.length)[s], 0));
  const p = (x: number | null) => plain(Math.exp(x ?? -Infinity));
  return (
    <section class="card" aria-label="Worked step">
      <h2>Worked step {at + 1}</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Sums of the step">
        <table>
          <thead><tr><th scope="col">state</th><th scope="col">forward</th><th scope="col">best path</th></tr></thead>
          <tbody>{names.map((name, s) => {
            const before = at ? names.map((_, r) => `${probability(trellis.forward[at - 1][r])} · ${p(data.moves[r][s])}`).join(" + ") : p(data.start[s]);
            const from = trellis.back[at][s];
            const best = at ? `${probability(trellis.best[at - 1][from])} · ${p(data.moves[from][s])}` : p(data.start[s]);
            return (
              <tr key={name}><th scope="row"><bdi>{name}</bdi></th>
                <td>({before}) · {p(emitted[data.owner[s]])} = {probability(trellis.forward[at][s])}</td>
                <td>{best} · {p(emitted[data.owner[s]])} = {probability(trellis.best[at][s])}{at > 0 && <>, from <bdi>{names[from]}</bdi></>}</td></tr>
            );
          })}</tbody>
        </table>
      </div>
    </section>
  );
}
