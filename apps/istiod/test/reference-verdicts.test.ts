import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { documentsOf, parseYaml } from "@istiod/config-schema";
import { ApiError, resourcePath } from "@istiod/kubernetes";
import { expect, test, vi } from "vitest";
import { scrape } from "@istiod/prometheus/testing";
import { typeOf } from "./test-clusters.js";
import { meshWithWebhooks, validator } from "./webhook-mesh.js";

/** The parts of `@istiod/manifests` that the test uses. The package is not a dependency of this one. */
interface ManifestsModule {
  readProtos(): Promise<unknown>;
  customResourceDefinitions(protos: unknown): readonly object[];
}

/** An object of the reference, with the reason why it is rejected. */
interface Case {
  readonly place: string;
  readonly object: { readonly apiVersion: string; readonly kind: string; readonly metadata: object };
  readonly error: string | undefined;
}

const peer = fileURLToPath(new URL("../../../../shared/peer/", import.meta.url));
const absence = existsSync(peer) ? undefined : "no ../shared/peer next to the repository";
const folders = ["validation-crds", "istio-api-tests"];
const until = { timeout: 60_000, interval: 50 };

const casesOf = (folder: string): readonly Case[] =>
  readdirSync(join(peer, folder))
    .filter((name) => name.endsWith(".yaml"))
    .flatMap((file) =>
      [...documentsOf(readFileSync(join(peer, folder, file), "utf8"))].flatMap((document, at) => {
        const parsed = parseYaml(document);
        if (!("value" in parsed)) throw new Error(`${file} ${at}: ${parsed.message}`);
        if (parsed.value === null || parsed.value === undefined) return [];
        const { _err: error, ...object } = parsed.value as Case["object"] & { readonly _err?: string };
        return [{ place: `${folder}/${file} ${at}`, object, error }];
      }),
    );

test(
  "the schemas of the definitions and the webhook together accept and reject what the reference does",
  { timeout: 240_000 },
  async (context) => {
    context.skip(absence !== undefined, absence);
    const name = "@istiod/manifests";
    const { customResourceDefinitions, readProtos } = (await import(name)) as ManifestsModule;
    const definitions = customResourceDefinitions(await readProtos());
    const { cluster, client, istiod } = await meshWithWebhooks("real", context, definitions);
    const configuration = validator("default");
    await cluster.create(configuration);
    const policies = async () =>
      (
        await cluster.read<{ readonly webhooks: readonly { readonly failurePolicy: string }[] }>(
          configuration.kind,
          configuration.metadata.name,
        )
      )?.webhooks.map(({ failurePolicy }) => failurePolicy);
    await vi.waitFor(async () => expect(await policies()).toEqual(["Fail"]), until);

    const rejection = async ({ apiVersion, kind, ...object }: Case["object"]): Promise<string | undefined> => {
      const namespace = "shop";
      const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
      const metadata = { name: "case", namespace, labels: { "istio.io/rev": "default" } };
      const path = resourcePath({ ...typeOf(kind), version }, { namespace });
      const body = JSON.stringify({ ...object, apiVersion, kind, metadata });
      try {
        await client.json({ method: "POST", path, query: { dryRun: "All" }, body });
        return undefined;
      } catch (error) {
        if (error instanceof ApiError && (error.status === 400 || error.status === 422)) return error.message;
        throw error;
      }
    };
    const different: string[] = [];
    const seen = { accepted: 0, rejected: 0 };
    for (const { place, object, error } of folders.flatMap(casesOf)) {
      const found = await rejection(object);
      seen[error === undefined ? "accepted" : "rejected"]++;
      if ((found === undefined) !== (error === undefined))
        different.push(`${place}: expected ${error ?? "acceptance"}, got ${found ?? "acceptance"}`);
    }
    expect(different).toEqual([]);
    expect(seen.accepted).toBeGreaterThan(60);
    expect(seen.rejected).toBeGreaterThan(100);
    // Every accepted object has passed the webhook.
    const passed = (await scrape(istiod)).samples.get("galley_validation_passed") ?? [];
    expect(passed.reduce((sum, { value }) => sum + value, 0)).toBeGreaterThanOrEqual(seen.accepted);
  },
);
