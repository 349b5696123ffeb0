import { access } from "node:fs/promises";
import { join } from "node:path";
import { ConfigMapPlace, type DocumentPlace, FilePlace } from "@istiod/config-ingestion";
import { parseYaml } from "@istiod/config-schema";
import { type InjectorConfig, type InjectorValues, parseInjectorConfig, parseValues } from "@istiod/injector";
import type { ApiClient } from "@istiod/kubernetes";
import type { Environment } from "@istiod/settings";
import type { Logger } from "pino";
import { variables } from "../variables.js";

/** The configuration of injection. */
export interface InjectorDocuments {
  readonly config: InjectorConfig;
  readonly values: InjectorValues;
  /** Texts of the templates, by name. */
  readonly templates: Readonly<Record<string, string>>;
}

/** The last good configuration of injection, and the reason if there is none. */
export interface InjectorSource {
  current(): InjectorDocuments | undefined;
  /** Empty if there is a configuration. */
  readonly fault: string;
  stop(): void;
}

/** Directory of the configuration in files, as in Istio (pilot/cmd/pilot-discovery/app/cmd.go). */
const injectionDirectory = "./var/lib/istio/inject";

interface Places {
  readonly config: DocumentPlace;
  readonly values: DocumentPlace;
}

/**
 * Returns the places of the configuration: files if there are any, otherwise the ConfigMap `istio-sidecar-injector`, or
 * `istio-sidecar-injector-REVISION`. Source: pilot/pkg/bootstrap/sidecarinjector.go.
 */
export async function injectorPlaces(client: ApiClient, namespace: string, env: Environment): Promise<Places> {
  const file = (name: string): string => join(injectionDirectory, name);
  if (await exists(file("config")))
    return { config: new FilePlace(file("config")), values: new FilePlace(file("values")) };
  const revision = variables.revision.read(env);
  const configMap = `istio-sidecar-injector${revision === "" || revision === "default" ? "" : `-${revision}`}`;
  const place = (key: string): DocumentPlace => new ConfigMapPlace({ client, namespace, configMap, key });
  return { config: place("config"), values: place("values") };
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

/** Follows the configuration of injection. Resolves when it is known whether there is one. */
export async function followInjector(places: Places, env: NodeJS.ProcessEnv, log: Logger): Promise<InjectorSource> {
  const source = new FollowedInjector(places, env, log);
  await source.start();
  return source;
}

class FollowedInjector implements InjectorSource {
  readonly #places: Places;
  readonly #env: NodeJS.ProcessEnv;
  readonly #log: Logger;
  #documents: InjectorDocuments | undefined;
  #texts: readonly (string | undefined)[] = [];
  #reading: Promise<void> = Promise.resolve();
  fault = "the configuration of injection was not read yet";

  constructor(places: Places, env: NodeJS.ProcessEnv, log: Logger) {
    this.#places = places;
    this.#env = env;
    this.#log = log;
  }

  async start(): Promise<void> {
    const { config, values } = this.#places;
    const changed = (): void => void (this.#reading = this.#reading.then(() => this.#read()));
    try {
      await Promise.all([config.start(changed), values.start(changed)]);
    } catch (error) {
      this.fault = (error as Error).message;
      this.#log.error({ err: error }, `injection is not served: ${this.fault}`);
      return;
    }
    changed();
    await this.#reading;
  }

  current(): InjectorDocuments | undefined {
    return this.#documents;
  }

  stop(): void {
    this.#places.config.stop();
    this.#places.values.stop();
  }

  /** Reads both documents. Invalid ones are logged, and the last good ones stay active. */
  async #read(): Promise<void> {
    const { config, values } = this.#places;
    try {
      const texts = [await textOf(config), await textOf(values)] as const;
      if (texts.every((text, at) => text === this.#texts[at])) return;
      this.#texts = texts;
      this.#documents = parse(...texts, this.#env);
      this.fault = "";
      this.#log.info("injection configuration loaded");
    } catch (error) {
      const { message } = error as Error;
      if (this.#documents === undefined) {
        if (this.fault !== message) this.#log.warn(`injection is not configured: ${message}`);
        this.fault = message;
      } else
        this.#log.error({ err: error }, `injection configuration not updated, keeping the last good one: ${message}`);
    }
  }
}

async function textOf(place: DocumentPlace): Promise<string> {
  const { text, fault } = await place.read();
  if (text === undefined) throw new Error(`${place.name}: ${fault ?? "does not exist"}`);
  return text;
}

function parse(config: string, values: string, environment: NodeJS.ProcessEnv): InjectorDocuments {
  const parsed = parseYaml({ text: config, line: 1 });
  const { templates = {} } = ("value" in parsed ? parsed.value : {}) as { readonly templates?: Record<string, string> };
  return {
    config: parseInjectorConfig(config, { environment, now: Date.now }),
    values: parseValues(values),
    templates,
  };
}
