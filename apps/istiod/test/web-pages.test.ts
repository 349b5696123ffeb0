import { once } from "node:events";
import { get, type IncomingMessage, request } from "node:http";
import { expect, it } from "vitest";
import { folder, serve } from "./serving.js";

async function ask(
  url: string,
  { method = "GET", headers = {} }: { method?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const sent = method === "GET" ? get(url, { headers }) : request(url, { method, headers });
  sent.end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return `${response.statusCode} ${text.trim()}`;
}

it("a web page of another site reads and changes nothing, whatever name it gives to this machine", async () => {
  const istiod = await serve({ configDir: await folder({}), monitoringAddr: "127.0.0.1:0" });
  const monitoring = `http://127.0.0.1:${istiod.addresses["monitoringAddr"]?.port}`;
  for (const url of [`${istiod.http}/ready`, `${istiod.http}/debug/configz`, `${monitoring}/metrics`]) {
    expect(await ask(url, { headers: { host: "rebound.example.com" } })).toBe(
      '403 host "rebound.example.com" is not allowed: use localhost or an IP address',
    );
    expect(await ask(url, { headers: { origin: "http://example.com" } })).toBe(
      '403 requests from origin "http://example.com" are not allowed',
    );
    expect(await ask(url)).toMatch(/^200/);
  }
});

it("state changes by POST, or by a program on this machine", async () => {
  const istiod = await serve({ configDir: await folder({}) });
  const page = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
  for (const path of ["adsz?push=true", "cachez?clear=true", "pprof/profile?seconds=0.1"]) {
    const url = `${istiod.http}/debug/${path}`;
    expect(await ask(url, { headers: page })).toBe("405 method must be POST");
    expect(await ask(url)).toMatch(/^200/);
    expect(await ask(url, { method: "POST" })).toMatch(/^200/);
    expect(await ask(url, { method: "POST", headers: { origin: "http://example.com" } })).toMatch(/^403/);
  }
  expect(await ask(`${istiod.http}/debug/adsz`, { headers: page })).toMatch(/^200/);
});

it("--httpAllowedHosts adds host names", async () => {
  const istiod = await serve({ configDir: await folder({}), httpAllowedHosts: ["mesh.example.com"] });
  expect(await ask(`${istiod.http}/ready`, { headers: { host: "mesh.example.com:8080" } })).toBe("200 ");
});

it("one profile is recorded at a time", async () => {
  const istiod = await serve({ configDir: await folder({}) });
  const answers = await Promise.all(
    ["profile?seconds=0.3", "heap?seconds=0.3", "profile?seconds=0.3"].map((path) =>
      ask(`${istiod.http}/debug/pprof/${path}`),
    ),
  );
  expect(answers.filter((answer) => answer === "429 another profile is being recorded")).toHaveLength(2);
  expect(answers.filter((answer) => answer.startsWith("200 "))).toHaveLength(1);
  expect(await ask(`${istiod.http}/debug/pprof/profile?seconds=0.1`)).toMatch(/^200 /);
});
