import { followInjector, type InjectorPlace } from "@istiod/injector";
import { expect, it } from "vitest";

/** A document in memory. */
class MemoryPlace implements InjectorPlace {
  readonly name: string;
  #text: string | undefined;
  #changed = (): void => undefined;
  isStopped = false;

  constructor(name: string, text?: string) {
    this.name = name;
    this.#text = text;
  }

  async start(changed: () => void): Promise<void> {
    this.#changed = changed;
  }

  async read() {
    return { text: this.#text };
  }

  stop(): void {
    this.isStopped = true;
  }

  async set(text: string): Promise<void> {
    this.#text = text;
    this.#changed();
    await new Promise((done) => setImmediate(done));
  }
}

const templates = (text: string): string => JSON.stringify({ policy: "enabled", templates: { sidecar: text } });
const options = { environment: {}, now: () => 0 };

async function follow(config: InjectorPlace, values: InjectorPlace) {
  const lines: string[] = [];
  const log = {
    info: (message: string) => lines.push(`info ${message}`),
    warn: (message: string) => lines.push(`warn ${message}`),
    error: (_: object, message: string) => lines.push(`error ${message}`),
  };
  return { source: await followInjector({ config, values }, options, log), lines };
}

it("the configuration is read at once and after each change of a document", async () => {
  const [config, values] = [new MemoryPlace("config", templates("a")), new MemoryPlace("values", "{}")];
  const { source, lines } = await follow(config, values);
  expect(source.current()?.templates).toEqual({ sidecar: "a" });
  await config.set(templates("b"));
  expect(source.current()?.templates).toEqual({ sidecar: "b" });
  await values.set("{}");
  expect(lines).toEqual(["info injection configuration loaded", "info injection configuration loaded"]);
  source.stop();
  expect([config.isStopped, values.isStopped]).toEqual([true, true]);
});

it("without a document, injection is not configured until there is one", async () => {
  const values = new MemoryPlace("ConfigMap istio-system/injector, key values");
  const { source, lines } = await follow(new MemoryPlace("config", templates("a")), values);
  const missing = "ConfigMap istio-system/injector, key values: does not exist";
  expect([source.current(), source.fault]).toEqual([undefined, missing]);
  await values.set("{}");
  expect([source.current()?.templates, source.fault]).toEqual([{ sidecar: "a" }, ""]);
  expect(lines).toEqual([`warn injection is not configured: ${missing}`, "info injection configuration loaded"]);
});

it("an invalid document leaves the last good configuration active", async () => {
  const config = new MemoryPlace("config", templates("a"));
  const { source, lines } = await follow(config, new MemoryPlace("values", "{}"));
  await config.set(templates("{{ if }}"));
  expect([source.current()?.templates, source.fault]).toEqual([{ sidecar: "a" }, ""]);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^error injection configuration not updated, keeping the last good one: .*sidecar/);
});

it("a place that cannot be watched is the reason why nothing is injected", async () => {
  const config = new MemoryPlace("config", templates("a"));
  config.start = () => Promise.reject(new Error("configmaps is forbidden"));
  const { source, lines } = await follow(config, new MemoryPlace("values", "{}"));
  expect([source.current(), source.fault]).toEqual([undefined, "configmaps is forbidden"]);
  expect(lines).toEqual(["error injection is not served: configmaps is forbidden"]);
});
