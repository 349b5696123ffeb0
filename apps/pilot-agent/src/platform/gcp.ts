import { readFile } from "node:fs/promises";
import { askMetadata } from "./metadata-request.js";
import { known, type Platform } from "./platform.js";

const TIMEOUT = 5000;

/** Sources of the facts of Google's cloud. */
export interface GcpOptions {
  /** `host` or `host:port` of the metadata server. */
  readonly host: string;
  /** `PROJECT|NUMBER|CLUSTER|LOCATION` (GCP_METADATA), in place of the metadata server. Empty: none. */
  readonly staticMetadata: string;
  /** GCP_QUOTA_PROJECT and GCP_ZONE, which accompany the static metadata. */
  readonly quotaProject: string;
  readonly zone: string;
  /** File of the resolver, whose search domains have the zone. */
  readonly resolvConf: string;
}

/** Reads the metadata of a machine in Google's cloud. Its labels, for which a role is needed, are not read. */
export async function gcpPlatform(options: GcpOptions): Promise<Platform> {
  const zone = await zoneOf(options);
  const region = /^([^-]+-[^-]+)-[^-]+$/.exec(zone ?? "")?.[1];
  const metadata = options.staticMetadata === "" ? await instanceMetadata(options.host) : staticEntries(options);
  return {
    metadata: { ...metadata, ...clusterUrl(metadata) },
    locality: region === undefined ? {} : known({ region, zone }),
  };
}

function staticEntries({ staticMetadata, quotaProject, zone }: GcpOptions): Record<string, string> {
  const parts = staticMetadata.split("|");
  const [project, number, cluster, location] = parts.length === 4 ? parts : [];
  return known({
    gcp_project: project,
    gcp_project_number: number,
    gcp_gke_cluster_name: cluster,
    gcp_location: location,
    gcp_quota_project: quotaProject,
    gcp_zone: zone,
  });
}

/** Paths of the metadata server by entry. Later ones stand in for earlier ones. */
const paths: Readonly<Record<string, readonly string[]>> = {
  gcp_project: ["project/project-id"],
  gcp_project_number: ["project/numeric-project-id"],
  gcp_location: ["instance/attributes/cluster-location", "instance/zone"],
  gcp_gke_cluster_name: ["instance/attributes/cluster-name"],
  gcp_gce_instance: ["instance/name"],
  gcp_gce_instance_id: ["instance/id"],
  gcp_gce_instance_template: ["instance/attributes/instance-template"],
  gcp_gce_instance_created_by: ["instance/attributes/created-by"],
};

async function instanceMetadata(host: string): Promise<Record<string, string>> {
  const entries = Object.entries(paths).map(async ([entry, places]) => {
    for (const place of places) {
      const value = await ask(host, place);
      if (value) return [entry, place === "instance/zone" ? lastPart(value) : value] as const;
    }
    return [entry, undefined] as const;
  });
  return known(Object.fromEntries(await Promise.all(entries)));
}

function clusterUrl(metadata: Readonly<Record<string, string>>): Record<string, string> {
  const { gcp_project: project, gcp_location: location, gcp_gke_cluster_name: cluster } = metadata;
  if (project === undefined || location === undefined || cluster === undefined) return {};
  const path = `projects/${project}/locations/${location}/clusters/${cluster}`;
  return { gcp_gke_cluster_url: `https://container.googleapis.com/v1/${path}` };
}

/** Returns the zone: given, of the resolver's search domains, or of the metadata server. */
async function zoneOf({ host, staticMetadata, zone, resolvConf }: GcpOptions): Promise<string | undefined> {
  if (staticMetadata !== "" && zone !== "") return zone;
  const resolver = await readFile(resolvConf, "utf8").catch(() => "");
  const found = /^search.* ([^-\s]+-[^-\s]+-[^-\s.]+)\.c\.[^.\s]+\.internal/m.exec(resolver)?.[1];
  return found ?? lastPart((await ask(host, "instance/zone")) ?? "");
}

/** Returns `us-central1-f` of `projects/1234/zones/us-central1-f`. */
const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

function ask(host: string, path: string): Promise<string | undefined> {
  const url = `http://${host}/computeMetadata/v1/${path}`;
  return askMetadata({ url, headers: { "metadata-flavor": "Google" }, timeoutMs: TIMEOUT });
}
