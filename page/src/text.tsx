import { short } from "./bars";
import { readDocument, readsCharacters, wordSpans, type WordsTerm } from "./words";

const MOST_WORDS = 20;

/** Return the evidence of each character: a token gives its pieces equal shares. */
function spread(points: string[], tokens: { name: string; spans: [number, number][] }[], each: (name: string) => number): Float64Array {
  const weights = new Float64Array(points.length);
  for (const { name, spans } of tokens) {
    const weight = each(name);
    if (weight) for (const [start, end] of spans) for (let i = start; i < end; i++) weights[i] += weight / spans.length / (end - start);
  }
  return weights;
}

/** A text with its words colored by their evidence for a class against another, and its strongest words. */
export function Words(props: { term: WordsTerm; text: string; classes: string[]; first: number; against: number; temperature: number; alpha: number | null }) {
  const { term, text, first, against, temperature } = props;
  const { points, tokens, words, unknown } = readDocument(term, text, props.classes.length, props.alpha);
  const odds = (scores: number[]) => (scores[first] === scores[against] ? 0 : (scores[first] - scores[against]) / temperature);
  const listed = [...words.values()].map((word) => ({ ...word, odds: odds(word.scores) })).sort((a, b) => Math.abs(b.odds) - Math.abs(a.odds));
  const of = new Map(listed.map((word) => [word.name, Math.max(-50, Math.min(50, word.odds)) / word.count]));
  const weights = spread(points, tokens, (name) => of.get(name) ?? 0);
  const original = Array.from(text);
  const shown = original.length === points.length ? original : points;
  const spans: [number, number][] = readsCharacters(term) ? points.map((_, i) => [i, i + 1]) : wordSpans(term, points);
  const weight = ([start, end]: [number, number]) => weights.subarray(start, end).reduce((sum, w) => sum + w, 0);
  const reach = Math.max(1e-9, ...spans.map((span) => Math.abs(weight(span))));
  const pieces = [];
  let last = 0;
  for (const span of spans) {
    if (span[0] > last) pieces.push(shown.slice(last, span[0]).join(""));
    const w = weight(span);
    const piece = shown.slice(...span).join("");
    const share = Math.round((42 * Math.abs(w)) / reach);
    pieces.push(share ? <mark class={w < 0 ? "against" : ""} style={{ "--share": `${share}%` }} title={`${w > 0 ? "+" : ""}${short(w)}`}>{piece}</mark> : piece);
    last = span[1];
  }
  pieces.push(shown.slice(last).join(""));
  return (
    <section class="card wide" aria-label={`Words of ${term.column}`}>
      <h2>Words for <bdi class="for">{props.classes[first]}</bdi> and for <bdi class="not">{props.classes[against]}</bdi></h2>
      <p class="text" dir="auto">{pieces}</p>
      {!words.size && <p class="note">The model knows no word of this text, so it gives no evidence.</p>}
      {words.size > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Strongest words">
          <table>
            <thead><tr><th scope="col">word</th><th scope="col">count</th><th scope="col">log odds</th></tr></thead>
            <tbody>{listed.slice(0, MOST_WORDS).map((word) => (
              <tr key={word.name}><th scope="row"><bdi>{word.name}</bdi></th><td>{word.count}</td><td>{word.odds > 0 ? "+" : ""}{short(word.odds)}</td></tr>
            ))}</tbody>
          </table>
        </div>
      )}
      <p class="note">{listed.length > MOST_WORDS && `${listed.length - MOST_WORDS} more words. `}{unknown > 0 && `${unknown} unknown.`}</p>
    </section>
  );
}
