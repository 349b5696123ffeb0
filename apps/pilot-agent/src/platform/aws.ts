import { askMetadata } from "./metadata-request.js";
import { known, type Platform } from "./platform.js";

/** Milliseconds for one request, which never leaves the host. */
const TIMEOUT = 1000;
const TOKEN_SECONDS = "60";

/** Reads the metadata of an EC2 instance, with a token of version 2 of the service if it gives one. */
export async function awsPlatform(host: string): Promise<Platform> {
  const token = await askMetadata({
    url: `http://${host}/latest/api/token`,
    method: "PUT",
    headers: { "x-aws-ec2-metadata-token-ttl-seconds": TOKEN_SECONDS },
    timeoutMs: TIMEOUT,
  });
  const headers = token ? { "x-aws-ec2-metadata-token": token } : {};
  const read = (path: string): Promise<string | undefined> =>
    askMetadata({ url: `http://${host}/latest/meta-data/${path}`, headers, timeoutMs: TIMEOUT });
  const [region, zone, instance] = await Promise.all(
    ["placement/region", "placement/availability-zone", "instance-id"].map(read),
  );
  return {
    metadata: known({ aws_region: region, aws_availability_zone: zone, aws_instance_id: instance }),
    locality: known({ region, zone }),
  };
}
