// llama.cpp behind a pipe, so that a script can run it and something else in turn. It loads MODEL once and then answers
// each line on standard input with one line of JSON. The library is npm's node-llama-cpp; which copy is said by the
// environment: LLAMA_CPP_MODULES is the folder with `node_modules`.
//
//   node llama_cpp.mjs MODEL PROMPT_TOKENS NEW_TOKENS THREADS [KV_TYPE]
//
//   run                 times a prompt and new tokens: {"prefill_tok_s": ..., "decode_tok_s": ...}
//   logits 1,2,3 FILE   evaluates these tokens as one prompt and writes the logits of each to FILE, raw little-endian
//                       float32 [positions, vocabulary]: {"positions": ..., "vocabulary": ...}
//
// The first line, unasked, is {"ready": true, "first_token_s": ...}: from opening the file to the first token of a
// prompt of five, without the start of node itself. The end of the input ends the process.
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = process.env.LLAMA_CPP_MODULES ?? process.cwd();
const entry = createRequire(path.join(path.resolve(modules), "package.json")).resolve("node-llama-cpp");
const { getLlama } = await import(pathToFileURL(entry).href);

const [modelPath, ...rest] = process.argv.slice(2);
const [promptTokens, newTokens, threads] = rest.slice(0, 3).map(Number);
const kvType = (rest[3] ?? "f16").toUpperCase();
if (!modelPath || ![promptTokens, newTokens, threads].every((n) => Number.isInteger(n) && n > 0)) {
  console.error("usage: llama_cpp.mjs MODEL PROMPT_TOKENS NEW_TOKENS THREADS [KV_TYPE]");
  process.exit(2);
}

// The tokens that `weft bench` makes up too.
const madeUpTokens = (count) => Array.from({ length: count }, (_, i) => 300 + ((i * 7919) % 1500));
const seconds = (from, to = performance.now()) => (to - from) / 1000;
const greedy = { temperature: 0, yieldEogToken: true };

const llama = await getLlama({ gpu: false, build: "never", logLevel: "error", maxThreads: threads });
const opened = performance.now();
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({
  contextSize: promptTokens + newTokens + 8,
  batchSize: Math.max(promptTokens, 5),
  threads,
  experimentalKvCacheKeyType: kvType,
  experimentalKvCacheValueType: kvType,
});
const sequence = context.getSequence();

// Evaluates `tokens`, then greedy tokens; the time at which each of the first `count` came out.
async function generate(tokens, count) {
  const times = [];
  for await (const token of sequence.evaluate(tokens, greedy)) {
    times.push(performance.now());
    if (times.length === count) break;
  }
  return times;
}

async function run() {
  await sequence.clearHistory();
  const start = performance.now();
  await sequence.evaluateWithoutGeneratingNewTokens(madeUpTokens(promptTokens));
  const prefill = seconds(start);
  // The first new token takes the last step of starting up; those after it are counted.
  const times = await generate([300], newTokens + 1);
  return {
    prefill_tok_s: promptTokens / prefill,
    decode_tok_s: newTokens / seconds(times[0], times.at(-1)),
  };
}

// `generateNext` samples too; its defaults are greedy and without penalties, so that the logits are the model's own.
async function logits(tokens, file) {
  await sequence.clearHistory();
  const outputs = await sequence.controlledEvaluate(tokens.map((token) => [token, { generateNext: { logits: true } }]));
  const rows = outputs.map((output) => output.next.logits);
  const vocabulary = rows[0].size;
  const values = new Float32Array(rows.length * vocabulary).fill(NaN);
  rows.forEach((row, position) => row.forEach((logit, token) => (values[position * vocabulary + token] = logit)));
  writeFileSync(file, values);
  return { positions: rows.length, vocabulary };
}

const print = (object) => process.stdout.write(JSON.stringify(object) + "\n");

const [firstToken] = await generate(madeUpTokens(5), 1);
print({ ready: true, first_token_s: seconds(opened, firstToken), system: llama.systemInfo });
for await (const line of createInterface({ input: process.stdin })) {
  const [command, ids, ...file] = line.trim().split(" ");
  if (command === "run") print(await run());
  else if (command === "logits") print(await logits(ids.split(",").map(Number), file.join(" ")));
  else if (command !== "") throw new Error(`${command}: no such request; expected run or logits`);
}
process.exit(0);
