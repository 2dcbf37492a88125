/** Scores of the words of a document. */
import type { Fraction } from "./score";
import { Tokenizer, type Token, type TokenizerSettings } from "./tokenizer";

type Scores = (number | null)[];

export interface WordsTerm {
  kind: "words";
  column: string;
  words: string[];
  scores: Scores[];
  once: boolean;
  repeats: Scores[] | null;
  scale: number;
  present: Scores | null;
  shares: { lengths: number[]; runs: boolean[]; scores: Scores[] } | null;
  tokenizer: TokenizerSettings;
  /** Occurrences of each word in each class and its pseudo-count, where the scores are those of a multinomial. */
  counted?: { counts: number[][]; pseudo: number[] };
}

export interface Word {
  name: string;
  count: number;
  /** What it adds to the score of each class. */
  scores: number[];
  /** (n + added) / (total + whole) of each class, where the words are counted so. */
  fractions?: Fraction[];
}

export interface ReadDocument {
  points: string[];
  tokens: Token[];
  words: Map<string, Word>;
  unknown: number;
  scores: number[];
}

/** The words of a text by their place in the term, and how often each occurs. */
interface Counted {
  points: string[];
  tokens: Token[];
  counts: Map<number, number>;
  unknown: number;
}

interface Tools {
  tokenizer: Tokenizer;
  index: Map<string, number>;
  totals: number[];
  whole: number;
  cut?: [string, Counted];
  last?: [string, number | null, ReadDocument];
}

const tools = new WeakMap<WordsTerm, Tools>();
const number = (x: number | null): number => x ?? -Infinity;

function toolsOf(term: WordsTerm) {
  let found = tools.get(term);
  if (!found) {
    const totals = (term.counted?.counts[0] ?? []).map((_, c) => term.counted!.counts.reduce((sum, row) => sum + row[c], 0));
    const whole = term.counted?.pseudo.reduce((sum, a) => sum + a, 0) ?? 0;
    found = { tokenizer: new Tokenizer(term.tokenizer), index: new Map(term.words.map((word, i) => [word, i])), totals, whole };
    tools.set(term, found);
  }
  return found;
}

export const readsCharacters = (term: WordsTerm): boolean => toolsOf(term).tokenizer.byCharacter;
export const wordSpans = (term: WordsTerm, points: string[]) => toolsOf(term).tokenizer.words(points);

function countWords(own: Tools, text: string): Counted {
  if (own.cut?.[0] === text) return own.cut[1];
  const points = own.tokenizer.read(text);
  const tokens = own.tokenizer.tokens(points);
  const counts = new Map<number, number>();
  let unknown = 0;
  for (const { name } of tokens) {
    const id = own.index.get(name);
    if (id === undefined) unknown++;
    else counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  own.cut = [text, { points, tokens, counts, unknown }];
  return own.cut[1];
}

/** Return the known words of a document and the sum of their scores for each of n classes, with another α if given. */
export function readDocument(term: WordsTerm, text: string, n: number, alpha: number | null = null): ReadDocument {
  const own = toolsOf(term);
  if (own.last?.[0] === text && own.last[1] === alpha) return own.last[2];
  const { points, tokens, counts, unknown } = countWords(own, text);
  const divisor = counts.size ** term.scale;
  const { shares } = term;
  const squares = [0, 0];
  const length = (id: number, count: number) => (1 + Math.log(count)) * shares!.lengths[id];
  if (shares) for (const [id, count] of counts) squares[+shares.runs[id]] += length(id, count) ** 2;
  const words = new Map<string, Word>();
  const scores = new Array<number>(n).fill(0);
  for (const id of [...counts.keys()].sort((a, b) => a - b)) {
    const count = counts.get(id)!;
    const log = Math.log(count);
    const share = shares && squares[+shares.runs[id]] > 0 ? (1 + log) / Math.sqrt(squares[+shares.runs[id]]) : 0;
    const fractions = term.counted?.counts[id].map((k, c) => ({ n: k, total: own.totals[c], added: alpha ?? term.counted!.pseudo[id], whole: alpha === null ? own.whole : alpha * term.words.length }));
    const scored = alpha !== null && fractions ? fractions.map((f) => Math.log((f.n + f.added) / (f.total + f.whole))) : term.scores[id];
    const added = scored.map((score, c) => {
      const plain = term.repeats ? (1 + log) * number(score) + log * number(term.repeats[id][c]) : (term.once ? 1 : count) * number(score);
      return plain / divisor + (shares ? share * number(shares.scores[id][c]) : 0);
    });
    added.forEach((score, c) => (scores[c] += score));
    words.set(term.words[id], { name: term.words[id], count, scores: added, fractions });
  }
  if (counts.size && term.present) term.present.forEach((score, c) => (scores[c] += number(score)));
  const found = { points, tokens, words, unknown, scores };
  own.last = [text, alpha, found];
  return found;
}
