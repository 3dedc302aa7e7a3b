// Verifies rows of AgentsKit's signed log on standard input, as its `verify` does. Not a test.
// Its own code is not needed: the rules are those of docs/AUDIT.md.
import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const canonical = ({ seq, timestamp, actor, action, payload, prevHash }) =>
  JSON.stringify({ seq, timestamp, actor, action, payload, prevHash });
const rows = readFileSync(0, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
let previous = "", verdict = { ok: true, entryCount: rows.length };

for (const row of rows) {
  const body = canonical(row);
  const reason =
    row.prevHash !== previous ? "prev-hash"
    : row.signature !== createHmac("sha256", process.argv[2]).update(body).digest("hex") ? "signature"
    : undefined;
  if (reason) {
    verdict = { ok: false, brokenAt: { seq: row.seq, reason }, entryCount: rows.length };
    break;
  }
  previous = createHash("sha256").update(body).digest("hex");
}
console.log(JSON.stringify(verdict));
