#!/usr/bin/env bash
# A counter of prom-client whose name ends in `_total` loses that ending in Prometheus' text format, for good, once the
# registry has been read as OpenMetrics: `requests_total` becomes `requests` for every later scrape. So a program that
# answers in the format that a scraper asks for renames its counters after the first scraper of the other kind. A counter
# without the ending has two names, too: it is `events` as text and `events_total` as OpenMetrics, in any order.
# Seen with one registry that is read in both formats in turn.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --prefix "$folder" prom-client@15.1.3
cat > "$folder/run.mjs" <<'JS'
import { Counter, Registry } from "prom-client";

const registry = new Registry();
for (const name of ["requests_total", "events"]) new Counter({ name, help: name, registers: [registry] }).inc();
const read = async (format) => {
  registry.setContentType(Registry[`${format}_CONTENT_TYPE`]);
  const lines = (await registry.metrics()).split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#")).map((line) => line.split(" ")[0]).join(", ");
};
const found = [];
for (const format of ["PROMETHEUS", "PROMETHEUS", "OPENMETRICS", "PROMETHEUS", "PROMETHEUS", "OPENMETRICS"])
  found.push(`${format}: ${await read(format)}`);
console.log("prom-client 15.1.3, counters requests_total and events");
console.log(found.join("\n"));
const expected = [
  "PROMETHEUS: requests_total, events",
  "PROMETHEUS: requests_total, events",
  "OPENMETRICS: requests_total, events_total",
  "PROMETHEUS: requests, events",
  "PROMETHEUS: requests, events",
  "OPENMETRICS: requests_total, events_total",
];
process.exit(found.join() === expected.join() ? 0 : 1);
JS
node "$folder/run.mjs"
