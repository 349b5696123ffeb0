import { join } from "node:path";
import { expect, it } from "vitest";
import { validateCommand } from "@istiod/commands";
import { folder } from "./folder.js";

const gateway = `apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: ingress, namespace: shop}
spec: {servers: [{port: {number: 80, name: http, protocol: HTTP}, hosts: ["*"]}]}
`;
const filter = `apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: slow, namespace: shop}
spec:
  configPatches:
  - applyTo: CLUSTER
    patch:
      operation: MERGE
      value:
        connect_timeout: "10"
        conect_timeout: 10s
`;
const service = `apiVersion: v1
kind: Service
metadata: {name: cart}
`;

async function validated(argv: readonly string[], stdin = "") {
  let printed = "";
  let status: number | undefined;
  await validateCommand({
    print: (text) => void (printed += text),
    exit: (code) => void (status = code),
    stdin: async () => stdin,
  }).parseAsync(argv, { from: "user" });
  return { printed, status };
}

it("valid files exit with 0, and objects of other kinds are ignored", async () => {
  const directory = await folder({ "a.yaml": `${gateway}---\n${service}` });
  const file = join(directory, "a.yaml");
  expect(await validated(["-f", file])).toEqual({ status: 0, printed: `${JSON.stringify(file)} is valid\n` });
});

it("invalid files exit with 1, with file, line, object and field of each fault", async () => {
  const directory = await folder({ "a.yaml": gateway, "sub/b.yml": `${service}---\n${filter}`, "c.txt": "{" });
  const { printed, status } = await validated(["-f", directory]);
  const b = join(directory, "sub/b.yml");
  expect(status).toBe(1);
  expect(printed.split("\n")).toEqual([
    `${JSON.stringify(join(directory, "a.yaml"))} is valid`,
    expect.stringMatching(/^warning: .*b\.yml:5: EnvoyFilter shop\/slow: EnvoyFilter exposes internals/),
    `error: ${b}:14: EnvoyFilter shop/slow: configPatches[0].patch.value.connect_timeout: is "10", expected a duration such as 1.5s`,
    `warning: ${b}:15: EnvoyFilter shop/slow: configPatches[0].patch.value.conect_timeout: is not a field of Cluster; did you mean connectTimeout?`,
    "",
  ]);
});

it("warnings alone exit with 0; standard input is named -", async () => {
  const { printed, status } = await validated(["-f", "-"], filter.replace('"10"', "10s"));
  expect(status).toBe(0);
  expect(printed).toContain("warning: -:11: EnvoyFilter shop/slow: configPatches[0].patch.value.conect_timeout: ");
  expect(printed).toContain('"-" is valid');
});

it.each([
  [
    "an unknown field",
    gateway.replace("servers:", "server: 1, servers:"),
    /^error: -:4: Gateway shop\/ingress: server: /,
  ],
  ["an unknown field beside spec", `${gateway}data: {}\n`, /^error: -:5: Gateway shop\/ingress: data: is unknown/],
  ["a misspelled kind", gateway.replace("kind: Gateway", "kind: Gatway"), /^error: -:2: .*did you mean Gateway\?/],
  ["a text that is not YAML", "a: [", /^error: -:1: is not YAML: /],
])("%s is an error", async (_, text, expected) => {
  const { printed, status } = await validated(["-"], text);
  expect(printed).toMatch(expected);
  expect(status).toBe(1);
});

it("items of a List are validated", async () => {
  const list = { apiVersion: "v1", kind: "List", items: [{ apiVersion: "v1", kind: "Pod", metadata: { name: "a" } }] };
  const invalid = { apiVersion: "networking.istio.io/v1", kind: "Gateway", metadata: { name: "b" }, spec: {}, data: 1 };
  const { printed } = await validated(
    ["-"],
    JSON.stringify({ ...list, items: [...list.items, invalid] }, undefined, 1),
  );
  expect(printed).toMatch(/^error: -:\d+: Gateway default\/b: servers: /);
  expect(printed).toMatch(/error: -:\d+: Gateway default\/b: data: is unknown/);
});

it("-o json prints a verdict for each file", async () => {
  const { printed, status } = await validated(["-", "-o", "json"], `${service}---\n${gateway.replace("80", "-1")}`);
  expect(status).toBe(1);
  expect(JSON.parse(printed)).toEqual([
    {
      file: "-",
      valid: false,
      validated: 1,
      ignored: 1,
      problems: [
        {
          severity: "error",
          line: 8,
          kind: "Gateway",
          namespace: "shop",
          name: "ingress",
          field: "servers[0].port.number",
          message: expect.stringMatching(/^is -1, expected/),
        },
      ],
    },
  ]);
});

it("without files it says what to give; a file that does not exist is named", async () => {
  await expect(validated([])).rejects.toThrow("no files to validate");
  await expect(validated(["-f", "/nowhere/a.yaml"])).rejects.toThrow("/nowhere/a.yaml");
});
