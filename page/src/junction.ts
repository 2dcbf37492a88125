/** Exact posteriors of a Bayesian network: messages over its junction tree, in log space. */

export interface NetworkNode {
  name: string;
  states: string[];
  parents: number[];
  /** P(state | parents), the state varying fastest. */
  table: number[];
}

export interface Clique {
  /** Variables of the table, those of the separator first, the last varying fastest. */
  variables: number[];
  separator: number[];
  /** Clique above, -1 for the root; parents stand before their children. */
  parent: number;
}

/** Likelihood of each state for the observed nodes. */
export type Findings = Map<number, number[]>;

export interface Answer {
  /** P(state | findings) of every node; null where the findings contradict each other. */
  posteriors: number[][] | null;
  logEvidence: number;
}

const sizeOf = (variables: number[], cards: number[]): number => variables.reduce((size, v) => size * cards[v], 1);

/** Map each cell of a table over `variables` to the cell of the table over `onto`. */
export function project(variables: number[], onto: number[], cards: number[]): Int32Array {
  const map = new Int32Array(sizeOf(variables, cards));
  let inner = 1;
  for (let k = variables.length - 1; k >= 0; k--) {
    const v = variables[k];
    const at = onto.indexOf(v);
    if (at >= 0) {
      const stride = sizeOf(onto.slice(at + 1), cards);
      for (let cell = 0; cell < map.length; cell++) map[cell] += (Math.floor(cell / inner) % cards[v]) * stride;
    }
    inner *= cards[v];
  }
  return map;
}

/** Log of the sum, or the largest, of the cells of each group. */
function gather(table: Float64Array, groups: Int32Array, n: number, largest: boolean): Float64Array {
  const top = new Float64Array(n).fill(-Infinity);
  for (let cell = 0; cell < table.length; cell++) if (table[cell] > top[groups[cell]]) top[groups[cell]] = table[cell];
  if (largest) return top;
  const sums = new Float64Array(n);
  for (let cell = 0; cell < table.length; cell++) {
    const of = groups[cell];
    if (top[of] > -Infinity) sums[of] += Math.exp(table[cell] - top[of]);
  }
  return top.map((t, i) => (t === -Infinity ? t : t + Math.log(sums[i])));
}

export class JunctionTree {
  private cards: number[];
  private potentials: Float64Array[];
  private homes: number[];
  private states: Int32Array[];
  private own: Int32Array[];
  private above: Int32Array[];

  constructor(readonly nodes: NetworkNode[], readonly cliques: Clique[]) {
    const cards = nodes.map((node) => node.states.length);
    this.cards = cards;
    this.potentials = cliques.map((clique) => new Float64Array(sizeOf(clique.variables, cards)));
    const smallest = (variables: number[]) => {
      const inside = cliques.map((_, i) => i).filter((i) => variables.every((v) => cliques[i].variables.includes(v)));
      return inside.reduce((a, b) => (this.potentials[b].length < this.potentials[a].length ? b : a));
    };
    nodes.forEach((node, v) => {
      const family = [...node.parents, v];
      const home = smallest(family);
      const map = project(cliques[home].variables, family, cards);
      const logs = Float64Array.from(node.table, Math.log);
      this.potentials[home].forEach((_, cell, table) => (table[cell] += logs[map[cell]]));
    });
    this.homes = nodes.map((_, v) => smallest([v]));
    this.states = nodes.map((_, v) => project(cliques[this.homes[v]].variables, [v], cards));
    this.own = cliques.map((clique) => project(clique.variables, clique.separator, cards));
    this.above = cliques.map((clique) => (clique.parent < 0 ? new Int32Array(0) : project(cliques[clique.parent].variables, clique.separator, cards)));
  }

  /** Send messages up to the root: sums, or the largest. */
  private collect(findings: Findings, largest: boolean): { tables: Float64Array[]; messages: Float64Array[] } {
    const tables = this.potentials.map((table) => table.slice());
    for (const [v, likelihood] of findings) {
      const logs = likelihood.map(Math.log);
      const [table, states] = [tables[this.homes[v]], this.states[v]];
      for (let cell = 0; cell < table.length; cell++) table[cell] += logs[states[cell]];
    }
    const messages: Float64Array[] = [];
    for (let i = this.cliques.length - 1; i > 0; i--) {
      const { separator, parent } = this.cliques[i];
      messages[i] = gather(tables[i], this.own[i], sizeOf(separator, this.cards), largest);
      const [table, map] = [tables[parent], this.above[i]];
      for (let cell = 0; cell < table.length; cell++) table[cell] += messages[i][map[cell]];
    }
    return { tables, messages };
  }

  propagate(findings: Findings): Answer {
    const { tables, messages } = this.collect(findings, false);
    const logEvidence = gather(tables[0], new Int32Array(tables[0].length), 1, false)[0];
    if (logEvidence === -Infinity) return { posteriors: null, logEvidence };
    for (let i = 1; i < tables.length; i++) {
      const { separator, parent } = this.cliques[i];
      const down = gather(tables[parent], this.above[i], sizeOf(separator, this.cards), false);
      const [table, map] = [tables[i], this.own[i]];
      for (let cell = 0; cell < table.length; cell++) {
        const before = messages[i][map[cell]];
        table[cell] = before === -Infinity ? before : table[cell] + down[map[cell]] - before;
      }
    }
    const posteriors = this.nodes.map((_, v) => {
      const logs = gather(tables[this.homes[v]], this.states[v], this.cards[v], false);
      const shares = Array.from(logs, (log) => Math.exp(log - logEvidence));
      const sum = shares.reduce((a, b) => a + b, 0);
      return shares.map((share) => share / sum);
    });
    return { posteriors, logEvidence };
  }

  /** Return the most probable state of every node together, and ln P(states, findings). */
  mostProbable(findings: Findings): { states: number[]; logProbability: number } | null {
    const { tables } = this.collect(findings, true);
    const logProbability = tables[0].reduce((a, b) => Math.max(a, b), -Infinity);
    if (logProbability === -Infinity) return null;
    const states = this.nodes.map(() => -1);
    this.cliques.forEach(({ variables, separator }, i) => {
      const at = separator.reduce((cell, v) => cell * this.cards[v] + states[v], 0);
      const width = tables[i].length / sizeOf(separator, this.cards);
      let cell = at * width;
      for (let k = at * width; k < (at + 1) * width; k++) if (tables[i][k] > tables[i][cell]) cell = k;
      for (const v of [...variables].reverse()) {
        states[v] = cell % this.cards[v];
        cell = Math.floor(cell / this.cards[v]);
      }
    });
    return { states, logProbability };
  }
}
