import { parseYaml } from "@istiod/config-schema";
import type { FunctionOptions } from "../templates/functions.js";
import { type InjectorConfig, parseInjectorConfig } from "./injector-config.js";
import { type InjectorValues, parseValues } from "./values.js";

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
  /** Calls a listener after each change. Returns a function that ends this. */
  onChange(listener: () => void): () => void;
  stop(): void;
}

/** A place that holds one document, such as a key of a ConfigMap (`DocumentPlace` of `@istiod/config-ingestion`). */
export interface InjectorPlace {
  /** Name for messages. */
  readonly name: string;
  /** Starts to watch. `changed` is called when the text may have changed. */
  start(changed: () => void): Promise<void>;
  /** Reads the current text; undefined, perhaps with the reason, if there is none. */
  read(): Promise<{ readonly text: string | undefined; readonly fault?: string }>;
  stop(): void;
}

/** The places of the two documents, as in the ConfigMap `istio-sidecar-injector`. */
export interface InjectorPlaces {
  readonly config: InjectorPlace;
  readonly values: InjectorPlace;
}

/** The log of changes of the configuration, as pino's loggers have it. */
export interface InjectorLog {
  info(message: string): void;
  warn(message: string): void;
  error(fields: object, message: string): void;
}

/** Follows the configuration of injection. Resolves after the first attempt to read it. */
export async function followInjector(
  places: InjectorPlaces,
  options: FunctionOptions,
  log: InjectorLog,
): Promise<InjectorSource> {
  const source = new FollowedInjector(places, options, log);
  await source.start();
  return source;
}

class FollowedInjector implements InjectorSource {
  readonly #places: InjectorPlaces;
  readonly #options: FunctionOptions;
  readonly #log: InjectorLog;
  #documents: InjectorDocuments | undefined;
  #texts: readonly (string | undefined)[] = [];
  #reading: Promise<void> = Promise.resolve();
  readonly #listeners = new Set<() => void>();
  fault = "the configuration of injection was not read yet";

  constructor(places: InjectorPlaces, options: FunctionOptions, log: InjectorLog) {
    this.#places = places;
    this.#options = options;
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

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  stop(): void {
    this.#listeners.clear();
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
      this.#documents = parse(...texts, this.#options);
      this.fault = "";
      this.#log.info("injection configuration loaded");
      for (const listener of this.#listeners) listener();
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

async function textOf(place: InjectorPlace): Promise<string> {
  const { text, fault } = await place.read();
  if (text === undefined) throw new Error(`${place.name}: ${fault ?? "does not exist"}`);
  return text;
}

function parse(config: string, values: string, options: FunctionOptions): InjectorDocuments {
  const parsed = parseYaml({ text: config, line: 1 });
  const { templates = {} } = ("value" in parsed ? parsed.value : {}) as { readonly templates?: Record<string, string> };
  return {
    config: parseInjectorConfig(config, options),
    values: parseValues(values),
    templates,
  };
}
