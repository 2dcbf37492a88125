import { useMemo, useState } from "preact/hooks";
import { short } from "./bars";
import { Card, Slider, useNumbers } from "./lessons";

/** A small generator of random numbers (mulberry32), so that a lesson repeats. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Collapsed Gibbs sampling of topics: P(topic k of a token | all others) ∝ (n_dk + α)(n_wk + β)/(n_k + Vβ). */
export class Sampler {
  readonly words: string[];
  readonly tokens: { document: number; word: number }[] = [];
  topics: number[];
  byDocument: number[][];
  byWord: number[][];
  totals: number[];

  constructor(documents: string[], readonly k: number, public alpha: number, public beta: number, readonly random: () => number) {
    const index = new Map<string, number>();
    documents.forEach((text, document) => {
      for (const name of text.split(" ")) {
        if (!index.has(name)) index.set(name, index.size);
        this.tokens.push({ document, word: index.get(name)! });
      }
    });
    this.words = [...index.keys()];
    this.byDocument = documents.map(() => new Array<number>(k).fill(0));
    this.byWord = this.words.map(() => new Array<number>(k).fill(0));
    this.totals = new Array<number>(k).fill(0);
    this.topics = this.tokens.map(() => Math.floor(random() * k));
    this.tokens.forEach((_, i) => this.count(i, 1));
  }

  private count(i: number, by: number): void {
    const { document, word } = this.tokens[i];
    const topic = this.topics[i];
    this.byDocument[document][topic] += by;
    this.byWord[word][topic] += by;
    this.totals[topic] += by;
  }

  /** P(topic | all other tokens) of a token, which is taken out. */
  shares(i: number): number[] {
    const { document, word } = this.tokens[i];
    const own = (k: number) => (this.topics[i] === k ? 1 : 0);
    const weights = this.totals.map((n, k) => ((this.byDocument[document][k] - own(k) + this.alpha) * (this.byWord[word][k] - own(k) + this.beta)) / (n - own(k) + this.words.length * this.beta));
    const whole = weights.reduce((sum, w) => sum + w, 0);
    return weights.map((w) => w / whole);
  }

  draw(i: number): void {
    const shares = this.shares(i);
    let left = this.random();
    let topic = shares.findIndex((share) => (left -= share) < 0);
    if (topic < 0) topic = shares.length - 1;
    this.count(i, -1);
    this.topics[i] = topic;
    this.count(i, 1);
  }

  sweep(): void {
    this.tokens.forEach((_, i) => this.draw(i));
  }
}

const most = (values: number[], n: number): number[] => values.map((_, i) => i).filter((i) => values[i] > 0).sort((a, b) => values[b] - values[a]).slice(0, n);

export function TopicsPage({ data }: { data: { documents: string[]; k: number } }) {
  const [n, set] = useNumbers({ topics: data.k, alpha: 0.5, beta: 0.1, seed: 1 });
  const k = Math.min(4, Math.max(2, Math.round(n.topics)));
  const sampler = useMemo(() => new Sampler(data.documents, k, 0.5, 0.1, generator(n.seed)), [k, n.seed]);
  [sampler.alpha, sampler.beta] = [Math.max(n.alpha, 0.05), Math.max(n.beta, 0.01)];
  const [walked, walk] = useState({ sampler, next: 0, sweeps: 0 });
  const { next, sweeps } = walked.sampler === sampler ? walked : { next: 0, sweeps: 0 };
  const sweep = (times: number) => {
    for (let i = 0; i < times; i++) sampler.sweep();
    walk({ sampler, next: 0, sweeps: sweeps + times });
  };
  const one = () => {
    sampler.draw(next);
    const after = (next + 1) % sampler.tokens.length;
    walk({ sampler, next: after, sweeps: sweeps + (after === 0 ? 1 : 0) });
  };
  const shares = sampler.shares(next);
  const token = sampler.tokens[next];
  return (
    <div class="play">
      <Card title="Documents" wide>
        <p class="tools">
          <button type="button" onClick={one}>One token</button>
          <button type="button" onClick={() => sweep(1)}>One sweep</button>
          <button type="button" onClick={() => sweep(20)}>20 sweeps</button>
          <button type="button" onClick={() => set({ seed: n.seed + 1 })}>Restart</button>
          <span aria-live="polite">{sweeps} sweep{sweeps === 1 ? "" : "s"}</span>
        </p>
        <ol class="documents">{data.documents.map((_, d) => (
          <li key={d}>{sampler.tokens.map((t, i) => t.document === d && (
            <span key={i} class={`token topic${sampler.topics[i]}${i === next ? " next" : ""}`}>{sampler.words[t.word]}<sub>{sampler.topics[i] + 1}</sub></span>
          ))}</li>
        ))}</ol>
      </Card>
      <Card title="The next token">
        <p><b>{sampler.words[token.word]}</b> in document {token.document + 1}; the counts leave it out:</p>
        <table><thead><tr><th scope="col">topic</th><th scope="col">count in the document + α</th><th scope="col">count of the word + β, / total</th><th scope="col">P(topic | others)</th></tr></thead>
          <tbody>{shares.map((share, k) => {
            const own = sampler.topics[next] === k ? 1 : 0;
            return (
              <tr key={k}><th scope="row"><span class={`token topic${k}`}>{k + 1}</span></th><td>{short(sampler.byDocument[token.document][k] - own + sampler.alpha)}</td>
                <td>{short(sampler.byWord[token.word][k] - own + sampler.beta)} / {short(sampler.totals[k] - own + sampler.words.length * sampler.beta)}</td><td>{short(share)}</td></tr>
            );
          })}</tbody></table>
      </Card>
      <Card title="Topics">
        {sampler.totals.map((total, k) => <p key={k}><span class={`token topic${k}`}>{k + 1}</span> {most(sampler.byWord.map((row) => row[k]), 6).map((w) => `${sampler.words[w]} ${sampler.byWord[w][k]}`).join(", ") || "no tokens"} <small>({total} tokens)</small></p>)}
        <Slider label="α, topics of a document" value={sampler.alpha} min={0.05} max={5} step={0.05} set={(alpha) => set({ alpha })} />
        <Slider label="β, words of a topic" value={sampler.beta} min={0.01} max={2} step={0.01} set={(beta) => set({ beta })} />
        <Slider label="Topics" value={sampler.k} min={2} max={4} step={1} set={(topics) => set({ topics })} />
      </Card>
    </div>
  );
}
