import { Component } from "preact";
import { Bars, percent, short } from "./bars";
import { linkKey, readLink, writeLink } from "./link";
import { Nomogram } from "./nomogram";
import * as s from "./score";
import { Words } from "./text";
import { readDocument, type WordsTerm } from "./words";

export interface Column {
  name: string;
  kind: "choice" | "number" | "text";
  labels: string[];
  other: boolean;
  low: number;
  high: number;
  step: number;
}

export interface ClassifierData {
  form: s.Form;
  columns: Column[];
  /** True where one pseudo-count is added to every value of every column. */
  has_alpha: boolean;
  alpha: number | null;
  /** Columns without information about the class. */
  unused: string[];
  /** Rows that the model has counted, to show beside the product. */
  rows?: { names: string[]; cells: string[][]; classes: string[] };
}

interface State {
  row: s.Row;
  prior: number | null;
  of: number;
  alpha: number | null;
  against: number | null;
}

const MOST_CHIPS = 6;
const MOST_STUCK = 4; // classes whose bars stay in sight on a narrow screen
const MOST_ROWS = 20;
const MOST_TIPPED = 40; // columns of a model whose tipping points of α are sought
const ALPHAS = [0.01, 100] as const;
const LARGEST = 1e150; // number that models accept

/** The form of a row and everything that follows from it. */
export class ClassifierPage extends Component<{ data: ClassifierData }, State> {
  state: State = this.fromLink();
  restore = (): void => this.setState(this.fromLink());

  componentDidMount(): void {
    addEventListener("hashchange", this.restore);
  }

  componentWillUnmount(): void {
    removeEventListener("hashchange", this.restore);
  }

  fromLink(): State {
    const { columns, form } = this.props.data;
    const link = readLink();
    const row: s.Row = {};
    for (const column of columns) {
      const given = link.get(linkKey(column.name));
      row[column.name] = null;
      if (given === null) continue;
      if (column.kind === "text") {
        row[column.name] = given;
        continue;
      }
      const code = column.kind === "choice" ? column.labels.indexOf(given) + 1 : Number(given);
      if (column.kind === "choice" ? code > 0 : given !== "" && Math.abs(code) <= LARGEST) row[column.name] = code;
      else if (column.kind === "choice" && column.other) row[column.name] = column.labels.length + 1;
    }
    const number = (key: string, low: number, high: number) => {
      const x = Number(link.get(key) ?? NaN);
      return x >= low && x <= high ? x : null;
    };
    const of = link.get("~class");
    return {
      row,
      prior: number("~prior", 0.001, 0.999),
      of: Math.max(of === null ? s.best(form.base.map((b) => b ?? -Infinity)) : form.classes.indexOf(of), 0),
      alpha: this.props.data.has_alpha ? number("~alpha", ...ALPHAS) : null,
      against: null,
    };
  }

  change(part: Partial<State>): void {
    this.setState(part, () => {
      const { columns, form } = this.props.data;
      const link = new URLSearchParams();
      for (const column of columns) {
        const cell = this.state.row[column.name];
        if (cell === null) continue;
        link.set(linkKey(column.name), column.kind === "choice" ? (column.labels[Number(cell) - 1] ?? "\u2047") : String(cell));
      }
      if (this.state.prior !== null) link.set("~prior", String(this.state.prior)), link.set("~class", form.classes[this.state.of]);
      if (this.state.alpha !== null) link.set("~alpha", String(this.state.alpha));
      writeLink(link);
    });
  }

  set = (name: string, cell: s.Cell): void => this.change({ row: { ...this.state.row, [name]: cell } });

  render() {
    const { data } = this.props;
    const { row, prior, of, alpha } = this.state;
    const form = prior === null ? data.form : { ...data.form, base: s.withPrior(data.form.base, of, prior) };
    const z = s.logJoint(form, row, alpha);
    const p = z && s.normalize(z, form.temperature);
    const shown = p ?? form.undecidable;
    const order = (shown ?? []).map((_, c) => c).sort((a, b) => shown![b] - shown![a]);
    const [first = 0, second = 1] = order;
    const against = this.state.against !== null && this.state.against !== first ? this.state.against : second;
    const terms = form.terms.map((term) => s.termScores(term, row, form.classes.length, alpha));
    const rest = z && s.summedOut(form, z, terms);
    const factors = form.terms.filter((term) => term.kind !== "words" && term.kind !== "joint");
    const reset = () =>
      this.change({ row: Object.fromEntries(data.columns.map((c) => [c.name, null])), prior: null, alpha: null });
    return (
      <div class="play">
        <div class="side">
          <section class="card form" aria-label="Values">
            <header><h2>Values</h2><button type="button" onClick={reset}>Clear all</button></header>
            <div class="controls">
              {data.columns.map((column) => (
                <Control key={column.name} column={column} cell={row[column.name]} set={this.set} />
              ))}
            </div>
            {data.unused.length > 0 && <p class="note">Not used by the model: <bdi>{data.unused.join(", ")}</bdi></p>}
          </section>
          {form.classes.length > 1 && (
            <section class="card" aria-label="Settings">
              <Sliders data={data} form={form} state={this.state} z={z} change={(part) => this.change(part)} />
            </section>
          )}
        </div>
        <div class="side answers">
          <section class={form.classes.length > MOST_STUCK ? "card" : "card stuck"} aria-live="polite" aria-label="Posterior">
            <h2>P(<bdi>{form.target}</bdi> | values)</h2>
            {shown && <Bars labels={form.classes} values={shown} />}
            {!z && <p class="note warn">Too many combinations of missing values to sum here: give more values.</p>}
            {z && !p && <p class="note warn">These values are impossible under every class{form.undecidable ? "; the class priors are shown" : ""}.</p>}
          </section>
          {form.classes.length > 1 && shown && (
            <section class="card" aria-label="Evidence">
              <h2>Evidence for <bdi>{form.classes[first]}</bdi> against{" "}
                {form.classes.length > 2 ? (
                  <select aria-label="Compared class" value={against} onChange={(e) => this.change({ against: Number(e.currentTarget.value) })}>
                    {form.classes.map((label, c) => c !== first && <option value={c}>{label}</option>)}
                  </select>
                ) : <bdi>{form.classes[against]}</bdi>}
              </h2>
              <Evidence form={form} terms={terms} rest={rest} first={first} against={against} />
            </section>
          )}
        </div>
        {form.classes.length > 1 && form.terms.map((term) => term.kind === "words" && typeof row[term.column] === "string" && (
          <Words key={term.column} term={term} text={row[term.column] as string} classes={form.classes} first={first} against={against} temperature={form.temperature} alpha={alpha} />
        ))}
        {form.classes.length > 1 && shown && factors.length > 0 && (
          <section class="card wide" aria-label="Nomogram">
            <h2>Nomogram</h2>
            <Nomogram form={form} terms={factors} columns={data.columns} row={row} alpha={alpha} rest={rest} a={Math.min(first, against)} b={Math.max(first, against)} set={this.set} />
          </section>
        )}
        {data.rows && <Rows data={data} row={row} />}
        {z && <Work data={data} form={form} row={row} alpha={alpha} terms={terms} rest={rest} z={z} p={p} />}
      </div>
    );
  }
}

/** The control of one column; it is drawn anew only if its cell changes. */
export class Control extends Component<{ column: Column; cell: s.Cell; set: (name: string, cell: s.Cell) => void }> {
  shouldComponentUpdate(next: { cell: s.Cell }) {
    return next.cell !== this.props.cell;
  }

  render() {
    const { column, cell, set } = this.props;
    const { name, labels } = column;
    if (column.kind === "text") {
      return (
        <fieldset class="control">
          <legend><bdi>{name}</bdi></legend>
          <textarea aria-label={name} placeholder="Type or paste a text" dir="auto" value={cell ?? ""} onInput={(e) => set(name, e.currentTarget.value || null)} />
        </fieldset>
      );
    }
    if (column.kind === "number") {
      const middle = column.low + Math.round((column.high - column.low) / 2 / column.step) * column.step;
      const enter = (e: { currentTarget: HTMLInputElement }) => {
        const x = e.currentTarget.valueAsNumber;
        set(name, Math.abs(x) <= LARGEST ? x : null);
      };
      const outside = typeof cell === "number" && (cell < column.low || cell > column.high);
      return (
        <fieldset class="control">
          <legend><bdi>{name}</bdi></legend>
          <div class="number">
            <input type="range" aria-label={name} min={column.low} max={column.high} step={column.step} value={cell ?? middle} class={cell === null ? "missing" : ""} onInput={enter} />
            <input type="number" aria-label={`${name}, exact`} step="any" placeholder="missing" value={cell ?? ""} onInput={enter} />
            <button type="button" disabled={cell === null} aria-label={`${name} missing`} title="missing" onClick={() => set(name, null)}>×</button>
          </div>
          {outside && <p class="note">outside the usual range {short(column.low)} to {short(column.high)}</p>}
        </fieldset>
      );
    }
    if (labels.length <= MOST_CHIPS) {
      const options: [string, number | null][] = [...labels.map((label, i): [string, number] => [label, i + 1]), ["missing", null]];
      return (
        <fieldset class="control">
          <legend><bdi>{name}</bdi></legend>
          <div class="chips">
            {options.map(([label, code]) => (
              <label key={code} class={`chip${code === null ? " none" : ""}`}>
                <input type="radio" name={`column ${name}`} checked={cell === code} onChange={() => set(name, code)} />
                <bdi>{label}</bdi>
              </label>
            ))}
          </div>
        </fieldset>
      );
    }
    return (
      <fieldset class="control">
        <legend><bdi>{name}</bdi></legend>
        <select aria-label={name} value={cell ?? ""} onChange={(e) => set(name, e.currentTarget.value === "" ? null : Number(e.currentTarget.value))}>
          <option value="">missing</option>
          {labels.map((label, i) => <option value={i + 1}>{label}</option>)}
          {column.other && <option value={labels.length + 1}>(never seen)</option>}
        </select>
      </fieldset>
    );
  }
}

function Sliders(props: { data: ClassifierData; form: s.Form; state: State; z: number[] | null; change: (part: Partial<State>) => void }) {
  const { data, form, state, z, change } = props;
  const base = form.base.map((b) => b ?? -Infinity);
  const priors = s.normalize(base, 1);
  const tip = z && s.tippingPrior(form, z, state.of);
  const tips = data.has_alpha && data.columns.length <= MOST_TIPPED ? s.tippingAlphas(form, state.row, ...ALPHAS) : null;
  const at = (alpha: number) => (100 * Math.log(Math.max(alpha, ALPHAS[0]) / ALPHAS[0])) / Math.log(ALPHAS[1] / ALPHAS[0]);
  const alpha = state.alpha ?? data.alpha ?? 1;
  return (
    <>
      {priors && (
        <div class="slider">
          <label>
            {baseName(form) === "prior" ? "Prior" : "Intercept"} of{" "}
            {form.classes.length > 2 ? (
              <select aria-label="Class of the prior" value={state.of} onChange={(e) => change({ of: Number(e.currentTarget.value), prior: null })}>
                {form.classes.map((label, c) => <option value={c}>{label}</option>)}
              </select>
            ) : <bdi>{form.classes[state.of]}</bdi>}
            <output>{percent(priors[state.of])}</output>
          </label>
          <div class="marked">
            <input type="range" aria-label="Prior probability" min="0.001" max="0.999" step="0.001" value={priors[state.of]} onInput={(e) => change({ prior: e.currentTarget.valueAsNumber })} />
            {tip !== null && tip > 0.001 && tip < 0.999 && <span class="tip" style={{ left: `${100 * tip}%` }} title={`tipping point ${percent(tip)}`} />}
          </div>
          <p class="note">{tip !== null && tip > 0.001 && tip < 0.999 ? `Tipping point: ${percent(tip)}. There the most probable class changes.` : "No tipping point: the most probable class is the same for every prior from 0.1% to 99.9%."}</p>
        </div>
      )}
      {data.has_alpha && (
        <div class="slider">
          <label>Pseudo-count α <output>{short(alpha)}</output></label>
          <div class="marked">
            <input type="range" aria-label="Pseudo-count" min="0" max="100" step="0.5" value={at(alpha)}
              onInput={(e) => change({ alpha: Number((ALPHAS[0] * (ALPHAS[1] / ALPHAS[0]) ** (e.currentTarget.valueAsNumber / 100)).toPrecision(3)) })} />
            {tips?.map((t) => <span class="tip" style={{ left: `${at(t)}%` }} title={`tipping point ${short(t)}`} />)}
          </div>
          {tips && <p class="note">{tips.length ? `Tipping point${tips.length > 1 ? "s" : ""}: α = ${tips.map(short).join(", ")}. There the most probable class changes.` : "No tipping point: the most probable class is the same for every α from 0.01 to 100."}</p>}
        </div>
      )}
      {(state.prior !== null || state.alpha !== null) && <button type="button" onClick={() => change({ prior: null, alpha: null })}>As fitted</button>}
    </>
  );
}

const SUMMED = "missing parents";

/** The base of a form is the prior, or the intercept of a linear model. */
const baseName = (form: s.Form): string =>
  Math.abs(form.base.reduce<number>((sum, b) => sum + Math.exp(b ?? -Infinity), 0) - 1) < 1e-9 ? "prior" : "intercept";

/** Bars of log odds, the prior first; they sum to the log odds of the posterior. */
function Evidence(props: { form: s.Form; terms: number[][]; rest: number[] | null; first: number; against: number }) {
  const { form, terms, first, against } = props;
  const odds = (z: (number | null)[]) => {
    const [a, b] = [z[first] ?? -Infinity, z[against] ?? -Infinity];
    return (a === b ? 0 : a - b) / form.temperature;
  };
  const parts = form.terms.map((term, i) => ({ name: term.column, weight: odds(terms[i]) }));
  if (props.rest) parts.push({ name: SUMMED, weight: odds(props.rest) });
  parts.sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight));
  const told = parts.filter((part) => part.weight !== 0);
  const rest = told.slice(MOST_ROWS);
  const shown = [{ name: baseName(form), weight: odds(form.base) }, ...told.slice(0, MOST_ROWS)];
  if (rest.length) shown.push({ name: `${rest.length} others`, weight: rest.reduce((sum, part) => sum + part.weight, 0) });
  const total = shown.reduce((sum, part) => sum + part.weight, 0);
  const reach = Math.max(1, ...shown.map((part) => (Number.isFinite(part.weight) ? Math.abs(part.weight) : 0)));
  return (
    <div class="evidence">
      {shown.map((part) => (
        <div class="bar" key={part.name}>
          <bdi class="name" title={part.name}>{part.name}</bdi>
          <span class="track two">
            <span class={part.weight < 0 ? "fill against" : "fill"} style={{ width: `${50 * Math.min(1, Math.abs(part.weight) / reach)}%`, [part.weight < 0 ? "right" : "left"]: "50%" }} />
          </span>
          <span class="figure">{part.weight > 0 ? "+" : ""}{short(+part.weight.toFixed(4))}</span>
        </div>
      ))}
      <p class="note">Natural log odds. Sum: {total > 0 ? "+" : ""}{short(total)}</p>
    </div>
  );
}

export const plain = (x: number): string => String(+x.toPrecision(6));
const sum = (a: number, b: number): string => `${plain(a)}\u00a0+\u00a0${plain(b)}`;

/** The counted rows: those with all given values light up, and the cells with one. */
function Rows({ data, row }: { data: ClassifierData; row: s.Row }) {
  const { names, cells, classes } = data.rows!;
  const given = new Map(data.columns.flatMap((column) => (typeof row[column.name] === "number" ? [[column.name, column.labels[Number(row[column.name]) - 1]] as const] : [])));
  const same = (name: string, cell: string) => given.get(name) === cell;
  return (
    <section class="card wide" aria-label="Table of rows">
      <h2>Training rows</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Training rows">
        <table class="rows">
          <thead><tr>{names.map((name) => <th key={name} scope="col"><bdi>{name}</bdi></th>)}<th scope="col"><bdi>{data.form.target}</bdi></th></tr></thead>
          <tbody>{cells.map((line, i) => {
            const all = given.size > 0 && names.every((name, j) => !given.has(name) || same(name, line[j]));
            return (
              <tr key={i} class={all ? "all" : ""}>
                {line.map((cell, j) => <td key={j} class={same(names[j], cell) ? `same class${data.form.classes.indexOf(classes[i]) % 2}` : ""}><bdi>{cell}</bdi></td>)}
                <td><b><bdi>{classes[i]}</bdi></b></td>
              </tr>
            );
          })}</tbody>
        </table>
      </div>
      <p class="note">Colored cells are counted by a factor, in the color of their class. Outlined rows have all chosen values.</p>
    </section>
  );
}

interface Factor {
  what: string;
  log: number[];
  fractions: s.Fraction[] | null;
  power: number;
}

/** Return the value of a cell for people. */
function named(columns: Column[], name: string, row: s.Row, code?: number): string {
  const [column, cell] = [columns.find((c) => c.name === name)!, row[name] ?? null];
  if (cell === null) return "missing";
  return column.kind === "choice" ? (column.labels[(code ?? Number(cell)) - 1] ?? "(never seen)") : plain(Number(cell));
}

/** Return a factor for each known word, the strongest first, and one for all documents with known words. */
function wordFactors(term: WordsTerm, text: string, z: number[], alpha: number | null): Factor[] {
  const { words } = readDocument(term, text, z.length, alpha);
  const best = s.best(z);
  const spread = (scores: number[]) => Math.max(...scores.map((score) => Math.abs(scores[best] - score)));
  const listed = [...words.values()].sort((a, b) => spread(b.scores) - spread(a.scores));
  const factors = listed.map((word): Factor => ({ what: word.count > 1 ? `${word.name} × ${word.count}` : word.name, log: word.scores, fractions: word.fractions ?? null, power: word.count }));
  if (words.size && term.present) factors.push({ what: "known words", log: term.present.map((score) => score ?? -Infinity), fractions: null, power: 1 });
  return factors;
}

/** The product of prior and factors: as counted, smoothed, and as a number. */
function Work(props: { data: ClassifierData; form: s.Form; row: s.Row; alpha: number | null; terms: number[][]; rest: number[] | null; z: number[]; p: number[] | null }) {
  const { form, row, terms, z, p } = props;
  const classes = form.classes.map((_, c) => c).sort((a, b) => z[b] - z[a]).slice(0, 4);
  const factors = form.terms.flatMap((term, i): Factor[] => {
    const cell = row[term.column] ?? null;
    if (terms[i].every((t) => t === 0)) return [];
    if (term.kind === "joint") {
      const { known, fractions } = s.jointFractions(term, row, props.alpha);
      const what = known.map(([j, code]) => `${term.columns[j].column} = ${named(props.data.columns, term.columns[j].column, row, code)}`).join(", ");
      return [{ what, log: terms[i], fractions, power: 1 }];
    }
    if (term.kind === "words") return wordFactors(term, String(cell), props.z, props.alpha);
    const value = named(props.data.columns, term.column, row);
    if (term.kind === "contexts") {
      const given = term.parents.map(({ column }) => `${column} = ${named(props.data.columns, column, row)}`).join(", ");
      return [{ what: `${term.column} = ${value}${given && ` | ${given}`}`, log: terms[i], fractions: s.contextFractions(term, row), power: 1 }];
    }
    const counts = term.kind === "table" ? term.counts : undefined;
    const code = term.kind === "table" ? s.codeOf(term, cell) : 0;
    return [{ what: `${term.column} = ${value}`, log: terms[i], fractions: counts && counts.pseudo[code] !== null ? s.fractions(counts, code, props.alpha) : null, power: counts?.power ?? 1 }];
  });
  if (props.rest) factors.push({ what: `${SUMMED}, summed out`, log: props.rest, fractions: null, power: 1 });
  const total = form.class_counts?.reduce((a, b) => a + b, 0) ?? 0;
  const counted = total > 0 || factors.some((factor) => factor.fractions);
  const smoothed = factors.some((factor) => factor.power !== 1 || factor.fractions?.some((f) => f.whole > 0));
  const shown = factors.slice(0, MOST_ROWS);
  const blank = <>{counted && <td />}{smoothed && <td />}</>;
  return (
    <section class="card wide" aria-label="Worked product">
      <h2>Worked product</h2>
      <div class="works">
        {classes.map((c) => (
          <div class="scroll" tabIndex={0} role="region" aria-label={`Product of ${form.classes[c]}`} key={c}>
            <table>
              <caption><bdi>{form.target}</bdi> = <bdi>{form.classes[c]}</bdi></caption>
              <thead><tr><th scope="col">factor</th>{counted && <th scope="col">counted</th>}{smoothed && <th scope="col">smoothed</th>}<th scope="col">value</th></tr></thead>
              <tbody>
                <tr>
                  <th scope="row">{baseName(form)}</th>
                  {counted && <td>{form.class_counts ? `${plain(form.class_counts[c])}/${plain(total)}` : ""}</td>}{smoothed && <td />}
                  <td>{short(Math.exp(form.base[c] ?? -Infinity))}</td>
                </tr>
                {shown.map((factor) => {
                  const f = factor.fractions?.[c];
                  const power = factor.power === 1 ? "" : ` ^ ${short(factor.power)}`;
                  return (
                    <tr key={factor.what}>
                      <th scope="row"><bdi>{factor.what}</bdi></th>
                      {counted && <td class="one">{f ? `${plain(f.n)}/${plain(f.total)}` : ""}</td>}
                      {smoothed && <td>{f && f.whole > 0 && <>({sum(f.n, f.added)})/<wbr />({sum(f.total, f.whole)})</>}{power}</td>}
                      <td>{short(Math.exp(factor.log[c]))}</td>
                    </tr>
                  );
                })}
                {factors.length > MOST_ROWS && <tr><th scope="row">{factors.length - MOST_ROWS} more factors</th>{blank}<td>{short(Math.exp(factors.slice(MOST_ROWS).reduce((log, f) => log + f.log[c], 0)))}</td></tr>}
              </tbody>
              <tfoot>
                <tr><th scope="row">product</th>{blank}<td>{z[c] < -700 ? `e^${short(z[c])}` : short(Math.exp(z[c]))}</td></tr>
                {p && <tr><th scope="row">{form.temperature !== 1 ? `share (temperature ${short(form.temperature)})` : "share of the sum"}</th>{blank}<td>{percent(p[c])}</td></tr>}
              </tfoot>
            </table>
          </div>
        ))}
      </div>
      {form.classes.length > classes.length && <p class="note">The four most probable of {form.classes.length} classes.</p>}
    </section>
  );
}
