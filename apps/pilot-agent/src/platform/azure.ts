import { askMetadata } from "./metadata-request.js";
import { known, type Platform } from "./platform.js";

const TIMEOUT = 5000;
/** Version of the service that every machine has. */
const OLDEST_VERSION = "2019-08-15";

interface Compute {
  readonly name?: unknown;
  readonly location?: unknown;
  readonly vmId?: unknown;
  readonly zone?: unknown;
  readonly tags?: unknown;
  readonly tagsList?: unknown;
}

/** Reads the metadata of an Azure machine, in the newest version that the service names. */
export async function azurePlatform(host: string): Promise<Platform> {
  const ask = async (query: string): Promise<Readonly<Record<string, unknown>>> =>
    parsed(
      await askMetadata({
        url: `http://${host}/metadata/instance${query}`,
        headers: { metadata: "True" },
        timeoutMs: TIMEOUT,
        // A request without a version is answered by an error that names the newest ones.
        readsErrors: query === "",
      }),
    );
  const newest = (await ask(""))["newest-versions"];
  const versions = [OLDEST_VERSION, ...(Array.isArray(newest) ? newest.filter(isText) : [])].sort();
  const compute = ((await ask(`?api-version=${versions.at(-1)}`))["compute"] ?? {}) as Compute;
  const [name, location, vmId, zone] = [compute.name, compute.location, compute.vmId, compute.zone].map(textOf);
  return {
    metadata: { ...known({ azure_name: name, azure_location: location, azure_vmId: vmId }), ...tagsOf(compute) },
    locality: known({ region: location, zone }),
  };
}

/** Returns the tags of a machine: as a list, or in older versions as a text `name:value;name:value`. */
function tagsOf({ tagsList, tags }: Compute): Record<string, string> {
  const pairs = Array.isArray(tagsList)
    ? (tagsList as { readonly name?: unknown; readonly value?: unknown }[]).map(({ name, value }) => [name, value])
    : (textOf(tags) ?? "").split(";").map((tag) => [tag.split(":")[0], tag.split(":").slice(1).join(":")]);
  return Object.fromEntries(
    pairs.flatMap(([name, value]) => (isText(name) && name !== "" ? [[`azure_${name}`, textOf(value) ?? ""]] : [])),
  );
}

const isText = (value: unknown): value is string => typeof value === "string";

const textOf = (value: unknown): string | undefined => (isText(value) ? value : undefined);

function parsed(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}
