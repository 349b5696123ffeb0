import type { Log } from "../log.js";
import type { Options } from "../options/table.js";
import { awsPlatform } from "./aws.js";
import { azurePlatform } from "./azure.js";
import { gcpPlatform } from "./gcp.js";
import { METADATA_ADDRESS } from "./metadata-request.js";
import type { Platform } from "./platform.js";

/** The settings that decide about the platform. */
export type PlatformOptions = Pick<
  Options,
  "cloudPlatform" | "gcpMetadata" | "gcpQuotaProject" | "gcpZone" | "metadataHost"
>;

/**
 * Reads the facts of the cloud that the settings name. Static metadata of Google's cloud also names it.
 *
 * @param host metadata server of AWS and Azure
 * @param resolvConf file of the resolver
 */
export async function readPlatform(
  options: PlatformOptions,
  log: Log,
  { host = METADATA_ADDRESS, resolvConf = "/etc/resolv.conf" } = {},
): Promise<Platform | undefined> {
  const { cloudPlatform, gcpMetadata, gcpQuotaProject, gcpZone, metadataHost } = options;
  const cloud = cloudPlatform === "" && gcpMetadata !== "" ? "gcp" : cloudPlatform;
  if (cloud === "" || cloud === "none") return undefined;
  const google = { staticMetadata: gcpMetadata, quotaProject: gcpQuotaProject, zone: gcpZone };
  const platform = await (cloud === "aws"
    ? awsPlatform(host)
    : cloud === "azure"
      ? azurePlatform(host)
      : gcpPlatform({ ...google, host: metadataHost, resolvConf }));
  if (Object.keys(platform.metadata).length === 0)
    log.warn(
      `CLOUD_PLATFORM=${cloud}: the metadata server does not answer; the node has neither its metadata nor its locality`,
    );
  return platform;
}
