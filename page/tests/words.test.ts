import { expect, test } from "vitest";
import { Tokenizer, type TokenizerSettings } from "../src/tokenizer";
import { readDocument, type WordsTerm } from "../src/words";

// Word characters of ASCII: 0-9, A-Z, _ and a-z.
const RUNS = [48, 10, 7, 26, 4, 1, 1, 26];
const SETTINGS: TokenizerSettings = { pattern: "words", ngrams: [1, 1], lowercase: true, stop_words: null, runs: RUNS };
const names = (settings: Partial<TokenizerSettings>, text: string) => {
  const tokenizer = new Tokenizer({ ...SETTINGS, ...settings });
  return tokenizer.tokens(tokenizer.read(text)).map((token) => token.name);
};

test("words have two letters, and n-grams leave stop words out", () => {
  expect(names({}, "The cat, a CAT.")).toEqual(["the", "cat", "cat"]);
  expect(names({ ngrams: [1, 2], stop_words: ["cat"], pattern: "words1" }, "the cat sat")).toEqual(["the", "sat", "the sat"]);
  expect(names({ pattern: "words_and_punctuation" }, "no!  yes")).toEqual(["no", "!", "yes"]);
  expect(names({ pattern: "words_and_emoji" }, "so glad 😀👍🏽! ✓a")).toEqual(["so", "glad", "😀", "👍", "✓"]);
});

test("characters are cut over spaces or within words", () => {
  expect(names({ pattern: "char", ngrams: [3, 3] }, "ab \t cd")).toEqual(["ab ", "b c", " cd"]);
  expect(names({ pattern: "char_wb", ngrams: [2, 3] }, "ab")).toEqual([" a", "ab", "b ", " ab", "ab "]);
  expect(names({ characters: [3, 4] }, "sun")).toEqual(["sun", "su-", "-sun-", "-un", "sun-", "-sun"]);
});

const TERM: WordsTerm = {
  kind: "words", column: "text", words: ["game", "election"], scores: [[Math.log(3 / 25), Math.log(1 / 23)], [Math.log(1 / 25), Math.log(3 / 23)]],
  once: false, repeats: null, scale: 0, present: null, shares: null, tokenizer: SETTINGS,
};

test("the score of a document is the sum over its known words", () => {
  const read = readDocument(TERM, "Game, game, unknown election", 2);
  expect(read.scores[0]).toBeCloseTo(Math.log((3 / 25) ** 2 / 25), 13);
  expect(read.unknown).toBe(1);
  expect(readDocument({ ...TERM, once: true, scale: 1 }, "game game election", 2).scores[0]).toBeCloseTo(Math.log(3 / 25 / 25) / 2, 13);
  expect(readDocument({ ...TERM, present: [1, 2] }, "", 2).scores).toEqual([0, 0]);
});
