import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { defineConfig } from "vite";

// The script names the hash of its sources: a test finds a forgotten build without Node.
const sources = [...readdirSync("src").map((name) => `src/${name}`), "package-lock.json", "vite.config.ts"].sort();
const hash = createHash("sha256");
for (const name of sources) hash.update(readFileSync(name));

// One script and one style sheet, which Python embeds in every page it writes.
export default defineConfig({
  build: {
    outDir: "../src/bayeskit/report/assets",
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: "src/main.tsx", formats: ["iife"], name: "bayeskitPage", fileName: () => "page.js", cssFileName: "page" },
    rolldownOptions: { output: { postBanner: `/* sources ${hash.digest("hex")} */` } },
  },
});
