/** Tokens of a document, the same as those of Tokenizer in Python; places are counted in code points. */

export interface TokenizerSettings {
  pattern: "words" | "words1" | "words_and_punctuation" | "words_and_emoji" | "char" | "char_wb";
  ngrams: [number, number];
  lowercase: boolean;
  stop_words: string[] | null;
  characters?: [number, number];
  /** First code points of runs inside and outside of words, by turns, as differences: Python's \w. */
  runs: number[];
}

type Span = [start: number, end: number];

export interface Token {
  name: string;
  /** Pieces of the text that it was made of. */
  spans: Span[];
}

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;
const EMOJI = /[\u2600-\u2775\u2794-\u27bf\u2b50\u{1f1e6}-\u{1f1ff}\u{1f300}-\u{1f3fa}\u{1f400}-\u{1faff}]/u;
const LETTER = /\p{L}/u;
const UNASSIGNED = "\u{10ffff}";

export class Tokenizer {
  readonly byCharacter: boolean;
  private edges: number[] = [];
  private stop: Set<string>;

  constructor(private settings: TokenizerSettings) {
    let edge = 0;
    for (const step of settings.runs) this.edges.push((edge += step));
    this.stop = new Set(settings.stop_words ?? []);
    this.byCharacter = settings.pattern.startsWith("char");
  }

  isWord(character: string): boolean {
    const point = character.codePointAt(0)!;
    let low = 0;
    let high = this.edges.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.edges[middle] <= point) low = middle + 1;
      else high = middle;
    }
    return low % 2 === 1;
  }

  /** Return the characters that are cut into tokens. */
  read(text: string): string[] {
    let points = Array.from(text);
    if (this.settings.lowercase) {
      // Letters of a Unicode version that Python does not know have no lower case there.
      const unknown = points.filter((c) => LETTER.test(c) && !this.isWord(c));
      const known = unknown.length ? points.map((c) => (LETTER.test(c) && !this.isWord(c) ? UNASSIGNED : c)).join("") : text;
      points = Array.from(known.toLowerCase());
      if (unknown.length) points = points.map((c) => (c === UNASSIGNED ? (unknown.shift() ?? c) : c));
    }
    if (this.settings.pattern !== "char") return points;
    return points.flatMap((c, i) => {
      const [before, after] = [i > 0 && SPACE.test(points[i - 1]), i + 1 < points.length && SPACE.test(points[i + 1])];
      if (!SPACE.test(c) || (!before && !after)) return [c];
      return before ? [] : [" "];
    });
  }

  /** Return the words of characters: runs between spaces for n-grams of characters. */
  words(points: string[]): Span[] {
    const { pattern } = this.settings;
    const inside = pattern === "char_wb" ? (c: string) => !SPACE.test(c) : (c: string) => this.isWord(c);
    const shortest = pattern === "words" || pattern === "words_and_emoji" ? 2 : 1;
    const alone = (c: string) => (pattern === "words_and_punctuation" && !SPACE.test(c)) || (pattern === "words_and_emoji" && EMOJI.test(c));
    const found: Span[] = [];
    for (let i = 0; i < points.length; ) {
      let end = i;
      while (end < points.length && inside(points[end])) end++;
      if (end - i >= shortest) found.push([i, end]);
      else if (end === i && alone(points[i])) found.push([i, i + 1]);
      i = Math.max(end, i + 1);
    }
    return found;
  }

  tokens(points: string[]): Token[] {
    const { pattern, ngrams: [shortest, longest], characters } = this.settings;
    const tokens: Token[] = [];
    const text = ([start, end]: Span) => points.slice(start, end).join("");
    if (pattern === "char") {
      for (let n = shortest; n <= Math.min(longest, points.length); n++)
        for (let i = 0; i + n <= points.length; i++) tokens.push({ name: text([i, i + n]), spans: [[i, i + n]] });
      return tokens;
    }
    if (pattern === "char_wb") {
      for (const [start, end] of this.words(points)) {
        const padded = [" ", ...points.slice(start, end), " "];
        for (let n = shortest; n <= longest; n++) {
          for (let i = 0; i < Math.max(1, padded.length - n + 1); i++) {
            const span: Span = [Math.max(start, start + i - 1), Math.min(end, start + i + n - 1)];
            tokens.push({ name: padded.slice(i, i + n).join(""), spans: [span] });
          }
          if (padded.length <= n) break;
        }
      }
      return tokens;
    }
    const words = this.words(points).filter((span) => !this.stop.has(text(span)));
    for (let n = shortest; n <= Math.min(longest, words.length); n++)
      for (let i = 0; i + n <= words.length; i++) {
        const spans = words.slice(i, i + n);
        tokens.push({ name: spans.map(text).join(" "), spans });
      }
    if (characters) for (const span of words) tokens.push(...runsInside(points, span, characters));
    return tokens;
  }
}

/** Runs of characters of a word; its beginning and its end are a character each, "-" where it goes on. */
function runsInside(points: string[], [start, end]: Span, [shortest, longest]: [number, number]): Token[] {
  const n = end - start;
  const found: Token[] = [];
  for (let size = shortest; size <= Math.min(longest, n + 1); size++)
    for (let i = 0; i < n + 3 - size; i++) {
      const span: Span = [start + Math.max(i - 1, 0), Math.min(end, start + i + size - 1)];
      found.push({ name: `${i ? "-" : ""}${points.slice(...span).join("")}${i + size < n + 2 ? "-" : ""}`, spans: [span] });
    }
  return found;
}
