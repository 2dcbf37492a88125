import { Component } from "preact";
import { useMemo } from "preact/hooks";
import { Bars, short } from "./bars";
import { type Clique, type Findings, JunctionTree, type NetworkNode } from "./junction";
import { linkKey, readLink, writeLink } from "./link";

export interface NetworkData {
  nodes: NetworkNode[];
  cliques: Clique[];
}

interface State {
  findings: Findings;
  soft: number | null;
  explained: boolean;
}

const MOST_DRAWN = 80; // nodes of a drawing

/** Bars of every node; a click on a state observes it. */
export class NetworkPage extends Component<{ data: NetworkData }, State> {
  tree = new JunctionTree(this.props.data.nodes, this.props.data.cliques);
  before = this.tree.propagate(new Map()).posteriors!;
  state: State = { findings: this.fromLink(), soft: null, explained: false };
  restore = (): void => this.setState({ findings: this.fromLink() });

  componentDidMount(): void {
    addEventListener("hashchange", this.restore);
  }

  componentWillUnmount(): void {
    removeEventListener("hashchange", this.restore);
  }

  fromLink(): Findings {
    const link = readLink();
    const findings: Findings = new Map();
    this.props.data.nodes.forEach((node, v) => {
      const given = link.get(linkKey(node.name));
      const soft = (link.get(`~${v}`) ?? "").split(",").map(Number);
      const state = given === null ? -1 : node.states.indexOf(given);
      if (state >= 0) findings.set(v, node.states.map((_, k) => +(k === state)));
      else if (soft.length === node.states.length && soft.every((x) => x >= 0 && x <= 1)) findings.set(v, soft);
    });
    return findings;
  }

  change(findings: Findings): void {
    const link = new URLSearchParams();
    this.props.data.nodes.forEach((node, v) => {
      const likelihood = findings.get(v);
      if (!likelihood) return;
      const state = certain(likelihood);
      if (state === null) link.set(`~${v}`, likelihood.join(","));
      else link.set(linkKey(node.name), node.states[state]);
    });
    this.setState({ findings }, () => writeLink(link));
  }

  observe(v: number, state: number): void {
    const findings = new Map(this.state.findings);
    const before = findings.get(v);
    if (before && certain(before) === state) findings.delete(v);
    else findings.set(v, this.props.data.nodes[v].states.map((_, k) => +(k === state)));
    this.change(findings);
  }

  weigh(v: number, state: number, likelihood: number): void {
    const findings = new Map(this.state.findings);
    const weights = findings.get(v)?.slice() ?? this.props.data.nodes[v].states.map(() => 1);
    weights[state] = likelihood;
    if (weights.every((x) => x === weights[0])) findings.delete(v);
    else findings.set(v, weights);
    this.change(findings);
  }

  render() {
    const { nodes } = this.props.data;
    const { findings, soft, explained } = this.state;
    const { posteriors, logEvidence } = this.tree.propagate(findings);
    const best = explained ? this.tree.mostProbable(findings) : null;
    return (
      <div class="network">
        <div class="tools">
          <button type="button" disabled={!findings.size} onClick={() => this.change(new Map())}>Clear all</button>
          <button type="button" aria-pressed={explained} onClick={() => this.setState({ explained: !explained })}>Most probable explanation</button>
          <span aria-live="polite">
            {findings.size > 0 && posteriors && <>P(findings) = {short(Math.exp(logEvidence))}</>}
            {best && <>{findings.size > 0 && "; "}★ most probable explanation, {findings.size > 0 ? "P(states | findings)" : "P(states)"} = {short(Math.exp(best.logProbability - logEvidence))}</>}
          </span>
        </div>
        {!posteriors && (
          <p class="note warn" role="alert">These findings contradict each other: their joint probability is zero. Remove one:{" "}
            {[...findings.keys()].map((v) => <button type="button" onClick={() => this.change(without(findings, v))}><bdi>{nodes[v].name}</bdi></button>)}
          </p>
        )}
        {nodes.length <= MOST_DRAWN && <Graph nodes={nodes} seen={findings} />}
        <div class="nodes">
          {nodes.map((node, v) => {
            const likelihood = findings.get(v);
            const picked = likelihood ? certain(likelihood) : null;
            return (
              <section key={node.name} id={`node-${v}`} class={likelihood ? "card seen" : "card"} aria-label={node.name}>
                <header><h2><bdi>{node.name}</bdi></h2>
                  <button type="button" class="small" aria-expanded={soft === v} title="soft evidence" onClick={() => this.setState({ soft: soft === v ? null : v })}>soft</button>
                </header>
                <Bars labels={node.states} values={posteriors?.[v] ?? node.states.map(() => 0)} before={this.before[v]} picked={picked} marked={best?.states[v]} onPick={(k) => this.observe(v, k)} />
                {soft === v && (
                  <div class="soft">
                    <p class="note">Likelihood of the observation given each state:</p>
                    {node.states.map((state, k) => (
                      <label key={state}><bdi>{state}</bdi><input type="range" min="0" max="1" step="0.01" value={likelihood?.[k] ?? 1}
                        onInput={(e) => this.weigh(v, k, e.currentTarget.valueAsNumber)} /><output>{(likelihood?.[k] ?? 1).toFixed(2)}</output></label>
                    ))}
                  </div>
                )}
                {likelihood && picked === null && soft !== v && <p class="note">soft: {likelihood.map((x) => x.toFixed(2)).join(" : ")}</p>}
              </section>
            );
          })}
        </div>
        <p class="note">The line in a bar is the prior probability, before any finding. Click a state to observe it; click it again to undo. “soft” weighs the states by likelihoods.</p>
      </div>
    );
  }
}

/** Return the only possible state, null where there are several. */
function certain(likelihood: number[]): number | null {
  const possible = likelihood.flatMap((x, k) => (x > 0 ? [k] : []));
  return possible.length === 1 && likelihood[possible[0]] === 1 ? possible[0] : null;
}

function without(findings: Findings, v: number): Findings {
  const left = new Map(findings);
  left.delete(v);
  return left;
}

const clip = (text: string, n: number): string => (text.length > n ? `${text.slice(0, n - 1)}…` : text);

const [ACROSS, DOWN] = [116, 66]; // pixels from node to node

/** Return a place for each node: parents above their children, near to each other. */
export function layers(parents: number[][]): { x: number[]; y: number[]; width: number; height: number } {
  const n = parents.length;
  const children = parents.map((_, v) => parents.flatMap((of, w) => (of.includes(v) ? [w] : [])));
  const memo = (next: number[][], found: number[] = []) => {
    const depth = (v: number): number => (found[v] ??= 1 + Math.max(-1, ...next[v].map(depth)));
    parents.forEach((_, v) => depth(v));
    return found;
  };
  const y = memo(parents);
  // A node without parents stands right above the first of its children.
  y.forEach((_, v) => { if (!parents[v].length && children[v].length) y[v] = Math.min(...children[v].map((w) => y[w])) - 1; });
  const rows: number[][] = Array.from({ length: Math.max(...y) + 1 }, () => []);
  // In the order of a walk through the graph, so that neighbors start close together.
  const seen = new Set<number>();
  const walk = (v: number): void => {
    if (seen.has(v)) return;
    seen.add(v);
    rows[y[v]].push(v);
    [...parents[v], ...children[v]].forEach(walk);
  };
  parents.forEach((_, v) => walk(v));
  const x = new Array<number>(n).fill(0);
  rows.forEach((row) => row.forEach((v, i) => (x[v] = i - (row.length - 1) / 2)));
  for (let sweep = 0; sweep < 40; sweep++) {
    for (const row of sweep % 2 ? [...rows].reverse() : rows) {
      const wish = new Map(row.map((v) => {
        const near = [...parents[v], ...children[v]];
        return [v, near.length ? near.reduce((sum, w) => sum + x[w], 0) / near.length : x[v]];
      }));
      row.sort((a, b) => wish.get(a)! - wish.get(b)!);
      spaced(row.map((v) => wish.get(v)!)).forEach((place, i) => (x[row[i]] = place));
    }
  }
  const left = Math.min(...x);
  return { x: x.map((place) => (place - left + 0.5) * ACROSS), y: y.map((d) => 24 + d * DOWN), width: (Math.max(...x) - left + 1) * ACROSS, height: 48 + (rows.length - 1) * DOWN };
}

/** Return the places nearest to increasing wishes that are one apart or more. */
function spaced(wishes: number[]): number[] {
  const groups: { sum: number; n: number }[] = [];
  const start = (group: { sum: number; n: number }) => group.sum / group.n;
  wishes.forEach((wish, i) => {
    groups.push({ sum: wish - i, n: 1 });
    while (groups.length > 1 && start(groups[groups.length - 2]) > start(groups[groups.length - 1])) {
      const last = groups.pop()!;
      const before = groups[groups.length - 1];
      before.sum += last.sum;
      before.n += last.n;
    }
  });
  return groups.flatMap((group) => new Array<number>(group.n).fill(start(group))).map((place, i) => place + i);
}

/** The arcs, parents above their children. */
function Graph({ nodes, seen }: { nodes: NetworkNode[]; seen: Findings }) {
  const place = useMemo(() => layers(nodes.map((node) => node.parents)), [nodes]);
  const { width, height } = place;
  const [x, y] = [(v: number) => place.x[v], (v: number) => place.y[v]];
  return (
    <div class="scroll graph card" tabIndex={0} role="region" aria-label="Graph of the network">
      <svg viewBox={`0 0 ${width} ${height}`} style={{ width: `${width}px`, minWidth: `${Math.min(width, Math.max(320, 0.6 * width))}px` }}>
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="head" /></marker></defs>
        {nodes.flatMap((node, v) => node.parents.map((p) => <line key={`${p} ${v}`} x1={x(p)} y1={y(p) + 14} x2={x(v)} y2={y(v) - 15} class="axis" marker-end="url(#arrow)" />))}
        {nodes.map((node, v) => (
          <a key={v} href={`#node-${v}`} tabindex={-1} onClick={(e) => { e.preventDefault(); document.getElementById(`node-${v}`)?.scrollIntoView({ block: "center" }); }}>
            <rect x={x(v) - 54} y={y(v) - 14} width="108" height="28" rx="14" class={seen.has(v) ? "node seen" : "node"} />
            <text x={x(v)} y={y(v) + 4} text-anchor="middle" class="tick">{clip(node.name, 16)}<title>{node.name}</title></text>
          </a>
        ))}
      </svg>
    </div>
  );
}
